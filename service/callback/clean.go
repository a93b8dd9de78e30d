package callback

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/service/store"
)

const (
	cleanRows = 1000
	// cleanBatches an hour is more than a shop of a hundred callbacks a second makes.
	cleanBatches = 400
	cleanPause   = 100 * time.Millisecond
)

func (r *Recorder) cleaned(ctx context.Context) {
	if err := r.clean(ctx); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "old callbacks could not be removed; tried again later", "error", err)
	}
}

// clean removes what is past the retention, in batches that hold no lock for long, with a pause after each. It goes on for some
// batches only: the queue waits meanwhile, and what is left goes an hour later.
func (r *Recorder) clean(ctx context.Context) error {
	before := r.Now().Add(-Retention)
	err := r.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("DELETE FROM wechat_callback_refusals WHERE hour < ?", before).Error
	})
	for range cleanBatches {
		if err != nil || ctx.Err() != nil {
			return err
		}
		var n int64
		err = r.Store.Tx(ctx, func(tx *store.Tx) error {
			var ids []int64
			err := tx.Raw("SELECT id FROM wechat_callbacks WHERE created_at < ? ORDER BY created_at, id LIMIT ?", before, cleanRows).Scan(&ids).Error
			if err != nil || len(ids) == 0 {
				return err
			}
			n, err = tx.Affected("DELETE FROM wechat_callbacks WHERE id IN ?", ids)
			return err
		})
		if n < cleanRows {
			return err
		}
		pause(ctx, cleanPause)
	}
	return err
}
