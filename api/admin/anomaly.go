package admin

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/store"
)

// Anomalies has the operations about money that does not add up.
type Anomalies struct {
	List interface {
		List(ctx context.Context, f payment.AnomalyFilter, p store.Page) ([]model.Anomaly, int64, error)
		Get(ctx context.Context, f payment.AnomalyFilter, id int64) (*payment.AnomalyFacts, error)
	}
	Resolver interface {
		ResolveAnomaly(ctx context.Context, f payment.AnomalyFilter, id int64, note, actor string) (*model.Anomaly, error)
	}
}

// AnomalyKind is what does not add up.
type AnomalyKind string

// Schema names the kinds, so that whoever shows them has words for each.
func (AnomalyKind) Schema(huma.Registry) *huma.Schema { return choices(payment.AnomalyKinds()) }

// Anomaly is money that does not add up.
type Anomaly struct {
	ID         int64              `json:"id"`
	Kind       AnomalyKind        `json:"kind"`
	Ref        string             `json:"ref" doc:"What it is about: a number at WeChat, a transaction or a refund"`
	OrderID    int64              `json:"order_id,omitempty"`
	PaymentID  int64              `json:"payment_id,omitempty"`
	RefundID   int64              `json:"refund_id,omitempty" doc:"The refund that was made for it"`
	Detail     string             `json:"detail"`
	Status     model.AnomalyState `json:"status" enum:"open,resolved"`
	Seen       int64              `json:"seen" doc:"How often it was met"`
	Note       string             `json:"note,omitempty"`
	ResolvedBy string             `json:"resolved_by,omitempty"`
	CreatedAt  model.Time         `json:"created_at" format:"date-time"`
	ResolvedAt model.Time         `json:"resolved_at,omitempty" format:"date-time"`
}

func anomalyOf(a model.Anomaly) Anomaly {
	return Anomaly{
		ID: a.ID, Kind: AnomalyKind(a.Kind), Ref: a.Ref, OrderID: a.OrderID, PaymentID: a.PaymentID, RefundID: a.RefundID, Detail: a.Detail,
		Status: a.State, Seen: a.Seen, Note: a.Note, ResolvedBy: a.ResolvedBy, CreatedAt: a.CreatedAt, ResolvedAt: a.ResolvedAt,
	}
}

// AnomalyListInput asks for a page of anomalies.
type AnomalyListInput struct {
	api.PageInput
	Status model.AnomalyState `query:"status" enum:"open,resolved" doc:"Only anomalies that stand here"`
	Kind   AnomalyKind        `query:"kind" doc:"Only anomalies of this kind"`
}

// reach is what the admin may see: the merchant's anomalies, and for the platform those of no merchant too.
func reach(ctx context.Context) payment.AnomalyFilter {
	who := api.Admin(ctx)
	return payment.AnomalyFilter{MerchantID: who.MerchantID, Unowned: who.Platform}
}

// All returns anomalies, newest first.
func (a *Anomalies) All(ctx context.Context, in *AnomalyListInput) (*api.Reply[api.List[Anomaly]], error) {
	f := reach(ctx)
	f.State, f.Kind = in.Status, string(in.Kind)
	rows, total, err := a.List.List(ctx, f, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Anomaly, len(rows))
	for i, r := range rows {
		out[i] = anomalyOf(r)
	}
	return api.NewList(out, total, in.PageInput), nil
}

// AnomalyDetail is an anomaly with what the shop knows of what it is about.
type AnomalyDetail struct {
	Anomaly
	Order      *AnomalyOrder      `json:"order,omitempty"`
	Attempt    *AnomalyAttempt    `json:"attempt,omitempty" doc:"The number under which WeChat was asked for the money"`
	Payment    *AnomalyPayment    `json:"payment,omitempty"`
	Refund     *PaymentRefund     `json:"refund,omitempty"`
	Difference *AnomalyDifference `json:"difference,omitempty" doc:"What the latest bill with it and the shop have"`
}

