package timeout

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	// leaseTime is how far a claim pushes the score, leaseEvery how often a
	// live handler renews it, leaseHard how long it may do so.
	leaseTime  = 5 * time.Second
	leaseEvery = leaseTime / 3
	leaseHard  = 20 * time.Second
	// handleTime ends the handler's context before the claim can end.
	handleTime = leaseHard - time.Second
	// sweepForce is how far ahead a score must lie for the sweep, which knows
	// that the row is overdue, to call it wrong: further than any lease or
	// backoff.
	sweepForce = 2 * backoffCap
	// busyPause is after what time a task is tried again whose claim Redis
	// did not answer.
	busyPause = 100 * time.Millisecond
)

var errPastTwice = errors.New("timeout: rescheduled into the past twice")

// item is one task in the hands of a worker or the sweep.
type item struct {
	key     string
	due     int64 // its deadline, 0 if not known
	at      int64 // when it was to fire
	waits   int
	swept   bool
	rescued bool    // claimed only because the sweep knew better
	lease   float64 // the score of the claim, 0 without Redis
	whole   bool    // what the claim took in its shard is in this batch, all of it
	token   float64 // of a claim whose answer did not come, 0 if none is out
	failure *Failure
	outcome Outcome
}

// runBatch claims tasks of one kind, hands them over and stores what became
// of them. Every item leaves the process's hands exactly once, through
// near.finish or near.back.
func (e *Engine) runBatch(l *lane, items []*item) {
	ctx := e.force.ctx
	items = e.claim(ctx, l, items)
	if len(items) == 0 {
		return
	}
	failpoint.Hit("timeout.claimed")
	ctx, cancel := context.WithTimeout(ctx, handleTime)
	defer cancel()
	keeper := e.keep(ctx, cancel, l, items)
	e.decide(ctx, l, items)
	keeper.stop()
	failpoint.Hit("timeout.handled")
	e.settle(l, items)
	failpoint.Hit("timeout.acknowledged")
}

// claim returns the items that may run, and lets go of the others.
func (e *Engine) claim(ctx context.Context, l *lane, items []*item) []*item {
	if e.feed() == feedRedis {
		items = e.claimRedis(ctx, l, items)
		if e.feed() == feedRedis {
			return items
		}
	}
	// Without Redis the conditional update alone keeps replicas apart.
	now := e.clock.Now().UnixMilli()
	var mine []*item
	for _, it := range items {
		if it.at > now {
			e.near.back(l, it, it.at, false)
		} else {
			mine = append(mine, it)
		}
	}
	return mine
}

// claimRedis keeps what was claimed and, when Redis has just gone away, what
// could not be asked for.
func (e *Engine) claimRedis(ctx context.Context, l *lane, items []*item) []*item {
	asked := make([]claimRequest, len(items))
	token := e.tokens.next()
	for i, it := range items {
		if it.token == 0 {
			it.token = token
		}
		asked[i] = claimRequest{it.key, it.token}
	}
	epoch, force := e.members.epoch, time.Duration(0)
	if items[0].swept { // the sweep helps in every shard
		epoch, force = nil, sweepForce
	}
	now := e.clock.Now().UnixMilli()
	var mine []*item
	for i, c := range e.store.claim(ctx, l.kind.Name, asked, epoch, force) {
		it := items[i]
		if c.verdict != claimError {
			it.token = 0
		}
		switch {
		case c.verdict == claimTaken || c.verdict == claimRescued:
			it.lease, it.rescued = c.lease, c.verdict == claimRescued
			// One that was claimed by an earlier run may share its lease with
			// others that are not here.
			it.whole = c.before != 0
			if due := deadlineOf(c.before); due != 0 && !it.swept {
				it.due = due
			}
			mine = append(mine, it)
		case c.verdict == claimError && e.feed() == feedSQL:
			mine = append(mine, it)
		case c.verdict == claimError:
			e.near.back(l, it, now+busyPause.Milliseconds(), false)
		case c.verdict == claimEarly && c.ahead <= nearWindow.Milliseconds():
			e.near.back(l, it, now+c.ahead, false)
		default:
			e.near.finish(l, it)
		}
	}
	return mine
}

// decide gives every item its outcome.
func (e *Engine) decide(ctx context.Context, l *lane, items []*item) {
	rows, err := e.readFailures(ctx, l, items)
	if err != nil {
		for _, it := range items {
			it.outcome = Again(err)
		}
		return
	}
	now := e.clock.Now().UnixMilli()
	var run []*item
	for _, it := range items {
		it.failure = rows[it.key]
		switch {
		case !it.failure.appliesTo(it.due):
			run = append(run, it)
		case it.failure.DeadAt != 0:
			it.outcome = Outcome{verdict: verdictDead}
		case it.failure.NextAt > now:
			it.outcome = Outcome{verdict: verdictAhead, at: it.failure.NextAt}
		default:
			it.due = it.failure.Due
			run = append(run, it)
		}
	}
	e.handle(ctx, l, run)
}

func (e *Engine) readFailures(ctx context.Context, l *lane, items []*item) (map[string]*Failure, error) {
	keys := make([]string, len(items))
	for i, it := range items {
		keys[i] = it.key
	}
	return e.failures.read(ctx, l.kind.Name, keys)
}

