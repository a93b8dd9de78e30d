package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
)

// Orders has the merchant's operations of reading orders.
type Orders struct {
	Service interface {
		api.OrderLister
		GetForMerchant(ctx context.Context, merchantID int64, no string) (*order.Detail, error)
	}
	Pictures api.Pictures
}

// OrderListInput asks for a page of the merchant's orders.
type OrderListInput struct {
	api.DeepInput
	api.DayRange
	Status model.OrderState `query:"status" enum:"pending_payment,paid,shipped,completed,closed" doc:"Only orders that stand here"`
	Q      string           `query:"q" maxLength:"32" doc:"The beginning of an order number, or an out_trade_no"`

	ShipOverdue bool `query:"ship_overdue" doc:"Only orders that were not shipped in time and still are not"`
}

// List returns the merchant's orders, newest first.
func (o *Orders) List(ctx context.Context, in *OrderListInput) (*api.Reply[api.Deep[api.Order]], error) {
	from, to, err := in.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	f := order.Filter{MerchantID: api.Admin(ctx).MerchantID, State: in.Status, Query: in.Q, ShipOverdue: in.ShipOverdue, From: from, To: to}
	return api.OrderPage(ctx, o.Service, f, in.DeepInput, order.View.MerchantActions, o.Pictures)
}

// OrderDetail is an order with everything that happened to it.
type OrderDetail struct {
	api.Order
	ShopperID int64          `json:"shopper_id"`
	Events    []OrderEvent   `json:"events" doc:"Every change, oldest first"`
	Attempts  []OrderAttempt `json:"attempts" doc:"Payment attempts, oldest first"`
	Payments  []OrderPayment `json:"payments" doc:"Money that WeChat confirmed"`
	Refunds   []OrderRefund  `json:"refunds"`

	Aftersales []OrderAftersale `json:"aftersales" doc:"What the shopper asked for, oldest first"`
}

// OrderAftersale is a shopper's request for money back.
type OrderAftersale struct {
	ID            int64                `json:"id"`
	Type          model.AftersaleType  `json:"type" enum:"refund,return_refund"`
	State         model.AftersaleState `json:"state" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn"`
	Reason        string               `json:"reason,omitempty"`
	AnswerDueAt   model.Time           `json:"answer_due_at,omitempty" format:"date-time" doc:"When it counts as overdue if it is not answered"`
	AnswerOverdue bool                 `json:"answer_overdue,omitempty" doc:"It was not answered in time, and still is not"`
	CreatedAt     model.Time           `json:"created_at" format:"date-time"`
}

func orderAftersaleOf(a model.Aftersale) OrderAftersale {
	out := OrderAftersale{ID: a.ID, Type: a.Type, State: a.State, Reason: a.Reason, AnswerOverdue: a.AnswerOverdueAt != nil, CreatedAt: a.CreatedAt}
	if a.AnswerDeadline != nil {
		out.AnswerDueAt = *a.AnswerDeadline
	}
	return out
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
	State      model.AttemptState `json:"state" enum:"open,closing,closed,paid"`
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
	State       model.RefundState `json:"state" enum:"pending,processing,success,abnormal,failed"`
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
		Order: api.OrderOf(d.View, d.MerchantActions(), o.Pictures), ShopperID: d.ShopperID,
		Events: make([]OrderEvent, len(d.Events)), Attempts: make([]OrderAttempt, len(d.Attempts)),
		Payments: make([]OrderPayment, len(d.Payments)), Refunds: make([]OrderRefund, len(d.Refunds)),
		Aftersales: make([]OrderAftersale, len(d.Aftersales)),
	}
	for i, a := range d.Aftersales {
		out.Aftersales[i] = orderAftersaleOf(a)
	}
	for i, e := range d.Events {
		out.Events[i] = OrderEvent{Version: e.Version, From: e.FromState, To: e.ToState, Actor: e.Actor, Reason: e.Reason, TraceID: e.TraceID, At: e.CreatedAt}
	}
	for i, a := range d.Attempts {
		out.Attempts[i] = OrderAttempt{OutTradeNo: a.OutTradeNo, State: a.State, AmountFen: a.AmountFen, CreatedAt: a.CreatedAt, EndedAt: a.EndedAt}
	}
	for i, p := range d.Payments {
		out.Payments[i] = OrderPayment{TransactionID: p.TransactionID, OutTradeNo: p.OutTradeNo, AmountFen: p.AmountFen, Settled: p.Settled, PaidAt: p.PaidAt}
	}
	for i, r := range d.Refunds {
		out.Refunds[i] = OrderRefund{
			ID: r.ID, OutRefundNo: r.OutRefundNo, Kind: r.Kind, State: r.State, AmountFen: r.AmountFen, Reason: r.Reason,
			Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
		}
	}
	return api.Body(out), nil
}
