package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// shipOverdue marks paid orders that were not shipped in time; shipping or closing them takes the mark away.
func (s *Service) shipOverdue() timeout.Handler {
	return s.stageDue(stage{
		kind: KindShip, column: "ship_due_at",
		waits: func(o *model.Order) bool { return o.State == model.OrderPaid },
		act: func(tx *store.Tx, now model.Time, due []*model.Order) (map[int64]timeout.Outcome, error) {
			return nil, s.changeDue(tx, change{
				to: model.OrderPaid, topic: TopicOverdue, kind: KindShip, actor: ActorTimeout, reason: "not shipped in time", at: now,
				set: map[string]any{"ship_due_at": nil, "ship_overdue_at": now},
			}, "ship_due_at", due)
		},
	})
}

func (s *Service) alarmOverdue(ctx context.Context, m event.Message) error {
	var late Changed
	if err := m.Decode(&late); err != nil {
		return err
	}
	s.Log.WarnContext(ctx, "an order was not shipped in time", "order", late.No, "merchant", late.MerchantID)
	return nil
}
