package wheel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/timeout/stall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tick = FinestTick

// roundUp is when an entry for the instant fires at the earliest.
func roundUp(at time.Duration) time.Duration {
	if rest := at % tick; at > 0 && rest != 0 {
		return at + tick - rest
	}
	return max(at, 0)
}

// step is one operation of the property test: exactly one field group counts.
type step struct {
	op    string // add, cancel, renew, sleep
	delay time.Duration
	which int
}

// delays favours the edges of slots and levels, where wheels go wrong.
func delays() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		level := rapid.IntRange(0, 7).Draw(t, "level")
		slot := rapid.Int64Range(0, slots).Draw(t, "slot")
		near := rapid.Int64Range(-2, 2).Draw(t, "near")
		part := rapid.Int64Range(-1, 1).Draw(t, "part")
		ticks := slot<<(level*digit) + near
		ticks = min(ticks, int64(3*365*24*time.Hour/tick))
		return time.Duration(ticks)*tick + time.Duration(part)
	})
}

func steps() *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{op: rapid.SampledFrom([]string{"add", "add", "cancel", "renew", "sleep"}).Draw(t, "op")}
		s.delay = delays().Draw(t, "delay")
		s.which = rapid.IntRange(0, 1000).Draw(t, "which")
		return s
	})
	return rapid.SliceOfN(one, 1, 60)
}

// model is the wheel written naively: a list of what waits and until when.
type model struct {
	until map[uint32]time.Duration
	fired map[uint32]time.Duration
}

// replay runs the steps on a wheel and on the model under a simulated clock,
// in which time only passes while everybody sleeps: entries must fire at
// their exact tick. It returns what differed.
func replay(t *testing.T, all []step) (problem string) {
	synctest.Test(t, func(t *testing.T) {
		m := model{until: map[uint32]time.Duration{}, fired: map[uint32]time.Duration{}}
		var w *Wheel
		fire := func(values []uint32) {
			for _, v := range values {
				if _, twice := m.fired[v]; twice {
					problem = fmt.Sprintf("%d fired twice", v)
				}
				m.fired[v] = w.Now()
			}
		}
		started := make(chan struct{})
		var err error
		w, err = New(func(values []uint32) { <-started; fire(values) }, Options{Sleeper: NewTimerSleeper()})
		if err != nil {
			t.Fatal(err)
		}
		close(started)
		handles := map[uint32]Handle{}
		var ids []uint32
		for _, s := range all {
			synctest.Wait() // what is due has fired
			waiting := func(id uint32) bool { _, ok := m.until[id]; return ok && m.until[id] > w.Now() }
			switch {
			case s.op == "add":
				id := uint32(len(ids))
				h, err := w.Add(w.Now()+s.delay, id)
				if err != nil {
					problem = err.Error()
				}
				ids = append(ids, id)
				handles[id] = h
				m.until[id] = max(roundUp(w.Now()+s.delay), w.Now())
			case s.op == "sleep":
				time.Sleep(max(s.delay, 0))
			case len(ids) == 0:
			case s.op == "cancel":
				id := ids[s.which%len(ids)]
				want := waiting(id)
				if got := w.Cancel(handles[id]); got != want {
					problem = fmt.Sprintf("cancel %d: %v, want %v", id, got, want)
				}
				if want {
					delete(m.until, id)
				}
			case s.op == "renew":
				id := ids[s.which%len(ids)]
				want := waiting(id)
				if got := w.Renew(handles[id], w.Now()+s.delay); got != want {
					problem = fmt.Sprintf("renew %d: %v, want %v", id, got, want)
				}
				if want {
					m.until[id] = max(roundUp(w.Now()+s.delay), w.Now())
				}
			}
		}
		time.Sleep(4 * 365 * 24 * time.Hour)
		synctest.Wait()
		if left := w.Stop(); left != 0 {
			problem = fmt.Sprintf("%d left", left)
		}
		for id, want := range m.until {
			if got, ok := m.fired[id]; !ok || got != want {
				problem = fmt.Sprintf("%d fired at %v (%v), want %v", id, got, ok, want)
			}
		}
		if len(m.fired) != len(m.until) {
			problem = fmt.Sprintf("%d fired, want %d", len(m.fired), len(m.until))
		}
	})
	return problem
}

func TestWheelAgreesWithASortedList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if problem := replay(t, steps().Draw(rt, "steps")); problem != "" {
			rt.Fatal(problem)
		}
	})
}

