// Package wheel is a hierarchical timing wheel for many deadlines that are
// soon: it never fires early, sleeps until the next real deadline, and adds,
// cancels and renews in constant time without allocating.
//
// Time is a count of nanoseconds on the wheel's own monotonic clock. A
// deadline is rounded up to a tick; what is due is worked out from the clock
// each time and never by counting ticks, so that a busy machine makes the
// wheel late by the length of the pause and no more.
//
// A level has 64 slots and a bitmap of those in use. The level of a deadline
// is that of the highest base-64 digit in which it differs from the current
// tick; all of its digits above that one are the current tick's. So within a
// level no slot lies behind the current one, nothing wraps around, and the
// next deadline is the first set bit of the lowest level in use. When the
// wheel reaches a slot above level 0, its entries move down. Eleven levels
// cover every tick there is.
package wheel

import (
	"errors"
	"math"
	"math/bits"
	"sync"
	"time"
)

const (
	digit  = 6 // bits of a tick per level
	slots  = 1 << digit
	levels = (64 + digit - 1) / digit

	// maxBatch bounds what is taken out under the lock at a time.
	maxBatch = 4096
)

// DefaultTick is fine enough for p99 lateness under half a millisecond and
// costs a quarter of what 100 µs would.
const DefaultTick = 250 * time.Microsecond

// ErrStopped is Add after Stop.
var ErrStopped = errors.New("wheel: stopped")

// ErrFull is Add when 2^32 entries, the reach of a handle, are in use.
var ErrFull = errors.New("wheel: full")

// Handle names one entry. Once the entry has fired or was cancelled its
// handle stays invalid, also when its place is used again. The zero Handle is
// never valid.
type Handle uint64

// node is one entry in 24 bytes without a pointer, so that a million of them
// cost the garbage collector nothing. The first levels*slots nodes are the
// heads of the slots' circular lists.
type node struct {
	tick       uint64
	next, prev uint32
	gen        uint32 // odd while in use
	value      uint32
}

// Options of a wheel; zero fields take defaults.
type Options struct {
	// Tick is the resolution, DefaultTick if 0.
	Tick time.Duration
	// Sleeper waits for the next deadline. The default is a timerfd on Linux
	// and a time.Timer elsewhere. A program under testing/synctest passes
	// NewTimerSleeper. The wheel closes it.
	Sleeper Sleeper
}

// Wheel is safe for concurrent use.
type Wheel struct {
	tick    time.Duration
	start   time.Time // with its monotonic reading
	fire    func(values []uint32)
	sleeper Sleeper
	done    chan struct{}

	mu       sync.Mutex
	nodes    []node
	free     uint32 // head of the list of unused nodes through next, 0 if none
	occupied [levels]uint64
	inUse    int
	current  uint64 // the tick up to which everything has been taken out
	armed    time.Duration
	stopped  bool
}

// never is an instant that is not armed for.
const never = time.Duration(math.MaxInt64)

// New starts a wheel. It calls fire from one goroutine, outside its lock, with
// the values of entries that are due, those of an earlier tick first, at most
// 4,096 at a time; the slice is the wheel's again when fire returns. fire may
// call every method but Stop.
func New(fire func(values []uint32), o Options) (*Wheel, error) {
	if o.Tick == 0 {
		o.Tick = DefaultTick
	}
	if o.Tick < 0 {
		return nil, errors.New("wheel: negative tick")
	}
	if o.Sleeper == nil {
		s, err := newSleeper()
		if err != nil {
			return nil, err
		}
		o.Sleeper = s
	}
	w := &Wheel{
		tick: o.Tick, start: time.Now(), fire: fire, sleeper: o.Sleeper,
		done: make(chan struct{}), nodes: make([]node, levels*slots), armed: never,
	}
	for i := range w.nodes {
		w.nodes[i].next, w.nodes[i].prev = uint32(i), uint32(i)
	}
	go w.run()
	return w, nil
}

// Now is the wheel's clock: the time since New, monotonic.
func (w *Wheel) Now() time.Duration { return time.Since(w.start) }

// Add has value fired at the instant on the wheel's clock; a past or negative
// one fires at once.
func (w *Wheel) Add(at time.Duration, value uint32) (Handle, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return 0, ErrStopped
	}
	i, ok := w.allocate()
	if !ok {
		return 0, ErrFull
	}
	n := &w.nodes[i]
	n.value = value
	n.tick = w.ticks(at)
	w.link(i)
	w.rearm(n.tick)
	return Handle(uint64(n.gen)<<32 | uint64(i)), nil
}

// Cancel removes the entry and reports whether it was still waiting.
func (w *Wheel) Cancel(h Handle) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := w.find(h)
	if !ok {
		return false
	}
	w.unlink(i)
	w.release(i)
	return true
}

// Renew moves the entry to another instant under the same handle and reports
// whether it was still waiting.
func (w *Wheel) Renew(h Handle, at time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := w.find(h)
	if !ok || w.stopped {
		return false
	}
	w.unlink(i)
	w.nodes[i].tick = w.ticks(at)
	w.link(i)
	w.rearm(w.nodes[i].tick)
	return true
}

// Len is the number of entries that wait.
func (w *Wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inUse
}

