package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
)

// Orders has the merchant's operations of reading orders.
type Orders struct {
	Service interface {
		api.OrderLister
		GetForMerchant(ctx context.Context, merchantID int64, no string) (*order.Detail, error)
		Timeline(ctx context.Context, merchantID int64, no string) (moments []order.Moment, orderID int64, err error)
	}
	Pictures api.Pictures
	// Notices tells what the shopper was told; nil where that is nobody's business.
	Notices interface {
		OfOrder(ctx context.Context, orderID int64) ([]model.SubscribeMessage, error)
	}
}

// OrderListInput asks for a page of the merchant's orders.
type OrderListInput struct {
	api.DeepInput
	OrderFilter
}

// OrderFilter says which of the merchant's orders are meant.
type OrderFilter struct {
	api.DayRange
	Status model.OrderState `query:"status" enum:"pending_payment,paid,shipped,completed,closed" doc:"Only orders that stand here"`
	Q      string           `query:"q" maxLength:"32" doc:"The beginning of an order number, an out_trade_no, or the last four digits of the receiver's phone"`

	CloseReason   model.CloseReason `query:"close_reason" enum:"timeout,shopper,merchant,refunded" doc:"Only orders that were closed for this"`
	ShopperID     int64             `query:"shopper_id" minimum:"1" maximum:"9007199254740991" doc:"Only this shopper's"`
	Nickname      string            `query:"nickname" maxLength:"64" doc:"Only those of shoppers of exactly this nickname; 422 where they are too many"`
	ProductID     int64             `query:"product_id" minimum:"1" maximum:"9007199254740991" doc:"Only orders with this product"`
	SKUID         int64             `query:"sku_id" minimum:"1" maximum:"9007199254740991" doc:"Only orders with this SKU"`
	MinFen        model.Fen         `query:"min_fen" minimum:"1" maximum:"10000000000" doc:"Payable is at least this"`
	MaxFen        model.Fen         `query:"max_fen" minimum:"1" maximum:"10000000000" doc:"Payable is at most this"`
	ShipOverdue   bool              `query:"ship_overdue" doc:"Only orders that were not shipped in time and still are not"`
	AftersaleOpen bool              `query:"aftersale_open" doc:"Only orders with an after-sale that has not ended"`
}

func (in *OrderFilter) filter(ctx context.Context) (f order.Filter, err error) {
	f = order.Filter{
		MerchantID: api.Admin(ctx).MerchantID, State: in.Status, CloseReason: in.CloseReason, Query: in.Q, ShopperID: in.ShopperID, Nickname: in.Nickname,
		ProductID: in.ProductID, SKUID: in.SKUID, MinFen: in.MinFen, MaxFen: in.MaxFen, ShipOverdue: in.ShipOverdue, AftersaleOpen: in.AftersaleOpen,
	}
	if in.MaxFen != 0 && in.MaxFen < in.MinFen {
		return f, fault.New(fault.ValidationFailed).With("max_fen", fault.FieldRange, "不能小于 min_fen", "must not be less than min_fen")
	}
	f.From, f.To, err = in.Bounds(ctx)
	return f, err
}

// List returns the merchant's orders, newest first.
func (o *Orders) List(ctx context.Context, in *OrderListInput) (*api.Reply[api.Deep[api.Order]], error) {
	f, err := in.filter(ctx)
	if err != nil {
		return nil, err
	}
	return api.OrderPage(ctx, o.Service, f, in.DeepInput, order.View.MerchantActions, o.Pictures)
}

// OrderDetail is an order with everything that happened to it.
type OrderDetail struct {
	api.Order
	ShopperID int64 `json:"shopper_id"`
	// ClosingWaitsFor is orders.closing_note.
	ClosingWaitsFor string `json:"closing_waits_for,omitempty" enum:"wechat,person" doc:"What keeps a closing order from being closed: WeChat's word, or a person who resolves the order's anomaly"`

	Events   []OrderEvent   `json:"events" doc:"Every change, oldest first"`
	Attempts []OrderAttempt `json:"attempts" doc:"Payment attempts, oldest first"`
	Payments []OrderPayment `json:"payments" doc:"Money that WeChat confirmed"`
	Refunds  []OrderRefund  `json:"refunds"`

	ShippingUpload *OrderUpload `json:"shipping_upload,omitempty" doc:"What WeChat knows of the shipping; absent while nothing was shipped"`

	MerchantRemark OrderRemark `json:"merchant_remark" doc:"What the merchant's people noted for themselves"`

	Notices []Notice `json:"notices" doc:"Subscribe messages to the shopper about it, oldest first; kept for 90 days"`
}

