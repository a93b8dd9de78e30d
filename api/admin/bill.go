package admin

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/store"
)

// Bills has the operations about the days that are reconciled with WeChat's bills.
type Bills struct {
	Bills interface {
		List(ctx context.Context, from, to reconcile.Day, state model.BillState, p store.Page) ([]model.Bill, int64, error)
		Get(ctx context.Context, day reconcile.Day, p store.Page) (*model.Bill, []reconcile.Difference, int64, error)
		Run(ctx context.Context, day reconcile.Day) (*model.Bill, error)
	}
}

// Bill is the reconciliation of a day.
type Bill struct {
	Day             string          `json:"day" example:"2026-01-31" doc:"In China's time"`
	Status          model.BillState `json:"status" enum:"waiting,importing,comparing,compared,none,failed" doc:"none: WeChat has nothing of the day, and neither has the shop but for the differences"`
	Payments        int64           `json:"payments" doc:"In the bill"`
	PaymentFen      model.Fen       `json:"payment_fen"`
	Refunds         int64           `json:"refunds"`
	RefundFen       model.Fen       `json:"refund_fen"`
	DifferenceCount int64           `json:"difference_count" doc:"In which the bill and the shop differed at the latest comparison"`
	Hash            string          `json:"hash,omitempty" doc:"SHA1 of the bill, as WeChat announced it"`
	Calls           int             `json:"calls" doc:"How often it was taken up"`
	Error           string          `json:"error,omitempty" doc:"What kept it from going on"`
	NextAt          model.Time      `json:"next_at,omitempty" format:"date-time" doc:"When it is taken up next"`
	CreatedAt       model.Time      `json:"created_at" format:"date-time"`
	EndedAt         model.Time      `json:"ended_at,omitempty" format:"date-time"`
}

func billOf(b model.Bill) Bill {
	out := Bill{
		Day: reconcile.Day(b.ID).String(), Status: b.State, Payments: b.Payments, PaymentFen: b.PaymentFen, Refunds: b.Refunds, RefundFen: b.RefundFen,
		DifferenceCount: b.Differences, Hash: b.Hash, Calls: b.Calls, Error: b.Error, CreatedAt: b.CreatedAt, EndedAt: b.EndedAt,
	}
	if b.NextAt != nil {
		out.NextAt = *b.NextAt
	}
	return out
}

// DifferenceKind is the kind of an anomaly, or payment_found or refund_found.
type DifferenceKind string

// Schema names the kinds, so that whoever shows them has words for each.
func (DifferenceKind) Schema(huma.Registry) *huma.Schema {
	return choices(append(payment.AnomalyKinds(), reconcile.FoundPayment, reconcile.FoundRefund))
}

// BillDifference is something in which a bill and the shop differed.
type BillDifference struct {
	Kind      DifferenceKind     `json:"kind" doc:"payment_found and refund_found: the shop learned of it by the bill. Any other is the kind of its anomaly"`
	Ref       string             `json:"ref" doc:"What it is about: a transaction, a number at WeChat or a refund"`
	BillFen   model.Fen          `json:"bill_fen" doc:"0 where the bill has nothing of it"`
	ShopFen   model.Fen          `json:"shop_fen" doc:"0 where the shop has nothing of it"`
	FoundAt   model.Time         `json:"found_at" format:"date-time"`
	AnomalyID int64              `json:"anomaly_id,omitempty"`
	Status    model.AnomalyState `json:"status,omitempty" enum:"open,resolved" doc:"Of the anomaly"`
	Detail    string             `json:"detail,omitempty"`
	Note      string             `json:"note,omitempty"`
}

// BillDetail is a day with a page of its differences.
type BillDetail struct {
	Bill
	Differences BillDifferences `json:"differences"`
}

// BillDifferences is a page of differences.
type BillDifferences struct {
	List  []BillDifference `json:"list"`
	Total int64            `json:"total"`
	Page  int              `json:"page"`
	Limit int              `json:"limit"`
}

// BillListInput asks for a page of days.
type BillListInput struct {
	api.PageInput
	From string `query:"from" maxLength:"10" doc:"From this day on, YYYY-MM-DD in China's time" example:"2026-01-01"`
	To   string `query:"to" maxLength:"10" doc:"Up to this day, inclusive" example:"2026-01-31"`

	Status model.BillState `query:"status" enum:"waiting,importing,comparing,compared,none,failed" doc:"Only days that stand here"`
}

// BillPath is the day in a path.
type BillPath struct {
	Day string `path:"day" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" doc:"Day in China's time" example:"2026-01-31"`
}

// day returns the day; not_found where there is no such day.
func (p BillPath) day() (reconcile.Day, error) {
	d, ok := reconcile.ParseDay(p.Day)
	if !ok {
		return 0, fault.New(fault.NotFoundError)
	}
	return d, nil
}

// BillInput names a day and a page of its differences.
type BillInput struct {
	BillPath
	api.PageInput
}

// BillRunInput names a day.
type BillRunInput struct{ BillPath }

// All returns days, newest first.
func (b *Bills) All(ctx context.Context, in *BillListInput) (*api.Reply[api.List[Bill]], error) {
	var bounds [2]reconcile.Day
	wrong := fault.New(fault.ValidationFailed)
	for i, p := range []struct{ name, text string }{{"from", in.From}, {"to", in.To}} {
		if d, ok := reconcile.ParseDay(p.text); ok {
			bounds[i] = d
		} else if p.text != "" {
			wrong.With(p.name, fault.FieldFormat, "须为 YYYY-MM-DD", "must be YYYY-MM-DD")
		}
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	rows, total, err := b.Bills.List(ctx, bounds[0], bounds[1], in.Status, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Bill, len(rows))
	for i, r := range rows {
		out[i] = billOf(r)
	}
	return api.NewList(out, total, in.PageInput), nil
}

// Get returns a day with its differences.
func (b *Bills) Get(ctx context.Context, in *BillInput) (*api.Reply[BillDetail], error) {
	day, err := in.day()
	if err != nil {
		return nil, err
	}
	bill, rows, total, err := b.Bills.Get(ctx, day, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := BillDetail{Bill: billOf(*bill), Differences: BillDifferences{List: make([]BillDifference, len(rows)), Total: total, Page: in.Page, Limit: in.Limit}}
	for i, r := range rows {
		out.Differences.List[i] = BillDifference{
			Kind: DifferenceKind(r.Kind), Ref: r.Ref, BillFen: r.BillFen, ShopFen: r.ShopFen, FoundAt: r.FoundAt,
			AnomalyID: r.AnomalyID, Status: r.State, Detail: r.Detail, Note: r.Note,
		}
	}
	return api.Body(out), nil
}

// Run reconciles a day again.
func (b *Bills) Run(ctx context.Context, in *BillRunInput) (*api.Reply[Bill], error) {
	day, err := in.day()
	if err != nil {
		return nil, err
	}
	bill, err := b.Bills.Run(ctx, day)
	if err != nil {
		return nil, err
	}
	return api.Body(billOf(*bill)), nil
}
