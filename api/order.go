package api

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// Pictures turns a key of the file store into an absolute URL; "" for the empty key.
type Pictures interface{ URL(key string) string }

// Order is an order as shoppers and merchants see it.
type Order struct {
	No            string              `json:"no" doc:"Number of the order" example:"T202601310123456789AB"`
	Status        model.OrderState    `json:"status" enum:"pending_payment,paid,shipped,completed,closed" doc:"Where the order stands"`
	Closing       bool                `json:"closing" doc:"The order is on its way to closed: it cannot be paid or changed any more"`
	CloseReason   model.CloseReason   `json:"close_reason,omitempty" enum:"timeout,shopper,merchant,refunded" doc:"Why it is closed"`
	GoodsFen      model.Fen           `json:"goods_fen" doc:"Sum of the lines, before discount"`
	DiscountFen   model.Fen           `json:"discount_fen" doc:"What the coupon takes off the goods"`
	FreightFen    model.Fen           `json:"freight_fen"`
	AdjustmentFen model.Fen           `json:"adjustment_fen" doc:"The merchant's adjustment, may be negative"`
	PayableFen    model.Fen           `json:"payable_fen" doc:"goods − discount + freight + adjustment"`
	RefundedFen   model.Fen           `json:"refunded_fen" doc:"What was given back so far"`
	PayDeadline   model.Time          `json:"pay_deadline" format:"date-time" doc:"When an unpaid order closes"`
	ServerTime    model.Time          `json:"server_time" format:"date-time" doc:"The server's clock at this reply; count down with it"`
	CreatedAt     model.Time          `json:"created_at" format:"date-time"`
	PaidAt        model.Time          `json:"paid_at,omitempty" format:"date-time"`
	ShippedAt     model.Time          `json:"shipped_at,omitempty" format:"date-time"`
	CompletedAt   model.Time          `json:"completed_at,omitempty" format:"date-time"`
	ClosedAt      model.Time          `json:"closed_at,omitempty" format:"date-time"`
	ConfirmDueAt  model.Time          `json:"confirm_due_at,omitempty" format:"date-time" doc:"When a shipped order is completed if the shopper does not confirm it"`
	ShipDueAt     model.Time          `json:"ship_due_at,omitempty" format:"date-time" doc:"When a paid order counts as overdue if it is not shipped; merchants only"`
	ShipOverdue   bool                `json:"ship_overdue,omitempty" doc:"The order was not shipped in time, and still is not; merchants only"`
	OutTradeNo    string              `json:"out_trade_no,omitempty" doc:"WeChat's number of the latest payment attempt"`
	TransactionID string              `json:"transaction_id,omitempty" doc:"WeChat's id of the payment, once shipped: for wx.openBusinessView with weappOrderConfirm"`
	Address       *model.OrderAddress `json:"address,omitempty" doc:"Where it is shipped, as it was when the order was placed"`
	Parcels       []OrderParcel       `json:"parcels"`
	Aftersales    []OrderAftersale    `json:"aftersales" doc:"What the shopper asked for, oldest first"`
	Remark        string              `json:"remark,omitempty" doc:"Merchants see it once it was passed"`
	RemarkHeld    bool                `json:"remark_held,omitempty" doc:"Only the shopper sees the remark until WeChat or the merchant has passed it"`
	RemarkRefused bool                `json:"remark_refused,omitempty" doc:"The remark was refused; only the shopper sees it"`
	Lines         []OrderLine         `json:"lines"`
	Actions       []string            `json:"actions" doc:"What the caller can do with the order now"`
	Version       int64               `json:"version" doc:"Rises with every change"`
}

// OrderLine is one SKU of an order, as it was when the order was placed.
type OrderLine struct {
	ID                 int64             `json:"id"`
	SKUID              int64             `json:"sku_id"`
	ProductID          int64             `json:"product_id"`
	Name               string            `json:"name"`
	Image              string            `json:"image,omitempty" format:"uri"`
	Specs              map[string]string `json:"specs"`
	Quantity           int64             `json:"quantity"`
	PriceFen           model.Fen         `json:"price_fen" doc:"Of one piece"`
	DiscountFen        model.Fen         `json:"discount_fen" doc:"The line's exact share of the discount"`
	AdjustmentFen      model.Fen         `json:"adjustment_fen" doc:"The line's exact share of the merchant's adjustment"`
	Reviewed           bool              `json:"reviewed,omitempty" doc:"The shopper has reviewed it"`
	Reviewable         bool              `json:"reviewable,omitempty" doc:"The shopper can review it now"`
	UnshippedQuantity  int64             `json:"unshipped_quantity,omitempty" doc:"Pieces that are left to ship; merchants only"`
	RefundableQuantity int64             `json:"refundable_quantity" doc:"Pieces that no refund has taken and no open after-sale asks for; 0 while unpaid"`
}

