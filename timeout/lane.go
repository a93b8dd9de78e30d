package timeout

import (
	"context"
	"sync"
	"sync/atomic"
)

// lane is one kind with its workers, its part of what is near, and its
// figures. Lanes share nothing but the wheel, so none waits for another.
type lane struct {
	kind Kind

	// Guarded by near.mu.
	entries  map[string]uint32
	ready    readyTasks
	inFlight int
	closed   bool
	wake     *sync.Cond // on near.mu; set by Start
	finished recent

	fired, retries, rescued atomic.Int64
	lateness                samples
	history                 history
	sweeping                sync.Mutex
	lookFrom                Cursor // where the next look at the backlog begins
	lookKick                chan struct{}
	lost                    shardSet // whose scores the next look overwrites
}

func newLane(k Kind) *lane {
	return &lane{kind: k, entries: map[string]uint32{}, lookKick: make(chan struct{}, 1)}
}

// open gives the lane its place in near.
func (l *lane) open(n *near) {
	l.wake = sync.NewCond(&n.mu)
	l.ready.shards = make([]queue, n.shards)
}

// close lets the workers go; what is ready is left to others.
func (l *lane) close() {
	l.wake.L.Lock()
	defer l.wake.L.Unlock()
	l.closed = true
	l.wake.Broadcast()
}

// worker runs batches of one kind until the lane closes. While the database
// is away it takes nothing: a claim would only make others wait for the lease.
func (e *Engine) worker(ctx context.Context, l *lane) {
	for e.db.wait(ctx) {
		items := e.near.take(l, l.kind.Batch)
		if items == nil {
			return
		}
		if !e.db.wait(ctx) {
			e.near.finish(l, items...)
			return
		}
		e.runBatch(l, items)
	}
}

// readyTasks are tasks that have fired, shard by shard, so that a batch of many that
// are due at once is of few shards and its claim takes few scripts. The shards
// take turns.
type readyTasks struct {
	shards []queue
	count  int
	turn   int // whose it is
	taken  int // in this turn
}

func (r *readyTasks) len() int { return r.count }

func (r *readyTasks) push(shard int, v uint32) {
	r.shards[shard].push(v)
	r.count++
}

// pop takes from the shard whose turn it is until it is empty or has had a
// batch. There must be something.
func (r *readyTasks) pop() uint32 {
	for r.shards[r.turn].len() == 0 || r.taken == MaxBatch {
		r.turn, r.taken = (r.turn+1)%len(r.shards), 0
	}
	r.count--
	r.taken++
	return r.shards[r.turn].pop()
}

// queue is a first-in first-out list without allocation per entry.
type queue struct {
	values []uint32
	head   int
}

func (q *queue) len() int { return len(q.values) - q.head }

func (q *queue) push(v uint32) {
	if q.head > 0 && len(q.values) == cap(q.values) {
		q.values = q.values[:copy(q.values, q.values[q.head:])]
		q.head = 0
	}
	q.values = append(q.values, v)
}

func (q *queue) pop() uint32 {
	v := q.values[q.head]
	q.head++
	if q.head == len(q.values) {
		q.values, q.head = q.values[:0], 0
	}
	return v
}
