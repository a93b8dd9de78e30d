package wheel

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// list is the hierarchy written naively: a plain list of what waits, searched
// whole each time.
type list []waiter

type waiter struct {
	value uint32
	tick  uint64 // when it is due: its own, or the current one when it was added after that
	h     Handle
}

func (l list) earliest() uint64 {
	return slices.MinFunc(l, func(a, b waiter) int { return cmp.Compare(a.tick, b.tick) }).tick
}

// machine holds both, and what rapid does to them.
type machine struct {
	h       hierarchy
	list    list
	handles []Handle // of all entries there ever were
	last    uint32
}

func (m *machine) add(t *rapid.T) {
	tick := m.tick(t)
	i, ok := m.h.allocate()
	if !ok {
		t.Fatal("full")
	}
	m.last++
	n := m.h.at(i)
	n.tick, n.value = tick, m.last
	m.h.link(i)
	m.list = append(m.list, waiter{m.last, max(tick, m.h.current), m.h.handle(i)})
	m.handles = append(m.handles, m.h.handle(i))
}

// some returns one of the handles ever given, its place in the hierarchy and in
// the list; both must agree that it is still valid.
func (m *machine) some(t *rapid.T) (i uint32, at int, ok bool) {
	if len(m.handles) == 0 {
		t.Skip("no entries yet")
	}
	h := rapid.SampledFrom(m.handles).Draw(t, "handle")
	i, ok = m.h.find(h)
	at = slices.IndexFunc(m.list, func(w waiter) bool { return w.h == h })
	if ok != (at >= 0) {
		t.Fatalf("handle %x: found %v, want %v", h, ok, at >= 0)
	}
	return i, at, ok
}

func (m *machine) cancel(t *rapid.T) {
	if i, at, ok := m.some(t); ok {
		m.h.unlink(i)
		m.h.release(i)
		m.list = slices.Delete(m.list, at, at+1)
	}
}

func (m *machine) renew(t *rapid.T) {
	if i, at, ok := m.some(t); ok {
		tick := m.tick(t)
		m.h.unlink(i)
		m.h.at(i).tick = tick
		m.h.link(i)
		m.list[at].tick = max(tick, m.h.current)
	}
}

// advance takes everything, or stops within a slot and leaves it half moved down.
func (m *machine) advance(t *rapid.T) {
	target, limit := m.tick(t), rapid.SampledFrom([]int{1, 2, 3, math.MaxInt}).Draw(t, "limit")
	before := m.h.current
	due, all := m.h.take(target, nil, limit)
	for _, value := range due {
		at := slices.IndexFunc(m.list, func(w waiter) bool { return w.value == value })
		switch {
		case at < 0:
			t.Fatalf("%d is not waiting", value)
		case m.list[at].tick > target:
			t.Fatalf("%d fired %d ticks early", value, m.list[at].tick-target)
		case m.list[at].tick != m.list.earliest():
			t.Fatalf("%d fired before an earlier one", value)
		}
		m.list = slices.Delete(m.list, at, at+1)
	}
	if all && len(m.list) > 0 && m.list.earliest() <= target {
		t.Fatalf("an entry due at %d was not fired at %d", m.list.earliest(), target)
	}
	if all && m.h.current != max(before, target) || m.h.current < before {
		t.Fatalf("went from %d to %d instead of %d", before, m.h.current, target)
	}
}

// tick favours the edges of slots and levels, from behind the current tick to
// the last one there is.
func (m *machine) tick(t *rapid.T) uint64 {
	shift := rapid.IntRange(0, 63).Draw(t, "shift")
	near := uint64(rapid.Int64Range(-2, 2).Draw(t, "near"))
	by := uint64(rapid.IntRange(0, 2*slots).Draw(t, "slots")) << (shift / digit * digit)
	switch rapid.SampledFrom([]string{"ahead", "ahead", "edge", "past", "next", "anywhere"}).Draw(t, "kind") {
	case "ahead":
		return m.saturated(by + near)
	case "edge": // where a digit changes, and all below it wrap around
		return (m.h.current>>shift+1)<<shift + near
	case "past":
		return m.h.current - min(by, m.h.current)
	case "next":
		if next, ok := m.h.next(); ok {
			return next + near
		}
		return m.h.current
	default:
		return rapid.Uint64().Draw(t, "tick")
	}
}

