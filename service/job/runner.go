package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	pollEvery = time.Second
	// leaseFor is how long a replica has a job to itself; every step renews it. A killed replica's job goes on elsewhere when it has ended.
	leaseFor = 10 * time.Second
	// maxActive jobs are worked on by one replica at once, in turns, so that a long export does not hold up a short file.
	maxActive = 4
	// turnSteps is how many rows of a file a job does before the next one's turn.
	turnSteps  = 20
	stepLimit  = 2 * time.Minute
	cleanEvery = time.Hour
)

// errLater says that a step could not be done now and says nothing against the job.
var errLater = errors.New("job: later")

// work is what one job does.
type work interface {
	// next reads up to the next step of the job, outside any transaction; nil at the end.
	next(ctx context.Context, j *model.Job) (*step, error)
}

// step is one row of a job, or one part of an export.
type step struct {
	line    int64
	subject string
	rows    int64        // that it does
	cursor  store.Cursor // where the next step begins; zero leaves it
	wrong   error        // what was found wrong already; there is no effect then
	effect  func(tx *store.Tx) (outcome, error)
	// within runs the transaction in which the step is written, for an effect that takes more than that transaction; nil for one that
	// does not.
	within func(ctx context.Context, write func(tx *store.Tx) error) error
}

// outcome is what a step did.
type outcome struct {
	code   string
	zh, en string
	bytes  int64
}

// task is a job that this replica works on.
type task struct {
	job  model.Job
	work work
}

// Runner does jobs: one goroutine on every replica, woken when a job was made here and looking each second for those of others.
type Runner struct {
	*Service

	poll, lease time.Duration
	active      []*task
	failing     bool

	loop  context.Context // ends looking and the turns
	stop  context.CancelFunc
	steps context.Context // ends the step under way
	force context.CancelFunc
	done  chan struct{}
	// crash, in tests, is asked before each commit whether to leave everything as a kill would.
	crash func(st *step) bool
}

// NewRunner makes a runner that is not running yet.
func NewRunner(s *Service) *Runner { return &Runner{Service: s, poll: pollEvery, lease: leaseFor} }

// Start begins to work.
func (r *Runner) Start(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	r.loop, r.stop = context.WithCancel(base)
	r.steps, r.force = context.WithCancel(base)
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.run()
	}()
	return nil
}

// Stop ends the work and returns when it has ended: steps under way are finished, jobs are left to other replicas. When ctx ends first
// the step is broken off, and the error returned.
func (r *Runner) Stop(ctx context.Context) error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	unhook := context.AfterFunc(ctx, r.force)
	<-r.done
	r.force()
	if !unhook() {
		return ctx.Err()
	}
	return nil
}

func (r *Runner) run() {
	poll, clean := time.NewTicker(r.poll), time.NewTicker(cleanEvery)
	defer poll.Stop()
	defer clean.Stop()
	look := true
	for !r.stopping() {
		err := r.turn(look)
		r.note(err)
		look = false
		busy := closed
		if err != nil || len(r.active) == 0 {
			busy = nil
		}
		select {
		case <-r.loop.Done():
		case <-r.wake:
			look = true
		case <-poll.C:
			look = true
		case <-clean.C:
			r.note(r.clean(r.loop))
		case <-busy:
		}
	}
	for _, t := range r.active {
		if err := r.release(r.steps, &t.job); err != nil {
			r.Log.Debug("a job waits for the end of its lease", "job", t.job.ID, "error", err)
		}
	}
	r.active = nil
}

// closed is a channel from which one never waits.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// stopping reports whether jobs are to be left to the next replica.
func (r *Runner) stopping() bool { return r.loop.Err() != nil }

func (r *Runner) note(err error) {
	if err != nil && !r.failing && !r.stopping() {
		r.Log.Warn("jobs are held up", "error", err)
	}
	r.failing = err != nil
}

// turn gives every job its turn, after taking more of them if it looks.
func (r *Runner) turn(look bool) error {
	for look && len(r.active) < maxActive {
		j, err := r.take(r.loop)
		if err != nil {
			return err
		}
		if j == nil {
			break
		}
		r.active = append(r.active, &task{job: *j})
	}
	var errs error
	r.active = slices.DeleteFunc(r.active, func(t *task) bool {
		if r.stopping() {
			return false
		}
		more, err := r.takeSteps(t)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("job %d: %w", t.job.ID, err))
		}
		return !more
	})
	return errs
}

// stepsOf is how many steps of a job are done before the next one's turn: few where one takes long, as a part of an export does, or
// a re-timing that asks WeChat.
func stepsOf(kind model.JobKind) int {
	if kind.Exports() || kind == model.JobRetime {
		return 1
	}
	return turnSteps
}

