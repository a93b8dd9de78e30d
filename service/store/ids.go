package store

import (
	"context"
	"fmt"
	"sync"
)

// idBlock is how many ids a replica takes at once; those it has not used when it stops are lost, which harms nobody.
const idBlock = 1000

type ids struct {
	mu     sync.Mutex
	blocks map[string]*block
}

type block struct {
	mu          sync.Mutex
	next, limit int64
}

// NextIDs returns the first of n successive ids of the named sequence, unique across replicas and below 2^53. It must be called
// outside a transaction: it commits on its own. 1 ≤ n ≤ 1000.
func (s *Store) NextIDs(ctx context.Context, name string, n int64) (int64, error) {
	if n < 1 || n > idBlock {
		return 0, fmt.Errorf("ids: %d at once, want 1 to %d", n, idBlock)
	}
	b := s.ids.block(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit-b.next < n {
		first, err := s.takeBlock(ctx, name)
		if err != nil {
			return 0, err
		}
		b.next, b.limit = first, first+idBlock
	}
	first := b.next
	b.next += n
	return first, nil
}

func (i *ids) block(name string) *block {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.blocks == nil {
		i.blocks = map[string]*block{}
	}
	b := i.blocks[name]
	if b == nil {
		b = &block{}
		i.blocks[name] = b
	}
	return b
}

func (s *Store) takeBlock(ctx context.Context, name string) (int64, error) {
	var first int64
	err := s.Tx(ctx, func(tx *Tx) error {
		n, err := tx.Affected("UPDATE id_blocks SET next = next + ? WHERE name = ?", idBlock, name)
		if err != nil {
			return err
		}
		if n == 0 { // the first use of the sequence; the loser of a race repeats on the duplicate
			first = 1
			return tx.Exec("INSERT INTO id_blocks (name, next) VALUES (?, ?)", name, 1+idBlock).Error
		}
		if err := tx.Raw("SELECT next FROM id_blocks WHERE name = ?", name).Scan(&first).Error; err != nil {
			return err
		}
		first -= idBlock
		return nil
	})
	if IsDuplicate(err) {
		return s.takeBlock(ctx, name)
	}
	if err != nil {
		return 0, fmt.Errorf("ids of %s: %w", name, err)
	}
	return first, nil
}