// OrderEvent is one change of an order.
type OrderEvent struct {
	Version int64            `json:"version"`
	From    model.OrderState `json:"from,omitempty"`
	To      model.OrderState `json:"to"`
	Actor   string           `json:"actor" example:"shopper:12" doc:"Who did it: shopper:ID, admin:ID, timeout, wechat"`
	Reason  string           `json:"reason,omitempty"`
	TraceID string           `json:"trace_id,omitempty"`
	At      model.Time       `json:"at" format:"date-time"`
}

// OrderAttempt is one number at WeChat under which the order could be paid.
type OrderAttempt struct {
	OutTradeNo string             `json:"out_trade_no"`
	Status     model.AttemptState `json:"status" enum:"open,closing,closed,paid"`
	AmountFen  model.Fen          `json:"amount_fen"`
	CreatedAt  model.Time         `json:"created_at" format:"date-time"`
	EndedAt    model.Time         `json:"ended_at,omitempty" format:"date-time"`
}

// OrderPayment is money that WeChat confirmed.
type OrderPayment struct {
	TransactionID string     `json:"transaction_id"`
	OutTradeNo    string     `json:"out_trade_no"`
	AmountFen     model.Fen  `json:"amount_fen"`
	Settled       bool       `json:"settled" doc:"It pays the order; every other payment is refunded"`
	PaidAt        model.Time `json:"paid_at" format:"date-time"`
}

// OrderRefund is money on its way back.
type OrderRefund struct {
	ID          int64             `json:"id"`
	OutRefundNo string            `json:"out_refund_no"`
	Kind        model.RefundKind  `json:"kind" enum:"late,merchant,aftersale"`
	Status      model.RefundState `json:"status" enum:"pending,processing,success,abnormal,failed"`
	AmountFen   model.Fen         `json:"amount_fen"`
	Reason      string            `json:"reason,omitempty"`
	Error       string            `json:"error,omitempty" doc:"What WeChat said last, if it refused"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
	EndedAt     model.Time        `json:"ended_at,omitempty" format:"date-time"`
}

// OrderGetInput names an order.
type OrderGetInput struct{ api.OrderPath }

// Get returns one of the merchant's orders with its history.
func (o *Orders) Get(ctx context.Context, in *OrderGetInput) (*api.Reply[OrderDetail], error) {
	d, err := o.Service.GetForMerchant(ctx, api.Admin(ctx).MerchantID, in.No)
	if err != nil {
		return nil, err
	}
	out := OrderDetail{
		Order: api.OrderOf(d.View, d.MerchantActions(), o.Pictures), ShopperID: d.ShopperID, ClosingWaitsFor: d.ClosingNote,
		Events: make([]OrderEvent, len(d.Events)), Attempts: make([]OrderAttempt, len(d.Attempts)),
		Payments: make([]OrderPayment, len(d.Payments)), Refunds: make([]OrderRefund, len(d.Refunds)),
		MerchantRemark: orderRemarkOf(d.MerchantRemark),
	}
	if d.Upload != nil {
		upload := orderUploadOf(*d.Upload)
		out.ShippingUpload = &upload
	}
	for i, e := range d.Events {
		out.Events[i] = OrderEvent{Version: e.Version, From: e.FromState, To: e.ToState, Actor: e.Actor, Reason: e.Reason, TraceID: e.TraceID, At: e.CreatedAt}
	}
	for i, a := range d.Attempts {
		out.Attempts[i] = OrderAttempt{OutTradeNo: a.OutTradeNo, Status: a.State, AmountFen: a.AmountFen, CreatedAt: a.CreatedAt, EndedAt: a.EndedAt}
	}
	for i, p := range d.Payments {
		out.Payments[i] = OrderPayment{TransactionID: p.TransactionID, OutTradeNo: p.OutTradeNo, AmountFen: p.AmountFen, Settled: p.Settled, PaidAt: p.PaidAt}
	}
	for i, r := range d.Refunds {
		out.Refunds[i] = OrderRefund{
			ID: r.ID, OutRefundNo: r.OutRefundNo, Kind: r.Kind, Status: r.State, AmountFen: r.AmountFen, Reason: r.Reason,
			Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
		}
	}
	if out.Notices, err = o.notices(ctx, d.ID); err != nil {
		return nil, err
	}
	return api.Body(out), nil
}

func (o *Orders) notices(ctx context.Context, orderID int64) ([]Notice, error) {
	if o.Notices == nil {
		return []Notice{}, nil
	}
	rows, err := o.Notices.OfOrder(ctx, orderID)
	out := make([]Notice, len(rows))
	for i, m := range rows {
		out[i] = noticeOf(m)
	}
	return out, err
}