// saturated is so far ahead of the current tick, or the last one.
func (m *machine) saturated(by uint64) uint64 {
	sum, carry := bits.Add64(m.h.current, by, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func (m *machine) check(t *rapid.T) {
	if err := broken(&m.h); err != "" {
		t.Fatal(err)
	}
	if m.h.inUse != len(m.list) {
		t.Fatalf("%d in use, want %d", m.h.inUse, len(m.list))
	}
	next, ok := m.h.next()
	if ok != (len(m.list) > 0) {
		t.Fatalf("next: %v, with %d waiting", ok, len(m.list))
	}
	// While a slot is half moved down, there is work to do at once.
	if ok && next != m.list.earliest() && (m.h.moving == 0 || next != m.h.current) {
		t.Fatalf("next is %d, want %d", next, m.list.earliest())
	}
}

func TestHierarchyAgreesWithAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine{h: newHierarchy()}
		m.h.current = rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(math.MaxUint64-100)), rapid.Uint64()).Draw(t, "start")
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "add another": m.add, "cancel": m.cancel, "renew": m.renew, "advance": m.advance, "": m.check,
		})
		m.h.take(math.MaxUint64, nil, math.MaxInt)
		if m.h.inUse != 0 {
			t.Fatalf("%d left at the end of time", m.h.inUse)
		}
	})
}

// broken says what is wrong with the hierarchy's lists and bitmaps.
func broken(h *hierarchy) string {
	linked := 0
	for head := range uint32(levels * slots) {
		level, slot := head/slots, uint64(head%slots)
		if used := h.occupied[level]>>slot&1 == 1; used != (h.at(head).next != head) {
			return fmt.Sprintf("level %d slot %d: in use %v, says the bitmap", level, slot, used)
		}
		for i := h.at(head).next; i != head; i = h.at(i).next {
			linked++
			n := h.at(i)
			if h.at(n.next).prev != i || h.at(n.prev).next != i {
				return fmt.Sprintf("level %d slot %d: links of node %d", level, slot, i)
			}
			if n.gen%2 == 0 {
				return fmt.Sprintf("level %d slot %d: node %d is not in use", level, slot, i)
			}
			if head == h.moving {
				continue
			}
			tick, shift := max(n.tick, h.current), level*digit
			if tick>>shift%slots != slot || tick>>shift>>digit != h.current>>shift>>digit {
				return fmt.Sprintf("level %d slot %d: tick %x does not belong there at %x", level, slot, tick, h.current)
			}
			if level > 0 && slot <= h.current>>shift%slots {
				return fmt.Sprintf("level %d slot %d lies behind %x", level, slot, h.current)
			}
		}
	}
	if linked != h.inUse {
		return fmt.Sprintf("%d linked, %d in use", linked, h.inUse)
	}
	return ""
}

func add(t *testing.T, h *hierarchy, tick uint64, value uint32) Handle {
	t.Helper()
	i, ok := h.allocate()
	if !ok {
		t.Fatal("full")
	}
	h.at(i).tick, h.at(i).value = tick, value
	h.link(i)
	return h.handle(i)
}

// An entry whose digit equals the current one's a whole turn ahead must not
// wait for another turn, nor come at once.
func TestSlotEqualToTheCurrentOne(t *testing.T) {
	for level := range 9 {
		for _, start := range []uint64{0, 1, slots - 1, 0x123456789} {
			h := newHierarchy()
			h.current = start
			due := start + 1<<(digit*(level+1)) // same digits up to this level
			add(t, &h, due, 1)
			if fired, _ := h.take(due-1, nil, portion); len(fired) != 0 {
				t.Fatalf("level %d from %x: early", level, start)
			}
			if next, ok := h.next(); !ok || next != due {
				t.Fatalf("level %d from %x: next is %x, want %x", level, start, next, due)
			}
			if fired, _ := h.take(due, nil, portion); len(fired) != 1 {
				t.Fatalf("level %d from %x: late", level, start)
			}
		}
	}
}

// halfMoved is a hierarchy that stopped while it moved down the slot of ticks
// 2 × 64² and up: 20 entries, one a tick from the slot's beginning, are due in
// reverse order of their being added, and 10 of them have been moved.
func halfMoved(t *testing.T) (h *hierarchy, handles [20]Handle, base uint64) {
	t.Helper()
	made := newHierarchy()
	h, base = &made, 2*slots*slots
	for i := range handles {
		handles[len(handles)-1-i] = add(t, h, base+uint64(len(handles)-1-i), uint32(len(handles)-1-i))
	}
	if fired, all := h.take(base+100, nil, 10); len(fired) != 0 || all || h.moving == 0 {
		t.Fatalf("fired %v, all %v: the slot is not half moved", fired, all)
	}
	return h, handles, base
}

