package job

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/service/store"
)

const cleanJobs = 100

// clean removes jobs that ended long ago: first their files, so that a kill in between leaves nothing that nobody knows of, then their
// rows, and themselves.
func (r *Runner) clean(ctx context.Context) error {
	before := r.Now().Add(-KeepDays * 24 * time.Hour)
	var ids []int64
	err := r.Store.Read(ctx).Raw("SELECT id FROM jobs WHERE ended_at > 0 AND ended_at < ? ORDER BY ended_at LIMIT ?", before, cleanJobs).Scan(&ids).Error
	if err != nil {
		return store.Classify(err)
	}
	for _, id := range ids {
		if err := r.Files.Remove(ctx, folder(id)); err != nil {
			return err
		}
		err := r.Store.Tx(ctx, func(tx *store.Tx) error {
			if err := tx.Exec("DELETE FROM job_rows WHERE job_id = ?", id).Error; err != nil {
				return err
			}
			return tx.Exec("DELETE FROM jobs WHERE id = ?", id).Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}
