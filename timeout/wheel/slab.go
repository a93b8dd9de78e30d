package wheel

import "math"

// Handle names one entry. Once the entry has fired or was cancelled its
// handle stays invalid, also when its place is used again (its place's
// generation comes round after 2^31 uses). The zero Handle is never valid.
type Handle uint64

// node is one entry in 24 bytes without a pointer, so that a million of them
// cost the garbage collector nothing. The first levels*slots nodes are the
// heads of the slots' circular lists.
type node struct {
	tick       uint64
	next, prev uint32
	gen        uint32 // odd while in use
	value      uint32
}

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// slab holds the nodes in chunks that never move: growing costs the time of
// one chunk, not a copy of all the nodes there are. Chunks are kept for use
// again and go with the wheel.
type slab struct {
	chunks []*[chunkSize]node
	size   uint64 // nodes that were ever in use
	free   uint32 // head of the list of unused nodes through next, 0 if none
	inUse  int
}

func (s *slab) at(i uint32) *node { return &s.chunks[i>>chunkBits][i%chunkSize] }

// allocate returns an unused node, none when every index is taken.
func (s *slab) allocate() (uint32, bool) {
	i := s.free
	if i != 0 {
		s.free = s.at(i).next
	} else {
		if s.size > math.MaxUint32 {
			return 0, false
		}
		i = s.grow()
	}
	s.at(i).gen++
	s.inUse++
	return i, true
}

func (s *slab) grow() uint32 {
	i := uint32(s.size)
	if i%chunkSize == 0 {
		s.chunks = append(s.chunks, new([chunkSize]node))
	}
	s.size++
	return i
}

func (s *slab) release(i uint32) {
	n := s.at(i)
	n.gen++
	n.next = s.free
	s.free = i
	s.inUse--
}

func (s *slab) handle(i uint32) Handle { return Handle(uint64(s.at(i).gen)<<32 | uint64(i)) }

func (s *slab) find(h Handle) (uint32, bool) {
	i, gen := uint32(h), uint32(h>>32)
	if uint64(i) >= s.size || gen&1 == 0 || s.at(i).gen != gen {
		return 0, false
	}
	return i, true
}