// handle runs the items, and once more those that turned out to have another
// deadline which is past too.
func (e *Engine) handle(ctx context.Context, l *lane, run []*item) {
	if len(run) == 0 {
		return
	}
	ctx, span := e.o.Tracer.Start(ctx, "timeout."+l.kind.Name,
		trace.WithAttributes(attribute.Int("tasks", len(run))))
	defer func() {
		say(span, run)
		span.End()
	}()
	began := e.clock.Now()
	e.call(ctx, l, run)
	e.observe(l, run, began)
	var moved []*item
	now := e.clock.Now().UnixMilli()
	for _, it := range run {
		if it.outcome.verdict == verdictReschedule && it.outcome.at <= now {
			it.due = it.outcome.at
			moved = append(moved, it)
		}
	}
	if len(moved) == 0 {
		return
	}
	span.AddEvent("had another deadline, past too", trace.WithAttributes(attribute.Int("tasks", len(moved))))
	e.call(ctx, l, moved)
	for _, it := range moved {
		if it.outcome.verdict == verdictReschedule && it.outcome.at <= now {
			it.outcome = Again(errPastTwice)
		}
	}
}

// say tells a span how many tasks had which outcome. Texts of errors stay out
// of traces: they may tell of people.
func say(span trace.Span, run []*item) {
	if !span.IsRecording() {
		return
	}
	counts := map[string]int{}
	for _, it := range run {
		counts[it.outcome.String()]++
	}
	for outcome, n := range counts {
		span.SetAttributes(attribute.Int("tasks."+outcome, n))
	}
	if counts[Failed(nil).String()] > 0 {
		span.SetStatus(codes.Error, "tasks failed")
	}
}

// call has the handler decide the items, halving a batch that failed as a
// whole until the culprits stand alone.
func (e *Engine) call(ctx context.Context, l *lane, run []*item) {
	tasks := make([]Task, len(run))
	for i, it := range run {
		tasks[i] = Task{Kind: l.kind.Name, Key: it.key, Due: it.due}
		if it.due == 0 {
			tasks[i].Due = it.at
		}
	}
	outcomes := e.callHandler(ctx, l, tasks)
	allFailed := true
	for i, it := range run {
		it.outcome = e.judged(ctx, outcomes[i])
		allFailed = allFailed && it.outcome.verdict == verdictFailed
	}
	if !allFailed || len(run) == 1 || ctx.Err() != nil {
		return
	}
	half := len(run) / 2
	e.call(ctx, l, run[:half])
	e.call(ctx, l, run[half:])
}

// callHandler survives a panic and a wrong number of outcomes.
func (e *Engine) callHandler(ctx context.Context, l *lane, tasks []Task) (outcomes []Outcome) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("a handler panicked", "kind", l.kind.Name, "tasks", len(tasks), "panic", p, "stack", string(debug.Stack()))
			outcomes = All(tasks, Failed(fmt.Errorf("panic: %v", p)))
		}
	}()
	outcomes = l.kind.Handler.Handle(ctx, tasks)
	if len(outcomes) != len(tasks) {
		return All(tasks, Failed(fmt.Errorf("handler of %s gave %d outcomes for %d tasks", l.kind.Name, len(outcomes), len(tasks))))
	}
	return outcomes
}

// judged turns outcomes that blame a task for what is not its fault.
func (e *Engine) judged(ctx context.Context, o Outcome) Outcome {
	switch {
	case o.verdict == 0:
		return Failed(errors.New("handler gave no outcome"))
	case o.verdict != verdictFailed:
		return o
	case o.err == nil:
		return Failed(errors.New("failed without an error"))
	case ctx.Err() != nil || e.isOutage(o.err):
		return Again(o.err)
	}
	return o
}

// observe records how late first calls were made.
func (e *Engine) observe(l *lane, run []*item, began time.Time) {
	now := began.UnixMilli()
	late := make([]time.Duration, 0, len(run))
	for _, it := range run {
		stale := it.outcome.verdict == verdictReschedule && it.outcome.at <= now
		if it.failure == nil && it.due != 0 && !stale {
			d := max(began.Sub(time.UnixMilli(it.due)), 0)
			late = append(late, d)
			l.lateness.add(began, d)
			e.metrics.lateness.WithLabelValues(l.kind.Name).Observe(d.Seconds())
		}
	}
	l.history.fired(now, late...)
}

// keep renews the leases of the items until it is stopped, 20 s are over, or
// none of them is ours any more, which cancels the handler. A single one is
// lost whenever its task is cancelled or renewed meanwhile.
func (e *Engine) keep(ctx context.Context, cancel context.CancelFunc, l *lane, items []*item) *keeper {
	k := &keeper{quit: make(chan struct{})}
	if e.store == nil {
		return k
	}
	k.done.Go(func() {
		tick := time.NewTicker(leaseEvery)
		defer tick.Stop()
		for {
			select {
			case <-k.quit:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !e.renew(ctx, l, items) {
				cancel()
				return
			}
		}
	})
	return k
}

type keeper struct {
	quit chan struct{}
	done sync.WaitGroup
}

func (k *keeper) stop() {
	close(k.quit)
	k.done.Wait()
}

// renew moves the ends of the leases by leaseEvery and reports whether any is
// still held. The token of the claim, a fraction, stays in the score.
func (e *Engine) renew(ctx context.Context, l *lane, items []*item) bool {
	var held []*item
	var moves []settlement
	for _, it := range items {
		if it.lease != 0 {
			held = append(held, it)
			moves = append(moves, settlement{it.key, it.lease, it.lease + float64(leaseEvery.Milliseconds()), false})
		}
	}
	if len(held) == 0 {
		return true // claimed without Redis
	}
	ours, err := e.store.settle(ctx, l.kind.Name, moves)
	lost := 0
	for i, it := range held {
		switch {
		case !ours[i]:
			lost++
		case err == nil:
			it.lease = moves[i].next
		}
	}
	return lost < len(held)
}
