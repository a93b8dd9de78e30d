package order

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
)

// Item is what a shopper wants of one SKU. CartItemID, if not 0, is the cart's item that it comes from.
type Item struct {
	SKUID      int64 `json:"sku_id"`
	Quantity   int64 `json:"quantity"`
	CartItemID int64 `json:"cart_item_id,omitempty"`
}

// Basket is what a quote is asked for. AddressID and CouponID may be 0.
type Basket struct {
	Items     []Item `json:"items"`
	AddressID int64  `json:"address_id,omitempty"`
	CouponID  int64  `json:"my_coupon_id,omitempty"`
}

// Quote is what a basket costs now. FreightFen is nil while goods are to be shipped and no address is known; payable is then
// without freight. Goods − discount + freight = payable.
type Quote struct {
	MerchantID  int64
	GoodsFen    model.Fen
	DiscountFen model.Fen
	FreightFen  *model.Fen
	PayableFen  model.Fen
	Lines       []QuoteLine
	Coupons     []QuoteCoupon
}

// QuoteLine is one SKU of a quote. DiscountFen is its exact share.
type QuoteLine struct {
	catalog.Sellable
	Quantity    int64
	DiscountFen model.Fen
}

// AmountFen is the line's price without discount.
func (l QuoteLine) AmountFen() model.Fen { return l.PriceFen * model.Fen(l.Quantity) }

// QuoteCoupon tells of a coupon the shopper holds whether it can be used for the basket, and what it would save if no
// other were chosen.
type QuoteCoupon struct {
	coupon.HeldCoupon
	coupon.Result
}

// Quote prices a basket from the database. Besides what the basket costs it lists the shopper's available coupons of that
// merchant. product_unavailable, stock_insufficient (each with the items concerned), mixed_merchants, coupon_unusable,
// no_delivery.
func (s *Service) Quote(ctx context.Context, shopperID int64, b Basket) (*Quote, error) {
	held, err := coupon.Held(s.Store.Read(ctx), shopperID)
	if err != nil {
		return nil, err
	}
	address, err := s.address(s.Store.Read(ctx), shopperID, b.AddressID)
	if err != nil {
		return nil, err
	}
	goods, err := s.Catalog.Sellables(s.Store.Read(ctx), b.skus())
	if err != nil {
		return nil, err
	}
	return s.price(b, basis{goods: goods, address: address, held: held, rules: func(merchantID int64) ([]model.FreightRule, error) {
		return shipping.Rules(s.Store.Read(ctx), merchantID)
	}})
}

func (b Basket) skus() []int64 {
	ids := make([]int64, len(b.Items))
	for i, it := range b.Items {
		ids[i] = it.SKUID
	}
	return ids
}

// basis is what a price is made from, as the database has it.
type basis struct {
	goods   []catalog.Sellable  // of the items' SKUs
	address *model.OrderAddress // nil if the basket names none
	held    []coupon.HeldCoupon // the coupons to consider, of which the chosen one must be one
	rules   func(merchantID int64) ([]model.FreightRule, error)
}

// price is the one place where a basket gets its price.
func (s *Service) price(b Basket, from basis) (*Quote, error) {
	lines, err := sellable(from.goods, b.Items)
	if err != nil {
		return nil, err
	}
	q := &Quote{MerchantID: lines[0].MerchantID, Lines: lines}
	for _, l := range lines {
		q.GoodsFen += l.AmountFen()
	}
	if q.GoodsFen > model.MaxFen {
		return nil, fault.New(fault.ValidationFailed).With("items", fault.FieldRange, "订单金额过大", "the order's amount is too large")
	}
	freight, err := freightOf(q, from)
	if err != nil {
		return nil, err
	}
	chosen, err := s.evaluate(q, b.CouponID, from.held, freight)
	if err != nil {
		return nil, err
	}
	for i, share := range chosen.LineSaving {
		q.Lines[i].DiscountFen = share
		q.DiscountFen += share
	}
	q.PayableFen = q.GoodsFen - q.DiscountFen
	if freight != nil {
		// Free delivery over an amount looks at what is really paid for the goods.
		fen := freight(q.PayableFen) - chosen.FreightSaving
		q.FreightFen = &fen
		q.PayableFen += fen
	}
	return q, nil
}

