package order

import (
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// confirmPause is how long an order waits on whose refund or after-sale is still open when it is to be completed.
const confirmPause = 24 * time.Hour

// autoConfirm completes shipped orders that their shoppers have not confirmed in time.
func (s *Service) autoConfirm() timeout.Handler {
	return s.stageDue(stage{
		kind: KindConfirm, column: "confirm_due_at",
		waits: func(o *model.Order) bool { return o.State == model.OrderShipped },
		act: func(tx *store.Tx, now model.Time, due []*model.Order) (map[int64]timeout.Outcome, error) {
			disputed, err := disputed(tx, due)
			if err != nil {
				return nil, err
			}
			later, outcomes := now.Add(confirmPause), map[int64]timeout.Outcome{}
			var complete, wait []*model.Order
			for _, o := range due {
				if disputed[o.ID] {
					wait, outcomes[o.ID] = append(wait, o), timeout.Reschedule(int64(later))
				} else {
					complete = append(complete, o)
				}
			}
			if err := s.moveDue(tx, KindConfirm, "confirm_due_at", later, now, wait); err != nil || len(complete) == 0 {
				return outcomes, err
			}
			return outcomes, s.changeDue(tx, change{
				to: model.OrderCompleted, kind: KindConfirm, actor: ActorTimeout, reason: "auto", at: now, set: map[string]any{"completed_at": now},
			}, "confirm_due_at", complete)
		},
	})
}

// disputed returns which of the orders, which the caller has locked, have a refund of their goods or an after-sale that is open.
func disputed(tx *store.Tx, orders []*model.Order) (map[int64]bool, error) {
	ids := make([]int64, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	var open []int64
	err := tx.Raw(`SELECT order_id FROM refunds WHERE order_id IN ? AND kind <> ? AND state IN ?
		UNION SELECT order_id FROM aftersales WHERE order_id IN ? AND state IN ?`,
		ids, model.RefundLate, []model.RefundState{model.RefundPending, model.RefundProcessing, model.RefundAbnormal},
		ids, model.AftersalesOpen,
	).Scan(&open).Error
	there := make(map[int64]bool, len(open))
	for _, id := range open {
		there[id] = true
	}
	return there, err
}
