package job

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// errLost says that a job is not this replica's any more: it was cancelled, or the replica was too slow and another one works on it.
// Whatever the transaction did is rolled back.
var errLost = errors.New("job: not ours any more")

// take leases the oldest job that nobody works on; nil if there is none.
func (r *Runner) take(ctx context.Context) (*model.Job, error) {
	var waiting int64
	err := r.Store.Read(ctx).Raw("SELECT COUNT(*) FROM jobs WHERE state IN ? AND lease_until <= ?", model.JobsOpen, r.Now()).Scan(&waiting).Error
	if err != nil || waiting == 0 { // nearly always: no transaction for that
		return nil, store.Classify(err)
	}
	var job *model.Job
	err = r.Store.Tx(ctx, func(tx *store.Tx) error {
		job = nil
		var free []model.Job
		now := r.Now()
		err := tx.Raw("SELECT * FROM jobs WHERE state IN ? AND lease_until <= ? ORDER BY id LIMIT 1"+tx.SkipLocked(), model.JobsOpen, now).Scan(&free).Error
		if err != nil || len(free) == 0 {
			return err
		}
		next := free[0]
		next.State, next.LeaseToken, next.LeaseUntil, next.UpdatedAt = model.JobRunning, rand.Text(), now.Add(r.lease), now
		if next.StartedAt == 0 {
			next.StartedAt = now
		}
		n, err := tx.Affected("UPDATE jobs SET state = ?, lease_token = ?, lease_until = ?, started_at = ?, updated_at = ? WHERE id = ? AND state = ? AND lease_until <= ?",
			next.State, next.LeaseToken, next.LeaseUntil, next.StartedAt, next.UpdatedAt, next.ID, free[0].State, now)
		if err == nil && n == 1 {
			job = &next
		}
		return err
	})
	return job, err
}

// advance writes that a step of a job is done, in the transaction of the step and before its effect, and renews the lease. Until the
// transaction ends nobody can cancel the job or take it over. It fails with errLost.
func (r *Runner) advance(tx *store.Tx, j *model.Job, st *step, failed bool) error {
	now := r.Now()
	j.Step++
	j.Done += st.rows
	if failed {
		j.Failed += st.rows
	}
	if st.cursor != (store.Cursor{}) {
		j.CursorAt, j.CursorID = st.cursor.At, st.cursor.ID
	}
	j.LeaseUntil, j.UpdatedAt = now.Add(r.lease), now
	n, err := tx.Affected(`UPDATE jobs SET step = ?, done = ?, failed = ?, cursor_at = ?, cursor_id = ?, lease_until = ?, updated_at = ?
		WHERE id = ? AND state = ? AND lease_token = ? AND step = ?`,
		j.Step, j.Done, j.Failed, j.CursorAt, j.CursorID, j.LeaseUntil, j.UpdatedAt, j.ID, model.JobRunning, j.LeaseToken, j.Step-1)
	if err == nil && n == 0 {
		err = errLost
	}
	return err
}

// renew makes the lease last so long from now, for work that takes long before its step can be written. It fails with errLost.
func (r *Runner) renew(ctx context.Context, j *model.Job, d time.Duration) error {
	// Always later than before: an UPDATE that changes nothing counts as none.
	until := max(r.Now().Add(d), j.LeaseUntil+1)
	err := r.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE jobs SET lease_until = ? WHERE id = ? AND state = ? AND lease_token = ? AND step = ?",
			until, j.ID, model.JobRunning, j.LeaseToken, j.Step)
		if err == nil && n == 0 {
			err = errLost
		}
		return err
	})
	if err == nil {
		j.LeaseUntil = until
	}
	return err
}

// count writes how many rows a job without a file has.
func (r *Runner) count(ctx context.Context, j *model.Job, total int64) error {
	if total == j.Total {
		return nil
	}
	err := r.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE jobs SET total = ? WHERE id = ? AND state = ? AND lease_token = ?", total, j.ID, model.JobRunning, j.LeaseToken)
		if err == nil && n == 0 {
			err = errLost
		}
		return err
	})
	if err == nil {
		j.Total = total
	}
	return err
}

// end writes that a job is done, or failed and why.
func (r *Runner) end(ctx context.Context, j *model.Job, as model.JobState, why string) error {
	return r.Store.Tx(ctx, func(tx *store.Tx) error {
		ok, err := r.move(tx, j.ID, as, j.LeaseToken, why)
		if err == nil && !ok {
			err = errLost
		}
		return err
	})
}

// release gives a lease back early, so that another replica need not wait for its end.
func (r *Runner) release(ctx context.Context, j *model.Job) error {
	return r.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE jobs SET lease_until = 0 WHERE id = ? AND state = ? AND lease_token = ?", j.ID, model.JobRunning, j.LeaseToken).Error
	})
}
