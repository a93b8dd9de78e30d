package policy

import (
	"context"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// JobLease is how long a replica has a re-timing to itself; it renews it with everything it does. A killed replica's job goes on
// elsewhere when the lease has ended.
const JobLease = 30 * time.Second

// ErrLeaseLost says that a job is not this replica's any more: it was cancelled, or the replica was too slow and another one works
// on it. Whatever a transaction did beside must be rolled back.
var ErrLeaseLost = errors.New("policy: the re-timing is not ours any more")

// Refresh brings what changed into memory now, so that Resolve decides by it.
func (p *Policies) Refresh(ctx context.Context) error { return p.follower.Refresh(ctx) }

// Present returns the policy as it is stored; its version is 0 where it was removed.
func (p *Policies) Present(ctx context.Context, id int64) (model.TimeoutPolicy, error) {
	var row model.TimeoutPolicy
	err := p.store.Read(ctx).Raw("SELECT * FROM timeout_policies WHERE id = ? AND deleted_at = 0", id).Scan(&row).Error
	return row, store.Classify(err)
}

// TakeRetime leases the oldest job that runs and that nobody works on, under a token of the caller's; nil if there is none.
func (p *Policies) TakeRetime(ctx context.Context, token string) (*model.RetimeJob, error) {
	var waiting int64
	err := p.store.Read(ctx).Raw("SELECT COUNT(*) FROM retime_jobs WHERE state = ? AND lease_until <= ?", model.RetimeRunning, p.now()).Scan(&waiting).Error
	if err != nil || waiting == 0 { // nearly always: no transaction for that
		return nil, store.Classify(err)
	}
	var job *model.RetimeJob
	err = p.store.Tx(ctx, func(tx *store.Tx) error {
		job = nil
		var free []model.RetimeJob
		now := p.now()
		err := tx.Raw("SELECT * FROM retime_jobs WHERE state = ? AND lease_until <= ? ORDER BY id LIMIT 1"+tx.SkipLocked(), model.RetimeRunning, now).Scan(&free).Error
		if err != nil || len(free) == 0 {
			return err
		}
		until := now.Add(JobLease)
		n, err := tx.Affected("UPDATE retime_jobs SET lease_token = ?, lease_until = ?, updated_at = ? WHERE id = ? AND state = ? AND lease_until <= ?",
			token, until, now, free[0].ID, model.RetimeRunning, now)
		if err == nil && n == 1 {
			job = &free[0]
			job.LeaseToken, job.LeaseUntil = token, until
		}
		return err
	})
	return job, err
}

// Progress is what a step of a job adds to it.
type Progress struct {
	Seen, Changed, Skipped int64
	// Due and ID are of the last order that was looked at; 0 leaves the cursor where it is.
	Due model.Time
	ID  int64
	// End is what the job ends as; empty for a job that goes on. Error says why, for people.
	End   model.RetimeState
	Error string
}

// SaveRetime writes a step of a job in the transaction that made it, and renews the lease; job follows at the commit. It fails
// with ErrLeaseLost, also where the commit of a former step was answered by an error and yet happened.
func (p *Policies) SaveRetime(tx *store.Tx, job *model.RetimeJob, step Progress) error {
	next := *job
	now := p.now()
	next.Seen, next.Changed, next.Skipped = job.Seen+step.Seen, job.Changed+step.Changed, job.Skipped+step.Skipped
	// Always later than before: an UPDATE that changes nothing counts as none.
	next.UpdatedAt, next.LeaseUntil = now, max(now.Add(JobLease), job.LeaseUntil+1)
	if step.ID != 0 {
		next.CursorDue, next.CursorID = step.Due, step.ID
	}
	if step.End != "" {
		next.State, next.Error, next.EndedAt, next.LeaseUntil = step.End, step.Error, now, 0
	}
	n, err := tx.Affected(`UPDATE retime_jobs SET seen = ?, changed = ?, skipped = ?, cursor_due = ?, cursor_id = ?, state = ?, error = ?,
		lease_until = ?, updated_at = ?, ended_at = ? WHERE id = ? AND state = ? AND lease_token = ? AND seen = ? AND changed = ? AND skipped = ?`,
		next.Seen, next.Changed, next.Skipped, next.CursorDue, next.CursorID, next.State, next.Error, next.LeaseUntil, next.UpdatedAt, next.EndedAt,
		job.ID, model.RetimeRunning, job.LeaseToken, job.Seen, job.Changed, job.Skipped)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrLeaseLost
	}
	tx.AfterCommit(func() { *job = next })
	return nil
}

// ReleaseRetime gives a lease back early, so that another replica need not wait for its end.
func (p *Policies) ReleaseRetime(ctx context.Context, job *model.RetimeJob) error {
	return p.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE retime_jobs SET lease_until = 0 WHERE id = ? AND state = ? AND lease_token = ?",
			job.ID, model.RetimeRunning, job.LeaseToken).Error
	})
}
