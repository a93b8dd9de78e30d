package order

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// stage is how the deadlines of one column of orders are acted on.
type stage struct {
	kind, column string
	// waits says whether the order is still in the stage.
	waits func(o *model.Order) bool
	// act acts on orders that are due, in one state, and returns outcomes that differ from done. errMoved undoes everything.
	act func(tx *store.Tx, now model.Time, due []*model.Order) (map[int64]timeout.Outcome, error)
}

// stageDue makes a handler that acts on a stage's tasks all in one transaction, which does everything or, where an order changed
// under it, nothing.
func (s *Service) stageDue(g stage) timeout.Handler {
	return timeout.HandlerFunc(func(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
		out, at, ids := sorted(tasks)
		var decided map[int64]timeout.Outcome
		err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
			decided, err = s.stageBatch(tx, g, tasks, at, ids)
			failpoint.Hit("stage.written")
			return err
		})
		failpoint.Hit("stage.committed")
		switch {
		case errors.Is(err, errMoved):
			return timeout.All(tasks, timeout.Again(err))
		case err != nil:
			return timeout.All(tasks, failed(err))
		}
		for id, o := range decided {
			out[at[id]] = o
		}
		if len(decided) < len(ids) {
			s.missing(ctx, "orders", ids, at, decided, out)
		}
		return out
	})
}

// sorted prepares a batch: the outcomes so far (locked by somebody else, until something better is known), where each id's task
// is, and the ids in the order in which rows are locked.
func sorted(tasks []timeout.Task) (out []timeout.Outcome, at map[int64]int, ids []int64) {
	out, at = make([]timeout.Outcome, len(tasks)), make(map[int64]int, len(tasks))
	for i, t := range tasks {
		id, err := orderID(t)
		if err != nil {
			out[i] = timeout.Failed(err)
			continue
		}
		at[id], out[i] = i, timeout.Again(errLocked)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return out, at, ids
}

func (s *Service) stageBatch(tx *store.Tx, g stage, tasks []timeout.Task, at map[int64]int, ids []int64) (map[int64]timeout.Outcome, error) {
	decided := make(map[int64]timeout.Outcome, len(ids))
	var orders, due, stray []*model.Order
	if err := tx.Raw("SELECT * FROM orders WHERE id IN ? ORDER BY id"+tx.SkipLocked(), ids).Scan(&orders).Error; err != nil {
		return nil, err
	}
	now := s.Now()
	for _, o := range orders {
		deadline := *stageColumns[g.column](o)
		decided[o.ID] = timeout.Done()
		switch {
		case deadline == nil:
		case !g.waits(o): // left by a replica of a version that knows nothing of stages
			stray = append(stray, o)
		case int64(*deadline) > tasks[at[o.ID]].Due: // after a backoff the task's is the later one
			decided[o.ID] = timeout.Reschedule(int64(*deadline))
		case free(o, now) != nil: // its price or deadline is being changed
			decided[o.ID] = timeout.Reschedule(int64(o.ClaimUntil))
		default:
			due = append(due, o)
		}
	}
	if err := s.moveDue(tx, g.kind, g.column, nil, now, stray); err != nil || len(due) == 0 {
		return decided, err
	}
	others, err := g.act(tx, now, due)
	maps.Copy(decided, others)
	return decided, err
}

// dueWith matches exactly the orders with the deadline of the column that they were read with.
func dueWith(column string, orders []*model.Order) (where string, args []any) {
	return deadlines(column, orders, func(o *model.Order) model.Time { return **stageColumns[column](o) })
}

// changeDue makes a change of orders whose deadline of the column has come.
func (s *Service) changeDue(tx *store.Tx, c change, column string, due []*model.Order) error {
	c.where, c.args = dueWith(column, due)
	ok, err := s.transition(tx, c, due...)
	if err == nil && !ok {
		return errMoved
	}
	return err
}

// moveDue sets a deadline column of orders to another value, without a change that anybody would have to know of.
func (s *Service) moveDue(tx *store.Tx, kind, column string, to any, now model.Time, due []*model.Order) error {
	if len(due) == 0 {
		return nil
	}
	where, args := dueWith(column, due)
	n, err := tx.Affected("UPDATE orders SET "+column+" = ?, updated_at = ? WHERE "+where, append([]any{to, now}, args...)...)
	if err != nil {
		return err
	}
	s.count(kind, len(due), n)
	if n != int64(len(due)) {
		return errMoved
	}
	return nil
}

// count feeds Deps.Rows.
func (s *Service) count(kind string, expected int, affected int64) {
	if s.Rows != nil && kind != "" {
		s.Rows(kind, int64(expected), affected)
	}
}
