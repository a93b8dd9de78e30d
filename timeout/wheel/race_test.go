package wheel

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Each entry is cancelled or fires, never both and never neither: another
// wheel's cancel came to nothing while an entry was between two slots.
func TestCancelOrFireNeverBoth(t *testing.T) {
	const callers, each = 4, 5000
	var fired [callers * each]atomic.Int32
	var outcomes sync.WaitGroup // one for each that fires, one for each cancelled
	outcomes.Add(len(fired))
	w := startWheel(t, func(values []uint32) {
		for _, v := range values {
			fired[v].Add(1)
			outcomes.Done()
		}
	})
	var cancelled [len(fired)]bool
	var running sync.WaitGroup
	for c := range callers {
		running.Go(func() {
			var handles [each]Handle
			for i := range handles {
				handles[i], _ = w.Add(w.Now()+rand.N(20*time.Millisecond), uint32(c*each+i))
				// Beside it, moves and cancels of whatever is on its way down.
				k := rand.N(i + 1)
				w.Renew(handles[k], w.Now()+rand.N(20*time.Millisecond))
				k = rand.N(i + 1)
				if w.Cancel(handles[k]) {
					cancelled[c*each+k] = true
					outcomes.Done()
				}
			}
		})
	}
	running.Wait()
	outcomes.Wait()
	both, never := 0, 0
	for i := range fired {
		n := fired[i].Load()
		if cancelled[i] {
			n++
		}
		switch {
		case n > 1:
			both++
		case n < 1:
			never++
		}
	}
	if both > 0 || never > 0 || w.Len() != 0 {
		t.Fatalf("%d cancelled and fired or fired twice, %d neither, %d left", both, never, w.Len())
	}
}

// Other wheels made a negative delay ten seconds, and a delay of zero a turn.
func TestPastInstantsFireAtOnce(t *testing.T) {
	h := newHand(0)
	h.set(time.Hour)
	for i, at := range []time.Duration{time.Hour, time.Hour - 1, 0, -1, math.MinInt64} {
		h.add(t, at, uint32(i))
		if h.armed > h.now {
			t.Fatalf("for %v armed in %v", at, h.armed-h.now)
		}
		h.set(h.now)
		if len(h.fired) != i+1 {
			t.Fatalf("%v has not fired", at)
		}
	}
	h.add(t, math.MaxInt64, 99) // 292 years ahead
	h.set(math.MaxInt64 - FinestTick)
	if len(h.fired) != 5 {
		t.Fatal("the last instant came early")
	}
}

// Other wheels fired twice, or lost, what was moved to now or moved and then
// cancelled.
func TestRenewToNowThenStale(t *testing.T) {
	h := newHand(0)
	h.set(time.Second)
	moved, _ := h.wheel.Add(time.Hour, 1)
	gone, _ := h.wheel.Add(time.Hour, 2)
	if !h.wheel.Renew(moved, h.now) || !h.wheel.Renew(gone, 2*time.Hour) || !h.wheel.Cancel(gone) {
		t.Fatal("a waiting entry was refused")
	}
	h.set(time.Second)
	if h.wheel.Renew(moved, time.Minute) || h.wheel.Cancel(moved) || h.wheel.Renew(gone, 0) || h.wheel.Cancel(gone) {
		t.Fatal("a stale handle was accepted")
	}
	h.set(3 * time.Hour)
	if len(h.fired) != 1 || h.fired[0] != (firing{1, time.Second}) {
		t.Fatalf("fired %v", h.fired)
	}
}

// Another wheel took its slot's lock again while it moved entries from the slot
// to itself, and stood still for ever. Here the callback uses every method on
// the slot it was fired from, while others do the same.
func TestFireMayUseTheWheel(t *testing.T) {
	const chain = 300
	done := make(chan struct{})
	var w *Wheel
	ready := make(chan struct{})
	links := 0
	w = startWheel(t, func(values []uint32) {
		<-ready
		for range values {
			h, err := w.Add(w.Now()+FinestTick, 1)
			if err != nil || !w.Renew(h, w.Now()) || w.Len() < 1 {
				t.Error("the callback's entry is not there")
			}
			if links++; links == chain {
				close(done)
			}
			if links >= chain && !w.Cancel(h) {
				t.Error("cannot cancel from the callback")
			}
		}
	})
	if _, err := w.Add(0, 1); err != nil {
		t.Fatal(err)
	}
	close(ready)
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					h, _ := w.Add(w.Now()+FinestTick*slots, 2)
					w.Cancel(h)
				}
			}
		})
	}
	<-done
	others.Wait()
}
