package timeout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

const (
	// writeWait is the longest that a flush takes.
	writeWait = 250 * time.Millisecond
	// writers flush at the same time; a key always goes to the same one, so
	// that its writes stay in order. Two leave Redis waiting between groups,
	// eight make the groups small.
	writers = 4
	// writeQueue bounds what waits for one writer, writeGroup one flush.
	writeQueue = 4096
	writeGroup = 1000
	// maxDue, in the year 2248, is as far as scores are exact. Microseconds
	// and nanoseconds given for milliseconds lie beyond.
	maxDue = 1 << 43
)

// Schedule stores tasks, replacing the deadlines they had, and returns when
// they are stored. Callers call it after the commit that wrote the deadline
// and only log its error: the source is asked again within seconds. A Redis
// that is away keeps it no longer than writeWait; one that is slow and answers
// all the same, twice that, for the group before and its own. The context does
// not shorten this: a write that is on its way cannot be taken back. Without
// Redis it stores nothing, and a task that is due within seconds is kept in
// this process.
func (e *Engine) Schedule(_ context.Context, tasks ...Task) error {
	var one [1]write
	writes := one[:0]
	for _, t := range tasks {
		if err := e.check(t.Kind, t.Key); err != nil {
			return err
		}
		if t.Due < 0 || t.Due >= maxDue {
			return fmt.Errorf("%w: due %d", ErrBadTask, t.Due)
		}
		writes = append(writes, write{kind: t.Kind, key: t.Key, shard: shardOf(t.Key, e.o.Shards), score: float64(t.Due)})
	}
	if !e.running.Load() {
		return ErrNotRunning
	}
	err := e.writer.put(writes)
	// After the write: an entry that fires before its task is stored would
	// find nothing to claim.
	alone := err != nil || e.feed() == feedSQL
	for i, t := range tasks {
		if alone || e.members.owns(writes[i].shard) {
			e.near.set(e.lanes[t.Kind], t.Key, t.Due)
		}
	}
	return err
}

// Renew moves a task to another deadline, earlier or later. It is Schedule
// under the name that says what is meant, and adds a task that is not there.
func (e *Engine) Renew(ctx context.Context, t Task) error { return e.Schedule(ctx, t) }

// Cancel removes a task. It saves work only: a handler finds that its row
// needs nothing. Its bounds and errors are those of Schedule.
func (e *Engine) Cancel(_ context.Context, kind, key string) error {
	if err := e.check(kind, key); err != nil {
		return err
	}
	if !e.running.Load() {
		return ErrNotRunning
	}
	e.near.forget(e.lanes[kind], key)
	return e.writer.put([]write{{kind: kind, key: key, shard: shardOf(key, e.o.Shards), remove: true}})
}

func (e *Engine) check(kind, key string) error {
	// The lanes are fixed once the engine runs; before, nothing is stored.
	if e.running.Load() && e.lanes[kind] == nil {
		return fmt.Errorf("%w: %q", ErrUnknownKind, kind)
	}
	if key == "" || len(key) > 64 || !utf8.ValidString(key) {
		return fmt.Errorf("%w: key %q", ErrBadTask, key)
	}
	return nil
}

// write is one ZADD or ZREM on its way.
type write struct {
	kind, key string
	shard     int
	score     float64
	remove    bool
	ticket    *ticket
}

// ticket collects the answers for the writes of one caller.
type ticket struct {
	open atomic.Int32
	err  atomic.Pointer[error]
	done chan struct{} // gets a value when all answers are there
}

// tickets are used again, once their answers have come.
var tickets = sync.Pool{New: func() any { return &ticket{done: make(chan struct{}, 1)} }}

func (t *ticket) finish(err error) {
	if err != nil {
		t.err.Store(&err)
	}
	if t.open.Add(-1) == 0 {
		t.done <- struct{}{}
	}
}

// wait returns when all answers are there, and what went wrong.
func (t *ticket) wait() error {
	<-t.done
	err := t.err.Swap(nil)
	tickets.Put(t)
	if err != nil {
		return *err
	}
	return nil
}

