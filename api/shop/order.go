package shop

import (
	"context"
	"errors"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// Orders has the shopper's operations of quoting, placing and reading orders.
type Orders struct {
	Service interface {
		Quote(ctx context.Context, shopperID int64, b order.Basket) (*order.Quote, error)
		Place(ctx context.Context, shopperID int64, p order.Placement) (*model.Order, error)
		Get(ctx context.Context, shopperID int64, no string) (*order.View, error)
		GetByTradeNo(ctx context.Context, shopperID int64, outTradeNo string) (*order.View, error)
		List(ctx context.Context, f order.Filter, p store.Page) ([]order.View, int64, error)
		ListAfter(ctx context.Context, f order.Filter, after store.Cursor, limit int) ([]order.View, *store.Cursor, error)
	}
	Pictures api.Pictures
}

// BasketItem is what the shopper wants of one SKU.
type BasketItem struct {
	SKUID      int64 `json:"sku_id" minimum:"1" maximum:"9007199254740991"`
	Quantity   int64 `json:"quantity" minimum:"1" maximum:"9999"`
	CartItemID int64 `json:"cart_item_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The cart's item that it comes from; it leaves the cart with the order"`
}

// QuoteBody is a basket to be priced.
type QuoteBody struct {
	Items      []BasketItem `json:"items" minItems:"1" maxItems:"100"`
	AddressID  int64        `json:"address_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Where it is to be shipped; without it there is no freight yet"`
	MyCouponID int64        `json:"my_coupon_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"A coupon that the shopper holds"`
}

func (b QuoteBody) basket() order.Basket {
	items := make([]order.Item, len(b.Items))
	for i, it := range b.Items {
		items[i] = order.Item{SKUID: it.SKUID, Quantity: it.Quantity, CartItemID: it.CartItemID}
	}
	return order.Basket{Items: items, AddressID: b.AddressID, CouponID: b.MyCouponID}
}

// Quote is what a basket costs now.
type Quote struct {
	GoodsFen    model.Fen     `json:"goods_fen" doc:"Sum of the lines, before discount"`
	DiscountFen model.Fen     `json:"discount_fen" doc:"What the coupon takes off the goods"`
	FreightFen  *model.Fen    `json:"freight_fen,omitempty" doc:"Absent while goods are to be shipped and no address is named"`
	PayableFen  model.Fen     `json:"payable_fen"`
	Lines       []QuoteLine   `json:"lines"`
	Coupons     []QuoteCoupon `json:"coupons" doc:"The coupons of this merchant that the shopper holds"`
}

// QuoteLine is one SKU of a quote.
type QuoteLine struct {
	SKUID       int64             `json:"sku_id"`
	ProductID   int64             `json:"product_id"`
	Name        string            `json:"name"`
	Image       string            `json:"image,omitempty" format:"uri"`
	Specs       map[string]string `json:"specs"`
	Quantity    int64             `json:"quantity"`
	PriceFen    model.Fen         `json:"price_fen" doc:"Of one piece"`
	DiscountFen model.Fen         `json:"discount_fen"`
}

// QuoteCoupon tells whether a coupon can be used for the basket.
type QuoteCoupon struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Usable    bool       `json:"usable" doc:"False too where it would save nothing"`
	Reason    string     `json:"reason,omitempty" doc:"Why it cannot be used, for people"`
	SavingFen model.Fen  `json:"saving_fen" doc:"How much less is to be paid with it than without any coupon. Free delivery lost by it counts; a coupon for free shipping tells 0 while no address is named"`
	ExpiresAt model.Time `json:"expires_at" format:"date-time"`
}