// AnomalyOrder is the order that an anomaly is about.
type AnomalyOrder struct {
	No          string            `json:"no"`
	Status      model.OrderState  `json:"status" enum:"pending_payment,paid,shipped,completed,closed"`
	CloseReason model.CloseReason `json:"close_reason,omitempty"`
	PayableFen  model.Fen         `json:"payable_fen"`
	RefundedFen model.Fen         `json:"refunded_fen"`
}

// AnomalyAttempt is the payment attempt that an anomaly is about.
type AnomalyAttempt struct {
	OutTradeNo string             `json:"out_trade_no"`
	AmountFen  model.Fen          `json:"amount_fen"`
	Status     model.AttemptState `json:"status" enum:"open,closing,closed,paid"`
}

// AnomalyPayment is the payment that an anomaly is about.
type AnomalyPayment struct {
	OutTradeNo    string     `json:"out_trade_no"`
	TransactionID string     `json:"transaction_id"`
	AmountFen     model.Fen  `json:"amount_fen"`
	RefundedFen   model.Fen  `json:"refunded_fen"`
	Settled       bool       `json:"settled" doc:"Whether it pays its order"`
	PaidAt        model.Time `json:"paid_at" format:"date-time"`
}

// AnomalyDifference is what a bill and the shop have.
type AnomalyDifference struct {
	Day     string    `json:"day" doc:"Of the bill, in China's time"`
	BillFen model.Fen `json:"bill_fen" doc:"0 where the bill has nothing"`
	ShopFen model.Fen `json:"shop_fen" doc:"0 where the shop has nothing"`
}

// AnomalyGetInput names an anomaly.
type AnomalyGetInput struct{ api.IDPath }

// Get returns an anomaly with what it is about.
func (a *Anomalies) Get(ctx context.Context, in *AnomalyGetInput) (*api.Reply[AnomalyDetail], error) {
	f, err := a.List.Get(ctx, reach(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := AnomalyDetail{Anomaly: anomalyOf(f.Anomaly), Refund: paymentRefundOf(f.Refund)}
	if o := f.Order; o != nil {
		out.Order = &AnomalyOrder{No: o.No, Status: o.State, CloseReason: o.CloseReason, PayableFen: o.PayableFen, RefundedFen: o.RefundedFen}
	}
	if t := f.Attempt; t != nil {
		out.Attempt = &AnomalyAttempt{OutTradeNo: t.OutTradeNo, AmountFen: t.AmountFen, Status: t.State}
	}
	if p := f.Payment; p != nil {
		out.Payment = &AnomalyPayment{
			OutTradeNo: p.OutTradeNo, TransactionID: p.TransactionID, AmountFen: p.AmountFen, RefundedFen: p.RefundedFen, Settled: p.Settled, PaidAt: p.PaidAt,
		}
	}
	if d := f.Difference; d != nil {
		out.Difference = &AnomalyDifference{Day: reconcile.Day(d.Day).String(), BillFen: d.BillFen, ShopFen: d.ShopFen}
	}
	return api.Body(out), nil
}

// ResolveBody says what was done about an anomaly.
type ResolveBody struct {
	Note string `json:"note" minLength:"1" maxLength:"255" doc:"What was found and done"`
}

// AnomalyResolveInput resolves an anomaly.
type AnomalyResolveInput struct {
	api.IDPath
	Body ResolveBody
}

// Resolve closes an anomaly with a note.
func (a *Anomalies) Resolve(ctx context.Context, in *AnomalyResolveInput) (*api.Reply[Anomaly], error) {
	note, err := api.Written("note", in.Body.Note)
	if err != nil {
		return nil, err
	}
	row, err := a.Resolver.ResolveAnomaly(ctx, reach(ctx), in.ID, note, api.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.Body(anomalyOf(*row)), nil
}
