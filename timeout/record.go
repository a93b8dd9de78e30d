package timeout

import (
	"context"
	"slices"
	"strings"
	"time"
)

const (
	// recordEvery is how often a replica notes what it did and how it is.
	recordEvery = 2 * time.Second
	// recordKeep is how long lateness by the minute is kept, and
	// recordKeepCoarse by longer periods.
	recordKeep       = 24 * time.Hour
	recordKeepCoarse = 7 * 24 * time.Hour
	// recordClean is how often what is older is deleted, recordCleanStep how
	// much of it at once, so that none of the deletions is a long one.
	recordClean     = time.Minute
	recordCleanStep = 6 * time.Hour
	recordRows      = 100
)

// record notes, off the path of firing, what this replica did and how it is:
// the history of lateness and the list of replicas are read from there.
func (e *Engine) record(ctx context.Context) {
	var cleaned time.Time
	e.loop(ctx, "record", nil, func(ctx context.Context) time.Duration {
		if !e.db.closed() {
			return recordEvery
		}
		e.complain(ctx, "what was done could not be noted", e.recordOnce(ctx))
		if time.Since(cleaned) >= recordClean {
			cleaned = time.Now()
			e.complain(ctx, "old notes could not be deleted", e.recordForget(ctx))
		}
		return recordEvery
	})
}

// recordOnce writes this replica's rows.
func (e *Engine) recordOnce(ctx context.Context) error {
	now := e.clock.Now().UnixMilli()
	err := e.failures.do(ctx, func(ctx context.Context) error { return e.recordSelf(ctx, now) })
	for _, l := range e.order {
		if err != nil {
			return err
		}
		spans := l.history.changed(now)
		if err = e.recordSpans(ctx, l.kind.Name, spans); err != nil {
			l.history.again(spans)
		}
	}
	return err
}

func (e *Engine) recordSelf(ctx context.Context, now int64) error {
	var inFlight int64
	for _, l := range e.order {
		_, n, _ := e.near.counts(l)
		inFlight += n
	}
	_, err := e.o.DB.ExecContext(ctx, "REPLACE INTO timeout_replicas (node, started_at, noted_at, shards, feed, in_flight, clock_offset_us, clock_source, clock_difference_us)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.o.Node, e.began, now, len(e.members.owned()), e.Feed(), inFlight,
		e.clock.drift().Microseconds(), e.clock.source(), e.clock.difference().Microseconds())
	return err
}

// recordSpans writes periods of one kind as this replica knows them, whole.
func (e *Engine) recordSpans(ctx context.Context, kind string, spans map[span]Lateness) error {
	all := make([]span, 0, len(spans))
	for s := range spans {
		all = append(all, s)
	}
	for part := range slices.Chunk(all, recordRows) {
		var args []any
		for _, s := range part {
			l := spans[s]
			args = append(args, s.grain, s.begin, kind, e.o.Node, l.Fired, l.Rescued, l.Max.Microseconds(), l.text())
		}
		query := "REPLACE INTO timeout_lateness (grain_ms, begin_at, kind, node, fired, rescued, max_us, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)" +
			strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?)", len(part)-1)
		err := e.failures.do(ctx, func(ctx context.Context) error {
			_, err := e.o.DB.ExecContext(ctx, query, args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recordForget deletes the oldest of what is not kept any longer.
func (e *Engine) recordForget(ctx context.Context) error {
	now := e.clock.Now()
	return e.failures.do(ctx, func(ctx context.Context) error {
		for _, grain := range grains {
			keep := recordKeepCoarse
			if grain == Minute {
				keep = recordKeep
			}
			end := now.Add(-keep).UnixMilli()
			var oldest int64
			err := e.o.DB.QueryRowContext(ctx, "SELECT COALESCE(MIN(begin_at), ?) FROM timeout_lateness WHERE grain_ms = ?", end, grain.Milliseconds()).Scan(&oldest)
			if err != nil {
				return err
			}
			if oldest >= end {
				continue
			}
			_, err = e.o.DB.ExecContext(ctx, "DELETE FROM timeout_lateness WHERE grain_ms = ? AND begin_at < ?",
				grain.Milliseconds(), min(end, oldest+recordCleanStep.Milliseconds()))
			if err != nil {
				return err
			}
		}
		_, err := e.o.DB.ExecContext(ctx, "DELETE FROM timeout_replicas WHERE noted_at < ?", now.Add(-memberForget).UnixMilli())
		return err
	})
}

// recordEnd notes what is left at a stop, and that this replica is gone.
func (e *Engine) recordEnd() {
	if !e.db.closed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = e.recordOnce(ctx)
	_ = e.failures.do(ctx, func(ctx context.Context) error {
		_, err := e.o.DB.ExecContext(ctx, "DELETE FROM timeout_replicas WHERE node = ?", e.o.Node)
		return err
	})
}
