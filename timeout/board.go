package timeout

import (
	"context"
	"fmt"
	"math"
	"time"
)

// HistoryQuery selects what all replicas did in whole periods of a grain
// (Minute, FiveMinutes or Hour) that begin in [From, To), in unix ms.
type HistoryQuery struct {
	Grain    time.Duration
	From, To int64
	Kind     string // "" means all
}

// History is how late deadlines were, all replicas together. What was done in
// the last two seconds may be missing.
type History struct {
	// Points has the periods in which anything was done, by their beginning.
	Points map[int64]*Lateness
	// Kinds has the same by kind, Total all of it.
	Kinds map[string]*Lateness
	Total Lateness
}

// History reads the history; by the minute it reaches back a day, else seven.
func (e *Engine) History(ctx context.Context, q HistoryQuery) (History, error) {
	h := History{Points: map[int64]*Lateness{}, Kinds: map[string]*Lateness{}}
	where, args := "grain_ms = ? AND begin_at >= ? AND begin_at < ?", []any{q.Grain.Milliseconds(), q.From, q.To}
	if q.Kind != "" {
		where, args = where+" AND kind = ?", append(args, q.Kind)
	}
	rows, err := e.o.DB.QueryContext(ctx, "SELECT begin_at, kind, fired, rescued, max_us, counts FROM timeout_lateness WHERE "+where, args...)
	if err != nil {
		return h, err
	}
	defer rows.Close()
	for rows.Next() {
		var begin, us int64
		var kind, counts string
		var l Lateness
		if err := rows.Scan(&begin, &kind, &l.Fired, &l.Rescued, &us, &counts); err != nil {
			return h, err
		}
		l.Max = time.Duration(us) * time.Microsecond
		l.parse(counts)
		h.add(begin, kind, &l)
	}
	return h, rows.Err()
}

func (h *History) add(begin int64, kind string, l *Lateness) {
	if h.Points[begin] == nil {
		h.Points[begin] = &Lateness{}
	}
	if h.Kinds[kind] == nil {
		h.Kinds[kind] = &Lateness{}
	}
	h.Points[begin].plus(l)
	h.Kinds[kind].plus(l)
	h.Total.plus(l)
}

// Replica is one process that fires deadlines. What was not noted yet, or by a
// version that does not note it, is zero.
type Replica struct {
	Node string
	// Live says that its last heartbeat is recent.
	Live bool
	// StartedAt and BeatAt are unix ms: its start, and its last heartbeat.
	StartedAt, BeatAt int64
	// Shards is how many it serves, Feed what feeds it, InFlight how many tasks
	// are in the hands of its handlers.
	Shards   int
	Feed     string
	InFlight int64
	// ClockOffset is the installation's clock less its machine's, ClockSource
	// where the former is taken from: redis, database or machine.
	ClockOffset time.Duration
	ClockSource string
	// ClockDifference is Redis' clock less the database's as it saw them.
	ClockDifference time.Duration
}

// Replicas lists the replicas heard of within the last hour that did not leave
// in an orderly way, and how many shards there are.
func (e *Engine) Replicas(ctx context.Context) (list []Replica, shards int, err error) {
	rows, err := e.o.DB.QueryContext(ctx, `SELECT m.node, m.seen_at, COALESCE(r.started_at, 0), COALESCE(r.shards, 0), COALESCE(r.feed, ''),
		COALESCE(r.in_flight, 0), COALESCE(r.clock_offset_us, 0), COALESCE(r.clock_source, ''), COALESCE(r.clock_difference_us, 0)
		FROM timeout_members m LEFT JOIN timeout_replicas r ON r.node = m.node ORDER BY m.node`)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	now := e.clock.Now().UnixMilli()
	for rows.Next() {
		var r Replica
		var offset, difference int64
		if err := rows.Scan(&r.Node, &r.BeatAt, &r.StartedAt, &r.Shards, &r.Feed, &r.InFlight, &offset, &r.ClockSource, &difference); err != nil {
			return nil, 0, err
		}
		r.ClockOffset, r.ClockDifference = time.Duration(offset)*time.Microsecond, time.Duration(difference)*time.Microsecond
		if r.Live = now-r.BeatAt < memberTime.Milliseconds(); !r.Live {
			r.Shards, r.InFlight = 0, 0 // they are others' by now
		}
		list = append(list, r)
	}
	return list, e.o.Shards, rows.Err()
}

// Ahead is what of a kind is still to come.
type Ahead struct {
	Kind string
	// Next is the nearest deadline that has not passed, 0 if there is none.
	Next int64
	// Minute and Hour count the deadlines of the next minute and hour.
	Minute, Hour int64
}

// Ahead looks ahead, in order of registration. Kinds whose source is no
// Counter have no counts.
func (e *Engine) Ahead(ctx context.Context) ([]Ahead, error) {
	now := e.clock.Now()
	out := make([]Ahead, len(e.order))
	for i, l := range e.order {
		a := &out[i]
		a.Kind = l.kind.Name
		tasks, err := l.kind.Source.Due(ctx, Cursor{Due: now.UnixMilli(), Key: lastKey}, math.MaxInt64, 1)
		if err != nil {
			return nil, err
		}
		if len(tasks) > 0 {
			a.Next = tasks[0].Due
		}
		counter, ok := l.kind.Source.(Counter)
		if !ok {
			continue
		}
		var counts [3]int64
		for n, until := range []time.Duration{0, time.Minute, time.Hour} {
			if counts[n], err = counter.Count(ctx, now.Add(until).UnixMilli()); err != nil {
				return nil, err
			}
		}
		a.Minute, a.Hour = max(0, counts[1]-counts[0]), max(0, counts[2]-counts[0])
	}
	return out, nil
}

// lastKey makes a cursor that lies behind every task of its instant whose key
// is an id in digits.
const lastKey = "9223372036854775807"

// Waiting reads a page of the tasks of a kind that wait, from a place in their
// order on. It fails with ErrUnknownKind.
func (e *Engine) Waiting(ctx context.Context, kind string, after Cursor, limit int) ([]Task, error) {
	l := e.lanes[kind]
	if l == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
	}
	return l.kind.Source.Due(ctx, after, math.MaxInt64, min(limit, MaxBatch))
}