// Stop ends the wheel and returns when fire is not running any more and will
// not be called again. It returns the number of entries left. It may be called
// more than once, but not from fire.
func (w *Wheel) Stop() int {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		w.sleeper.Arm(0)
	}
	w.mu.Unlock()
	<-w.done
	return w.Len()
}

// run takes out what is due, fires it, and sleeps until the next deadline.
func (w *Wheel) run() {
	defer close(w.done)
	defer w.sleeper.Close()
	var batch []uint32
	for {
		w.mu.Lock()
		if w.stopped {
			w.mu.Unlock()
			return
		}
		batch = w.takeDue(batch[:0])
		if len(batch) == 0 {
			// Arming under the lock keeps it in order with rearm: an entry
			// added after this sees the instant that is armed.
			w.armed = never
			if next, ok := w.next(); ok {
				w.rearm(next)
			}
		}
		w.mu.Unlock()
		if len(batch) > 0 {
			w.fire(batch)
			continue
		}
		w.sleeper.Sleep()
	}
}

// takeDue advances to the tick that is now and appends the values of due
// entries to batch, up to maxBatch.
func (w *Wheel) takeDue(batch []uint32) []uint32 {
	target := uint64(w.Now() / w.tick)
	for len(batch) < maxBatch {
		level, slot, at, ok := w.first()
		if !ok || at > target {
			w.current = max(w.current, target)
			break
		}
		w.current = max(w.current, at)
		head := uint32(level*slots + slot)
		for w.nodes[head].next != head && (level > 0 || len(batch) < maxBatch) {
			i := w.nodes[head].next
			w.unlink(i)
			if level > 0 {
				w.link(i)
				continue
			}
			batch = append(batch, w.nodes[i].value)
			w.release(i)
		}
	}
	return batch
}

// first finds the earliest slot in use and the tick at which it begins.
func (w *Wheel) first() (level, slot int, at uint64, ok bool) {
	for level := range levels {
		if w.occupied[level] == 0 {
			continue
		}
		slot := bits.TrailingZeros64(w.occupied[level])
		shift := level * digit
		above := uint64(0) // the digits above this level, the current tick's
		if shift+digit < 64 {
			above = w.current >> (shift + digit) << (shift + digit)
		}
		return level, slot, above | uint64(slot)<<shift, true
	}
	return 0, 0, 0, false
}

// next is the tick of the earliest entry, exactly: a slot above level 0 is
// searched, so that the wheel does not wake up to move entries down. A slot
// that is too long to search counts from its beginning.
func (w *Wheel) next() (uint64, bool) {
	level, slot, at, ok := w.first()
	if !ok || level == 0 {
		return at, ok
	}
	const search = 64
	earliest := uint64(math.MaxUint64)
	head := uint32(level*slots + slot)
	seen := 0
	for i := w.nodes[head].next; i != head; i = w.nodes[i].next {
		if seen++; seen > search {
			return at, true
		}
		earliest = min(earliest, w.nodes[i].tick)
	}
	return earliest, true
}

// rearm makes the sleeper wake up for the tick unless it does so earlier.
func (w *Wheel) rearm(tick uint64) {
	at := never - 1
	if tick <= uint64(never-1)/uint64(w.tick) {
		at = time.Duration(tick) * w.tick
	}
	if at < w.armed {
		w.armed = at
		w.sleeper.Arm(at - w.Now())
	}
}

// ticks rounds an instant up to a tick.
func (w *Wheel) ticks(at time.Duration) uint64 {
	if at <= 0 {
		return 0
	}
	t := uint64(at / w.tick)
	if at%w.tick != 0 {
		t++
	}
	return t
}

// link files the node under its tick, or under the current one if that is past.
func (w *Wheel) link(i uint32) {
	n := &w.nodes[i]
	tick := max(n.tick, w.current)
	level := 0
	if differ := tick ^ w.current; differ != 0 {
		level = (bits.Len64(differ) - 1) / digit
	}
	slot := int(tick>>(level*digit)) & (slots - 1)
	w.occupied[level] |= 1 << slot
	head := uint32(level*slots + slot)
	last := w.nodes[head].prev
	n.next, n.prev = head, last
	w.nodes[last].next, w.nodes[head].prev = i, i
}

// unlink takes the node out of its list and clears the slot's bit when it was
// the last: then only the head, whose index tells the slot, is left.
func (w *Wheel) unlink(i uint32) {
	next, prev := w.nodes[i].next, w.nodes[i].prev
	w.nodes[prev].next, w.nodes[next].prev = next, prev
	if next == prev && next < levels*slots {
		w.occupied[next/slots] &^= 1 << (next % slots)
	}
}

func (w *Wheel) allocate() (uint32, bool) {
	i := w.free
	if i != 0 {
		w.free = w.nodes[i].next
	} else {
		if len(w.nodes) > math.MaxUint32 {
			return 0, false
		}
		i = uint32(len(w.nodes))
		w.nodes = append(w.nodes, node{})
	}
	w.nodes[i].gen++
	w.inUse++
	return i, true
}

func (w *Wheel) release(i uint32) {
	w.nodes[i].gen++
	w.nodes[i].next = w.free
	w.free = i
	w.inUse--
}

func (w *Wheel) find(h Handle) (uint32, bool) {
	i, gen := uint32(h), uint32(h>>32)
	if uint64(i) >= uint64(len(w.nodes)) || gen&1 == 0 || w.nodes[i].gen != gen {
		return 0, false
	}
	return i, true
}
