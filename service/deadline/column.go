package deadline

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Column is a deadline column as the timeout module's source: keyset pages over the column's index, whose last part is the id.
// Keys are ids in decimal digits.
type Column struct {
	store *store.Store
	kind  string
	query string
	count string
}

// NewColumn makes the source of a kind from a table's column; waiting is the condition under which a row waits for it.
func NewColumn(s *store.Store, kind, table, column, waiting string) Column {
	return Column{
		store: s, kind: kind,
		query: "SELECT id, " + column + " AS due FROM " + table + " WHERE " + waiting + " AND " + column + " <= ? AND " +
			column + " >= ? AND (" + column + " > ? OR id > ?) ORDER BY " + column + ", id LIMIT ?",
		count: "SELECT COUNT(*) FROM " + table + " WHERE " + waiting + " AND " + column + " <= ?",
	}
}

// Due implements timeout.Source.
func (c Column) Due(ctx context.Context, after timeout.Cursor, until int64, limit int) ([]timeout.Task, error) {
	var id int64
	if after.Key != "" {
		parsed, err := strconv.ParseInt(after.Key, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s source: cursor %q is no id", c.kind, after.Key)
		}
		id = parsed
	}
	var rows []struct{ ID, Due int64 }
	if err := c.store.Read(ctx).Raw(c.query, until, after.Due, after.Due, id, limit).Scan(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	tasks := make([]timeout.Task, len(rows))
	for i, r := range rows {
		tasks[i] = Task(c.kind, r.ID, model.Time(r.Due))
	}
	return tasks, nil
}

// Count implements timeout.Counter.
func (c Column) Count(ctx context.Context, until int64) (int64, error) {
	var n int64
	err := c.store.Read(ctx).Raw(c.count, until).Scan(&n).Error
	return n, store.Classify(err)
}

// Task is the task of a kind about the row with the id.
func Task(kind string, id int64, at model.Time) timeout.Task {
	return timeout.Task{Kind: kind, Key: strconv.FormatInt(id, 10), Due: int64(at)}
}

// ID returns the id that is a task's key.
func ID(t timeout.Task) (int64, error) {
	id, err := strconv.ParseInt(t.Key, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%s task: key %q is no id", t.Kind, t.Key)
	}
	return id, nil
}

// Each makes a handler of one that acts on a single thing.
func Each(act func(ctx context.Context, id int64, due model.Time) timeout.Outcome) timeout.Handler {
	return timeout.HandlerFunc(func(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
		out := make([]timeout.Outcome, len(tasks))
		for i, t := range tasks {
			id, err := ID(t)
			if err != nil {
				out[i] = timeout.Failed(err)
				continue
			}
			out[i] = act(ctx, id, model.Time(t.Due))
		}
		return out
	})
}

// Failed is the outcome of a task that ended with an error. One of the database's never counts against the task.
func Failed(err error) timeout.Outcome {
	if store.IsUnavailable(err) || store.IsConflict(err) {
		return timeout.Again(err)
	}
	return timeout.Failed(err)
}
