package timeout

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// lookEvery is how often the sources are read while Redis feeds, and
	// lookAhead how far ahead: whatever was lost in Redis is there again two
	// looks before it is due.
	lookEvery = 5 * time.Second
	lookAhead = 15 * time.Second
	// sqlEvery is how often the sources feed the wheel without Redis.
	sqlEvery = time.Second
	// lookFresh divides a look: from that long ago on everything is read every
	// time; the backlog before it in pieces of lookPages pages, so that a
	// mountain of dead tasks never hides what is due now.
	lookFresh = 10 * time.Second
	lookPages = 20
	everyPage = int(^uint(0) >> 1)
	// lookGroup is how many tasks are brought to Redis together.
	lookGroup = 4 * MaxBatch
	// lookBusy is the pause while a backlog is being read.
	lookBusy = 100 * time.Millisecond
	// sourceTimeout bounds the reading of one page.
	sourceTimeout = 10 * time.Second
)

// look reads the deadlines of a kind from its owner's table and puts what is
// missing where it belongs: into Redis, or without Redis into the process. Each
// kind has a loop of its own, so that a slow source delays nobody else.
func (e *Engine) look(ctx context.Context, l *lane) {
	e.loop(ctx, "look", l.lookKick, func(ctx context.Context) time.Duration { return e.lookOnce(ctx, l) })
}

// lookOnce looks, and says when to look again.
func (e *Engine) lookOnce(ctx context.Context, l *lane) time.Duration {
	to, next := feedRedis, lookEvery
	if e.feed() == feedSQL {
		to, next = feedSQL, sqlEvery
	}
	if !e.db.closed() {
		return sqlEvery
	}
	lost := l.lost.take()
	more, err := e.lookAt(ctx, l, to, lost)
	if err != nil {
		l.lost.add(lost)
	}
	e.complain(ctx, "a source could not be read", err, "kind", l.kind.Name)
	if more {
		return lookBusy
	}
	return next
}

// lookAt reads what is due soon or was due a moment ago, then a piece of the
// backlog before that. It reports whether there is more of the backlog and it
// is worth while to go on at once: not if there was nothing but the dead, or
// no room.
func (e *Engine) lookAt(ctx context.Context, l *lane, to feed, lost map[int]bool) (more bool, err error) {
	defer e.metrics.check("look")()
	now := e.clock.Now()
	until, fresh := now.Add(lookAhead).UnixMilli(), now.Add(-lookFresh).UnixMilli()
	if to == feedSQL {
		until = now.Add(nearWindow).UnixMilli()
	}
	found := finding{lane: l, to: to, lost: lost}
	page := func(tasks []Task, rows map[string]*Failure) error { return e.find(ctx, &found, tasks, rows) }
	if _, _, err := e.scan(ctx, l, Cursor{Due: fresh}, until, everyPage, page); err != nil {
		return false, err
	}
	if err := e.bring(ctx, &found); err != nil {
		return false, err
	}
	found.provided = 0
	last, more, err := e.scan(ctx, l, l.lookFrom, fresh, lookPages, page)
	if err == nil {
		err = e.bring(ctx, &found)
	}
	l.lookFrom = Cursor{}
	if more {
		l.lookFrom = last
	}
	return more && found.provided > 0, err
}

// finding is what a look has read and not brought yet.
type finding struct {
	lane     *lane
	to       feed
	lost     map[int]bool
	tasks    []Task
	rows     map[string]*Failure
	provided int64 // how many of those brought were not there
}

// find adds a page. A page alone would ask every shard about a few tasks, and
// each question costs Redis as much as one about many.
func (e *Engine) find(ctx context.Context, f *finding, tasks []Task, rows map[string]*Failure) error {
	if f.rows == nil {
		f.rows = map[string]*Failure{}
	}
	f.tasks = append(f.tasks, tasks...)
	maps.Copy(f.rows, rows)
	if f.to == feedSQL || len(f.tasks) >= lookGroup {
		return e.bring(ctx, f)
	}
	return nil
}

