package timeout

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

const (
	failureBase = time.Second
	outageBase  = 100 * time.Millisecond
	backoffCap  = 30 * time.Second
	// queryTimeout bounds each of the engine's own statements.
	queryTimeout = 3 * time.Second
	maxErrorText = 1000
)

// failureBackoff is full jitter: anything up to 1 s, 2 s, 4 s … after the
// first, second, third … failure.
func failureBackoff(attempts int) time.Duration {
	return rand.N(doubled(failureBase, attempts-1)) + time.Millisecond
}

// outageBackoff is half to all of 100 ms, 200 ms, 400 ms … up to 30 s. It begins
// low, because a locked row or a deadlock is over at once, and has a lower
// bound, because a real outage is not.
func outageBackoff(waits int) time.Duration {
	d := doubled(outageBase, waits-1)
	return d/2 + rand.N(d/2)
}

func doubled(base time.Duration, times int) time.Duration {
	return min(base<<min(max(times, 0), 10), backoffCap)
}

// Page selects a page of failures, newest change first.
type Page struct {
	// Kind restricts to one kind; "" means all.
	Kind string
	// Dead restricts to dead tasks.
	Dead bool
	// Offset and Limit cut the page; Limit 0 means 20, at most 100.
	Offset, Limit int
}

// Failure is a task that is dead, backing off or waiting for an outage to
// pass. Times are unix milliseconds.
type Failure struct {
	Kind string
	Key  string
	// Due is the deadline that was being acted on.
	Due int64
	// Attempts counts failures of the task's own, Waits its outages so far.
	Attempts int
	Waits    int
	// NextAt is when it runs again; DeadAt is 0 unless it is dead.
	NextAt int64
	DeadAt int64
	// Error is the last one.
	Error     string
	CreatedAt int64
	UpdatedAt int64
}

// appliesTo reports whether the row is about this deadline (0: not known).
// A new deadline begins with a clean slate.
func (f *Failure) appliesTo(due int64) bool { return f != nil && (due == 0 || due == f.Due) }

// Failures lists the tasks that are dead or backing off, and how many there
// are in all.
func (e *Engine) Failures(ctx context.Context, p Page) ([]Failure, int64, error) {
	return e.failures.list(ctx, p)
}

// RetryDead forgets that a task is dead and has it run now. ErrNotDead means
// that there is no such dead task.
func (e *Engine) RetryDead(ctx context.Context, kind, key string) error {
	due, err := e.failures.revive(ctx, kind, key)
	if err != nil {
		return err
	}
	if err := e.Schedule(ctx, Task{Kind: kind, Key: key, Due: due}); err != nil {
		e.log.Warn("a retried task waits for the next look at its source", "kind", kind, "key", key, "err", err)
	}
	return nil
}

// RetryAllDead does as RetryDead does with every task of the kind ("" means of
// every kind) that is dead now, and returns how many those were. What it did
// before an error stays done.
func (e *Engine) RetryAllDead(ctx context.Context, kind string) (int, error) {
	retried, until := 0, e.clock.Now().UnixMilli()
	for {
		tasks, err := e.failures.reviveSome(ctx, kind, until)
		if err != nil || len(tasks) == 0 {
			return retried, err
		}
		retried += len(tasks)
		if err := e.Schedule(ctx, tasks...); err != nil {
			e.log.Warn("retried tasks wait for the next look at their source", "tasks", len(tasks), "err", err)
		}
	}
}

const failureColumns = "kind, task_key, due, attempts, waits, next_at, dead_at, error, created_at, updated_at"

// failures is the table task_failures.
type failures struct {
	db      *sql.DB
	breaker *breaker
}

// do runs one step against the database under its breaker and a time limit.
func (f *failures) do(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return f.breaker.do(func() error { return step(ctx) })
}

// read returns the rows there are of the given tasks, at most MaxBatch, by key.
func (f *failures) read(ctx context.Context, kind string, keys []string) (map[string]*Failure, error) {
	rows := map[string]*Failure{}
	if len(keys) == 0 {
		return rows, nil
	}
	query := "SELECT " + failureColumns + " FROM task_failures WHERE kind = ? AND task_key IN (" + marks(len(keys)) + ")"
	err := f.do(ctx, func(ctx context.Context) error {
		found, err := f.query(ctx, query, keyArgs(kind, keys)...)
		for i := range found {
			rows[found[i].Key] = &found[i]
		}
		return err
	})
	return rows, err
}

func (f *failures) query(ctx context.Context, query string, args ...any) ([]Failure, error) {
	rows, err := f.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Failure
	for rows.Next() {
		var r Failure
		var dead sql.NullInt64
		if err := rows.Scan(&r.Kind, &r.Key, &r.Due, &r.Attempts, &r.Waits, &r.NextAt, &dead,
			&r.Error, &r.CreatedAt, &r.UpdatedAt); err != nil {
			return nil, err
		}
		r.DeadAt = dead.Int64
		all = append(all, r)
	}
	return all, rows.Err()
}

