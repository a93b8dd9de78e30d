package cart

import "github.com/tidemall/tidemall/service/fault"

// Reason says why an item cannot be bought now; it is part of the API and never changes. Empty means it can.
type Reason string

// Reasons, in the order in which they are looked for.
const (
	ReasonGone       Reason = "gone"        // the SKU or the product was removed
	ReasonOffShelf   Reason = "off_shelf"   // the product is not published, or its merchant is disabled
	ReasonSoldOut    Reason = "sold_out"    // no stock
	ReasonStockShort Reason = "stock_short" // less stock than the quantity
)

var reasonTexts = map[Reason]fault.Text{
	ReasonGone:       {ZH: "商品已失效", EN: "It is not sold any more"},
	ReasonOffShelf:   {ZH: "商品已下架", EN: "It is off the shelf"},
	ReasonSoldOut:    {ZH: "已售罄", EN: "It is sold out"},
	ReasonStockShort: {ZH: "库存不足，请减少数量", EN: "Not enough stock; lower the quantity"},
}

// Text returns the reason in both languages.
func (r Reason) Text() fault.Text { return reasonTexts[r] }
