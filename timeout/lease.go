package timeout

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

const (
	// shardLease is how long a shard stays with a replica that is not heard of
	// any more, shardRenew how often a live one renews it: the first renewal
	// may fail.
	shardLease = 4 * time.Second
	shardRenew = shardLease / 3
	// shardRetry is the longest pause before a wanted shard that another
	// replica still holds is asked for again.
	shardRetry = 250 * time.Millisecond
	// shardNote is how often the beats are noted in the database.
	shardNote = 5 * time.Second
)

// leases are the shards that this replica holds in Redis. Every renewal makes
// a counter beside the lease, its beat, rise. What it has come to is remembered
// here, and noted in the database (timeout_shards): a beat that is not higher
// than one known shows that Redis has lost writes, because it was restarted,
// flushed, or failed over to a replica that lagged behind.
type leases struct {
	store   *store
	db      *sql.DB
	breaker *breaker // of the database
	node    string
	clock   *clock

	// Touched by the attend loop, and by leave after it.
	held    map[int]hold
	renewed time.Time
	noted   time.Time
}

func newLeases(s *store, db *sql.DB, b *breaker, node string, c *clock) *leases {
	return &leases{store: s, db: db, breaker: b, node: node, clock: c, held: map[int]hold{}}
}

// attend gives back what is not wanted any more, renews and takes what is, and
// lets o serve what is held. It reports whether shards were given back, which
// of those held have lost writes, and when to attend again. While Redis does
// not answer, what was served is served on: a claim finds out.
func (l *leases) attend(ctx context.Context, o, before *ownership) (given bool, lost []int, next time.Duration) {
	wanted := map[int]bool{}
	for _, shard := range o.wanted {
		wanted[shard] = true
	}
	var surplus []int
	for shard := range l.held {
		if !wanted[shard] {
			surplus = append(surplus, shard)
		}
	}
	given, err := l.giveBack(ctx, surplus)
	if err == nil {
		lost, next, err = l.take(ctx, o.wanted)
	}
	if err != nil {
		o.serve(before.list)
		copy(o.epochs, before.epochs)
		return given, lost, shardRetry
	}
	var list []int
	for _, shard := range o.wanted {
		if h, ok := l.held[shard]; ok {
			list = append(list, shard)
			o.epochs[shard] = h.epoch
		}
	}
	o.serve(list)
	l.note(ctx)
	return given, lost, next
}

// giveBack frees leases for others.
func (l *leases) giveBack(ctx context.Context, shards []int) (given bool, err error) {
	if len(shards) == 0 {
		return false, nil
	}
	_, err = l.store.hold(ctx, l.node, shards, make([]int64, len(shards)), 0)
	if err == nil {
		for _, shard := range shards {
			delete(l.held, shard)
		}
	}
	return err == nil, err
}

// take renews what is held, when it is time to, and asks for what is wanted
// beside. It returns the shards whose beats show lost writes.
func (l *leases) take(ctx context.Context, wanted []int) (lost []int, next time.Duration, err error) {
	due := time.Since(l.renewed) >= shardRenew
	var ask, fresh []int
	var epochs []int64
	for _, shard := range wanted {
		h, ok := l.held[shard]
		if !ok {
			fresh = append(fresh, shard)
		}
		if !ok || due {
			ask, epochs = append(ask, shard), append(epochs, h.epoch)
		}
	}
	known, err := l.known(ctx, fresh)
	if err != nil {
		return nil, 0, err
	}
	for i, shard := range ask {
		epochs[i] = max(epochs[i], known[shard].epoch)
	}
	holds, err := l.store.hold(ctx, l.node, ask, epochs, shardLease)
	if err != nil {
		return nil, 0, err
	}
	if due {
		l.renewed = time.Now()
	}
	next = beatEvery
	for i, shard := range ask {
		h := holds[i]
		if !h.held {
			delete(l.held, shard)
			next = min(next, h.free+time.Millisecond, shardRetry)
			continue
		}
		if h.beat <= max(l.held[shard].beat, known[shard].beat) {
			lost = append(lost, shard)
		}
		l.held[shard] = h
	}
	return lost, next, nil
}

// known reads what is noted about shards that are not held.
func (l *leases) known(ctx context.Context, fresh []int) (map[int]hold, error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	known := map[int]hold{}
	err := l.breaker.do(func() error {
		rows, err := l.db.QueryContext(ctx, "SELECT shard, epoch, beat FROM timeout_shards")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var shard int
			var h hold
			if err := rows.Scan(&shard, &h.epoch, &h.beat); err != nil {
				return err
			}
			known[shard] = h
		}
		return rows.Err()
	})
	return known, err
}

// noteRows bounds one statement.
const noteRows = 500

// note writes down the beats now and then.
func (l *leases) note(ctx context.Context) {
	if len(l.held) == 0 || time.Since(l.noted) < shardNote {
		return
	}
	l.noted = time.Now()
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	now := l.clock.Now().UnixMilli()
	var args []any
	flush := func() error {
		query := "REPLACE INTO timeout_shards (shard, epoch, beat, updated_at) VALUES (?, ?, ?, ?)" +
			strings.Repeat(", (?, ?, ?, ?)", len(args)/4-1)
		_, err := l.db.ExecContext(ctx, query, args...)
		args = args[:0]
		return err
	}
	_ = l.breaker.do(func() error { // it is tried again soon
		var errs error
		for shard, h := range l.held {
			if args = append(args, shard, h.epoch, h.beat, now); len(args) == 4*noteRows {
				errs = errors.Join(errs, flush())
			}
		}
		if len(args) > 0 {
			errs = errors.Join(errs, flush())
		}
		return errs
	})
}
