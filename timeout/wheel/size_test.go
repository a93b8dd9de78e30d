package wheel

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"
)

func TestEntriesAreSmallAndPointerFree(t *testing.T) {
	parts := []reflect.Type{reflect.TypeFor[entry](), reflect.TypeFor[node]()}
	if size := parts[0].Size() + parts[1].Size(); size > 24 {
		t.Errorf("%d bytes", size)
	}
	for _, part := range parts {
		for field := range part.Fields() {
			if k := field.Type.Kind(); k != reflect.Uint32 && k != reflect.Uint64 {
				t.Errorf("%s is a %s: the garbage collector may have to look at it", field.Name, k)
			}
		}
	}
}

func TestBytesOfAMillion(t *testing.T) {
	const n = 1_000_000
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	h := newHand(0)
	for i := range uint32(n) {
		h.add(t, rand.N(40*time.Minute), i)
	}
	if bytes := float64(used()-before) / n; bytes > 30 {
		t.Errorf("%.1f bytes an entry", bytes)
	}
	h.wheel.Len() // it is still needed
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	h := newHand(0)
	h.fired = make([]firing, 0, 1_000_000)
	var handles [1000]Handle
	for i := range handles {
		handles[i], _ = h.wheel.Add(delay(), uint32(i))
	}
	h.add(t, 0, 0) // so that there is a place for what fires
	h.set(0)
	allocs := testing.AllocsPerRun(10_000, func() {
		i := rand.N(len(handles))
		h.wheel.Renew(handles[i], h.now+delay())
		h.wheel.Cancel(handles[i])
		handles[i], _ = h.wheel.Add(h.now+delay(), uint32(i))
		h.add(t, h.now, 0)
		h.set(h.now + FinestTick)
	})
	if allocs != 0 {
		t.Errorf("%v allocations in a round of renew, cancel, add and fire", allocs)
	}
	if len(h.fired) < 10_000 {
		t.Errorf("%d fired: the test shows less than it says", len(h.fired))
	}
}

func delay() time.Duration { return 10*time.Minute + rand.N(30*time.Minute) }
