package timeout

import (
	"sync"
	"time"

	"github.com/tidemall/tidemall/timeout/wheel"
)

const (
	// nearWindow is how far ahead tasks are taken into the process.
	nearWindow = 2 * time.Second
	// nearLimit bounds the tasks of one kind in the process; more stay where
	// they are until there is room.
	nearLimit = 30_000
	// nearHold is how far ahead a task is kept that only this process knows to
	// wait.
	nearHold = time.Minute
	// nearRecent is for how long at least it is remembered what was finished.
	nearRecent = 2 * time.Second
)

// place says where an entry is on its way.
type place uint8

const (
	waiting place = iota // in the wheel
	ready                // fired, waits for a worker
	running              // in the hands of a worker or the sweep
)

// entry is a task in this process.
type entry struct {
	lane  *lane
	key   string
	shard int32
	due   int64 // its deadline, 0 if not known
	waits int   // outages in a row
	place place
	token float64 // of a claim whose answer did not come, 0 if none is out
	// hold keeps a feed from firing it earlier than it was told to wait: for
	// what was rescheduled while Redis is away, when nothing else knows of it.
	hold   bool
	at     int64 // when it fires, of a waiting one
	handle wheel.Handle
}

// near is what this process knows to be due within seconds. It is a cache:
// whatever it forgets, a feed brings again; whatever it fires, the claim or
// the handler checks.
//
// Lock order: near before wheel. The wheel calls fire without its lock.
type near struct {
	clock  *clock
	shards int
	wheel  *wheel.Wheel

	mu      sync.Mutex
	entries []entry
	free    []uint32
}

func newNear(c *clock, shards int) (*near, error) {
	n := &near{clock: c, shards: shards}
	n.mu.Lock() // the wheel's goroutine needs n.wheel set
	defer n.mu.Unlock()
	w, err := wheel.New(n.fire, wheel.Options{})
	n.wheel = w
	return n, err
}

// stop ends the wheel: nothing fires any more.
func (n *near) stop() { n.wheel.Stop() }

// horizon is the latest deadline that belongs into the process, in unix ms.
func (n *near) horizon() int64 { return n.clock.Now().Add(nearWindow).UnixMilli() }

// set is told of a deadline by the owner: it overrides what is known.
func (n *near) set(l *lane, key string, due int64) {
	if due > n.horizon() {
		n.forget(l, key)
		return
	}
	n.put(l, key, due, due, true)
}

// offer is told by a feed of a task that is to fire at an instant.
func (n *near) offer(l *lane, key string, due, at int64) { n.put(l, key, due, at, false) }

func (n *near) put(l *lane, key string, due, at int64, override bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, known := l.entries[key]
	if !known {
		if len(l.entries) >= nearLimit || !override && l.finished.has(key, due) {
			return
		}
		i = n.add(l, key)
		n.entries[i].due = due
		n.arm(i, at)
		return
	}
	e := &n.entries[i]
	if e.place != waiting {
		return
	}
	if override || !e.hold && at < e.at {
		e.hold = false
		e.due, e.at = due, at
		if !n.wheel.Renew(e.handle, n.instant(at)) {
			n.arm(i, at) // fire has its value already: it will come early, and wait again
		}
	}
}

// forget drops a task that waits.
func (n *near) forget(l *lane, key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, known := l.entries[key]; known && n.entries[i].place == waiting {
		n.wheel.Cancel(n.entries[i].handle)
		n.remove(i)
	}
}

// fire moves entries from the wheel to their lanes.
func (n *near) fire(values []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range values {
		// Between the wheel's lock and this one the entry may have been
		// renewed, forgotten, or its place given to another. What then fires
		// too early is told so by the claim, and waits again.
		e := &n.entries[i]
		if e.lane == nil || e.place != waiting {
			continue
		}
		e.place = ready
		e.lane.ready.push(int(e.shard), i)
		e.lane.wake.Signal()
	}
}

// take waits for tasks that have fired and hands out up to limit of them, nil
// once the lane is closed.
func (n *near) take(l *lane, limit int) []*item {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l.ready.len() == 0 && !l.closed {
		l.wake.Wait()
	}
	if l.closed {
		return nil
	}
	items := make([]*item, 0, min(limit, l.ready.len()))
	for len(items) < limit && l.ready.len() > 0 {
		i := l.ready.pop()
		e := &n.entries[i]
		e.place = running
		items = append(items, &item{key: e.key, due: e.due, at: e.at, waits: e.waits, token: e.token})
	}
	l.inFlight += len(items)
	if l.ready.len() > 0 {
		l.wake.Signal()
	}
	return items
}

