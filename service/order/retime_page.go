package order

import (
	"context"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	retimePage = 200
	// followMargin is how long after a job began an order may still have been placed under the former version of its policy: the
	// time in which replicas follow, and a transaction lasts.
	followMargin = 5 * time.Second
)

// page is a stretch of the waiting orders on a job's way.
type page struct {
	by policy.Progress // what the page adds to the job, but for the orders that are changed one by one
	// whether there is more to come behind it.
	more bool
	// free are the ids of orders that are changed together, attempted those for which WeChat was called.
	free, attempted []int64
}

// plan reads the job's next page and sorts it. errStale means that the policy is not what the job is about any more.
func (r *Retimer) plan(ctx context.Context, job *model.RetimeJob, row model.TimeoutPolicy) (page, error) {
	if err := r.policies.Refresh(ctx); err != nil {
		return page{}, err
	}
	orders, err := r.waiting(ctx, job, row)
	if err != nil {
		return page{}, err
	}
	p := page{more: len(orders) == r.pageRows}
	now := r.orders.Now()
	for _, o := range orders {
		p.by.Seen++
		p.by.Due, p.by.ID = o.PayDeadline, o.ID
		d := r.policies.Resolve(policy.StagePay, policy.Query{MerchantID: o.MerchantID, OrderType: o.OrderType, BizLine: o.BizLine, OrderNo: o.No})
		if d.PolicyID != job.PolicyID {
			continue // another policy is more specific, or the order is not in the share
		}
		if d.Version != job.Version {
			return page{}, errStale
		}
		if _, moves := retimed(o, d, now); !moves {
			continue
		}
		switch {
		case retimable(o, now) != nil:
			p.by.Skipped++
		case o.FirstAttemptAt != nil:
			p.attempted = append(p.attempted, o.ID)
		default:
			p.free = append(p.free, o.ID)
		}
	}
	return p, nil
}

// errStale says that a policy was changed while orders were re-timed by it.
var errStale = errors.New("order: the policy was changed")

// waiting reads the next unpaid orders behind the job's cursor to which the policy may apply, without locks. Orders that have their
// deadline from this version already are left out, so that those that were moved are not seen again.
func (r *Retimer) waiting(ctx context.Context, job *model.RetimeJob, row model.TimeoutPolicy) ([]*model.Order, error) {
	q := r.orders.Store.Read(ctx).
		Where("state = ? AND closing_reason IS NULL", model.OrderPending).
		Where("pay_deadline >= ? AND (pay_deadline > ? OR id > ?)", job.CursorDue, job.CursorDue, job.CursorID).
		Where("created_at <= ? AND NOT (policy_id = ? AND policy_version = ?)", job.CreatedAt.Add(followMargin), job.PolicyID, job.Version)
	if row.MerchantID != 0 {
		q = q.Where("merchant_id = ?", row.MerchantID)
	}
	if row.OrderType != "" {
		q = q.Where("order_type = ?", row.OrderType)
	}
	if row.BizLine != "" {
		q = q.Where("biz_line = ?", row.BizLine)
	}
	var orders []*model.Order
	err := q.Order("pay_deadline, id").Limit(r.pageRows).Find(&orders).Error
	return orders, store.Classify(err)
}

// together moves the deadlines of the page's orders for which WeChat was never called, and the job's cursor behind the page, in one
// transaction. Orders that somebody else has hold of are skipped.
func (r *Retimer) together(ctx context.Context, job *model.RetimeJob, by retiming, p page) error {
	err := r.orders.Store.Tx(ctx, func(tx *store.Tx) error {
		step := p.by
		if len(p.free) > 0 {
			moved, err := r.orders.retimeFree(tx, p.free, by)
			if err != nil {
				return err
			}
			step.Changed += moved
			step.Skipped += int64(len(p.free)) - moved
		}
		err := r.policies.SaveRetime(tx, job, step)
		failpoint.Hit("retime.written")
		return err
	})
	failpoint.Hit("retime.committed")
	return err
}

// retimeFree moves the deadlines of those of the orders whose rows are free and that are still as they were seen, and returns how
// many those are.
func (s *Service) retimeFree(tx *store.Tx, ids []int64, by retiming) (int64, error) {
	var orders, move []*model.Order
	if err := tx.Raw("SELECT * FROM orders WHERE id IN ? ORDER BY id"+tx.SkipLocked(), ids).Scan(&orders).Error; err != nil {
		return 0, err
	}
	now := s.Now()
	for _, o := range orders {
		_, moves := retimed(o, by.decision, now)
		if moves && retimable(o, now) == nil && free(o, now) == nil && o.FirstAttemptAt == nil {
			move = append(move, o)
		}
	}
	if len(move) == 0 {
		return 0, nil
	}
	return int64(len(move)), s.setDeadlines(tx, by, now, "", move...)
}

// oneByOne moves the deadlines of the page's attempted orders, with a pause between them so that WeChat is not run over.
func (r *Retimer) oneByOne(ctx context.Context, job *model.RetimeJob, by retiming, p page) error {
	for _, id := range p.attempted {
		// Before the calls to WeChat, so that they end within the lease; and a job that was cancelled ends here.
		err := r.orders.Store.Tx(ctx, func(tx *store.Tx) error { return r.policies.SaveRetime(tx, job, policy.Progress{}) })
		if err != nil {
			return err
		}
		changed, err := r.orders.retimeAttempted(ctx, id, by, func(tx *store.Tx) error {
			return r.policies.SaveRetime(tx, job, policy.Progress{Seen: 1, Changed: 1})
		})
		failpoint.Hit("retime.moved")
		switch {
		case errors.Is(err, policy.ErrLeaseLost), ctx.Err() != nil, store.IsUnavailable(err):
			return errors.Join(err, ctx.Err())
		case err != nil: // paid, busy, WeChat silent: the order keeps the deadline it has
			r.orders.Log.InfoContext(ctx, "an order is not re-timed", "order", id, "job", job.ID, "why", err)
			p.by.Skipped++
		case changed: // seen in its own transaction, so that a kill between the two counts it once
			p.by.Seen--
		}
		if err := r.pause(ctx, r.attemptPause); err != nil {
			return err
		}
	}
	return r.together(ctx, job, by, p)
}
