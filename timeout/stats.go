package timeout

import (
	"context"
	"math"
	"time"
)

// Stats is a snapshot for people and for the panel.
type Stats struct {
	// Feed is "redis" or "sql".
	Feed string
	// Node is this replica; in flight, fired, retries, rescued and lateness
	// are its own.
	Node string
	// Live names the replicas that live, as this one sees it; Shards is how
	// many of the shards are its own.
	Live   []string
	Shards int
	Now    time.Time
	Kinds  []KindStats
}

// KindStats is the state of one kind.
type KindStats struct {
	Kind string
	// Waiting counts deadlines that have not been acted on: of the source
	// where it is a Counter, else of what Redis (or else this process) holds.
	Waiting int64
	// Overdue counts those of them that are past, less the dead ones and
	// those that back off; without a Counter, those this process knows of.
	Overdue int64
	// InFlight counts tasks in the hands of handlers here.
	InFlight int64
	// Dead and BackingOff count rows of task_failures.
	Dead       int64
	BackingOff int64
	// Fired counts tasks handed to a handler since the start, Retries those
	// to be repeated after a failure or outage, Rescued those the sweep had
	// to find.
	Fired   int64
	Retries int64
	Rescued int64
	// Lateness from the deadline to the call of the handler, first calls only,
	// over the last hour (of its 4,096 newest at most).
	LatenessP50 time.Duration
	LatenessP99 time.Duration
}

// Stats takes a snapshot. It works before Start and after Stop, too. The error
// is the database's; the figures that need it are then zero.
func (e *Engine) Stats(ctx context.Context) (Stats, error) {
	mine := e.members.mine.Load()
	now := e.clock.Now()
	s := Stats{Feed: e.Feed(), Node: e.o.Node, Live: mine.live, Shards: len(mine.list), Now: now}
	dead, backingOff, err := e.failures.counts(ctx)
	e.mu.Lock()
	order, near := e.order, e.near
	e.mu.Unlock()
	for _, l := range order {
		k := KindStats{
			Kind: l.kind.Name, Dead: dead[l.kind.Name], BackingOff: backingOff[l.kind.Name],
			Fired: l.fired.Load(), Retries: l.retries.Load(), Rescued: l.rescued.Load(),
		}
		p := l.lateness.percentiles(now, 50, 99)
		k.LatenessP50, k.LatenessP99 = p[0], p[1]
		if near != nil {
			k.Waiting, k.InFlight, k.Overdue = near.counts(l)
		}
		if countErr := e.countWaiting(ctx, l, &k, now.UnixMilli()); countErr != nil && err == nil {
			err = countErr
		}
		s.Kinds = append(s.Kinds, k)
	}
	return s, err
}

// countWaiting asks who knows better than this process.
func (e *Engine) countWaiting(ctx context.Context, l *lane, k *KindStats, now int64) error {
	counter, ok := l.kind.Source.(Counter)
	if !ok {
		if e.store != nil {
			if n, err := e.store.count(ctx, l.kind.Name); err == nil {
				k.Waiting = n
			}
		}
		return nil
	}
	waiting, err := counter.Count(ctx, math.MaxInt64)
	if err != nil {
		return err
	}
	overdue, err := counter.Count(ctx, now)
	if err != nil {
		return err
	}
	k.Waiting, k.Overdue = waiting, max(0, overdue-k.Dead-k.BackingOff)
	return nil
}
