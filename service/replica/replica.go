// Package replica keeps a copy of a small table in the memory of every replica of the program: search documents, policies,
// roles. It needs no message and no Redis: the rows carry a version and changed_at, and a deleted row stays as a tombstone.
package replica

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// pageRows is how many rows one read asks for.
	pageRows = 500
	// lookBack is how far before the newest change seen the next read begins: longer than any transaction lasts, and than
	// the clocks of two replicas differ.
	lookBack = 60 * time.Second

	everySecond = time.Second
	everyHour   = time.Hour
	readLimit   = 30 * time.Second
)

// Meta is what a follower must know of a row. A row whose DeletedAt is not zero is a tombstone.
type Meta struct {
	ID        int64
	Version   int64
	ChangedAt model.Time
	DeletedAt model.Time
}

// newerThan reports whether the row was changed after old was read. A change that leaves the version alone, such as a counted
// sale, shows in changed_at.
func (m Meta) newerThan(old Meta) bool {
	if m.Version != old.Version {
		return m.Version > old.Version
	}
	return m.ChangedAt > old.ChangedAt
}

// Options say what is followed. All but Interval are required.
type Options[T any] struct {
	// Name is for the log, such as the table's name.
	Name string
	// Now is the installation's clock.
	Now func() model.Time
	Log *slog.Logger
	// Load returns rows, tombstones too, with changed_at ≥ since and id > afterID, in id order, at most limit. See Table.
	Load func(ctx context.Context, since model.Time, afterID int64, limit int) ([]T, error)
	// Meta describes a row.
	Meta func(row T) Meta
	// Apply takes rows that are new or newer than what was applied before, and ids that are gone. Calls never overlap; the
	// first one comes from Start with everything there is.
	Apply func(changed []T, removed []int64)
	// Interval between reads; 0 means a second.
	Interval time.Duration
}

// Follower re-reads what changed every second and compares everything once an hour.
type Follower[T any] struct {
	o Options[T]

	mu    sync.Mutex // one read and Apply at a time
	known map[int64]Meta
	mark  model.Time // the newest changed_at seen, never ahead of the clock

	stop context.CancelFunc
	done chan struct{}
}

// Table returns a Load for a gorm model with the columns id and changed_at.
func Table[T any](s *store.Store) func(ctx context.Context, since model.Time, afterID int64, limit int) ([]T, error) {
	return func(ctx context.Context, since model.Time, afterID int64, limit int) ([]T, error) {
		var rows []T
		err := s.Read(ctx).Where("changed_at >= ? AND id > ?", since, afterID).Order("id").Limit(limit).Find(&rows).Error
		return rows, store.Classify(err)
	}
}

// Follow makes a follower that is not running yet.
func Follow[T any](o Options[T]) *Follower[T] {
	if o.Interval == 0 {
		o.Interval = everySecond
	}
	return &Follower[T]{o: o, known: map[int64]Meta{}}
}

// Start reads everything, so that what is served from memory is whole, and follows from then on. It fails only if that first
// read does; later failures are logged once an outage and the copy stays as it was.
func (f *Follower[T]) Start(ctx context.Context) error {
	if err := f.compare(ctx); err != nil {
		return fmt.Errorf("first read of %s: %w", f.o.Name, err)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.stop, f.done = cancel, make(chan struct{})
	go func() {
		defer close(f.done)
		f.run(run)
	}()
	return nil
}

// Stop ends following and returns when it has ended. Without a Start it does nothing.
func (f *Follower[T]) Stop() {
	if f.stop == nil {
		return
	}
	f.stop()
	<-f.done
}

// Refresh reads what changed, now. A writer calls it after its commit, so that it sees its own write at once.
func (f *Follower[T]) Refresh(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := f.mark.Add(-lookBack)
	rows, err := f.read(ctx, since)
	if err != nil {
		return fmt.Errorf("reading changes of %s: %w", f.o.Name, err)
	}
	f.apply(rows, nil)
	return nil
}

func (f *Follower[T]) run(ctx context.Context) {
	tick := time.NewTicker(f.o.Interval)
	defer tick.Stop()
	hour := time.NewTicker(everyHour)
	defer hour.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = f.limited(ctx, f.Refresh)
		case <-hour.C:
			err = f.limited(ctx, f.compare)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			f.o.Log.Warn("the copy in memory is not followed", "table", f.o.Name, "error", err)
		case err == nil && failing:
			f.o.Log.Info("the copy in memory is followed again", "table", f.o.Name)
		}
		failing = err != nil
	}
}

func (f *Follower[T]) limited(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return read(ctx)
}

// compare reads the whole table: it finds what a clock that was far off, or a row deleted by hand, kept from Refresh.
func (f *Follower[T]) compare(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows, err := f.read(ctx, 0)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", f.o.Name, err)
	}
	gone := make(map[int64]bool, len(f.known))
	for id := range f.known {
		gone[id] = true
	}
	for _, row := range rows {
		m := f.o.Meta(row)
		delete(gone, m.ID)
		if m.Version < f.known[m.ID].Version { // the table was put back to an earlier day
			delete(f.known, m.ID)
		}
	}
	f.apply(rows, gone)
	return nil
}

// read returns all rows changed since then. The mark moves only after a whole pass, in apply.
func (f *Follower[T]) read(ctx context.Context, since model.Time) ([]T, error) {
	var all []T
	var after int64
	for {
		rows, err := f.o.Load(ctx, since, after, pageRows)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < pageRows {
			return all, nil
		}
		after = f.o.Meta(rows[len(rows)-1]).ID
	}
}

// apply hands over what is newer than the copy, and what is gone: tombstones, and the ids that are not in the table any more.
func (f *Follower[T]) apply(rows []T, gone map[int64]bool) {
	var changed []T
	var removed []int64
	mark, now := f.mark, f.o.Now()
	for _, row := range rows {
		m := f.o.Meta(row)
		mark = max(mark, min(m.ChangedAt, now))
		old, had := f.known[m.ID]
		if had && !m.newerThan(old) {
			continue
		}
		f.known[m.ID] = m
		if m.DeletedAt.IsZero() {
			changed = append(changed, row)
		} else {
			removed = append(removed, m.ID)
		}
	}
	for id := range gone {
		delete(f.known, id)
		removed = append(removed, id)
	}
	if len(changed)+len(removed) > 0 {
		f.o.Apply(changed, removed)
	}
	f.mark = mark
}
