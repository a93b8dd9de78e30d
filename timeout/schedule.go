package timeout

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

const (
	// writeWait is the longest that Schedule, Renew and Cancel keep a caller.
	writeWait = 250 * time.Millisecond
	// writers flush at the same time; a key always goes to the same one, so
	// that its writes stay in order.
	writers = 2
	// writeQueue bounds what waits for one writer, writeGroup one flush.
	writeQueue = 4096
	writeGroup = 1000
	// maxDue, in the year 2248, is as far as scores are exact. Microseconds
	// and nanoseconds given for milliseconds lie beyond.
	maxDue = 1 << 43
)

// Schedule stores tasks, replacing the deadlines they had, and returns when
// they are stored. Callers call it after the commit that wrote the deadline
// and only log its error: the source is asked again within seconds. It never
// takes more than 300 ms. Without Redis it stores nothing, and a task that is
// due within seconds is kept in this process.
func (e *Engine) Schedule(ctx context.Context, tasks ...Task) error {
	writes := make([]write, 0, len(tasks))
	for _, t := range tasks {
		if err := e.check(t.Kind, t.Key); err != nil {
			return err
		}
		if t.Due < 0 || t.Due >= maxDue {
			return fmt.Errorf("%w: due %d", ErrBadTask, t.Due)
		}
		writes = append(writes, write{kind: t.Kind, key: t.Key, score: float64(t.Due)})
	}
	if !e.running.Load() {
		return ErrNotRunning
	}
	err := e.writer.put(ctx, writes)
	// After the write: an entry that fires before its task is stored would
	// find nothing to claim.
	for _, t := range tasks {
		if err != nil || e.feed() == feedSQL || e.members.owns(shardOf(t.Key, e.o.Shards)) {
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
func (e *Engine) Cancel(ctx context.Context, kind, key string) error {
	if err := e.check(kind, key); err != nil {
		return err
	}
	if !e.running.Load() {
		return ErrNotRunning
	}
	e.near.forget(e.lanes[kind], key)
	return e.writer.put(ctx, []write{{kind: kind, key: key, remove: true}})
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
	score     float64
	remove    bool
	ticket    *ticket
}

// ticket collects the answers for the writes of one caller.
type ticket struct {
	mu   sync.Mutex
	open int
	err  error
	done chan struct{}
}

func (t *ticket) finish(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	if t.open--; t.open == 0 {
		close(t.done)
	}
}

// writer commits the writes of concurrent callers in groups: a lone caller
// pays one round trip, and many share one.
type writer struct {
	store  *store               // nil: nothing is written
	hint   func([]write) string // what others must hear of, or ""
	queues [writers]chan write
	scope  scope
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

func (w *writer) stop() { w.scope.stop() }

// put queues the writes and waits until they are stored.
func (w *writer) put(ctx context.Context, writes []write) error {
	if w.store == nil || len(writes) == 0 {
		return nil
	}
	if !w.store.breaker.closed() {
		return ErrRedisAway
	}
	limit := time.NewTimer(writeWait)
	defer limit.Stop()
	t := &ticket{open: len(writes), done: make(chan struct{})}
	for _, one := range writes {
		one.ticket = t
		select {
		case w.queues[shardOf(one.key, w.store.shards)%writers] <- one:
		case <-limit.C:
			return fmt.Errorf("%w: queue full", ErrRedisAway)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-t.done:
		return t.err
	case <-limit.C:
		return fmt.Errorf("%w: no answer within %v", ErrRedisAway, writeWait)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run flushes until ctx ends, and then once more what is queued.
func (w *writer) run(ctx context.Context, queue chan write) {
	for {
		var group []write
		select {
		case one := <-queue:
			group = append(group, one)
		case <-ctx.Done():
		}
		for more := true; more && len(group) < writeGroup; {
			select {
			case one := <-queue:
				group = append(group, one)
			default:
				more = false
			}
		}
		if len(group) > 0 {
			w.flush(group)
			continue
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// flush writes the group in one pipeline and answers its callers.
func (w *writer) flush(group []write) {
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	bySet := map[string][]write{}
	for _, one := range group {
		key := w.store.setKey(one.kind, shardOf(one.key, w.store.shards))
		bySet[key] = append(bySet[key], one)
	}
	err := w.store.breaker.do(func() error {
		pipeline := w.store.client.Pipeline()
		for set, writes := range bySet {
			addWrites(ctx, pipeline, set, writes)
		}
		if hint := w.hint(group); hint != "" {
			pipeline.Publish(ctx, w.store.channel(), hint)
		}
		_, err := pipeline.Exec(ctx)
		return err
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrRedisAway, err)
	}
	for _, one := range group {
		one.ticket.finish(err)
	}
}

// addWrites makes as few commands of the writes to one set as their order
// allows; within one ZADD the last score of a member counts.
func addWrites(ctx context.Context, pipeline redis.Pipeliner, set string, writes []write) {
	for start := 0; start < len(writes); {
		end := start
		var added []redis.Z
		var removed []any
		for ; end < len(writes) && writes[end].remove == writes[start].remove; end++ {
			if writes[end].remove {
				removed = append(removed, writes[end].key)
			} else {
				added = append(added, redis.Z{Score: writes[end].score, Member: writes[end].key})
			}
		}
		if len(added) > 0 {
			pipeline.ZAdd(ctx, set, added...)
		} else {
			pipeline.ZRem(ctx, set, removed...)
		}
		start = end
	}
}