// takeSteps does some steps of a job; more is false when this replica is through with it. An error is nothing against the job.
func (r *Runner) takeSteps(t *task) (more bool, err error) {
	for range stepsOf(t.job.Kind) {
		if r.stopping() {
			return true, nil
		}
		ctx, cancel := context.WithTimeout(r.asAdmin(r.steps, &t.job), stepLimit)
		more, err = r.step(ctx, t)
		cancel()
		if !more {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, errLost), errors.Is(err, errCrash):
		return more && err == nil, nil
	case r.steps.Err() != nil || errors.Is(err, errLater) || store.IsUnavailable(err) || store.IsConflict(err):
		return false, errors.Join(err, r.release(context.WithoutCancel(r.steps), &t.job))
	}
	level := slog.LevelWarn
	if fault.CodeOf(err) == fault.InternalError {
		level = slog.LevelError
	}
	r.Log.Log(context.WithoutCancel(r.steps), level, "a job failed", "job", t.job.ID, "kind", t.job.Kind, "error", err)
	if err := r.end(r.steps, &t.job, model.JobFailed, string(fault.CodeOf(err))); err != nil && !errors.Is(err, errLost) {
		return false, err // it will fail again
	}
	return false, nil
}

// asAdmin has the change log name the admin who asked for a job as who makes its changes.
func (r *Runner) asAdmin(ctx context.Context, j *model.Job) context.Context {
	id, _ := strconv.ParseInt(strings.TrimPrefix(j.Actor, "admin:"), 10, 64) // 0 for who is no admin
	return changelog.Begin(ctx, &changelog.Call{
		Action: "admin-post-jobs-" + strings.ReplaceAll(string(j.Kind), "_", "-"), AdminID: id, AdminName: j.ActorName, MerchantID: j.MerchantID,
		RequestID: fmt.Sprintf("job-%d", j.ID), Now: r.Now,
	})
}

// step does one step of a job.
func (r *Runner) step(ctx context.Context, t *task) (more bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("a job panicked", "job", t.job.ID, "panic", p, "stack", string(debug.Stack()))
			more, err = false, fault.Wrap(fault.InternalError, fmt.Errorf("panic: %v", p))
		}
	}()
	if t.work == nil {
		if t.work, err = r.begin(ctx, &t.job); err != nil {
			return false, err
		}
	}
	if t.job.Kind.Exports() { // reading a part and keeping it may take as long as a step may
		if err := r.renew(ctx, &t.job, stepLimit); err != nil {
			return false, err
		}
	}
	st, err := t.work.next(ctx, &t.job)
	if err != nil {
		return false, err
	}
	if st == nil {
		return false, r.end(ctx, &t.job, model.JobDone, "")
	}
	failpoint.Hit("job.read")
	if err = st.wrong; err == nil {
		err = r.commit(ctx, t, st, nil)
	}
	if own(err) {
		if fault.CodeOf(err) == fault.InternalError {
			r.Log.Error("a row of a job failed", "job", t.job.ID, "line", st.line, "error", err)
		}
		err = r.commit(ctx, t, st, err)
	}
	return err == nil, err
}

// own reports whether an error is the row's own: it is then its result.
func own(err error) bool {
	return err != nil && !errors.Is(err, errLost) && !errors.Is(err, errCrash) && !errors.Is(err, errLater) &&
		!errors.Is(err, context.Canceled) && !store.IsUnavailable(err) && !store.IsConflict(err)
}

// errCrash is what a test's kill looks like from inside.
var errCrash = errors.New("job: killed")

// commit writes a step with its effect and its result, or with what went wrong.
func (r *Runner) commit(ctx context.Context, t *task, st *step, wrong error) error {
	within := st.within
	if within == nil || wrong != nil {
		within = r.Store.Tx
	}
	var next model.Job
	err := within(ctx, func(tx *store.Tx) error {
		next = t.job
		if err := r.advance(tx, &next, st, wrong != nil); err != nil {
			return err
		}
		row := model.JobRow{JobID: next.ID, RowNo: next.Step, State: model.JobRowOK, Line: st.line, Subject: shorten(st.subject, 200)}
		if wrong != nil {
			row.State, row.Outcome = model.JobRowFailed, string(fault.CodeOf(wrong))
			row.TextZH, row.TextEN = describe(wrong)
		} else {
			out, err := st.effect(tx)
			if err != nil {
				return err
			}
			row.Outcome, row.TextZH, row.TextEN, row.Bytes = out.code, out.zh, out.en, out.bytes
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		failpoint.Hit("job.written")
		if r.crash != nil && r.crash(st) {
			return errCrash
		}
		return nil
	})
	if err == nil {
		failpoint.Hit("job.committed")
		t.job = next
	}
	return err
}

// begin makes the work of a job that was taken.
func (r *Runner) begin(ctx context.Context, j *model.Job) (work, error) {
	switch j.Kind {
	case model.JobShipBatch:
		return r.beginShip(ctx, j)
	case model.JobProductImport:
		return r.beginImport(ctx, j)
	case model.JobProductExport:
		return r.beginProductExport(ctx, j)
	case model.JobOrderExport:
		return r.beginOrderExport(ctx, j)
	case model.JobRetime:
		return r.beginRetime(ctx, j)
	}
	// A newer version of the program made it, and one of its replicas will take it.
	return nil, fmt.Errorf("%w: kind %q is not known in this version", errLater, j.Kind)
}
