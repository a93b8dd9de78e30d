package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// steady is the pace after half a second in which entries fire evenly.
func steady(most uint64, perSecond int) uint64 {
	p := pace{most: most}
	var now time.Duration
	owed := 0.0
	for now < 500*time.Millisecond {
		wait := time.Duration(p.ticks()) * FinestTick
		now += wait
		owed += float64(perSecond) * wait.Seconds()
		p.note(int(owed), now)
		owed -= float64(int(owed))
	}
	return p.ticks()
}

func TestPaceFollowsTheRate(t *testing.T) {
	for _, c := range []struct {
		perSecond   int
		least, most uint64
	}{
		{0, 1, 1}, {1000, 1, 1}, {10_000, 1, 1}, {50_000, 2, 3}, {100_000, 4, 6}, {300_000, 10, 10}, {10_000_000, 10, 10},
	} {
		if got := steady(10, c.perSecond); got < c.least || got > c.most {
			t.Errorf("%d a second: %d ticks, want %d to %d", c.perSecond, got, c.least, c.most)
		}
		if got := steady(1, c.perSecond); got != 1 {
			t.Errorf("%d a second: %d ticks at a fixed pace", c.perSecond, got)
		}
	}
}

// After a burst the wheel is exact again within hundredths of a second.
func TestPaceForgetsABurst(t *testing.T) {
	p := pace{most: 10}
	p.note(100_000, time.Second)
	if p.ticks() != 10 {
		t.Fatalf("%d ticks after a burst", p.ticks())
	}
	p.note(1, time.Second+lately)
	if p.ticks() != 1 {
		t.Fatalf("%d ticks a while after it", p.ticks())
	}
	p.note(0, 0) // a clock that went back
	if p.ticks() != 1 {
		t.Fatalf("%d ticks when the clock went back", p.ticks())
	}
}

// In a burst the wheel wakes up for many deadlines at once: each late by less
// than the coarsest tick, none early. After it, it is exact to the tick.
func TestBurstIsCoarseAndNeverEarly(t *testing.T) {
	h := newHand(0)
	const many = 400_000
	due := make([]time.Duration, many+1)
	for i := range many {
		due[i] = time.Second + rand.N(time.Second) // 400,000 a second
		h.add(t, due[i], uint32(i))
	}
	lone := 2*time.Second + 500*time.Millisecond + 1
	due[many] = lone
	h.add(t, lone, many)
	wakes := 0
	for len(h.fired) < len(due) {
		if h.armed == never {
			t.Fatalf("nothing armed, %d of %d fired", len(h.fired), len(due))
		}
		wakes++
		h.set(max(h.armed, h.now))
	}
	var latest time.Duration
	for _, f := range h.fired[:len(due)-1] {
		late := f.at - due[f.value]
		if late < 0 {
			t.Fatalf("%v early", -late)
		}
		latest = max(latest, late)
	}
	// All ticks of that second have entries; a millisecond and the rounding up of the deadline.
	if wakes > 1100 || latest > CoarsestTick+FinestTick {
		t.Fatalf("%d wake-ups, %v late", wakes, latest)
	}
	if last := h.fired[len(due)-1]; last.at != roundUp(lone) {
		t.Fatalf("the one after the burst fired at %v, want %v", last.at, roundUp(lone))
	}
}

// A tick that was asked for stays what it is.
func TestFixedTick(t *testing.T) {
	const fixed = 7 * time.Millisecond
	h := newHand(fixed)
	for i := range uint32(10_000) {
		h.add(t, time.Duration(i)*time.Microsecond*100, i)
	}
	var at []time.Duration
	for len(h.fired) < 10_000 {
		h.set(max(h.armed, h.now))
		at = append(at, h.now)
	}
	if len(at) != int(time.Second/fixed)+2 || !slices.IsSorted(at) || at[1] != fixed {
		t.Fatalf("%d wake-ups, the second at %v", len(at), at[1])
	}
	for _, f := range h.fired {
		if due := time.Duration(f.value) * 100 * time.Microsecond; f.at < due || f.at-due >= fixed {
			t.Fatalf("due at %v, fired at %v", due, f.at)
		}
	}
}

// Whoever adds never waits for more than a portion, however many entries a
// slot holds.
func TestNoTurnHandlesMoreThanAPortion(t *testing.T) {
	const n = 20 * portion
	h := newHand(0)
	for i := range uint32(n) {
		h.add(t, time.Duration(slots*slots+i%2)*FinestTick, i) // one slot, to be moved down first
	}
	h.now = time.Hour
	turns := 0
	for all := false; !all; turns++ {
		before := len(h.fired)
		all, _ = h.wheel.turn()
		if fired := len(h.fired) - before; fired > portion {
			t.Fatalf("%d fired in a turn", fired)
		}
	}
	// Half of them are due at the slot's first tick, but move down like the others.
	if len(h.fired) != n || turns <= 2*n/portion {
		t.Fatalf("%d fired in %d turns", len(h.fired), turns)
	}
}
