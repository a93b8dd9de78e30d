package notice

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// Subscribers write the messages to shoppers. The unique key of a message makes each have its effect once.
func (s *Service) Subscribers() []event.Subscriber {
	return []event.Subscriber{
		{Name: "notice-order-paid", Topic: order.TopicPaid, Handle: s.aboutOrder(EventPaid)},
		{Name: "notice-order-shipped", Topic: order.TopicShipped, Handle: s.aboutOrder(EventShipped)},
		{Name: "notice-order-expiring", Topic: order.TopicReminder, Handle: s.aboutOrder(EventExpiring)},
		{Name: "notice-order-closed", Topic: order.TopicClosed, Handle: s.aboutOrder(EventClosed)},
		{Name: "notice-refund-succeeded", Topic: payment.TopicRefundSucceeded, Handle: s.aboutRefund},
	}
}

// aboutOrder tells of a change of an order. Who cancelled is not told that they did, and an order that closed because everything
// was refunded is told of by its refund.
func (s *Service) aboutOrder(name string) func(context.Context, event.Message) error {
	return func(ctx context.Context, m event.Message) error {
		var about order.Changed
		if err := m.Decode(&about); err != nil {
			return err
		}
		if name == EventClosed && about.CloseReason != model.CloseTimeout && about.CloseReason != model.CloseMerchant {
			return nil
		}
		return s.write(ctx, model.SubscribeMessage{
			Event: name, Key: fmt.Sprintf("%s:%d", name, about.OrderID), ShopperID: about.ShopperID, MerchantID: about.MerchantID,
			OrderID: about.OrderID, CreatedAt: about.At,
		})
	}
}

// aboutRefund tells of a refund that succeeded, of a late payment too; goods that cost nothing come back without a word of money.
func (s *Service) aboutRefund(ctx context.Context, m event.Message) error {
	var about payment.RefundChanged
	if err := m.Decode(&about); err != nil || about.AmountFen == 0 {
		return err
	}
	var shopperID int64
	if err := s.Store.Read(ctx).Raw("SELECT shopper_id FROM orders WHERE id = ?", about.OrderID).Scan(&shopperID).Error; err != nil {
		return store.Classify(err)
	}
	if shopperID == 0 {
		return fmt.Errorf("refund %d has no order", about.RefundID)
	}
	return s.write(ctx, model.SubscribeMessage{
		Event: EventRefunded, Key: fmt.Sprintf("%s:%d", EventRefunded, about.RefundID), ShopperID: shopperID, MerchantID: about.MerchantID,
		OrderID: about.OrderID, RefundID: about.RefundID, CreatedAt: about.At,
	})
}

// write stores a message that is to be sent now, unless it is there already or the event's template is off.
func (s *Service) write(ctx context.Context, m model.SubscribeMessage) error {
	on, err := template(s.Store.Read(ctx), m.Event)
	if err != nil || on == nil {
		return err
	}
	// The id is written over itself: a duplicate then changes no row. INSERT IGNORE would hide other errors.
	onDuplicate := " ON DUPLICATE KEY UPDATE id = id"
	if s.Store.Dialect() == store.SQLite {
		onDuplicate = " ON CONFLICT DO NOTHING"
	}
	now := s.Now()
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected(`INSERT INTO subscribe_messages (event, notice_key, shopper_id, merchant_id, order_id, refund_id, state, next_at,
			calls, code, error, created_at, sent_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', '', ?, 0)`+onDuplicate,
			m.Event, m.Key, m.ShopperID, m.MerchantID, m.OrderID, m.RefundID, model.NoticeWaiting, now, m.CreatedAt)
		if err != nil || n == 0 {
			return err
		}
		var id int64
		if err := tx.Raw("SELECT id FROM subscribe_messages WHERE notice_key = ?", m.Key).Scan(&id).Error; err != nil {
			return err
		}
		tx.AfterCommit(func() { s.schedule(ctx, id, now) })
		return nil
	})
}

func (s *Service) schedule(ctx context.Context, id int64, at model.Time) {
	if err := s.Tasks.Schedule(ctx, deadline.Task(Kind, id, at)); err != nil {
		s.Log.WarnContext(ctx, "a subscribe message could not be scheduled; the database will be asked for it", "error", err, "id", id)
	}
}