// save writes rows of one kind, in key order so that two replicas that do
// so at once wait for each other instead of deadlocking. REPLACE is
// understood by MySQL and SQLite alike.
func (f *failures) save(ctx context.Context, rows []*Failure) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b *Failure) int { return strings.Compare(a.Key, b.Key) })
	var args []any
	for _, r := range rows {
		dead := sql.NullInt64{Int64: r.DeadAt, Valid: r.DeadAt != 0}
		args = append(args, r.Kind, r.Key, r.Due, r.Attempts, r.Waits, r.NextAt, dead,
			cut(r.Error, maxErrorText), r.CreatedAt, r.UpdatedAt)
	}
	one := "(" + marks(10) + ")"
	query := "REPLACE INTO task_failures (" + failureColumns + ") VALUES " + one + strings.Repeat(", "+one, len(rows)-1)
	return f.do(ctx, func(ctx context.Context) error {
		_, err := f.db.ExecContext(ctx, query, args...)
		return err
	})
}

// clear deletes the rows of tasks that have succeeded.
func (f *failures) clear(ctx context.Context, kind string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	query := "DELETE FROM task_failures WHERE kind = ? AND task_key IN (" + marks(len(keys)) + ")"
	return f.do(ctx, func(ctx context.Context) error {
		_, err := f.db.ExecContext(ctx, query, keyArgs(kind, keys)...)
		return err
	})
}

// revive deletes the row of a dead task and returns its deadline.
func (f *failures) revive(ctx context.Context, kind, key string) (due int64, err error) {
	const which = " FROM task_failures WHERE kind = ? AND task_key = ? AND dead_at IS NOT NULL"
	err = f.db.QueryRowContext(ctx, "SELECT due"+which, kind, key).Scan(&due)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNotDead
	}
	if err != nil {
		return 0, err
	}
	result, err := f.db.ExecContext(ctx, "DELETE"+which, kind, key)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, errors.Join(ErrNotDead, err)
	}
	return due, nil
}

// reviveSome deletes up to MaxBatch rows of tasks that died at the given
// instant at the latest, and returns those tasks.
func (f *failures) reviveSome(ctx context.Context, kind string, until int64) ([]Task, error) {
	where, args := "dead_at <= ?", []any{until}
	if kind != "" {
		where, args = where+" AND kind = ?", append(args, kind)
	}
	rows, err := f.query(ctx, "SELECT "+failureColumns+" FROM task_failures WHERE "+where+" ORDER BY dead_at LIMIT ?", append(args, MaxBatch)...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	byKind := map[string][]string{}
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		tasks[i] = Task{Kind: r.Kind, Key: r.Key, Due: r.Due}
		byKind[r.Kind] = append(byKind[r.Kind], r.Key)
	}
	for kind, keys := range byKind {
		query := "DELETE FROM task_failures WHERE kind = ? AND task_key IN (" + marks(len(keys)) + ") AND dead_at <= ?"
		if _, err := f.db.ExecContext(ctx, query, append(keyArgs(kind, keys), until)...); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

func (f *failures) list(ctx context.Context, p Page) ([]Failure, int64, error) {
	where, args := " FROM task_failures WHERE 1 = 1", []any{}
	if p.Kind != "" {
		where, args = where+" AND kind = ?", append(args, p.Kind)
	}
	if p.Dead {
		where += " AND dead_at IS NOT NULL"
	}
	if p.Limit <= 0 {
		p.Limit = 20
	}
	var total int64
	if err := f.db.QueryRowContext(ctx, "SELECT COUNT(*)"+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	args = append(args, min(p.Limit, 100), max(p.Offset, 0))
	rows, err := f.query(ctx, "SELECT "+failureColumns+where+
		" ORDER BY updated_at DESC, kind, task_key LIMIT ? OFFSET ?", args...)
	return rows, total, err
}

// counts are the dead and the other rows of each kind.
func (f *failures) counts(ctx context.Context) (dead, backingOff map[string]int64, err error) {
	dead, backingOff = map[string]int64{}, map[string]int64{}
	rows, err := f.db.QueryContext(ctx, "SELECT kind, COUNT(dead_at), COUNT(*) FROM task_failures GROUP BY kind")
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind string
		var d, all int64
		if err := rows.Scan(&kind, &d, &all); err != nil {
			return nil, nil, err
		}
		dead[kind], backingOff[kind] = d, all-d
	}
	return dead, backingOff, rows.Err()
}

func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

func keyArgs(kind string, keys []string) []any {
	args := make([]any, 0, 1+len(keys))
	args = append(args, kind)
	for _, k := range keys {
		args = append(args, k)
	}
	return args
}

// cut shortens text to at most n bytes of whole runes.
func cut(text string, n int) string {
	if len(text) > n {
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
}
