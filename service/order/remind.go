package order

import (
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// remind reminds shoppers of orders that they have not paid: the message is the reminder, and the change that clears the deadline
// makes it once. Who cannot pay any more is not reminded.
func (s *Service) remind() timeout.Handler {
	return s.stageDue(stage{
		kind: KindRemind, column: "remind_at",
		waits: func(o *model.Order) bool { return o.State == model.OrderPending && o.ClosingReason == nil },
		act: func(tx *store.Tx, now model.Time, due []*model.Order) (map[int64]timeout.Outcome, error) {
			var late, remind []*model.Order
			for _, o := range due {
				if o.PayDeadline <= now {
					late = append(late, o)
				} else {
					remind = append(remind, o)
				}
			}
			if err := s.moveDue(tx, KindRemind, "remind_at", nil, now, late); err != nil || len(remind) == 0 {
				return nil, err
			}
			return nil, s.changeDue(tx, change{
				to: model.OrderPending, topic: TopicReminder, kind: KindRemind, actor: ActorTimeout, reason: "reminded to pay", at: now,
				set: map[string]any{"remind_at": nil},
			}, "remind_at", remind)
		},
	})
}
