package event

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Retention is how long messages that were sent or skipped, and their receipts, are kept.
const Retention = 7 * 24 * time.Hour

const cleanRows = 1000

// clean removes what is older than the retention, in batches that hold no lock for long. A receipt goes only after its message:
// one that is still waiting, or dead, may be delivered again.
func (r *Relay) clean(ctx context.Context) error {
	before := r.now().Add(-Retention)
	for _, state := range []model.MessageState{model.MessageSent, model.MessageSkipped} {
		err := r.batches(ctx, func(tx *store.Tx) (int64, error) {
			var ids []int64
			err := tx.Raw("SELECT id FROM messages WHERE state = ? AND due_at < ? ORDER BY due_at, id LIMIT ?",
				state, before, cleanRows).Scan(&ids).Error
			if err != nil || len(ids) == 0 {
				return 0, err
			}
			return tx.Affected("DELETE FROM messages WHERE id IN ? AND state = ?", ids, state)
		})
		if err != nil {
			return err
		}
	}
	return r.batches(ctx, func(tx *store.Tx) (int64, error) {
		var rows []model.SubscriberReceipt
		err := tx.Raw(`SELECT subscriber, message_id FROM subscriber_receipts r
			WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = r.message_id)
			ORDER BY created_at LIMIT ?`, before, cleanRows).Scan(&rows).Error
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		keys := make([][]any, len(rows))
		for i, row := range rows {
			keys[i] = []any{row.Subscriber, row.MessageID}
		}
		return tx.Affected("DELETE FROM subscriber_receipts WHERE (subscriber, message_id) IN ?", keys)
	})
}

// batches repeats a transaction until it removes less than a full batch.
func (r *Relay) batches(ctx context.Context, remove func(tx *store.Tx) (int64, error)) error {
	for ctx.Err() == nil {
		var n int64
		err := r.store.Tx(ctx, func(tx *store.Tx) (err error) {
			n, err = remove(tx)
			return err
		})
		if err != nil || n < cleanRows {
			return err
		}
	}
	return ctx.Err()
}