// bring provides what was found.
func (e *Engine) bring(ctx context.Context, f *finding) error {
	if len(f.tasks) == 0 {
		return nil
	}
	n, err := e.provide(ctx, f.lane, f.to, f.tasks, f.rows, f.lost)
	f.provided += n
	f.tasks, f.rows = f.tasks[:0], nil
	return err
}

// scan reads tasks page by page with their failure rows, until the end or for
// so many pages, and returns the last position and whether there may be more.
func (e *Engine) scan(ctx context.Context, l *lane, after Cursor, until int64, pages int,
	page func([]Task, map[string]*Failure) error,
) (last Cursor, more bool, err error) {
	for range pages {
		tasks, err := readPage(ctx, l, after, until)
		if err != nil || len(tasks) == 0 {
			return after, false, err
		}
		keys := make([]string, len(tasks))
		for i, t := range tasks {
			keys[i] = t.Key
		}
		rows, err := e.failures.read(ctx, l.kind.Name, keys)
		if err != nil {
			return after, true, err
		}
		if err := page(tasks, rows); err != nil {
			return after, true, err
		}
		after = Cursor{Due: tasks[len(tasks)-1].Due, Key: tasks[len(tasks)-1].Key}
		if len(tasks) < MaxBatch {
			return after, false, ctx.Err()
		}
		if ctx.Err() != nil {
			return after, true, ctx.Err()
		}
	}
	return after, true, nil
}

func readPage(ctx context.Context, l *lane, after Cursor, until int64) ([]Task, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	return l.kind.Source.Due(ctx, after, until, MaxBatch)
}

// provide puts tasks of this replica's shards to where they will fire from,
// never dead ones, and never before their backoff has ended. It returns how
// many of them were not there.
func (e *Engine) provide(ctx context.Context, l *lane, to feed, tasks []Task, rows map[string]*Failure, lost map[int]bool) (int64, error) {
	room := e.near.room(l)
	now := e.clock.Now().UnixMilli()
	var missing []wanted
	for _, t := range tasks {
		row := rows[t.Key]
		applies := row.appliesTo(t.Due)
		shard := shardOf(t.Key, e.o.Shards)
		if applies && row.DeadAt != 0 || e.near.isDone(l, t.Key, t.Due) || !e.members.owns(shard) {
			continue
		}
		score := float64(t.Due)
		if applies && row.NextAt > t.Due {
			score = backoffScore(row.NextAt)
		}
		if to == feedRedis {
			missing = append(missing, wanted{t.Key, score, modeOf(lost[shard], t.Due > now)})
		} else {
			e.near.offer(l, t.Key, t.Due, scoreInstant(score))
		}
	}
	if to != feedRedis {
		return int64(max(0, room-e.near.room(l))), nil
	}
	written, err := e.store.ensure(ctx, l.kind.Name, missing)
	if written > 0 {
		notify(e.pollKick)
	}
	if err != nil && e.feed() == feedSQL {
		return 0, nil // Redis went away meanwhile; the look that follows knows
	}
	return written, err
}

func modeOf(lost, soon bool) string {
	switch {
	case lost:
		return wantLost
	case soon:
		return wantSoon
	}
	return wantOverdue
}

// rebuild has the next look overwrite what Redis has of shards that lost
// writes.
func (e *Engine) rebuild(shards []int) {
	if len(shards) == 0 {
		return
	}
	e.log.Info("redis does not have what was written last; the schedule is read from the database again", "shards", len(shards))
	lost := map[int]bool{}
	for _, shard := range shards {
		lost[shard] = true
	}
	for _, l := range e.order {
		l.lost.add(lost)
		notify(l.lookKick)
	}
}

// shardSet is a set of shards that one goroutine fills and another empties.
type shardSet struct {
	mu     sync.Mutex
	shards map[int]bool
}

func (s *shardSet) add(shards map[int]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shards == nil {
		s.shards = map[int]bool{}
	}
	maps.Copy(s.shards, shards)
}

func (s *shardSet) take() map[int]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	shards := s.shards
	s.shards = nil
	return shards
}
