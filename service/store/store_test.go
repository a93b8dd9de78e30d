package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/model"
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

// A batch runs in order in one transaction, tells which statement changed too few rows, and leaves nothing behind after an error.
func TestBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		short := errors.New("short")
		names := func() (n []string) {
			if err := s.Read(t.Context()).Raw("SELECT name FROM settings ORDER BY name").Scan(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		send := func(add func(b *store.Batch)) error {
			return s.Tx(t.Context(), func(tx *store.Tx) error {
				var b store.Batch
				add(&b)
				return tx.Send(&b)
			})
		}
		insert := "INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)"
		if err := send(func(b *store.Batch) {
			b.Add(insert, "a", "it's; a \"?\" \\", model.Time(1))
			b.Expect(1, short, "UPDATE settings SET value = CONCAT(value, ?) WHERE name = ?", "!", "a")
			b.Add(insert, "b", "", 2)
		}); err != nil {
			t.Fatal(err)
		}
		var value string
		if err := s.Read(t.Context()).Raw("SELECT value FROM settings WHERE name = 'a'").Scan(&value).Error; err != nil || value != "it's; a \"?\" \\!" {
			t.Errorf("value %q (%v)", value, err)
		}
		if err := send(func(b *store.Batch) {
			b.Add(insert, "c", "", 1)
			b.Expect(2, short, "UPDATE settings SET updated_at = 9 WHERE name IN (?, ?)", "a", "x")
			b.Add(insert, "d", "", 1)
		}); !errors.Is(err, short) {
			t.Errorf("too few rows: %v, want short", err)
		}
		if err := send(func(b *store.Batch) {
			b.Add(insert, "c", "", 1)
			b.Add(insert, "a", "", 1)
			b.Add(insert, "d", "", 1)
		}); !store.IsDuplicate(err) {
			t.Errorf("a duplicate: %v", err)
		}
		if got := names(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("rows %v, want a and b", got)
		}
	})
}

// A context that ends inside a transaction takes everything back, also what a batch was about to write.
func TestBatchAfterTheContextEnded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.Tx(ctx, func(tx *store.Tx) error {
				cancel()
				var b store.Batch
				b.Add("INSERT INTO settings (name, value, updated_at) VALUES ('a', '', 1)")
				b.Add("INSERT INTO settings (name, value, updated_at) VALUES ('b', '', 1)")
				return tx.Send(&b)
			})
			if err == nil {
				t.Fatal("a transaction whose context ended was committed")
			}
		}
		var n int64
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM settings").Scan(&n).Error; err != nil || n != 0 {
			t.Errorf("%d rows are left (%v)", n, err)
		}
	})
}
