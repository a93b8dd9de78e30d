package notice

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Listed is a message with the number of its order.
type Listed struct {
	model.SubscribeMessage
	OrderNo string
}

// List returns a page of all messages, newest first, and how many there are; an empty state means all.
func (s *Service) List(ctx context.Context, state model.NoticeState, page store.Page) ([]Listed, int64, error) {
	count := s.Store.Read(ctx).Model(&model.SubscribeMessage{})
	if state != "" {
		count = count.Where("state = ?", state)
	}
	var total int64
	if err := count.Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var list []Listed
	err := s.listed(ctx, state).Order("id DESC").Offset(page.Offset()).Limit(page.Limit).Scan(&list).Error
	return list, total, store.Classify(err)
}

// ListAfter returns up to limit messages that follow the cursor, newest first, and the cursor of the next page; nil at the end. It
// costs the same at any depth.
func (s *Service) ListAfter(ctx context.Context, state model.NoticeState, after store.Cursor, limit int) ([]Listed, *store.Cursor, error) {
	rows := s.listed(ctx, state)
	if after != (store.Cursor{}) {
		rows = rows.Where("id < ?", after.ID)
	}
	var list []Listed
	if err := rows.Order("id DESC").Limit(limit + 1).Scan(&list).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	list, next := store.Cut(list, limit, func(m Listed) store.Cursor { return store.Cursor{At: m.CreatedAt, ID: m.ID} })
	return list, next, nil
}

func (s *Service) listed(ctx context.Context, state model.NoticeState) *gorm.DB {
	q := s.Store.Read(ctx).Table("subscribe_messages").
		Select("subscribe_messages.*, (SELECT no FROM orders WHERE id = subscribe_messages.order_id) AS order_no")
	if state != "" {
		q = q.Where("state = ?", state)
	}
	return q
}

// OfOrder returns the messages about an order, oldest first. The caller has seen that the order may be shown.
func (s *Service) OfOrder(ctx context.Context, orderID int64) ([]model.SubscribeMessage, error) {
	var rows []model.SubscribeMessage
	err := s.Store.Read(ctx).Where("order_id = ?", orderID).Order("id").Find(&rows).Error
	return rows, store.Classify(err)
}
