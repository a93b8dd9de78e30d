package store_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestIDsAreUniqueAcrossReplicas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const callers, each = 8, 150 // 2 × 8 × 150 × 2 ids: several blocks for each of two sequences
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					first, err := s.NextIDs(t.Context(), "orders", 3)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for id := first; id < first+3; id++ {
						if seen[id] || id < 1 {
							t.Errorf("id %d was given out twice", id)
						}
						seen[id] = true
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(seen) != callers*each*3 {
			t.Errorf("got %d ids, want %d", len(seen), callers*each*3)
		}
	})
}

func TestTxRollsBackAndDropsAfterCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		boom := errors.New("boom")
		ran := false
		err := s.Tx(t.Context(), func(tx *store.Tx) error {
			tx.AfterCommit(func() { ran = true })
			if err := tx.Exec("INSERT INTO settings (name, value, updated_at) VALUES ('a', 'b', 1)").Error; err != nil {
				return err
			}
			return boom
		})
		var n int64
		if e := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM settings").Scan(&n).Error; e != nil {
			t.Fatal(e)
		}
		if !errors.Is(err, boom) || ran || n != 0 {
			t.Errorf("err=%v after-commit ran=%v rows=%d, want boom, false, 0", err, ran, n)
		}
	})
}

// Two transactions that lock two rows in opposite order deadlock on MySQL; the runner repeats the loser and both succeed.
func TestTxRepeatsOnDeadlock(t *testing.T) {
	s := storetest.MySQL(t)
	if err := s.Read(t.Context()).Exec("INSERT INTO settings (name, value, updated_at) VALUES ('a', '0', 1), ('b', '0', 1)").Error; err != nil {
		t.Fatal(err)
	}
	var first sync.WaitGroup
	first.Add(2)
	var meet [2]sync.Once
	add := func(i int, one, two string) error {
		return s.Tx(t.Context(), func(tx *store.Tx) error {
			if err := tx.Exec("UPDATE settings SET updated_at = updated_at + 1 WHERE name = ?", one).Error; err != nil {
				return err
			}
			meet[i].Do(first.Done)
			first.Wait()
			return tx.Exec("UPDATE settings SET updated_at = updated_at + 1 WHERE name = ?", two).Error
		})
	}
	errs := make(chan error, 2)
	go func() { errs <- add(0, "a", "b") }()
	go func() { errs <- add(1, "b", "a") }()
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var sum int64
	if err := s.Read(t.Context()).Raw("SELECT SUM(updated_at) FROM settings").Scan(&sum).Error; err != nil || sum != 6 {
		t.Errorf("sum = %d (%v), want 6: 2 rows from 1, raised twice each", sum, err)
	}
}
