package timeout

import (
	"context"
	"database/sql"
	"hash/fnv"
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
)

// members divides the shards among the live replicas by rendezvous hashing:
// each shard belongs to the one whose name gives the highest hash with it, so
// that a change moves only the shards of who came or went. The division saves
// work; where two disagree about it for a moment, claims and conditional
// updates keep the effect single.
type members struct {
	db      *sql.DB
	breaker *breaker
	node    string
	clock   *clock
	shards  int
	mine    atomic.Pointer[ownership]
}

type ownership struct {
	live  []string
	list  []int
	owned []bool
}

func newMembers(db *sql.DB, b *breaker, node string, shards int, c *clock) *members {
	m := &members{db: db, breaker: b, node: node, clock: c, shards: shards}
	m.divide(nil)
	return m
}

// owned are the shards of this replica.
func (m *members) owned() []int { return m.mine.Load().list }

// owns reports whether the shard is this replica's.
func (m *members) owns(shard int) bool { return m.mine.Load().owned[shard] }

// attend keeps this replica a member.
func (e *Engine) attend(ctx context.Context) {
	e.loop(ctx, "attend", nil, func(ctx context.Context) time.Duration {
		if e.members.beat(ctx) {
			e.log.Info("the shards are divided anew", "live", e.members.mine.Load().live, "mine", len(e.members.owned()))
			e.kick()
		}
		return beatEvery
	})
}

// beat renews this replica's row, reads who lives, and reports whether that
// has changed. When the database does not answer, every shard is ours: then
// nobody can be known to look after them.
func (m *members) beat(ctx context.Context) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var live []string
	err := m.breaker.do(func() error {
		var err error
		live, err = m.exchange(ctx)
		return err
	})
	if err != nil {
		live = nil
	}
	return m.divide(live)
}

func (m *members) exchange(ctx context.Context) ([]string, error) {
	now := m.clock.Now()
	if _, err := m.db.ExecContext(ctx, "REPLACE INTO timeout_members (node, seen_at) VALUES (?, ?)", m.node, now.UnixMilli()); err != nil {
		return nil, err
	}
	rows, err := m.db.QueryContext(ctx, "SELECT node, seen_at FROM timeout_members ORDER BY node")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var live []string
	var gone []string
	for rows.Next() {
		var node string
		var seen int64
		if err := rows.Scan(&node, &seen); err != nil {
			return nil, err
		}
		switch silent := now.Sub(time.UnixMilli(seen)); {
		case node == m.node || silent < memberTime:
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

// leave takes this replica out, so that others take its shards at their next
// beat.
func (m *members) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = m.breaker.do(func() error { return m.remove(ctx, m.node, m.clock.Now().Add(memberForget).UnixMilli()) })
}

// divide works out this replica's shards; without anybody known to live, all.
func (m *members) divide(live []string) (changed bool) {
	before := m.mine.Load()
	o := &ownership{live: live, owned: make([]bool, m.shards)}
	for shard := range m.shards {
		if len(live) == 0 || ownerOf(shard, live) == m.node {
			o.owned[shard] = true
			o.list = append(o.list, shard)
		}
	}
	m.mine.Store(o)
	if before == nil || len(before.list) != len(o.list) {
		return before != nil
	}
	for i := range o.list {
		if o.list[i] != before.list[i] {
			return true
		}
	}
	return false
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
