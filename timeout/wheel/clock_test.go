package wheel

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hand is a clock set by hand and the wheel that goes by it, turned by hand.
type hand struct {
	now   time.Duration
	wheel *Wheel
	armed time.Duration // instant of the next wake-up, never if none
	fired []firing
}

type firing struct {
	value uint32
	at    time.Duration
}

func newHand(tick time.Duration) *hand {
	h := &hand{armed: never}
	h.wheel = newWheel(func(values []uint32) {
		for _, v := range values {
			h.fired = append(h.fired, firing{v, h.now})
		}
	}, tick, func() time.Duration { return h.now }, h)
	return h
}

func (h *hand) Arm(d time.Duration) { h.armed = h.now + d }
func (*hand) Sleep()                {}
func (*hand) Close() error          { return nil }

// set sets the clock and lets the wheel fire what is due then.
func (h *hand) set(now time.Duration) {
	h.now = now
	h.armed = never
	for all := false; !all; {
		all, _ = h.wheel.turn()
	}
}

func (h *hand) add(t *testing.T, at time.Duration, value uint32) {
	t.Helper()
	if _, err := h.wheel.Add(at, value); err != nil {
		t.Fatal(err)
	}
}

func TestClockStepsForwardAndBackward(t *testing.T) {
	h := newHand(0)
	for i, at := range []time.Duration{time.Second, time.Minute, 30 * time.Minute, time.Hour} {
		h.add(t, at, uint32(i))
	}
	h.set(31 * time.Minute) // as after a suspend
	want := []firing{{0, 31 * time.Minute}, {1, 31 * time.Minute}, {2, 31 * time.Minute}}
	if !slices.Equal(h.fired, want) {
		t.Fatalf("fired %v, want %v", h.fired, want)
	}
	if h.armed != time.Hour {
		t.Fatalf("armed for %v, want 1h", h.armed)
	}
	h.fired = nil
	h.set(10 * time.Minute)
	h.add(t, 20*time.Minute, 4) // ahead on the clock, behind where the wheel has been
	h.add(t, 40*time.Minute, 5)
	for _, now := range []time.Duration{20*time.Minute - tick, 31 * time.Minute, 40*time.Minute - 1, 40 * time.Minute, time.Hour} {
		h.set(now)
	}
	want = []firing{{4, 31 * time.Minute}, {5, 40 * time.Minute}, {3, time.Hour}}
	if !slices.Equal(h.fired, want) {
		t.Fatalf("fired %v, want %v", h.fired, want)
	}
}

// However the clock jumps, nothing fires before the clock shows its deadline,
// and all that the clock has passed by more than ever before has fired.
func TestAnyClockNeverEarlyAndCatchesUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHand(0)
		due := map[uint32]time.Duration{}
		var furthest time.Duration
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{op: rapid.SampledFrom([]string{"add", "forward", "back"}).Draw(t, "op"), delay: delays().Draw(t, "delay")}
		}), 1, 50).Draw(t, "steps")
		for i, s := range steps {
			switch s.op {
			case "add":
				due[uint32(i)] = h.now + s.delay
				if _, err := h.wheel.Add(h.now+s.delay, uint32(i)); err != nil {
					t.Fatal(err)
				}
				h.set(h.now)
			case "forward":
				h.set(h.now + max(s.delay, 0))
			case "back":
				h.set(h.now - min(max(s.delay, 0), h.now))
			}
			furthest = max(furthest, h.now)
			for _, f := range h.fired {
				if f.at < due[f.value] {
					t.Fatalf("%d fired at %v, is due at %v", f.value, f.at, due[f.value])
				}
				delete(due, f.value)
			}
			h.fired = nil
			if h.now < furthest {
				continue
			}
			for v, at := range due {
				if roundUp(at) <= h.now {
					t.Fatalf("%d, due at %v, has not fired at %v", v, at, h.now)
				}
			}
			if err := armedFor(h, due); err != "" {
				t.Fatal(err)
			}
		}
	})
}

// armedFor says whether the wheel sleeps beyond a deadline.
func armedFor(h *hand, due map[uint32]time.Duration) string {
	if len(due) == 0 {
		return ""
	}
	all := make([]time.Duration, 0, len(due))
	for _, at := range due {
		all = append(all, roundUp(at))
	}
	if want := slices.MinFunc(all, cmp.Compare); h.armed != want {
		return fmt.Sprintf("armed for %v, want %v", h.armed, want)
	}
	return ""
}
