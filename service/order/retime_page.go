package order

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

// followMargin is how long after a re-timing was asked for an order may still have been placed under the former version of its
// policy: the time in which replicas follow, and a transaction lasts.
const followMargin = 5 * time.Second

// RetimePage looks at the next waiting orders behind after, in the order of their deadlines and without locks, and returns those that
// the re-timing moves and where the next page begins; nil at the end. It decides by the policies in memory, which the caller has
// refreshed, and fails with stale_version where the re-timing's is not as it was any more.
func (s *Service) RetimePage(ctx context.Context, r Retiming, after store.Cursor, limit int) (moves []*model.Order, next *store.Cursor, err error) {
	orders, err := s.waiting(ctx, r, after, limit)
	if err != nil {
		return nil, nil, err
	}
	now := s.Now()
	for _, o := range orders {
		d := s.decide(policy.StagePay, o)
		if d.PolicyID != r.Policy.ID {
			continue // another policy is more specific, or the order is not in the share
		}
		if d.Version != r.Policy.Version {
			return nil, nil, fault.New(fault.StaleVersion)
		}
		if _, ok := retimed(o, r.duration(), now); ok && retimable(o, now) == nil {
			moves = append(moves, o)
		}
	}
	if len(orders) == limit {
		last := orders[limit-1]
		next = &store.Cursor{At: last.PayDeadline, ID: last.ID}
	}
	return moves, next, nil
}

// waiting reads the unpaid orders behind the cursor to which the policy may apply. Orders that have their deadline from this version
// already are left out, so that those that were moved are not seen again.
func (s *Service) waiting(ctx context.Context, r Retiming, after store.Cursor, limit int) ([]*model.Order, error) {
	q := s.Store.Read(ctx).Select(previewColumns+", first_attempt_at").
		Where("state = ? AND closing_reason IS NULL", model.OrderPending).
		Where("pay_deadline >= ? AND (pay_deadline > ? OR id > ?)", after.At, after.At, after.ID).
		Where("created_at <= ? AND NOT (policy_id = ? AND policy_version = ?)", r.AskedAt.Add(followMargin), r.Policy.ID, r.Policy.Version)
	if r.Policy.MerchantID != 0 {
		q = q.Where("merchant_id = ?", r.Policy.MerchantID)
	}
	if r.Policy.OrderType != "" {
		q = q.Where("order_type = ?", r.Policy.OrderType)
	}
	if r.Policy.BizLine != "" {
		q = q.Where("biz_line = ?", r.Policy.BizLine)
	}
	var orders []*model.Order
	err := q.Order("pay_deadline, id").Limit(limit).Find(&orders).Error
	return orders, store.Classify(err)
}
