package timeout

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// beatEvery is how often a replica says that it lives, memberTime after
	// what silence it counts as gone: its shards move within 5 s.
	beatEvery  = time.Second
	memberTime = 3500 * time.Millisecond
	// memberForget is when the row of one that is gone is deleted.
	memberForget = time.Hour
	// glanceEvery is how often replicas without Redis, which cannot tell each
	// other, look who has left.
	glanceEvery = 150 * time.Millisecond
)

// members divides the shards among the live replicas by rendezvous hashing:
// each shard belongs to the one whose name gives the highest hash with it, so
// that a change moves only the shards of who came or went. Who lives is in the
// database whatever feeds, so that a change of the feed moves nothing. With
// Redis a replica serves a shard once it has its lease too (lease.go). The
// division saves work; where two disagree about it for a moment, claims and
// conditional updates keep the effect single.
type members struct {
	db      *sql.DB
	breaker *breaker
	node    string
	clock   *clock
	shards  int
	leases  *leases // nil without Redis
	kick    chan struct{}
	mine    atomic.Pointer[ownership]

	written time.Time // this replica's last heartbeat
}

// ownership is what a replica serves. It is replaced, never changed.
type ownership struct {
	live   []string
	wanted []int // by the division; with Redis list is what of it is leased
	list   []int
	owned  []bool
	epochs []int64 // of the leases, by shard
}

func newMembers(db *sql.DB, b *breaker, node string, shards int, c *clock, l *leases) *members {
	m := &members{db: db, breaker: b, node: node, clock: c, shards: shards, leases: l, kick: make(chan struct{}, 1)}
	m.mine.Store(m.divide(nil))
	return m
}

// owned are the shards of this replica.
func (m *members) owned() []int { return m.mine.Load().list }

// owns reports whether the shard is this replica's.
func (m *members) owns(shard int) bool { return m.mine.Load().owned[shard] }

// epoch is under what epoch this replica holds the shard, 0 if it does not.
func (m *members) epoch(shard int) int64 { return m.mine.Load().epochs[shard] }

// attend keeps this replica a member and its shards its own.
func (e *Engine) attend(ctx context.Context) {
	e.loop(ctx, "attend", e.members.kick, e.attendOnce)
}

// attendOnce says when to attend again.
func (e *Engine) attendOnce(ctx context.Context) time.Duration {
	before := e.members.mine.Load()
	o := e.members.beat(ctx)
	if ctx.Err() != nil {
		return beatEvery // stopping: what was not answered says nothing
	}
	next := beatEvery
	switch {
	case e.feed() == feedRedis:
		var lost []int
		var given bool
		given, lost, next = e.members.leases.attend(ctx, o, before)
		e.rebuild(lost)
		if given {
			e.tellMembers(ctx)
		}
	case len(o.live) > 1:
		next = glanceEvery
	}
	e.members.mine.Store(o)
	if !slices.Equal(before.live, o.live) || !slices.Equal(before.list, o.list) {
		e.log.Info("the shards are divided anew", "live", len(o.live), "mine", len(o.list), "of", e.o.Shards)
		e.kick()
	}
	return next
}

// beat renews this replica's row when it is time, reads who lives, and divides
// the shards. When the database does not answer, every shard is wanted: then
// nobody can be known to look after them.
func (m *members) beat(ctx context.Context) *ownership {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var live []string
	err := m.breaker.do(func() error {
		if time.Since(m.written) >= beatEvery/2 {
			m.written = time.Now()
			if err := m.write(ctx); err != nil {
				m.written = time.Time{}
				return err
			}
		}
		var err error
		live, err = m.read(ctx)
		return err
	})
	if err != nil {
		live = nil
	}
	return m.divide(live)
}

func (m *members) write(ctx context.Context) error {
	_, err := m.db.ExecContext(ctx, "REPLACE INTO timeout_members (node, seen_at) VALUES (?, ?)", m.node, m.clock.Now().UnixMilli())
	return err
}

// read returns who lives and forgets who has long been gone.
func (m *members) read(ctx context.Context) ([]string, error) {
	now := m.clock.Now()
	rows, err := m.db.QueryContext(ctx, "SELECT node, seen_at FROM timeout_members ORDER BY node")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var live, gone []string
	for rows.Next() {
		var node string
		var seen int64
		if err := rows.Scan(&node, &seen); err != nil {
			return nil, err
		}
		switch silent := now.Sub(time.UnixMilli(seen)); {
		case node == m.node || silent.Abs() < memberTime: // one from the future was written by a wrong clock
			live = append(live, node)
		case silent > memberForget:
			gone = append(gone, node)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	for _, node := range gone {
		if err := m.remove(ctx, node, now.Add(-memberForget).UnixMilli()); err != nil {
			return nil, err
		}
	}
	return live, nil
}

func (m *members) remove(ctx context.Context, node string, seenBefore int64) error {
	_, err := m.db.ExecContext(ctx, "DELETE FROM timeout_members WHERE node = ? AND seen_at <= ?", node, seenBefore)
	return err
}

// leave takes this replica out and gives its shards back: the others have
// them at once where they can be told, or else at their next look.
func (e *Engine) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	m := e.members
	_ = m.breaker.do(func() error { return m.remove(ctx, m.node, m.clock.Now().Add(memberForget).UnixMilli()) })
	if e.feed() == feedRedis {
		_, _ = m.leases.giveBack(ctx, m.owned())
	}
	e.tellMembers(ctx)
}

// divide works out what this replica is to serve; without anybody known to
// live, all shards.
func (m *members) divide(live []string) *ownership {
	o := &ownership{live: live, owned: make([]bool, m.shards), epochs: make([]int64, m.shards)}
	for shard := range m.shards {
		if len(live) == 0 || ownerOf(shard, live) == m.node {
			o.wanted = append(o.wanted, shard)
		}
	}
	o.serve(o.wanted)
	return o
}

// serve sets the shards that are served.
func (o *ownership) serve(shards []int) {
	o.list = shards
	clear(o.owned)
	for _, shard := range shards {
		o.owned[shard] = true
	}
}

// ownerOf is the member with the highest hash for the shard; of equal ones,
// the first by name.
func ownerOf(shard int, live []string) string {
	var owner string
	var highest uint64
	for _, node := range live {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strconv.Itoa(shard) + "\x00" + node))
		if score := mix(h.Sum64()); owner == "" || score > highest {
			owner, highest = node, score
		}
	}
	return owner
}

// mix spreads FNV's weak low-order differences over all bits (the finaliser of
// MurmurHash3), without which similar names divide badly.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