// sellable refuses what cannot be sold together now. Items of one SKU become one line.
func sellable(found []catalog.Sellable, items []Item) ([]QuoteLine, error) {
	bySKU := make(map[int64]catalog.Sellable, len(found))
	for _, f := range found {
		bySKU[f.SKUID] = f
	}
	gone, short := fault.New(fault.ProductUnavailable), fault.New(fault.StockInsufficient)
	var lines []QuoteLine
	at := map[int64]int{}
	for i, it := range items {
		k, ok := bySKU[it.SKUID]
		if !ok || !k.OnSale {
			gone.With(fmt.Sprintf("items[%d].sku_id", i), fault.FieldGone, "已下架或不存在", "is off the shelf or gone")
			continue
		}
		n, seen := at[it.SKUID]
		if !seen {
			n = len(lines)
			at[it.SKUID] = n
			lines = append(lines, QuoteLine{Sellable: k})
		}
		lines[n].Quantity += it.Quantity
		if lines[n].Quantity > k.Stock {
			short.With(shortField(i), fault.FieldStock, leftZH(k.Stock), leftEN(k.Stock))
		}
	}
	switch {
	case len(gone.Fields) > 0:
		return nil, gone
	case len(short.Fields) > 0:
		return nil, short
	}
	for _, l := range lines {
		if l.MerchantID != lines[0].MerchantID {
			return nil, fault.New(fault.MixedMerchants)
		}
	}
	return lines, nil
}

func shortField(i int) string { return fmt.Sprintf("items[%d].quantity", i) }

// address reads the shopper's address; nil if none is named.
func (s *Service) address(db *gorm.DB, shopperID, id int64) (*model.OrderAddress, error) {
	if id == 0 {
		return nil, nil
	}
	a, err := account.Address(db, shopperID, id)
	if fault.Is(err, fault.NotFoundError) {
		return nil, noAddress()
	}
	if err != nil {
		return nil, err
	}
	return addressOf(a), nil
}

func noAddress() error {
	return fault.New(fault.AddressRequired).With("address_id", fault.NotFoundError, "收货地址不存在", "there is no such address")
}

// addressOf keeps of an address what an order keeps.
func addressOf(a model.Address) *model.OrderAddress {
	return &model.OrderAddress{
		Name: a.Name, Phone: a.Phone, Province: a.Province, City: a.City, District: a.District,
		Detail: a.Detail, RegionCode: a.RegionCode,
	}
}

// freightOf asks for the merchant's rules once and returns the freight as a function of what is paid for the goods; nil while
// goods are to be shipped and no address is known.
func freightOf(q *Quote, from basis) (func(goods model.Fen) model.Fen, error) {
	var pieces, weight int64
	for _, l := range q.Lines {
		if !l.Virtual {
			pieces += l.Quantity
			weight += l.Quantity * l.WeightG
		}
	}
	if pieces == 0 {
		return func(model.Fen) model.Fen { return 0 }, nil
	}
	if from.address == nil {
		return nil, nil
	}
	rules, err := from.rules(q.MerchantID)
	if err != nil {
		return nil, err
	}
	return shipping.Freight(rules, *from.address, pieces, weight)
}

// evaluate fills in the quote's coupons and returns the result of the chosen one, which saves nothing if none is chosen.
func (s *Service) evaluate(q *Quote, couponID int64, held []coupon.HeldCoupon, freight func(goods model.Fen) model.Fen) (chosen coupon.Result, _ error) {
	basis := make([]coupon.Line, len(q.Lines))
	for i, l := range q.Lines {
		basis[i] = coupon.Line{MerchantID: l.MerchantID, ProductID: l.ProductID, CategoryIDs: s.Catalog.CategoryPath(l.MerchantID, l.CategoryID), Amount: l.AmountFen()}
	}
	now := s.Now()
	for _, h := range held {
		mine := h.Coupon.ID == couponID
		if h.Coupon.MerchantID != q.MerchantID && !mine {
			continue
		}
		r := coupon.Evaluate(h.Template, h.Coupon, basis, freight, now)
		q.Coupons = append(q.Coupons, QuoteCoupon{h, r})
		if mine && !r.Usable {
			why := r.Reason.Text()
			return chosen, fault.New(fault.CouponUnusable).Say(why.ZH, why.EN).With("my_coupon_id", fault.Code(r.Reason), why.ZH, why.EN)
		}
		if mine {
			chosen = r
		}
	}
	if couponID != 0 && !chosen.Usable {
		return chosen, fault.New(fault.CouponUnusable).With("my_coupon_id", fault.NotFoundError, "没有这张优惠券", "there is no such coupon")
	}
	return chosen, nil
}
