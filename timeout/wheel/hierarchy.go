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
)

// hierarchy files entries under their ticks. It has neither clock nor lock.
//
// An entry lies in level 0 if it is due at the current tick; otherwise in the
// level of the highest digit in which its tick differs from the current one,
// in the slot of that digit, which is greater than the current one's.
type hierarchy struct {
	slab

	tails    [levels * slots]tail // of each slot, those of level 0 first
	occupied [levels]uint64
	current  uint64 // the tick up to which everything has been taken out
	moving   uint32 // slot that is being moved down, 0 if none
}

// tail is the last block of a slot: only this one may have room.
type tail struct {
	block uint32 // 0 if the slot is empty
	used  uint32
}

func newHierarchy() hierarchy { return hierarchy{slab: newSlab()} }

// add files the value under its tick; false when there is no handle left.
func (h *hierarchy) add(tick uint64, value uint32) (Handle, bool) {
	i, ok := h.newNode()
	if !ok {
		return 0, false
	}
	h.push(h.slot(tick), entry{tick, value, i})
	return h.handle(i), true
}

// cancel removes the entry, if there still is one.
func (h *hierarchy) cancel(handle Handle) bool {
	i, ok := h.find(handle)
	if ok {
		h.remove(h.node(i).at)
		h.release(i)
	}
	return ok
}

// renew files the entry under another tick, if there still is one.
func (h *hierarchy) renew(handle Handle, tick uint64) bool {
	i, ok := h.find(handle)
	if ok {
		at := h.node(i).at
		value := h.entry(at).value
		h.remove(at)
		h.push(h.slot(tick), entry{tick, value, i})
	}
	return ok
}

// take advances to the target tick and appends the values of entries due by
// then, those of an earlier tick first. It stops after so many entries, taken
// out or moved down, and reports whether that was all.
func (h *hierarchy) take(target uint64, due []uint32, limit int) (_ []uint32, all bool) {
	for range limit {
		slot, at, ok := h.first()
		if !ok || at > target {
			h.current = max(h.current, target)
			return due, true
		}
		h.current = at
		e := h.pop(slot)
		if slot < slots {
			due = append(due, e.value)
			h.release(e.node)
			continue
		}
		h.moving = slot
		h.push(h.slot(e.tick), e)
	}
	return due, false
}

// first finds the earliest slot in use and the tick at which it begins. A slot
// that is half moved down comes before all others: what is left in it may be
// due before what lies below already.
func (h *hierarchy) first() (slot uint32, at uint64, ok bool) {
	if h.moving != 0 {
		if h.tails[h.moving].block != 0 {
			return h.moving, h.current, true
		}
		h.moving = 0
	}
	for level := range levels {
		if h.occupied[level] == 0 {
			continue
		}
		n := bits.TrailingZeros64(h.occupied[level])
		shift := level * digit
		above := h.current >> shift >> digit << digit << shift
		return uint32(level*slots + n), above | uint64(n)<<shift, true
	}
	return 0, 0, false
}

// next is the tick of the earliest entry, exactly: a slot above level 0 is
// searched, so that nobody wakes up only to move entries down. A slot of
// several blocks is too long to search and counts from its beginning.
func (h *hierarchy) next() (uint64, bool) {
	slot, at, ok := h.first()
	t := h.tails[slot]
	if !ok || slot < slots || slot == h.moving || h.heads[t.block].before != 0 {
		return at, ok
	}
	earliest := uint64(math.MaxUint64)
	for i := range t.used {
		earliest = min(earliest, h.entry(t.block<<blockBits|i).tick)
	}
	return earliest, true
}

// slot is where a tick belongs, or the current one if it is past.
func (h *hierarchy) slot(tick uint64) uint32 {
	tick = max(tick, h.current)
	level := 0
	if differ := tick ^ h.current; differ != 0 {
		level = (bits.Len64(differ) - 1) / digit
	}
	return uint32(level*slots) + uint32(tick>>(level*digit)%slots)
}

// push puts the entry at the end of the slot.
func (h *hierarchy) push(slot uint32, e entry) {
	t := &h.tails[slot]
	if t.block == 0 || t.used == blockSize {
		*t = tail{block: h.newBlock(blockHead{before: t.block, slot: slot})}
		h.occupied[slot/slots] |= 1 << (slot % slots)
	}
	at := t.block<<blockBits | t.used
	*h.entry(at) = e
	h.node(e.node).at = at
	t.used++
}

// pop takes the entry at the end of the slot.
func (h *hierarchy) pop(slot uint32) entry {
	t := &h.tails[slot]
	t.used--
	e := *h.entry(t.block<<blockBits | t.used)
	if t.used == 0 {
		before := h.heads[t.block].before
		h.releaseBlock(t.block)
		*t = tail{block: before, used: blockSize}
		if before == 0 {
			h.occupied[slot/slots] &^= 1 << (slot % slots)
		}
	}
	return e
}

// remove takes the entry out of the middle of its slot and puts the last one
// into its place.
func (h *hierarchy) remove(at uint32) {
	last := h.pop(h.heads[at>>blockBits].slot)
	if n := h.node(last.node); n.at != at {
		*h.entry(at) = last
		n.at = at
	}
}
