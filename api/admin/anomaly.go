package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// Anomalies has the operations about money that does not add up.
type Anomalies struct {
	List interface {
		List(ctx context.Context, f payment.AnomalyFilter, p store.Page) ([]model.Anomaly, int64, error)
	}
	Resolver interface {
		ResolveAnomaly(ctx context.Context, f payment.AnomalyFilter, id int64, note, actor string) (*model.Anomaly, error)
	}
}

// Anomaly is money that does not add up.
type Anomaly struct {
	ID         int64              `json:"id"`
	Kind       string             `json:"kind" example:"late_payment"`
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
		ID: a.ID, Kind: a.Kind, Ref: a.Ref, OrderID: a.OrderID, PaymentID: a.PaymentID, RefundID: a.RefundID, Detail: a.Detail,
		Status: a.State, Seen: a.Seen, Note: a.Note, ResolvedBy: a.ResolvedBy, CreatedAt: a.CreatedAt, ResolvedAt: a.ResolvedAt,
	}
}

// AnomalyListInput asks for a page of anomalies.
type AnomalyListInput struct {
	api.PageInput
	Status model.AnomalyState `query:"status" enum:"open,resolved" doc:"Only anomalies that stand here"`
}

// reach is what the admin may see: the merchant's anomalies, and for the platform those of no merchant too.
func reach(ctx context.Context, state model.AnomalyState) payment.AnomalyFilter {
	who := api.Admin(ctx)
	return payment.AnomalyFilter{MerchantID: who.MerchantID, Unowned: who.Platform, State: state}
}

// All returns anomalies, newest first.
func (a *Anomalies) All(ctx context.Context, in *AnomalyListInput) (*api.Reply[api.List[Anomaly]], error) {
	rows, total, err := a.List.List(ctx, reach(ctx, in.Status), in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Anomaly, len(rows))
	for i, r := range rows {
		out[i] = anomalyOf(r)
	}
	return api.NewList(out, total, in.PageInput), nil
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
	row, err := a.Resolver.ResolveAnomaly(ctx, reach(ctx, ""), in.ID, in.Body.Note, api.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.Body(anomalyOf(*row)), nil
}
