package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// errLocked is why a task is run again: somebody else has the order's row lock, and may be about to change it.
var errLocked = errors.New("order: locked by somebody else")

// closeDue acts on pay deadlines that have come. Orders for which WeChat was never called are closed here, all in one
// transaction; the others are only marked as closing, for the closing tasks take as long as WeChat does. The transaction does
// everything or, where an order changed under it, nothing.
func (s *Service) closeDue(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
	out, at, ids := sorted(tasks)
	var b batch
	err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		b, err = s.closeBatch(tx, tasks, at, ids)
		failpoint.Hit("due.written")
		return err
	})
	failpoint.Hit("due.committed")
	switch {
	case errors.Is(err, errMoved):
		return timeout.All(tasks, timeout.Again(err))
	case err != nil:
		return timeout.All(tasks, failed(err))
	}
	for id, o := range b.outcomes {
		out[at[id]] = o
	}
	if len(b.outcomes) < len(ids) {
		s.missing(ctx, "orders", ids, at, b.outcomes, out)
	}
	if len(b.marked) > 0 {
		closing := make([]timeout.Task, len(b.marked))
		for i, o := range b.marked {
			closing[i] = closingTask(o.ID, *o.ClosingNextAt)
		}
		s.schedule(ctx, closing...)
		failpoint.Hit("due.scheduled")
	}
	return out
}

// batch is what was decided about orders whose rows were free.
type batch struct {
	outcomes map[int64]timeout.Outcome
	close    []*model.Order // never attempted
	marked   []*model.Order // attempted
}

func (s *Service) closeBatch(tx *store.Tx, tasks []timeout.Task, at map[int64]int, ids []int64) (batch, error) {
	b := batch{outcomes: make(map[int64]timeout.Outcome, len(ids))}
	var orders []*model.Order
	if err := tx.Raw("SELECT * FROM orders WHERE id IN ? ORDER BY id"+tx.SkipLocked(), ids).Scan(&orders).Error; err != nil {
		return b, err
	}
	now := s.Now()
	for _, o := range orders {
		b.decide(o, tasks[at[o.ID]], now)
	}
	if err := s.mark(tx, b.marked, now); err != nil {
		return b, err
	}
	if len(b.close) == 0 {
		return b, nil
	}
	where, args := payDeadlines(b.close)
	ok, err := s.close(tx, change{
		kind: KindPay, actor: ActorTimeout, reason: string(model.CloseTimeout), at: now,
		where: "first_attempt_at IS NULL AND closing_reason IS NULL AND " + where, args: args,
	}, model.CloseTimeout, b.close...)
	if err == nil && !ok {
		return b, errMoved
	}
	return b, err
}

// decide sorts one order. Due-ness was judged at the claim of the task; a deadline that is not the task's is another task's
// business, except that after a backoff due is later than the deadline.
func (b *batch) decide(o *model.Order, t timeout.Task, now model.Time) {
	b.outcomes[o.ID] = timeout.Done()
	switch {
	case o.State != model.OrderPending, o.ClosingReason != nil:
	case int64(o.PayDeadline) > t.Due:
		b.outcomes[o.ID] = timeout.Reschedule(int64(o.PayDeadline))
	case free(o, now) != nil: // its price is being changed
		b.outcomes[o.ID] = timeout.Reschedule(int64(o.ClaimUntil))
	case o.FirstAttemptAt != nil:
		b.marked = append(b.marked, o)
	default:
		b.close = append(b.close, o)
	}
}

// mark sets attempted orders on their way to closed, due now.
func (s *Service) mark(tx *store.Tx, orders []*model.Order, now model.Time) error {
	if len(orders) == 0 {
		return nil
	}
	where, args := payDeadlines(orders)
	n, err := tx.Affected("UPDATE orders SET closing_reason = ?, closing_next_at = ?, updated_at = ? WHERE state = ? AND closing_reason IS NULL AND "+where,
		append([]any{model.CloseTimeout, now, now, model.OrderPending}, args...)...)
	if err != nil {
		return err
	}
	s.count(KindPay, len(orders), n)
	if n != int64(len(orders)) {
		return errMoved
	}
	reason := model.CloseTimeout
	for _, o := range orders {
		o.ClosingReason, o.ClosingNextAt = &reason, &now
	}
	return nil
}

// payDeadlines matches exactly the orders with the pay deadlines they were read with.
func payDeadlines(orders []*model.Order) (where string, args []any) {
	return deadlines("pay_deadline", orders, func(o *model.Order) model.Time { return o.PayDeadline })
}

// deadlines matches exactly the orders whose column is what due says.
func deadlines(column string, orders []*model.Order, due func(*model.Order) model.Time) (where string, args []any) {
	ids := make([]any, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	args = ids
	for _, o := range orders {
		args = append(args, o.ID, due(o))
	}
	return fmt.Sprintf("id IN (%s) AND %s = CASE id%s END", strings.Repeat(", ?", len(ids))[2:], column, strings.Repeat(" WHEN ? THEN ?", len(orders))), args
}

// missing tells rows that were locked, which are tried again, from rows that do not exist.
func (s *Service) missing(ctx context.Context, table string, ids []int64, at map[int64]int, decided map[int64]timeout.Outcome, out []timeout.Outcome) {
	var there []int64
	if err := s.Store.Read(ctx).Raw("SELECT id FROM "+table+" WHERE id IN ?", ids).Scan(&there).Error; err != nil {
		return // all of them are tried again
	}
	for _, id := range ids {
		if _, ok := decided[id]; !ok && !slices.Contains(there, id) {
			out[at[id]] = timeout.Done()
		}
	}
}