// writer commits the writes of concurrent callers in groups: a lone caller
// pays one round trip, and many share one.
type writer struct {
	store  *store               // nil: nothing is written
	hint   func([]write) string // what others must hear of, or ""
	queues [writers]chan write
	scope  scope

	gate   sync.RWMutex
	closed bool // nothing is queued any more
}

func newWriter(s *store, hint func([]write) string) *writer {
	w := &writer{store: s, hint: hint}
	for i := range w.queues {
		w.queues[i] = make(chan write, writeQueue)
	}
	return w
}

func (w *writer) start() {
	w.scope = newScope()
	if w.store == nil {
		return
	}
	for _, queue := range w.queues {
		w.scope.run(func(ctx context.Context) { w.run(ctx, queue) })
	}
}

// stop returns when all that was queued has been written.
func (w *writer) stop() {
	w.gate.Lock()
	w.closed = true
	w.gate.Unlock()
	w.scope.stop()
}

// put queues the writes and waits until they are stored. It needs no limit of
// its own: a flush has one, and one that fails answers for all that is queued.
func (w *writer) put(writes []write) error {
	if w.store == nil || len(writes) == 0 {
		return nil
	}
	if !w.store.breaker.closed() {
		return ErrRedisAway
	}
	t := tickets.Get().(*ticket)
	t.open.Store(int32(len(writes)))
	if !w.queue(writes, t) {
		return ErrNotRunning
	}
	return t.wait()
}

func (w *writer) queue(writes []write, t *ticket) bool {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.closed {
		return false
	}
	for i := range writes {
		writes[i].ticket = t
		w.queues[writes[i].shard%writers] <- writes[i]
	}
	return true
}

// run flushes until ctx ends, and then once more what is queued.
func (w *writer) run(ctx context.Context, queue chan write) {
	group := make([]write, 0, writeGroup)
	for {
		select {
		case one := <-queue:
			group = collect(append(group[:0], one), queue)
		case <-ctx.Done():
			group = collect(group[:0], queue)
		}
		if len(group) == 0 {
			return // no caller comes any more
		}
		err := w.flush(group)
		answerAll(group, err)
		for err != nil && len(group) > 0 {
			// Who waited for a flush that failed waits for no other.
			group = collect(group[:0], queue)
			answerAll(group, err)
		}
	}
}

// collect appends what is queued, up to writeGroup.
func collect(group []write, queue chan write) []write {
	for len(group) < writeGroup {
		select {
		case one := <-queue:
			group = append(group, one)
		default:
			return group
		}
	}
	return group
}

func answerAll(group []write, err error) {
	for i := range group {
		group[i].ticket.finish(err)
	}
	clear(group)
}

// flush writes the group in one pipeline.
func (w *writer) flush(group []write) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeWait)
	defer cancel()
	// Those of a set together, each set's in the order they came.
	slices.SortStableFunc(group, func(a, b write) int { return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.kind, b.kind)) })
	err := w.store.breaker.do(func() error {
		pipeline := w.store.client.Pipeline()
		for start := 0; start < len(group); {
			end := start + 1
			for end < len(group) && group[end].sameCommand(&group[start]) {
				end++
			}
			w.add(ctx, pipeline, group[start:end])
			start = end
		}
		if hint := w.hint(group); hint != "" {
			pipeline.Publish(ctx, w.store.channel(), hint)
		}
		_, err := pipeline.Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRedisAway, err)
	}
	return nil
}

func (w *write) sameCommand(o *write) bool {
	return w.shard == o.shard && w.remove == o.remove && w.kind == o.kind
}

// add makes one command of writes to one set; within one ZADD the last score
// of a member counts.
func (w *writer) add(ctx context.Context, pipeline redis.Pipeliner, writes []write) {
	set := w.store.setKey(writes[0].kind, writes[0].shard)
	if writes[0].remove {
		keys := make([]any, len(writes))
		for i := range writes {
			keys[i] = writes[i].key
		}
		pipeline.ZRem(ctx, set, keys...)
		return
	}
	added := make([]redis.Z, len(writes))
	for i := range writes {
		added[i] = redis.Z{Score: writes[i].score, Member: writes[i].key}
	}
	pipeline.ZAdd(ctx, set, added...)
}
