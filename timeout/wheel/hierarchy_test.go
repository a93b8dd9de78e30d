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

func (m *machine) add(t *rapid.T) { m.addAt(t, m.tick(t)) }

// crowd adds more than a block's worth to a slot or two.
func (m *machine) crowd(t *rapid.T) {
	tick := m.tick(t)
	for i := range uint64(blockSize + 5) {
		m.addAt(t, tick+i/30)
	}
}

func (m *machine) addAt(t *rapid.T, tick uint64) {
	m.last++
	h, ok := m.h.add(tick, m.last)
	if !ok {
		t.Fatal("full")
	}
	m.list = append(m.list, waiter{m.last, max(tick, m.h.current), h})
	m.handles = append(m.handles, h)
}

// some returns one of the handles ever given, and its place in the list, -1 if
// it is not there any more.
func (m *machine) some(t *rapid.T) (Handle, int) {
	if len(m.handles) == 0 {
		t.Skip("no entries yet")
	}
	h := rapid.SampledFrom(m.handles).Draw(t, "handle")
	return h, slices.IndexFunc(m.list, func(w waiter) bool { return w.h == h })
}

func (m *machine) cancel(t *rapid.T) {
	h, at := m.some(t)
	if ok := m.h.cancel(h); ok != (at >= 0) {
		t.Fatalf("cancel %x: %v, want %v", h, ok, at >= 0)
	}
	if at >= 0 {
		m.list = slices.Delete(m.list, at, at+1)
	}
}

func (m *machine) renew(t *rapid.T) {
	h, at := m.some(t)
	tick := m.tick(t)
	if ok := m.h.renew(h, tick); ok != (at >= 0) {
		t.Fatalf("renew %x: %v, want %v", h, ok, at >= 0)
	}
	if at >= 0 {
		m.list[at].tick = max(tick, m.h.current)
	}
}

// advance takes everything, or stops within a slot and leaves it half moved down.
func (m *machine) advance(t *rapid.T) {
	target, limit := m.tick(t), rapid.SampledFrom([]int{1, 3, blockSize, math.MaxInt}).Draw(t, "limit")
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
	if !ok || next == m.list.earliest() {
		return
	}
	// While a slot is half moved down, there is work to do at once; one of
	// several blocks counts from its beginning.
	if next > m.list.earliest() || next < m.h.current || m.h.moving == 0 && len(m.list) <= blockSize {
		t.Fatalf("next is %d, want %d", next, m.list.earliest())
	}
}

func TestHierarchyAgreesWithAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machine{h: newHierarchy()}
		m.h.current = rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(math.MaxUint64-100)), rapid.Uint64()).Draw(t, "start")
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "add another": m.add, "crowd": m.crowd, "cancel": m.cancel, "renew": m.renew, "advance": m.advance, "": m.check,
		})
		m.h.take(math.MaxUint64, nil, math.MaxInt)
		if m.h.inUse != 0 {
			t.Fatalf("%d left at the end of time", m.h.inUse)
		}
	})
}

// broken says what is wrong with the hierarchy's slots, bitmaps and nodes.
func broken(h *hierarchy) string {
	found := 0
	for slot := range uint32(levels * slots) {
		t := h.tails[slot]
		if used := h.occupied[slot/slots]>>(slot%slots)&1 == 1; used != (t.block != 0) {
			return fmt.Sprintf("slot %d: in use %v, says the bitmap", slot, used)
		}
		for used := t.used; t.block != 0; t.block, used = h.heads[t.block].before, blockSize {
			if h.heads[t.block].slot != slot || used == 0 || used > blockSize {
				return fmt.Sprintf("slot %d: %d entries in a block of slot %d", slot, used, h.heads[t.block].slot)
			}
			for i := range used {
				found++
				at := t.block<<blockBits | i
				e := h.entry(at)
				if n := h.node(e.node); n.at != at || n.gen%2 == 0 {
					return fmt.Sprintf("slot %d: place %d names a node at %d of generation %d", slot, at, n.at, n.gen)
				}
				if slot != h.moving && h.slot(e.tick) != slot {
					return fmt.Sprintf("slot %d: tick %x does not belong there at %x", slot, e.tick, h.current)
				}
			}
		}
	}
	if found != h.inUse {
		return fmt.Sprintf("%d found, %d in use", found, h.inUse)
	}
	return ""
}

func add(t *testing.T, h *hierarchy, tick uint64, value uint32) Handle {
	t.Helper()
	handle, ok := h.add(tick, value)
	if !ok {
		t.Fatal("full")
	}
	return handle
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
		if !h.cancel(handles[i]) {
			t.Fatalf("%d is gone", i)
		}
	}
	renew := func(i int, tick uint64) {
		if !h.renew(handles[i], tick) {
			t.Fatalf("%d is gone", i)
		}
	}
	cancel(5)                           // moved already
	cancel(15)                          // not moved yet
	renew(6, base+50)                   // moved, within the slot
	renew(7, base+slots*slots)          // moved, to the next slot
	renew(16, base)                     // not moved, to the front
	renew(17, 0)                        // not moved, to the past
	add(t, h, base+2, 100)              // beside one that is moved
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
	for i, handle := range handles {
		if !h.cancel(handle) {
			t.Fatalf("%d is gone", i)
		}
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
	for i := range uint32(blockSize + 1) {
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
	h.size = maxNodes // as if every number were taken
	if _, ok := h.add(1, 2); ok {
		t.Fatal("added beyond the reach of a handle")
	}
	h.cancel(first)
	if again, ok := h.add(1, 3); !ok || uint32(again) != uint32(first) || again == first {
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
	size, blocks := h.size, len(h.heads)
	for range 10_000 {
		k := rand.N(len(handles))
		if !h.cancel(handles[k]) {
			t.Fatal("gone")
		}
		handles[k] = add(t, &h, uint64(rand.N(1<<30)), uint32(k))
	}
	if h.size != size || h.inUse != len(handles) || len(h.heads) > 2*blocks {
		t.Fatalf("%d places in %d blocks for %d entries, %d in %d before", h.size, len(h.heads), h.inUse, size, blocks)
	}
}
