package timeout

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	// sweepGrace is how overdue a task must be before the sweep takes it, and
	// sweepForeign the same for shards of other replicas without Redis.
	sweepGrace   = 2 * time.Second
	sweepForeign = 10 * time.Second
)

// sweep compensates for everything above it: on a schedule of its own it
// reads what is overdue and hands it to the handler. When all is well it finds
// nothing.
func (e *Engine) sweep(ctx context.Context) {
	c := cron.New(cron.WithLogger(cron.DiscardLogger))
	// The specifications are constant and correct.
	_, _ = c.AddFunc("@every 30s", func() { e.sweepAll(ctx) })
	_, _ = c.AddFunc("@every 1s", func() {
		if e.feed() == feedSQL {
			e.sweepAll(ctx)
		}
	})
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
}

// sweepAll sweeps all kinds at once; a kind that is still being swept is left.
func (e *Engine) sweepAll(ctx context.Context) {
	if !e.db.closed() {
		return
	}
	var all sync.WaitGroup
	for _, l := range e.order {
		if !l.sweeping.TryLock() {
			continue
		}
		all.Go(func() {
			defer l.sweeping.Unlock()
			e.guarded(ctx, "sweep", func(ctx context.Context) time.Duration {
				e.sweepKind(ctx, l)
				return 0
			})
		})
	}
	all.Wait()
}

// sweepKind makes one pass in key order, without locks.
func (e *Engine) sweepKind(ctx context.Context, l *lane) {
	defer e.metrics.check("sweep")()
	before := l.rescued.Load()
	until := e.clock.Now().Add(-sweepGrace).UnixMilli()
	_, _, err := e.scan(ctx, l, Cursor{}, until, everyPage, func(tasks []Task, rows map[string]*Failure) error {
		items := e.near.adopt(l, e.sweepable(tasks, rows))
		for len(items) > 0 {
			n := min(len(items), l.kind.Batch)
			if !e.db.closed() || ctx.Err() != nil {
				e.near.finish(l, items...)
				return ctx.Err()
			}
			e.runBatch(l, items[:n])
			items = items[n:]
		}
		return nil
	})
	e.complain(ctx, "a source could not be swept", err, "kind", l.kind.Name)
	if n := l.rescued.Load() - before; n > 0 {
		e.log.LogAttrs(ctx, slog.LevelWarn, "the sweep found overdue tasks", slog.String("kind", l.kind.Name), slog.Int64("tasks", n))
	}
}

// sweepable leaves out what is dead, backs off, or without Redis is another
// replica's for the moment.
func (e *Engine) sweepable(tasks []Task, rows map[string]*Failure) []Task {
	now := e.clock.Now().UnixMilli()
	foreign := now - sweepForeign.Milliseconds()
	var overdue []Task
	for _, t := range tasks {
		row := rows[t.Key]
		if row.appliesTo(t.Due) && (row.DeadAt != 0 || row.NextAt > now) {
			continue
		}
		if e.feed() == feedSQL && t.Due > foreign && !e.members.owns(shardOf(t.Key, e.o.Shards)) {
			continue
		}
		overdue = append(overdue, t)
	}
	return overdue
}