func TestEntriesOfOneSlotFireInOrderOfTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fired []uint32
		w, err := New(func(v []uint32) { fired = append(fired, v...) }, Options{Sleeper: NewTimerSleeper()})
		if err != nil {
			t.Fatal(err)
		}
		const n = 3 * 4096
		order := rand.Perm(n)
		for _, i := range order {
			// One level-2 slot holds them all.
			if _, err := w.Add(time.Duration(slots*slots+i/8)*tick, uint32(i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		w.Stop()
		if len(fired) != n || !slices.IsSortedFunc(fired, func(a, b uint32) int { return int(a/8) - int(b/8) }) {
			t.Fatalf("%d of %d fired, or not in order", len(fired), n)
		}
	})
}

// A pause of the process must cost its own length only: ticks are never counted.
func TestPauseDelaysByItsLengthOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fired []firing
		var w *Wheel
		w, err := New(func(v []uint32) {
			for _, value := range v {
				fired = append(fired, firing{value, w.Now()})
				if value == 0 {
					time.Sleep(time.Minute) // the pause
				}
			}
		}, Options{Sleeper: NewTimerSleeper()})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range []time.Duration{time.Second, 30 * time.Second, 61 * time.Second, 62 * time.Second} {
			if _, err := w.Add(at, uint32(i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		w.Stop()
		want := []firing{{0, time.Second}, {1, 61 * time.Second}, {2, 61 * time.Second}, {3, 62 * time.Second}}
		if !slices.Equal(fired, want) {
			t.Fatalf("fired %v, want %v", fired, want)
		}
	})
}

func TestHandleOfAUsedPlaceIsRefused(t *testing.T) {
	w := startWheel(t, func([]uint32) {})
	old, _ := w.Add(w.Now()+time.Hour, 1)
	if !w.Cancel(old) {
		t.Fatal("first cancel refused")
	}
	fresh, _ := w.Add(w.Now()+time.Hour, 2)
	if uint32(old) != uint32(fresh) {
		t.Fatal("the place was not used again: the test shows nothing")
	}
	if w.Cancel(old) || w.Renew(old, 0) || w.Cancel(0) {
		t.Fatal("an old handle reached the new entry")
	}
	if w.Len() != 1 || !w.Cancel(fresh) || w.Len() != 0 {
		t.Fatal("the new entry was harmed")
	}
}

func startWheel(t *testing.T, fire func([]uint32)) *Wheel {
	t.Helper()
	w, err := New(fire, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Stop() })
	return w
}

func TestNegativeTickIsRefused(t *testing.T) {
	if w, err := New(func([]uint32) {}, Options{Tick: -1}); err == nil {
		w.Stop()
		t.Fatal("accepted")
	}
}

// On the real clock, with callers on several goroutines: all fire, none early,
// and a fire callback may use the wheel.
func TestRealClockNeverEarly(t *testing.T) {
	const callers, each = 4, 2000
	var mu sync.Mutex
	var fired []firing
	all := make(chan struct{})
	var w *Wheel
	ready := make(chan struct{})
	w = startWheel(t, func(values []uint32) {
		<-ready
		now := w.Now()
		mu.Lock()
		defer mu.Unlock()
		for _, v := range values {
			fired = append(fired, firing{v, now})
			if v < callers*each { // once more, from the callback
				if _, err := w.Add(now-time.Second, v+callers*each); err != nil {
					t.Error(err)
				}
			}
		}
		if len(fired) == 2*callers*each {
			close(all)
		}
	})
	close(ready)
	due := make([]time.Duration, callers*each)
	var adders sync.WaitGroup
	for c := range callers {
		adders.Go(func() {
			for i := range each {
				v := c*each + i
				due[v] = w.Now() + rand.N(300*time.Millisecond)
				h, err := w.Add(w.Now()+time.Hour, uint32(v))
				if err != nil || !w.Renew(h, due[v]) {
					t.Errorf("add %d: %v", v, err)
				}
			}
		})
	}
	adders.Wait()
	if _, came := stall.Receive(all, 30*time.Second); !came {
		t.Fatal("not all fired")
	}
	mu.Lock()
	defer mu.Unlock()
	seen := map[uint32]bool{}
	for _, f := range fired {
		if seen[f.value] {
			t.Fatalf("%d fired twice", f.value)
		}
		seen[f.value] = true
		if int(f.value) < len(due) && f.at < due[f.value] {
			t.Fatalf("%d fired %v early", f.value, due[f.value]-f.at)
		}
	}
}

func BenchmarkAddCancel(b *testing.B) {
	w, err := New(func([]uint32) {}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	handles := make([]Handle, 100_000)
	for i := range handles {
		handles[i], _ = w.Add(w.Now()+10*time.Minute+rand.N(30*time.Minute), uint32(i))
	}
	b.ReportAllocs()
	at := w.Now() + 20*time.Minute
	for i := 0; b.Loop(); i++ {
		k := int(uint32(i) * 2654435761 % uint32(len(handles)))
		w.Cancel(handles[k])
		handles[k], _ = w.Add(at+time.Duration(k)*time.Millisecond, uint32(k))
	}
}
