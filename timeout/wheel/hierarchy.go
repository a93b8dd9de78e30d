package wheel

import (
	"math"
	"math/bits"
)

const (
	digit  = 6 // bits of a tick per level
	slots  = 1 << digit
	levels = (64 + digit - 1) / digit

	// portion bounds the entries that are taken out or moved down under the
	// lock at a time, so that nobody waits long for it.
	portion = 256
	// search bounds the entries looked at for the earliest of a slot.
	search = 64
)

// hierarchy files entries under their ticks. It has neither clock nor lock.
//
// An entry lies in level 0 if it is due at the current tick; otherwise in the
// level of the highest digit in which its tick differs from the current one,
// in the slot of that digit, which is greater than the current one's.
type hierarchy struct {
	slab

	occupied [levels]uint64
	current  uint64 // the tick up to which everything has been taken out
	moving   uint32 // head of the slot that is being moved down, 0 if none
}

func newHierarchy() hierarchy {
	var h hierarchy
	for range levels * slots {
		i := h.grow()
		h.at(i).next, h.at(i).prev = i, i
	}
	return h
}

// take advances to the target tick and appends the values of entries due by
// then, those of an earlier tick first. It stops after so many entries, taken
// out or moved down, and reports whether that was all.
func (h *hierarchy) take(target uint64, due []uint32, limit int) (_ []uint32, all bool) {
	for range limit {
		head, at, ok := h.first()
		if !ok || at > target {
			h.current = max(h.current, target)
			return due, true
		}
		h.current = at
		i := h.at(head).next
		h.unlink(i)
		if head < slots {
			due = append(due, h.at(i).value)
			h.release(i)
			continue
		}
		h.moving = head
		h.link(i)
	}
	return due, false
}

// first finds the earliest slot in use and the tick at which it begins. A slot
// that is half moved down comes before all others: what is left in it may be
// due before what lies below already.
func (h *hierarchy) first() (head uint32, at uint64, ok bool) {
	if h.moving != 0 {
		if h.at(h.moving).next != h.moving {
			return h.moving, h.current, true
		}
		h.moving = 0
	}
	for level := range levels {
		if h.occupied[level] == 0 {
			continue
		}
		slot := bits.TrailingZeros64(h.occupied[level])
		shift := level * digit
		above := h.current >> shift >> digit << digit << shift
		return uint32(level*slots + slot), above | uint64(slot)<<shift, true
	}
	return 0, 0, false
}

// next is the tick of the earliest entry, exactly: a slot above level 0 is
// searched, so that nobody wakes up only to move entries down. A slot that is
// too long to search counts from its beginning.
func (h *hierarchy) next() (uint64, bool) {
	head, at, ok := h.first()
	if !ok || head < slots || head == h.moving {
		return at, ok
	}
	earliest := uint64(math.MaxUint64)
	seen := 0
	for i := h.at(head).next; i != head; i = h.at(i).next {
		if seen++; seen > search {
			return at, true
		}
		earliest = min(earliest, h.at(i).tick)
	}
	return earliest, true
}

// link files the node under its tick, or under the current one if that is past.
func (h *hierarchy) link(i uint32) {
	n := h.at(i)
	tick := max(n.tick, h.current)
	level := 0
	if differ := tick ^ h.current; differ != 0 {
		level = (bits.Len64(differ) - 1) / digit
	}
	slot := int(tick >> (level * digit) % slots)
	h.occupied[level] |= 1 << slot
	head := uint32(level*slots + slot)
	first := h.at(head)
	last := first.prev
	n.next, n.prev = head, last
	h.at(last).next, first.prev = i, i
}

// unlink takes the node out of its list and clears the slot's bit when it was
// the last: then only the head, whose index tells the slot, is left.
func (h *hierarchy) unlink(i uint32) {
	next, prev := h.at(i).next, h.at(i).prev
	h.at(prev).next, h.at(next).prev = next, prev
	if next == prev && next < levels*slots {
		h.occupied[next/slots] &^= 1 << (next % slots)
	}
}
