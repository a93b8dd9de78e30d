package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidemall/tidemall/timeout"
)

const (
	// fillPage is how many rows are inserted by one statement, movePage how many are moved by one.
	fillPage = 500
	movePage = 10_000
	farAway  = 24 * time.Hour
	// leadTime is from the end of filling to the first deadline, beside what moving and scheduling take at leadRate a second.
	leadTime = 2 * time.Second
	leadRate = 20_000
)

// book is the table of deadlines, its source and handler, and what was seen of each.
type book struct {
	o     Options
	table string
	now   func() time.Time
	first int64 // the first deadline, unix ms

	mu       sync.Mutex
	lateness []time.Duration // of the first call, by task
	seen     []bool
	done     int
	early    int
	twice    int // calls about a task whose effect was there already
	lastDone time.Time
	changed  chan struct{} // holds a signal while something has happened since it was last received
}

func newBook(o Options, table string) *book {
	return &book{o: o, table: table, lateness: make([]time.Duration, o.Count), seen: make([]bool, o.Count), changed: make(chan struct{}, 1)}
}

func (b *book) create(ctx context.Context) error {
	for _, query := range []string{
		"CREATE TABLE " + b.table + " (id BIGINT NOT NULL PRIMARY KEY, deadline BIGINT NOT NULL, effects INT NOT NULL)",
		"CREATE INDEX idx_" + b.table + " ON " + b.table + " (effects, deadline, id)",
	} {
		if _, err := b.o.DB.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("load: make the table: %w", errors.Join(err, b.drop(ctx)))
		}
	}
	return nil
}

func (b *book) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	_, err := b.o.DB.ExecContext(ctx, "DROP TABLE IF EXISTS "+b.table)
	return err
}

// due is the deadline of a task.
func (b *book) due(i int) int64 {
	return b.first + int64(i)*b.o.Over.Milliseconds()/int64(b.o.Count)
}

// fill writes the rows for a day far ahead and then, when it is known how long that took, moves them to their deadlines.
// Small statements, each its own commit, leave the database to the engine in between.
func (b *book) fill(ctx context.Context) error {
	b.first = b.now().Add(farAway).UnixMilli()
	progress := newTicker(b.o.Progress)
	for from := 0; from < b.o.Count; from += fillPage {
		if err := b.insert(ctx, from, min(from+fillPage, b.o.Count)); err != nil {
			return fmt.Errorf("load: fill the table: %w", err)
		}
		progress.tell("%d of %d rows written", from, b.o.Count)
	}
	first := b.now().Add(leadTime + time.Duration(b.o.Count)*time.Second/leadRate).UnixMilli()
	for from := 0; from < b.o.Count; from += movePage {
		if _, err := b.o.DB.ExecContext(ctx, "UPDATE "+b.table+" SET deadline = deadline + ? WHERE id >= ? AND id < ?", first-b.first, from, from+movePage); err != nil {
			return fmt.Errorf("load: set the deadlines: %w", err)
		}
	}
	b.first = first
	return nil
}

func (b *book) insert(ctx context.Context, from, to int) error {
	args := make([]any, 0, 2*(to-from))
	for i := from; i < to; i++ {
		args = append(args, i, b.due(i))
	}
	_, err := b.o.DB.ExecContext(ctx, "INSERT INTO "+b.table+" (id, deadline, effects) VALUES "+strings.Repeat(", (?, ?, 0)", to-from)[2:], args...)
	return err
}

func (b *book) tasks() []timeout.Task {
	tasks := make([]timeout.Task, b.o.Count)
	for i := range tasks {
		tasks[i] = timeout.Task{Kind: kind, Key: strconv.Itoa(i), Due: b.due(i)}
	}
	return tasks
}

// Due implements timeout.Source.
func (b *book) Due(ctx context.Context, after timeout.Cursor, until int64, limit int) ([]timeout.Task, error) {
	id := -1
	if after.Key != "" {
		id, _ = strconv.Atoi(after.Key) // keys are made by tasks and read here
	}
	rows, err := b.o.DB.QueryContext(ctx, "SELECT id, deadline FROM "+b.table+` WHERE effects = 0 AND deadline <= ? AND deadline >= ?
		AND (deadline > ? OR id > ?) ORDER BY deadline, id LIMIT ?`, until, after.Due, after.Due, id, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var tasks []timeout.Task
	for rows.Next() {
		var id, due int64
		if err := rows.Scan(&id, &due); err != nil {
			return nil, err
		}
		tasks = append(tasks, timeout.Task{Kind: kind, Key: strconv.FormatInt(id, 10), Due: due})
	}
	return tasks, rows.Err()
}

// Handle implements timeout.Handler by one conditional update for the batch.
func (b *book) Handle(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
	at := b.now()
	b.called(tasks, at)
	if b.o.HandlerTime > 0 {
		select {
		case <-time.After(b.o.HandlerTime):
		case <-ctx.Done():
			return timeout.All(tasks, timeout.Again(ctx.Err()))
		}
	}
	args := make([]any, len(tasks))
	for i, t := range tasks {
		args[i] = t.Key
	}
	result, err := b.o.DB.ExecContext(ctx, "UPDATE "+b.table+" SET effects = effects + 1 WHERE effects = 0 AND id IN ("+strings.Repeat(", ?", len(tasks))[2:]+")", args...)
	if err != nil {
		return timeout.All(tasks, timeout.Again(err))
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return timeout.All(tasks, timeout.Again(err))
	}
	b.acted(int(changed), len(tasks)-int(changed))
	return timeout.All(tasks, timeout.Done())
}

// called notes how late the first call of each task is.
func (b *book) called(tasks []timeout.Task, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tasks {
		i, err := strconv.Atoi(t.Key)
		if err != nil || i < 0 || i >= len(b.seen) || b.seen[i] {
			continue
		}
		b.seen[i] = true
		b.lateness[i] = at.Sub(time.UnixMilli(b.due(i)))
		if b.lateness[i] < 0 {
			b.early++
		}
	}
}

func (b *book) acted(done, twice int) {
	at := b.now()
	b.mu.Lock()
	b.done += done
	b.twice += twice
	if done > 0 {
		b.lastDone = at
	}
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// await returns when every task was acted on, or nothing has happened for as long as the run is patient.
func (b *book) await(ctx context.Context) error {
	progress := newTicker(b.o.Progress)
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		b.mu.Lock()
		done := b.done
		b.mu.Unlock()
		if done >= b.o.Count {
			return nil
		}
		progress.tell("%d of %d acted on", done, b.o.Count)
		// Until the last deadline has come, quiet means nothing.
		quiet.Reset(max(0, time.UnixMilli(b.due(b.o.Count-1)).Sub(b.now())) + b.o.Patience)
		select {
		case <-b.changed:
		case <-quiet.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// report adds what was seen.
func (b *book) report(r *Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var late []time.Duration
	for i, seen := range b.seen {
		if seen {
			late = append(late, b.lateness[i])
		}
	}
	r.Lateness = Quantiles(late)
	r.Early, r.Twice, r.Missed = b.early, b.twice, b.o.Count-b.done
	if b.done > 0 {
		r.Acted(b.done, b.lastDone.Sub(time.UnixMilli(b.first)))
	}
}