// Between taking an entry out of its slot and putting it into the next,
// another wheel forgot cancels and fired what was cancelled.
func TestChangesWhileASlotIsHalfMoved(t *testing.T) {
	h, handles, base := halfMoved(t)
	cancel := func(i int) {
		n, ok := h.find(handles[i])
		if !ok {
			t.Fatalf("%d is gone", i)
		}
		h.unlink(n)
		h.release(n)
	}
	renew := func(i int, tick uint64) {
		n, ok := h.find(handles[i])
		if !ok {
			t.Fatalf("%d is gone", i)
		}
		h.unlink(n)
		h.at(n).tick = tick
		h.link(n)
	}
	cancel(15)                          // moved already
	cancel(5)                           // not moved yet
	renew(16, base)                     // moved, to the front
	renew(6, base+50)                   // not moved, within the slot
	renew(7, base+slots*slots)          // not moved, to the next slot
	renew(17, 0)                        // moved, to the past
	add(t, h, base+2, 100)              // beside one that is not moved yet
	add(t, h, base+slots*slots*64, 101) // into the slot itself, a turn later
	if problem := broken(h); problem != "" {
		t.Fatal(problem)
	}
	fired, all := h.take(base+100, nil, portion)
	want := []uint32{16, 17, 0, 1, 100, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 18, 19, 6}
	slices.Sort(fired[:3]) // of one tick
	slices.Sort(want[:3])
	slices.Sort(fired[4:6])
	slices.Sort(want[4:6])
	if !all || !slices.Equal(fired, want) {
		t.Fatalf("fired %v, want %v", fired, want)
	}
	if fired, _ := h.take(math.MaxUint64, nil, portion); !slices.Equal(fired, []uint32{7, 101}) {
		t.Fatalf("fired %v at the end of time", fired)
	}
}

// What is left of a half moved slot may all be cancelled: the slot must then be
// fit for its next turn.
func TestHalfMovedSlotIsEmptied(t *testing.T) {
	h, handles, base := halfMoved(t)
	for _, handle := range handles {
		i, ok := h.find(handle)
		if !ok {
			t.Fatal("gone")
		}
		h.unlink(i)
		h.release(i)
	}
	add(t, h, base+slots*slots*slots, 1) // the same slot, a turn later
	if next, _ := h.next(); next != base+slots*slots*slots {
		t.Fatalf("next is %x", next)
	}
	if fired, all := h.take(base+slots*slots*slots-1, nil, portion); len(fired) != 0 || !all {
		t.Fatalf("fired %v", fired)
	}
	if fired, _ := h.take(base+slots*slots*slots, nil, portion); !slices.Equal(fired, []uint32{1}) {
		t.Fatalf("fired %v", fired)
	}
}

// A slot too long to search is moved down at its beginning, not sooner.
func TestLongSlotCountsFromItsBeginning(t *testing.T) {
	h := newHierarchy()
	for i := range uint32(search + 1) {
		add(t, &h, 5*slots+10+uint64(rand.N(50)), i)
	}
	if next, _ := h.next(); next != 5*slots {
		t.Fatalf("next is %d, want %d", next, 5*slots)
	}
	if fired, all := h.take(5*slots, nil, portion); len(fired) != 0 || !all {
		t.Fatalf("fired %v", fired)
	}
	if next, _ := h.next(); next < 5*slots+10 {
		t.Fatalf("next is %d", next)
	}
}

func TestSlabIsFull(t *testing.T) {
	h := newHierarchy()
	first := add(t, &h, 1, 1)
	h.size = math.MaxUint32 + 1 // as if every index were taken
	if _, ok := h.allocate(); ok {
		t.Fatal("allocated beyond the reach of a handle")
	}
	i, _ := h.find(first)
	h.unlink(i)
	h.release(i)
	if again, ok := h.allocate(); !ok || again != i {
		t.Fatal("a place given back is not used again")
	}
}

// Cancelled entries of other wheels stay until their slot comes: here their
// places are used at once.
func TestChurnNeedsNoMorePlaces(t *testing.T) {
	h := newHierarchy()
	var handles [100]Handle
	for i := range handles {
		handles[i] = add(t, &h, uint64(rand.N(1<<30)), uint32(i))
	}
	size := h.size
	for range 10_000 {
		k := rand.N(len(handles))
		i, ok := h.find(handles[k])
		if !ok {
			t.Fatal("gone")
		}
		h.unlink(i)
		h.release(i)
		handles[k] = add(t, &h, uint64(rand.N(1<<30)), uint32(k))
	}
	if h.size != size || h.inUse != len(handles) {
		t.Fatalf("%d places for %d entries, %d before", h.size, h.inUse, size)
	}
}
