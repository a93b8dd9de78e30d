package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemall/tidemall/model"
)

// table is a followed table in memory.
type table struct {
	mu    sync.Mutex
	rows  map[int64]Meta
	err   error
	since []model.Time // of every first page
}

func (t *table) put(m Meta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[m.ID] = m
}

func (t *table) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

func (t *table) load(_ context.Context, since model.Time, afterID int64, limit int) ([]Meta, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if afterID == 0 {
		t.since = append(t.since, since)
	}
	if t.err != nil {
		return nil, t.err
	}
	var page []Meta
	for _, id := range slices.Sorted(maps.Keys(t.rows)) {
		if m := t.rows[id]; id > afterID && m.ChangedAt >= since && len(page) < limit {
			page = append(page, m)
		}
	}
	return page, nil
}

// seen is what Apply made of it.
type seen struct {
	mu       sync.Mutex
	versions map[int64]int64
	calls    int
}

func (s *seen) apply(changed []Meta, removed []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for _, m := range changed {
		s.versions[m.ID] = m.Version
	}
	for _, id := range removed {
		delete(s.versions, id)
	}
}

func (s *seen) want(t *testing.T, want map[int64]int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(s.versions, want) {
		t.Errorf("the copy is %v, want %v", s.versions, want)
	}
}

func nowMS() model.Time { return model.At(time.Now()) }

func follow(tab *table, log *slog.Logger) (*Follower[Meta], *seen) {
	s := &seen{versions: map[int64]int64{}}
	return Follow(Options[Meta]{Name: "things", Now: nowMS, Log: log, Load: tab.load, Meta: func(m Meta) Meta { return m }, Apply: s.apply}), s
}

func TestChangesAreFollowedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{rows: map[int64]Meta{}}
		for id := int64(1); id <= 2*pageRows+1; id++ { // three pages
			tab.put(Meta{ID: id, Version: 1, ChangedAt: nowMS() - model.Time(id)})
		}
		f, s := follow(tab, slog.New(slog.DiscardHandler))
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer f.Stop()
		if len(s.versions) != 2*pageRows+1 {
			t.Fatalf("%d rows after Start, want all", len(s.versions))
		}
		want := maps.Clone(s.versions)
		tab.put(Meta{ID: 7, Version: 2, ChangedAt: nowMS()})
		tab.put(Meta{ID: 8, Version: 2, ChangedAt: nowMS(), DeletedAt: nowMS()})
		// A transaction that was long in committing is stamped before rows that were read already.
		tab.put(Meta{ID: 5000, Version: 1, ChangedAt: nowMS().Add(-50 * time.Second)})
		time.Sleep(everySecond)
		synctest.Wait()
		want[7], want[5000] = 2, 1
		delete(want, 8)
		s.want(t, want)
		calls := s.calls
		time.Sleep(10 * everySecond)
		synctest.Wait()
		if s.calls != calls {
			t.Error("rows that did not change were applied again")
		}
		if since := tab.since[len(tab.since)-1]; since == 0 {
			t.Error("a second's read asked for the whole table")
		}
	})
}

func TestRefreshShowsOnesOwnWriteAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{rows: map[int64]Meta{}}
		f, s := follow(tab, slog.New(slog.DiscardHandler))
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer f.Stop()
		tab.put(Meta{ID: 1, Version: 1, ChangedAt: nowMS()})
		if err := f.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.want(t, map[int64]int64{1: 1})
		// The version stays and changed_at moves: a counted sale.
		tab.put(Meta{ID: 1, Version: 1, ChangedAt: nowMS() + 1})
		calls := s.calls
		if err := f.Refresh(t.Context()); err != nil || s.calls != calls+1 {
			t.Errorf("a change without a new version was passed over (%v)", err)
		}
		// An older version, as a replica that lags would read it, is not put back.
		tab.put(Meta{ID: 1, Version: 0, ChangedAt: nowMS() + 2})
		if err := f.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.want(t, map[int64]int64{1: 1})
	})
}

func TestEverythingIsComparedHourly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{rows: map[int64]Meta{}}
		for id := int64(1); id <= 3; id++ {
			tab.put(Meta{ID: id, Version: 5, ChangedAt: nowMS()})
		}
		f, s := follow(tab, slog.New(slog.DiscardHandler))
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer f.Stop()
		tab.put(Meta{ID: 1, Version: 6, ChangedAt: nowMS() - 1_000_000}) // by a clock that was far off
		tab.put(Meta{ID: 3, Version: 4, ChangedAt: nowMS() - 1_000_000}) // put back to an earlier day
		tab.mu.Lock()
		delete(tab.rows, 2) // by hand
		tab.mu.Unlock()
		time.Sleep(everyHour - everySecond)
		synctest.Wait()
		s.want(t, map[int64]int64{1: 5, 2: 5, 3: 5})
		time.Sleep(2 * everySecond)
		synctest.Wait()
		s.want(t, map[int64]int64{1: 6, 3: 4})
	})
}

// A row stamped in the future must not move the mark there: nothing would be followed until then.
func TestClockOfAWriterThatIsFastDoesNotHideChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{rows: map[int64]Meta{}}
		tab.put(Meta{ID: 1, Version: 1, ChangedAt: nowMS().Add(24 * time.Hour)})
		f, s := follow(tab, slog.New(slog.DiscardHandler))
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer f.Stop()
		tab.put(Meta{ID: 2, Version: 1, ChangedAt: nowMS()})
		time.Sleep(everySecond)
		synctest.Wait()
		s.want(t, map[int64]int64{1: 1, 2: 1})
	})
}

func TestAnOutageIsLoggedOnceAndSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		tab := &table{rows: map[int64]Meta{}}
		tab.put(Meta{ID: 1, Version: 1, ChangedAt: nowMS()})
		f, s := follow(tab, slog.New(slog.NewTextHandler(&text, nil)))
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		tab.fail(errors.New("away"))
		time.Sleep(2 * everyHour)
		synctest.Wait()
		s.want(t, map[int64]int64{1: 1})
		tab.fail(nil)
		tab.put(Meta{ID: 2, Version: 1, ChangedAt: nowMS()})
		time.Sleep(everySecond)
		synctest.Wait()
		s.want(t, map[int64]int64{1: 1, 2: 1})
		f.Stop()
		if n := strings.Count(text.String(), "level=WARN"); n != 1 {
			t.Errorf("an outage was logged %d times, want once:\n%s", n, text.String())
		}
		if !strings.Contains(text.String(), "followed again") {
			t.Error("its end was not logged")
		}
	})
}

func TestStartFailsWithoutAWholeFirstRead(t *testing.T) {
	tab := &table{rows: map[int64]Meta{}}
	for id := int64(1); id <= pageRows; id++ {
		tab.put(Meta{ID: id, Version: 1})
	}
	calls := 0
	f, s := follow(tab, slog.New(slog.DiscardHandler))
	load := f.o.Load
	f.o.Load = func(ctx context.Context, since model.Time, afterID int64, limit int) ([]Meta, error) {
		if calls++; calls == 2 {
			return nil, fmt.Errorf("away")
		}
		return load(ctx, since, afterID, limit)
	}
	if err := f.Start(t.Context()); err == nil || s.calls != 0 {
		t.Errorf("Start: %v after %d applied, want an error and nothing applied", err, s.calls)
	}
	f.Stop()
	if err := f.Start(t.Context()); err != nil || len(s.versions) != pageRows {
		t.Errorf("second Start: %v with %d rows", err, len(s.versions))
	}
	f.Stop()
}