// adopt takes overdue tasks for the sweep: those that are not on their way
// here already.
func (n *near) adopt(l *lane, tasks []Task) []*item {
	n.mu.Lock()
	defer n.mu.Unlock()
	var items []*item
	for _, t := range tasks {
		i, known := l.entries[t.Key]
		if l.finished.has(t.Key, t.Due) {
			continue
		}
		if known && (n.entries[i].place != waiting || n.entries[i].hold) {
			continue
		}
		if known {
			n.wheel.Cancel(n.entries[i].handle)
		} else {
			i = n.add(l, t.Key)
		}
		n.entries[i].place = running
		items = append(items, &item{key: t.Key, due: t.Due, at: t.Due, swept: true, token: n.entries[i].token})
	}
	l.inFlight += len(items)
	return items
}

// finish lets go of tasks that a worker or the sweep had.
func (n *near) finish(l *lane, items ...*item) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, it := range items {
		n.remove(l.entries[it.key])
	}
	l.inFlight -= len(items)
}

// back returns a task to the wheel instead.
func (n *near) back(l *lane, it *item, at int64, hold bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := l.entries[it.key]
	e := &n.entries[i]
	e.due, e.waits, e.hold, e.token = it.due, it.waits, hold, it.token
	l.inFlight--
	n.arm(i, at)
}

// done lets go of a task that needs nothing more.
func (n *near) done(l *lane, it *item) {
	n.mu.Lock()
	l.finished.add(it.key, it.due, time.Now())
	n.mu.Unlock()
	n.finish(l, it)
}

// isDone reports whether the task was finished here a moment ago, so that a
// source which was read just before brings it in vain.
func (n *near) isDone(l *lane, key string, due int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return l.finished.has(key, due)
}

// room is how many more tasks of the kind may come in.
func (n *near) room(l *lane) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return nearLimit - len(l.entries)
}

// counts are the tasks in the process, those of them in flight and those past
// their deadline.
func (n *near) counts(l *lane) (known, inFlight, overdue int64) {
	now := n.clock.Now().UnixMilli()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range l.entries {
		if due := n.entries[i].due; due != 0 && due <= now && n.entries[i].place != running {
			overdue++
		}
	}
	return int64(len(l.entries)), int64(l.inFlight), overdue
}

func (n *near) add(l *lane, key string) uint32 {
	var i uint32
	if last := len(n.free) - 1; last >= 0 {
		i, n.free = n.free[last], n.free[:last]
	} else {
		i = uint32(len(n.entries))
		n.entries = append(n.entries, entry{})
	}
	n.entries[i] = entry{lane: l, key: key, shard: int32(shardOf(key, n.shards))}
	l.entries[key] = i
	return i
}

func (n *near) remove(i uint32) {
	e := &n.entries[i]
	delete(e.lane.entries, e.key)
	*e = entry{}
	n.free = append(n.free, i)
}

// arm puts the entry into the wheel; when the wheel has stopped, the entry
// just goes.
func (n *near) arm(i uint32, at int64) {
	e := &n.entries[i]
	e.place, e.at = waiting, at
	handle, err := n.wheel.Add(n.instant(at), i)
	e.handle = handle
	if err != nil {
		n.remove(i)
	}
}

// instant converts unix ms of the engine's clock to the wheel's.
func (n *near) instant(at int64) time.Duration {
	now := n.clock.Now()
	ahead := min(at-now.UnixMilli(), nearHold.Milliseconds())
	return n.wheel.Now() + time.Duration(ahead)*time.Millisecond - time.Duration(now.Nanosecond()%int(time.Millisecond))
}

// recent remembers finished tasks and their deadlines in two generations.
type recent struct {
	newer, older map[string]int64
	since        time.Time
}

func (r *recent) add(key string, due int64, now time.Time) {
	if r.newer == nil || now.Sub(r.since) > nearRecent || len(r.newer) >= nearLimit {
		r.older, r.newer, r.since = r.newer, map[string]int64{}, now
	}
	r.newer[key] = due
}

func (r *recent) has(key string, due int64) bool {
	for _, m := range []map[string]int64{r.newer, r.older} {
		if at, ok := m[key]; ok && at == due {
			return true
		}
	}
	return false
}
