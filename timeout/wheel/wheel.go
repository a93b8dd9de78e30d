// Package wheel is a hierarchical timing wheel for many deadlines that are
// soon: it never fires early, sleeps until the next real deadline, and adds,
// cancels and renews in constant time without allocating.
//
// Time is a count of nanoseconds on the wheel's own monotonic clock. A
// deadline is rounded up to a tick; what is due is worked out from the clock
// each time and never by counting ticks, so that a busy machine makes the
// wheel late by the length of the pause and no more. A tick is 100 µs; while
// very many entries fire, the wheel wakes up for several ticks at once, up to
// a millisecond, which makes some of them later and none early.
//
// A level has 64 slots and a bitmap of those in use. The level of a deadline
// is that of the highest base-64 digit in which it differs from the current
// tick; all of its digits above that one are the current tick's. So within a
// level no slot lies behind the current one, nothing wraps around, and the
// next deadline is the first set bit of the lowest level in use. When the
// wheel reaches a slot above level 0, its entries move down, a portion under
// the lock at a time. Eleven levels cover every tick there is.
package wheel

import (
	"errors"
	"math"
	"sync"
	"time"
)

// ErrStopped is Add after Stop.
var ErrStopped = errors.New("wheel: stopped")

// ErrFull is Add when four billion entries, the reach of a handle, are in use.
var ErrFull = errors.New("wheel: full")

// Options of a wheel; zero fields take defaults.
type Options struct {
	// Tick fixes the resolution. By default it adapts: FinestTick while few
	// entries fire, up to CoarsestTick while very many do.
	Tick time.Duration
	// Sleeper waits for the next deadline. The default is a timerfd, helped by
	// a time.Timer, on Linux and a time.Timer alone elsewhere. A program under
	// testing/synctest passes NewTimerSleeper. The wheel closes it.
	Sleeper Sleeper
}

// Wheel is safe for concurrent use.
type Wheel struct {
	tick     time.Duration
	last     uint64 // the last tick whose instant can be told
	now      func() time.Duration
	fire     func(values []uint32)
	sleepers []Sleeper // each with a goroutine of its own; all wake up for the same deadline
	runs     sync.WaitGroup

	firing sync.Mutex // before mu: held from taking out to the end of fire
	due    []uint32

	mu      sync.Mutex
	entries hierarchy
	pace    pace
	rest    time.Duration // no wake-up before this instant
	armed   time.Duration
	stopped bool
}

// never is an instant that is not armed for.
const never = time.Duration(math.MaxInt64)

// New starts a wheel. It calls fire, never twice at a time and outside its lock,
// with the values of entries that are due, those of an earlier tick first, at
// most 256; the slice is the wheel's again when fire returns. fire may call
// every method but Stop.
func New(fire func(values []uint32), o Options) (*Wheel, error) {
	if o.Tick < 0 {
		return nil, errors.New("wheel: negative tick")
	}
	sleepers := []Sleeper{o.Sleeper}
	if o.Sleeper == nil {
		var err error
		if sleepers, err = newSleepers(); err != nil {
			return nil, err
		}
	}
	start := time.Now() // with its monotonic reading
	w := newWheel(fire, o.Tick, func() time.Duration { return time.Since(start) }, sleepers...)
	for _, s := range sleepers {
		w.runs.Go(func() { w.run(s) })
	}
	return w, nil
}

// newWheel makes a wheel that does not turn yet.
func newWheel(fire func(values []uint32), tick time.Duration, now func() time.Duration, s ...Sleeper) *Wheel {
	p := pace{most: 1}
	if tick == 0 {
		tick = FinestTick
		p.most = uint64(CoarsestTick / FinestTick)
	}
	return &Wheel{
		tick: tick, last: uint64((never - 1) / tick), now: now, fire: fire, sleepers: s, due: make([]uint32, 0, portion),
		entries: newHierarchy(), pace: p, armed: never,
	}
}

// Now is the wheel's clock: the time since New, monotonic.
func (w *Wheel) Now() time.Duration { return w.now() }

// Add has value fired at the instant on the wheel's clock; a past or negative
// one fires at once.
func (w *Wheel) Add(at time.Duration, value uint32) (Handle, error) {
	tick := w.ticks(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return 0, ErrStopped
	}
	h, ok := w.entries.add(tick, value)
	if !ok {
		return 0, ErrFull
	}
	w.rearm(tick)
	return h, nil
}

// Cancel removes the entry and reports whether it was still waiting.
func (w *Wheel) Cancel(h Handle) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries.cancel(h)
}

// Renew moves the entry to another instant under the same handle and reports
// whether it was still waiting.
func (w *Wheel) Renew(h Handle, at time.Duration) bool {
	tick := w.ticks(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || !w.entries.renew(h, tick) {
		return false
	}
	w.rearm(tick)
	return true
}

// Len is the number of entries that wait.
func (w *Wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries.inUse
}

// Stop ends the wheel and returns when fire is not running any more and will
// not be called again. It returns the number of entries left. It may be called
// more than once, but not from fire.
func (w *Wheel) Stop() int {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		w.wake(0)
	}
	w.mu.Unlock()
	w.runs.Wait()
	return w.Len()
}

// run fires what is due and sleeps until the next deadline.
func (w *Wheel) run(s Sleeper) {
	defer s.Close()
	for {
		all, stopped := w.turn()
		if stopped {
			return
		}
		if all {
			s.Sleep()
		}
	}
}

// turn fires what is due, up to a portion, and reports whether that was all.
func (w *Wheel) turn() (all, stopped bool) {
	w.firing.Lock()
	defer w.firing.Unlock()
	if w.due, all, stopped = w.take(w.due[:0]); len(w.due) > 0 {
		w.fire(w.due)
	}
	return all, stopped
}

// take takes out what is due, up to a portion, and when that was all arms the
// sleeper for the next deadline. Arming under the lock keeps it in order with
// rearm: an entry added after this sees the instant that is armed.
func (w *Wheel) take(due []uint32) (_ []uint32, all, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return due, false, true
	}
	now := w.Now()
	tick := uint64(now / w.tick)
	due, all = w.entries.take(tick, due, portion)
	w.pace.note(len(due), now)
	if !all {
		return due, false, false
	}
	w.rest = 0
	if wait := w.pace.ticks(); wait > 1 {
		w.rest = time.Duration(tick+wait) * w.tick
	}
	w.armed = never
	if next, ok := w.entries.next(); ok {
		w.rearm(next)
	}
	return due, true, false
}

// rearm makes the sleeper wake up for the tick unless it does so earlier.
func (w *Wheel) rearm(tick uint64) {
	at := never - 1
	if tick <= w.last {
		at = max(time.Duration(tick)*w.tick, w.rest)
	}
	if at < w.armed {
		w.armed = at
		w.wake(at - w.Now())
	}
}

func (w *Wheel) wake(after time.Duration) {
	for _, s := range w.sleepers {
		s.Arm(after)
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