func (o *Orders) quoteOf(ctx context.Context, q *order.Quote) Quote {
	lang := api.LanguageOf(ctx)
	out := Quote{
		GoodsFen: q.GoodsFen, DiscountFen: q.DiscountFen, FreightFen: q.FreightFen, PayableFen: q.PayableFen,
		Lines: make([]QuoteLine, len(q.Lines)), Coupons: make([]QuoteCoupon, len(q.Coupons)),
	}
	for i, l := range q.Lines {
		out.Lines[i] = QuoteLine{
			SKUID: l.SKUID, ProductID: l.ProductID, Name: l.Name, Image: o.Pictures.URL(l.Image), Specs: l.Specs,
			Quantity: l.Quantity, PriceFen: l.PriceFen, DiscountFen: l.DiscountFen,
		}
	}
	for i, c := range q.Coupons {
		out.Coupons[i] = QuoteCoupon{
			ID: c.Coupon.ID, Name: c.Template.Name, Usable: c.Usable, Reason: lang.Pick(c.Reason.Text()),
			SavingFen: c.SavingFen, ExpiresAt: c.Coupon.ExpiresAt,
		}
	}
	return out
}

// QuoteInput asks for a quote.
type QuoteInput struct{ Body QuoteBody }

// Quote prices a basket; nothing is stored.
func (o *Orders) Quote(ctx context.Context, in *QuoteInput) (*api.Reply[Quote], error) {
	q, err := o.Service.Quote(ctx, api.Shopper(ctx), in.Body.basket())
	if err != nil {
		return nil, err
	}
	return api.Body(o.quoteOf(ctx, q)), nil
}

// PlaceBody is the basket with the amount that the shopper saw.
type PlaceBody struct {
	QuoteBody
	ExpectedPayableFen model.Fen `json:"expected_payable_fen" minimum:"0" maximum:"100000000000" doc:"payable_fen of the quote that was shown"`
	Remark             string    `json:"remark,omitempty" maxLength:"200" doc:"For the merchant"`
}

// PlaceInput places an order.
type PlaceInput struct {
	api.IdempotencyKey
	Body PlaceBody
}

// Place makes an order of the basket; the same Idempotency-Key with the same body gives the same order again.
func (o *Orders) Place(ctx context.Context, in *PlaceInput) (*api.Reply[api.Order], error) {
	key, err := in.Required()
	if err != nil {
		return nil, err
	}
	me := api.Shopper(ctx)
	placed, err := o.Service.Place(ctx, me, order.Placement{
		Basket: in.Body.basket(), ExpectedPayableFen: in.Body.ExpectedPayableFen, Remark: in.Body.Remark, Key: key,
	})
	var f *fault.Error
	if errors.As(err, &f) {
		if q, ok := f.Extra["quote"].(*order.Quote); ok {
			f.Put("quote", o.quoteOf(ctx, q))
		}
	}
	if err != nil {
		return nil, err
	}
	return o.one(o.Service.Get(ctx, me, placed.No))
}

func (o *Orders) one(v *order.View, err error) (*api.Reply[api.Order], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(api.OrderOf(*v, v.ShopperActions(), o.Pictures)), nil
}

// GetInput names an order.
type GetInput struct{ api.OrderPath }

// Get returns one of the shopper's orders.
func (o *Orders) Get(ctx context.Context, in *GetInput) (*api.Reply[api.Order], error) {
	return o.one(o.Service.Get(ctx, api.Shopper(ctx), in.No))
}

// GetByTradeNoInput names an order by a payment attempt.
type GetByTradeNoInput struct {
	OutTradeNo string `path:"out_trade_no" maxLength:"32" doc:"WeChat's number of any payment attempt of the order"`
}

// GetByTradeNo returns one of the shopper's orders as WeChat's order centre opens it.
func (o *Orders) GetByTradeNo(ctx context.Context, in *GetByTradeNoInput) (*api.Reply[api.Order], error) {
	return o.one(o.Service.GetByTradeNo(ctx, api.Shopper(ctx), in.OutTradeNo))
}

// ListInput asks for a page of the shopper's orders.
type ListInput struct {
	api.DeepInput
	Status model.OrderState `query:"status" enum:"pending_payment,paid,shipped,completed,closed" doc:"Only orders that stand here"`
}

// List returns the shopper's orders, newest first.
func (o *Orders) List(ctx context.Context, in *ListInput) (*api.Reply[api.Deep[api.Order]], error) {
	f := order.Filter{ShopperID: api.Shopper(ctx), State: in.Status}
	return api.OrderPage(ctx, o.Service, f, in.DeepInput, order.View.ShopperActions, o.Pictures)
}
