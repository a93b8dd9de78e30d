package event

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// List returns a page of a merchant's messages, newest first, and how many there are; an empty state means all.
func (r *Relay) List(ctx context.Context, merchantID int64, state model.MessageState, page store.Page) ([]model.Message, int64, error) {
	q := r.store.Read(ctx).Model(&model.Message{}).Where("merchant_id = ?", merchantID)
	if state != "" {
		q = q.Where("state = ?", state)
	}
	var total int64
	if err := q.Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Message
	err := q.Order("id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	return rows, total, store.Classify(err)
}

// Retry gives a merchant's dead message another round of attempts, from now. It fails with not_found, or with state_conflict
// where the message is not dead.
func (r *Relay) Retry(ctx context.Context, merchantID, id int64) (model.Message, error) {
	return r.revive(ctx, merchantID, id, model.MessagePending)
}

// Skip passes a dead message over for ever, and so lets the next one of its key go. It fails as Retry does.
func (r *Relay) Skip(ctx context.Context, merchantID, id int64) (model.Message, error) {
	return r.revive(ctx, merchantID, id, model.MessageSkipped)
}

// revive takes a message out of the dead ones.
func (r *Relay) revive(ctx context.Context, merchantID, id int64, to model.MessageState) (model.Message, error) {
	var row model.Message
	err := r.store.Tx(ctx, func(tx *store.Tx) error {
		now := r.now()
		n, err := tx.Affected("UPDATE messages SET state = ?, attempts = 0, due_at = ? WHERE id = ? AND merchant_id = ? AND state IN ?",
			to, now, id, merchantID, model.MessageTransitions.From(to))
		if err != nil {
			return err
		}
		row = model.Message{}
		if err := tx.Where("id = ? AND merchant_id = ?", id, merchantID).Limit(1).Find(&row).Error; err != nil {
			return err
		}
		switch {
		case row.ID == 0:
			return fault.New(fault.NotFoundError)
		case n == 0:
			return fault.New(fault.StateConflict).Say("只有投递失败已停止的消息可以重试或跳过", "Only a dead message can be retried or skipped")
		}
		tx.AfterCommit(r.Wake)
		if to == model.MessageSkipped {
			return nextDue(tx, []string{row.Key}, now)
		}
		return nil
	})
	return row, err
}
