package order

import (
	"context"
	"errors"
	"strconv"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/timeout"
)

// Timeout kinds beside KindPay. Keys are ids in decimal digits.
const (
	// KindClosing takes the closing of an order further for which WeChat was called (orders.closing_next_at). Its key is the order's id.
	KindClosing = "closing"
	// KindQuery asks WeChat about a payment whose callback did not come (payment_attempts.next_query_at). Its key is the attempt's id.
	KindQuery = "query"
	// KindRefund calls or asks WeChat about a refund (refunds.next_at). Its key is the refund's id.
	KindRefund = "refund"
)

// Calls to WeChat at once, by what for. Each takes up to three times the limit of a call.
const (
	closingWorkers = 16
	queryWorkers   = 8
	refundWorkers  = 4
)

// Kinds are the deadlines of orders and payments, for the timeout module.
func (s *Service) Kinds() []timeout.Kind {
	return []timeout.Kind{
		{Name: KindPay, Handler: timeout.HandlerFunc(s.closeDue), Source: s.column(KindPay, "orders", "pay_deadline", "state = 'pending_payment' AND closing_reason IS NULL")},
		{Name: KindClosing, Handler: each(s.closingDue), Source: s.column(KindClosing, "orders", "closing_next_at", "closing_next_at IS NOT NULL"), Batch: 1, Workers: closingWorkers},
		{Name: KindQuery, Handler: each(s.queryDue), Source: s.column(KindQuery, "payment_attempts", "next_query_at", "next_query_at IS NOT NULL"), Batch: 1, Workers: queryWorkers},
		{Name: KindRefund, Handler: each(s.refundDue), Source: s.column(KindRefund, "refunds", "next_at", "next_at IS NOT NULL"), Batch: 1, Workers: refundWorkers},
		{Name: KindUpload, Handler: each(s.uploadDue), Source: s.column(KindUpload, "shipping_uploads", "next_at", "next_at IS NOT NULL"), Batch: 1, Workers: uploadWorkers},
		{Name: KindRemind, Handler: s.remind(), Source: s.column(KindRemind, "orders", "remind_at", "closing_reason IS NULL")},
		{Name: KindShip, Handler: s.shipOverdue(), Source: s.column(KindShip, "orders", "ship_due_at", "ship_due_at IS NOT NULL")},
		{Name: KindConfirm, Handler: s.autoConfirm(), Source: s.column(KindConfirm, "orders", "confirm_due_at", "confirm_due_at IS NOT NULL")},
		{Name: KindAftersale, Handler: timeout.HandlerFunc(s.answersDue), Source: s.column(KindAftersale, "aftersales", "answer_deadline", "state IN ('requested', 'returning')")},
	}
}

// each makes a handler of one that acts on a single thing.
func each(act func(ctx context.Context, id int64, due model.Time) timeout.Outcome) timeout.Handler {
	return deadline.Each(act)
}

// failed is the outcome of a task that ended with an error. One of the database's never counts against the task.
func failed(err error) timeout.Outcome { return deadline.Failed(err) }

func orderID(t timeout.Task) (int64, error) { return deadline.ID(t) }

func closingTask(id int64, at model.Time) timeout.Task {
	return timeout.Task{Kind: KindClosing, Key: strconv.FormatInt(id, 10), Due: int64(at)}
}

// closingDue takes one closing order a step further.
func (s *Service) closingDue(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	p, err := s.closeStep(ctx, id, closing{reason: model.CloseTimeout, due: due})
	var claimed *claimedError
	switch {
	case errors.As(err, &claimed):
		return timeout.Reschedule(int64(claimed.until))
	case errors.Is(err, errMoved):
		return s.closingMoved(ctx, id, due)
	case err != nil:
		return failed(err)
	case p.silence != nil:
		return timeout.Again(p.silence)
	case p.next != 0:
		return timeout.Reschedule(int64(p.next))
	}
	return timeout.Done()
}

// closingMoved reads what became of an order that was not as the task said.
func (s *Service) closingMoved(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	o, err := one(s.Store.Read(ctx).Where("id = ?", id))
	switch {
	case err != nil:
		return failed(err)
	case o.State != model.OrderPending || o.ClosingNextAt == nil:
		return timeout.Done()
	case *o.ClosingNextAt != due:
		return timeout.Reschedule(int64(*o.ClosingNextAt))
	}
	return timeout.Again(errMoved)
}

func (s *Service) column(kind, table, column, waiting string) timeout.Source {
	return deadline.NewColumn(s.Store, kind, table, column, waiting)
}
