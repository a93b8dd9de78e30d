package admin

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/store"
)

// Callbacks has the operations about what WeChat called the shop about.
type Callbacks struct {
	Service interface {
		List(ctx context.Context, f callback.Filter, after store.Cursor, limit int) ([]callback.Listed, *store.Cursor, error)
		Refused(ctx context.Context, since model.Time) ([]model.CallbackRefusals, error)
	}
	Now func() model.Time
}

// CallbackReason says why a callback that was verifiably WeChat's was refused.
type CallbackReason string

// Schema names the reasons, so that whoever shows them has words for each.
func (CallbackReason) Schema(huma.Registry) *huma.Schema { return choices(callback.Reasons()) }

// RefusalReason says why what came was not verifiably WeChat's.
type RefusalReason string

// Schema names the reasons.
func (RefusalReason) Schema(huma.Registry) *huma.Schema { return choices(callback.Refusals) }

// choices is a text that is one of the choices.
func choices(of []string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, c := range of {
		s.Enum = append(s.Enum, c)
	}
	return s
}

// Callback is a notification that was verifiably WeChat's, and one thing that became of it.
type Callback struct {
	ID          int64                 `json:"id"`
	Kind        model.CallbackKind    `json:"kind" enum:"pay,refund,push"`
	NoticeID    string                `json:"notice_id" doc:"WeChat's id of the notification; of a push one that is made from it"`
	EventType   string                `json:"event_type,omitempty" example:"TRANSACTION.SUCCESS"`
	OutTradeNo  string                `json:"out_trade_no,omitempty"`
	OutRefundNo string                `json:"out_refund_no,omitempty"`
	AmountFen   model.Fen             `json:"amount_fen" doc:"What WeChat says was paid or refunded; 0 of a push"`
	OrderNo     string                `json:"order_no,omitempty"`
	Verdict     model.CallbackVerdict `json:"verdict" enum:"accepted,duplicate,refused" doc:"duplicate: what it says was known before"`
	Reason      CallbackReason        `json:"reason,omitempty" doc:"Of a refusal"`
	Status      int                   `json:"status" doc:"What was answered the latest time; WeChat sends again what is not 2xx"`
	TookMS      int64                 `json:"took_ms" doc:"How long that took"`
	RequestID   string                `json:"request_id" doc:"Of the latest time"`
	Count       int64                 `json:"count" doc:"How often it came with this outcome"`
	ReceivedAt  model.Time            `json:"received_at" format:"date-time"`
	LastAt      model.Time            `json:"last_at" format:"date-time"`
}

// CallbackListInput asks for a page of callbacks.
type CallbackListInput struct {
	api.AfterInput
	Kind       model.CallbackKind    `query:"kind" enum:"pay,refund,push" doc:"Only callbacks to this address"`
	Verdict    model.CallbackVerdict `query:"verdict" enum:"accepted,duplicate,refused" doc:"Only callbacks of which this became"`
	OutTradeNo string                `query:"out_trade_no" maxLength:"64" doc:"Only callbacks about this number"`
}

// CallbackList is a page of a list that is read by cursor.
type CallbackList struct {
	List []Callback `json:"list"`
	Next string     `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
}

// All returns callbacks, newest first.
func (c *Callbacks) All(ctx context.Context, in *CallbackListInput) (*api.Reply[CallbackList], error) {
	who := api.Admin(ctx)
	rows, next, err := c.Service.List(ctx, callback.Filter{
		MerchantID: who.MerchantID, Unowned: who.Platform, Kind: in.Kind, Verdict: in.Verdict, OutTradeNo: in.OutTradeNo,
	}, in.Cursor(), in.Limit)
	if err != nil {
		return nil, err
	}
	out := CallbackList{List: make([]Callback, len(rows))}
	for i, r := range rows {
		out.List[i] = Callback{
			ID: r.ID, Kind: r.Kind, NoticeID: r.NoticeID, EventType: r.EventType, OutTradeNo: r.OutTradeNo, OutRefundNo: r.OutRefundNo, AmountFen: r.AmountFen,
			OrderNo: r.OrderNo, Verdict: r.Verdict, Reason: CallbackReason(r.Reason), Status: r.Status, TookMS: r.TookMS, RequestID: r.RequestID, Count: r.Count,
			ReceivedAt: r.CreatedAt, LastAt: r.LastAt,
		}
	}
	if next != nil {
		out.Next = next.String()
	}
	return api.Body(out), nil
}

// CallbackRefusedInput asks for figures.
type CallbackRefusedInput struct {
	Hours int `query:"hours" minimum:"1" maximum:"720" default:"24" doc:"How far back"`
}

// RefusedHour is how much was refused for a reason in an hour.
type RefusedHour struct {
	Hour   model.Time         `json:"hour" format:"date-time" doc:"Its beginning"`
	Kind   model.CallbackKind `json:"kind" enum:"pay,refund,push"`
	Reason RefusalReason      `json:"reason"`
	Count  int64              `json:"count"`
}

// RefusedSum is how much was refused for a reason in all, with the latest as an example.
type RefusedSum struct {
	Kind   model.CallbackKind `json:"kind" enum:"pay,refund,push"`
	Reason RefusalReason      `json:"reason"`
	Count  int64              `json:"count"`
	LastAt model.Time         `json:"last_at" format:"date-time"`
	LastIP string             `json:"last_ip" doc:"Where the latest came from"`
}

// CallbackRefused has the figures of what was not verifiably WeChat's.
type CallbackRefused struct {
	From  model.Time    `json:"from" format:"date-time" doc:"Beginning of the first hour"`
	To    model.Time    `json:"to" format:"date-time" doc:"Now"`
	Sums  []RefusedSum  `json:"sums"`
	Hours []RefusedHour `json:"hours" doc:"Hours with nothing are left out"`
}

// Refused returns the figures of what was not verifiably WeChat's.
func (c *Callbacks) Refused(ctx context.Context, in *CallbackRefusedInput) (*api.Reply[CallbackRefused], error) {
	now := c.Now()
	from := model.At(now.Std().Truncate(time.Hour)).Add(-time.Duration(in.Hours-1) * time.Hour)
	rows, err := c.Service.Refused(ctx, from)
	if err != nil {
		return nil, err
	}
	out := CallbackRefused{From: from, To: now, Sums: []RefusedSum{}, Hours: make([]RefusedHour, len(rows))}
	at := map[[2]string]int{}
	for i, r := range rows {
		out.Hours[i] = RefusedHour{Hour: r.Hour, Kind: r.Kind, Reason: RefusalReason(r.Reason), Count: r.Count}
		key := [2]string{string(r.Kind), r.Reason}
		n, there := at[key]
		if !there {
			n, at[key] = len(out.Sums), len(out.Sums)
			out.Sums = append(out.Sums, RefusedSum{Kind: r.Kind, Reason: RefusalReason(r.Reason)})
		}
		sum := &out.Sums[n]
		sum.Count, sum.LastAt, sum.LastIP = sum.Count+r.Count, r.LastAt, r.LastIP // the rows are in the order of time
	}
	return api.Body(out), nil
}