// OrderParcel is a parcel with what is in it.
type OrderParcel struct {
	ID         int64             `json:"id"`
	Delivery   model.Delivery    `json:"delivery" enum:"express,same_city,virtual,pickup"`
	Carrier    string            `json:"carrier,omitempty" doc:"Code of the carrier"`
	TrackingNo string            `json:"tracking_no,omitempty"`
	Upload     model.ParcelState `json:"upload,omitempty" enum:"waiting,uploaded,refused,skipped" doc:"Whether WeChat knows of it; merchants only"`
	CreatedAt  model.Time        `json:"created_at" format:"date-time"`
	Lines      []OrderParcelLine `json:"lines"`
}

// OrderParcelLine is what of a line is in a parcel.
type OrderParcelLine struct {
	LineID   int64 `json:"line_id"`
	Quantity int64 `json:"quantity"`
}

// OrderOf shows an order to somebody who can do the actions.
func OrderOf(v order.View, actions []string, pics Pictures) Order {
	o := Order{
		No: v.No, Status: v.State, Closing: v.Closing(), CloseReason: v.CloseReason,
		GoodsFen: v.GoodsFen, DiscountFen: v.DiscountFen, FreightFen: v.FreightFen, AdjustmentFen: v.AdjustmentFen,
		PayableFen: v.PayableFen, RefundedFen: v.RefundedFen, PayDeadline: v.PayDeadline, ServerTime: v.ReadAt,
		CreatedAt: v.CreatedAt, PaidAt: v.PaidAt, ShippedAt: v.ShippedAt, CompletedAt: v.CompletedAt, ClosedAt: v.ClosedAt,
		OutTradeNo: v.OutTradeNo, TransactionID: v.TransactionID, Address: v.Address, Actions: some(actions), Version: v.Version,
		Remark: v.VisibleRemark(), RemarkHeld: v.RemarkHeld(), RemarkRefused: v.RemarkRefused(),
		Lines: make([]OrderLine, len(v.Lines)), Parcels: make([]OrderParcel, len(v.Parcels)),
		Aftersales: make([]OrderAftersale, len(v.Aftersales)),
	}
	for i, a := range v.Aftersales {
		o.Aftersales[i] = orderAftersaleOf(a, v.ForMerchant)
	}
	if v.ConfirmDueAt != nil {
		o.ConfirmDueAt = *v.ConfirmDueAt
	}
	if v.ForMerchant {
		o.ShipOverdue = v.ShipOverdue()
		if v.ShipDueAt != nil {
			o.ShipDueAt = *v.ShipDueAt
		}
	}
	for i, l := range v.Lines {
		o.Lines[i] = OrderLine{
			ID: l.ID, SKUID: l.SKUID, ProductID: l.ProductID, Name: l.Name, Image: pics.URL(l.Image), Specs: l.Specs,
			Quantity: l.Quantity, PriceFen: l.PriceFen, DiscountFen: l.DiscountFen, AdjustmentFen: l.AdjustmentFen,
			Reviewed: l.ReviewedAt != 0, Reviewable: !v.ForMerchant && v.Reviewable(l),
			RefundableQuantity: v.Refundable(l),
		}
		if v.ForMerchant {
			o.Lines[i].UnshippedQuantity = max(l.Unshipped(), 0)
		}
	}
	for i, p := range v.Parcels {
		o.Parcels[i] = OrderParcel{
			ID: p.ID, Delivery: p.Delivery, Carrier: p.Carrier, TrackingNo: p.TrackingNo, CreatedAt: p.CreatedAt,
			Lines: make([]OrderParcelLine, len(p.Lines)),
		}
		if v.ForMerchant {
			o.Parcels[i].Upload = p.State
		}
		for j, l := range p.Lines {
			o.Parcels[i].Lines[j] = OrderParcelLine{LineID: l.LineID, Quantity: l.Quantity}
		}
	}
	return o
}

// OrderLister reads pages of orders.
type OrderLister interface {
	List(ctx context.Context, f order.Filter, p store.Page) ([]order.View, int64, error)
	ListAfter(ctx context.Context, f order.Filter, after store.Cursor, limit int) ([]order.View, *store.Cursor, error)
}

// OrderPage reads a page of orders by number or by cursor, as the caller asked; by cursor alone where the list is searched for.
func OrderPage(ctx context.Context, s OrderLister, f order.Filter, in DeepInput, actions func(order.View) []string, pics Pictures) (*Reply[Deep[Order]], error) {
	if f.Searched() && !in.ByCursor() {
		var err error
		if in, err = in.FirstByCursor(); err != nil {
			return nil, err
		}
	}
	views, next, total, err := DeepRows(ctx, in,
		func(ctx context.Context, after store.Cursor, limit int) ([]order.View, *store.Cursor, error) {
			return s.ListAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]order.View, int64, error) { return s.List(ctx, f, p) },
		func(v order.View) store.Cursor { return store.Cursor{At: v.CreatedAt, ID: v.ID} })
	if err != nil {
		return nil, err
	}
	rows := make([]Order, len(views))
	for i, v := range views {
		rows[i] = OrderOf(v, actions(v), pics)
	}
	return NewDeep(rows, next, total, in), nil
}
