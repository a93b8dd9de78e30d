package wheel

import "math"

// Handle names one entry. Once the entry has fired or was cancelled its
// handle stays invalid, also when its place is used again (its place's
// generation comes round after 2^31 uses). The zero Handle is never valid.
type Handle uint64

// entry is what waits, in 16 bytes. It and its node hold no pointers, so that a
// million of them cost the garbage collector nothing.
type entry struct {
	tick        uint64
	value, node uint32
}

// node is the part of an entry that stays where it is, for handles to name.
type node struct {
	gen uint32 // odd while in use
	at  uint32 // where the entry lies; the next unused node while not in use
}

// block is a piece of a slot. An entry's place is its block's number and its
// own within.
type block [blockSize]entry

// blockHead is apart from its block, so that all heads together stay in the
// processor's cache.
type blockHead struct {
	before uint32 // the block before it in its slot, or the next unused one; 0 if none
	slot   uint32
}

const (
	blockBits = 6
	blockSize = 1 << blockBits

	// Blocks and nodes are allocated 16 KiB at a time and never move: growing
	// does not copy all there is while others wait for the lock.
	blocksAtATime = 16
	nodesAtATime  = 2048

	// maxNodes leaves each slot a block that is not full.
	maxNodes = math.MaxUint32 - levels*slots*blockSize
)

// slab holds the entries and their nodes. What is not used any more is used
// again, the last first, and otherwise kept.
type slab struct {
	nodes    []*[nodesAtATime]node
	size     uint32 // nodes that were ever in use
	freeNode uint32 // 0 if none
	inUse    int

	blocks    []*[blocksAtATime]block
	heads     []blockHead
	freeBlock uint32 // 0 if none
}

// newSlab keeps number 0 of nodes and blocks from being used.
func newSlab() slab {
	return slab{
		nodes: []*[nodesAtATime]node{new([nodesAtATime]node)}, size: 1,
		blocks: []*[blocksAtATime]block{new([blocksAtATime]block)}, heads: make([]blockHead, 1),
	}
}

func (s *slab) node(i uint32) *node { return &s.nodes[i/nodesAtATime][i%nodesAtATime] }

func (s *slab) entry(at uint32) *entry {
	b := at >> blockBits
	return &s.blocks[b/blocksAtATime][b%blocksAtATime][at%blockSize]
}

// newNode returns a node in use, none when all numbers are taken.
func (s *slab) newNode() (uint32, bool) {
	i := s.freeNode
	switch {
	case i != 0:
		s.freeNode = s.node(i).at
	case s.size >= maxNodes:
		return 0, false
	default:
		i = s.size
		s.size++
		if i%nodesAtATime == 0 {
			s.nodes = append(s.nodes, new([nodesAtATime]node))
		}
	}
	s.node(i).gen++
	s.inUse++
	return i, true
}

func (s *slab) release(i uint32) {
	n := s.node(i)
	n.gen++
	n.at = s.freeNode
	s.freeNode = i
	s.inUse--
}

func (s *slab) handle(i uint32) Handle { return Handle(uint64(s.node(i).gen)<<32 | uint64(i)) }

// find returns the node that the handle names, if it still does.
func (s *slab) find(h Handle) (uint32, bool) {
	i, gen := uint32(h), uint32(h>>32)
	if i >= s.size || gen%2 == 0 || s.node(i).gen != gen {
		return 0, false
	}
	return i, true
}

func (s *slab) newBlock(h blockHead) uint32 {
	b := s.freeBlock
	if b != 0 {
		s.freeBlock = s.heads[b].before
		s.heads[b] = h
		return b
	}
	b = uint32(len(s.heads))
	s.heads = append(s.heads, h)
	if b%blocksAtATime == 0 {
		s.blocks = append(s.blocks, new([blocksAtATime]block))
	}
	return b
}

func (s *slab) releaseBlock(b uint32) {
	s.heads[b].before = s.freeBlock
	s.freeBlock = b
}
