package store_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// texts collects the first column of the rows.
func texts(into *[]string) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var s string
		err := rows.Scan(&s)
		*into = append(*into, s)
		return err
	}
}

func settings(t *testing.T, s *store.Store, values ...string) {
	t.Helper()
	for _, v := range values {
		if err := s.Read(t.Context()).Exec("INSERT INTO settings (name, value, updated_at) VALUES (?, ?, 1)", v, v).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadsGiveEveryQueryItsRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		settings(t, s, "a;b", "c?d", "e'f")
		err := s.Tx(t.Context(), func(tx *store.Tx) error {
			var none, one, all, last []string
			var r store.Reads
			r.Add(texts(&none), "SELECT value FROM settings WHERE name = ?", "nothing")
			r.Add(texts(&one), "SELECT value FROM settings WHERE name IN (?, ?)", "a;b", "x")
			r.Add(texts(&all), "SELECT value FROM settings ORDER BY name")
			r.Add(texts(&last), "SELECT value FROM settings WHERE name = ?", "e'f")
			if err := tx.Ask(&r); err != nil {
				return err
			}
			if len(none) != 0 || !slices.Equal(one, []string{"a;b"}) || !slices.Equal(all, []string{"a;b", "c?d", "e'f"}) || !slices.Equal(last, []string{"e'f"}) {
				t.Errorf("got %q %q %q %q", none, one, all, last)
			}
			return tx.Ask(&store.Reads{})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// After an error, of a query or of a row's function, the transaction rolls back and its connection is as good as before.
func TestReadsThatFail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		settings(t, s, "a", "b", "c")
		broken := errors.New("broken")
		for name, add := range map[string]func(r *store.Reads){
			"first query": func(r *store.Reads) { r.Add(texts(new([]string)), "SELECT nothing FROM settings") },
			"later query": func(r *store.Reads) {
				r.Add(texts(new([]string)), "SELECT value FROM settings")
				r.Add(texts(new([]string)), "SELECT nothing FROM settings")
			},
			"row function": func(r *store.Reads) { r.Add(func(*sql.Rows) error { return broken }, "SELECT value FROM settings") },
			"wrong type": func(r *store.Reads) {
				r.Add(func(rows *sql.Rows) error { return rows.Scan(new(int)) }, "SELECT value FROM settings")
			},
		} {
			after := false
			err := s.Tx(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.Run("UPDATE settings SET value = ? WHERE name = ?", name, "a"); err != nil {
					return err
				}
				var r store.Reads
				add(&r)
				r.Add(func(*sql.Rows) error { after = true; return nil }, "SELECT value FROM settings")
				return tx.Ask(&r)
			})
			if err == nil || (name == "row function") != errors.Is(err, broken) || after {
				t.Errorf("%s: error %v, later rows were read: %v", name, err, after)
			}
			var now []string
			if err := s.Read(t.Context()).Raw("SELECT value FROM settings ORDER BY name").Scan(&now).Error; err != nil || !slices.Equal(now, []string{"a", "b", "c"}) {
				t.Errorf("%s: afterwards %q, %v", name, now, err)
			}
		}
	})
}

// A query behind one that waited for a lock sees what its holder committed.
func TestReadsBehindALockSeeWhatItGuards(t *testing.T) {
	s := storetest.MySQL(t)
	settings(t, s, "lock", "x")
	var got []string
	done := make(chan error, 1)
	err := s.Tx(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Run("UPDATE settings SET value = 'held' WHERE name = 'lock'"); err != nil {
			return err
		}
		go func() {
			done <- s.Tx(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
				got = nil
				var r store.Reads
				r.Add(texts(&got), "SELECT value FROM settings WHERE name = ?"+tx.ForUpdate(), "lock")
				r.Add(texts(&got), "SELECT value FROM settings WHERE name = ?", "x")
				return tx.Ask(&r)
			})
		}()
		if err := storetest.LockWait(t.Context(), s); err != nil {
			return err
		}
		_, err := tx.Run("UPDATE settings SET value = 'after' WHERE name = 'x'")
		return err
	})
	if err := errors.Join(err, <-done); err != nil || !slices.Equal(got, []string{"held", "after"}) {
		t.Errorf("read %q, %v", got, err)
	}
}
