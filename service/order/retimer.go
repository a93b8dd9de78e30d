package order

import (
	"context"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

// Retimer does the re-timings that people asked for: on every replica one goroutine looks each second for a job that nobody works
// on. A job is leased, goes through the waiting orders in pages, and keeps its cursor in the transaction of each page, so that a
// replica that takes it over after a kill goes on where the other one was.
type Retimer struct {
	orders   *Service
	policies *policy.Policies

	// For tests: how many orders a page has, and the pauses between looks for jobs, pages and attempted orders.
	pageRows                           int
	lookEvery, pagePause, attemptPause time.Duration

	stop context.CancelFunc
	done chan struct{}
}

// NewRetimer makes a retimer that is not running yet.
func NewRetimer(orders *Service, policies *policy.Policies) *Retimer {
	return &Retimer{
		orders: orders, policies: policies, pageRows: retimePage,
		lookEvery: time.Second, pagePause: 100 * time.Millisecond, attemptPause: 50 * time.Millisecond,
	}
}

// Start begins to look for jobs. The policies must have been started.
func (r *Retimer) Start(ctx context.Context) error {
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
	return nil
}

// Stop ends the work and returns when it has ended; a job that was under way is left to other replicas. When ctx ends first its
// error is returned.
func (r *Retimer) Stop(ctx context.Context) error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Retimer) run(ctx context.Context) {
	failing := false
	for r.pause(ctx, r.lookEvery) == nil {
		err := r.work(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			r.orders.Log.Warn("orders are not re-timed for the moment", "error", err)
		}
		failing = err != nil
	}
}

// pause returns after d, or with the context's error when that ends.
func (r *Retimer) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work does the jobs that nobody works on, until there is none.
func (r *Retimer) work(ctx context.Context) error {
	for {
		job, err := r.policies.TakeRetime(ctx, newToken())
		if err != nil || job == nil {
			return err
		}
		if err := r.do(ctx, job); err != nil {
			return err
		}
	}
}

// do goes through a leased job to its end. On an error that says nothing against the job (an outage, a stop) the lease is given
// back and the job stays where it is; any other one ends it as failed.
func (r *Retimer) do(ctx context.Context, job *model.RetimeJob) error {
	err := r.pages(ctx, job)
	switch {
	case err == nil, errors.Is(err, policy.ErrLeaseLost):
		return nil
	case errors.Is(err, errStale):
		return r.end(ctx, job, model.RetimeCancelled, "the policy was changed; start again for its present version")
	case ctx.Err() != nil, store.IsUnavailable(err), store.IsConflict(err), errors.Is(err, errMoved):
		return errors.Join(err, r.policies.ReleaseRetime(context.WithoutCancel(ctx), job))
	}
	r.orders.Log.ErrorContext(ctx, "re-timing orders failed", "job", job.ID, "policy", job.PolicyID, "error", err)
	return r.end(ctx, job, model.RetimeFailed, string(fault.CodeOf(err)))
}

func (r *Retimer) end(ctx context.Context, job *model.RetimeJob, as model.RetimeState, why string) error {
	err := r.orders.Store.Tx(ctx, func(tx *store.Tx) error { return r.policies.SaveRetime(tx, job, policy.Progress{End: as, Error: why}) })
	if errors.Is(err, policy.ErrLeaseLost) {
		return nil
	}
	return err
}

func (r *Retimer) pages(ctx context.Context, job *model.RetimeJob) error {
	for {
		row, err := r.policies.Present(ctx, job.PolicyID)
		if err != nil {
			return err
		}
		if row.Version != job.Version {
			return errStale
		}
		p, err := r.plan(ctx, job, row)
		if err != nil {
			return err
		}
		if !p.more {
			p.by.End = model.RetimeDone
		}
		by := retiming{policy.Decision{Duration: time.Duration(row.DurationMS) * time.Millisecond, PolicyID: row.ID, Version: row.Version}, job.Actor}
		if err := r.oneByOne(ctx, job, by, p); err != nil || !p.more {
			return err
		}
		if err := r.pause(ctx, r.pagePause); err != nil {
			return err
		}
	}
}
