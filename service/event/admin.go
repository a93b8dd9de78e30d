package event

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Filter narrows the list to a merchant's messages; empty fields are all.
type Filter struct {
	MerchantID int64
	State      model.MessageState
	Topic      string
	Key        string
}

// Listed is a message with how many wait behind it, if it is dead.
type Listed struct {
	model.Message
	Blocks int64 `gorm:"-"`
}

// Cursor returns the place of the message in the list.
func (l Listed) Cursor() store.Cursor { return store.Cursor{At: l.CreatedAt, ID: l.ID} }

func (r *Relay) filtered(ctx context.Context, f Filter) *gorm.DB {
	q := r.store.Read(ctx).Model(&model.Message{}).Where("merchant_id = ?", f.MerchantID)
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.Topic != "" {
		q = q.Where("topic = ?", f.Topic)
	}
	if f.Key != "" {
		q = q.Where("msg_key = ?", f.Key)
	}
	return q
}

// List returns a page of messages, newest first, and how many there are.
func (r *Relay) List(ctx context.Context, f Filter, page store.Page) ([]Listed, int64, error) {
	var total int64
	if err := r.filtered(ctx, f).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []Listed
	err := r.filtered(ctx, f).Order("id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	return rows, total, r.blocked(ctx, rows)
}

// ListAfter returns up to limit messages that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (r *Relay) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]Listed, *store.Cursor, error) {
	q := r.filtered(ctx, f)
	if after != (store.Cursor{}) {
		q = q.Where("id < ?", after.ID)
	}
	var rows []Listed
	if err := q.Order("id DESC").Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, Listed.Cursor)
	return rows, next, r.blocked(ctx, rows)
}

// blocked counts what waits behind the dead ones of a page.
func (r *Relay) blocked(ctx context.Context, rows []Listed) error {
	var dead []int64
	for _, row := range rows {
		if row.State == model.MessageDead {
			dead = append(dead, row.ID)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	var counts []struct{ ID, N int64 }
	err := r.store.Read(ctx).Raw(`SELECT d.id, COUNT(*) AS n FROM messages d JOIN messages m ON m.msg_key = d.msg_key AND m.seq > d.seq
		WHERE d.id IN ? AND m.state = 'pending' GROUP BY d.id`, dead).Scan(&counts).Error
	for _, c := range counts {
		for i := range rows {
			if rows[i].ID == c.ID {
				rows[i].Blocks = c.N
			}
		}
	}
	return store.Classify(err)
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
		err = changelog.Record(tx, changelog.Message, id,
			map[string]any{"merchant_id": merchantID, "state": model.MessageDead}, map[string]any{"state": to, "topic": row.Topic, "key": row.Key})
		if err != nil {
			return err
		}
		if to == model.MessageSkipped {
			return nextDue(tx, []string{row.Key}, now)
		}
		return nil
	})
	return row, err
}
