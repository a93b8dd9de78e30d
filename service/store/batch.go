package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// Batch is statements that are sent to the server together, in one round trip on MySQL: where a transaction writes several
// rows without looking at answers in between, the round trips cost as much as the work.
type Batch struct{ steps []step }

type step struct {
	query string
	args  []any
	want  int64 // rows that must change; -1 if any number will do
	short error // what another number means
}

// Add adds a statement whose arguments are plain values (no slices).
func (b *Batch) Add(query string, args ...any) { b.steps = append(b.steps, step{query, args, -1, nil}) }

// Expect adds a statement that must change exactly want rows; otherwise Send returns short.
func (b *Batch) Expect(want int64, short error, query string, args ...any) {
	b.steps = append(b.steps, step{query, args, want, short})
}

// Send runs the statements in their order. After an error, that of a statement or the short of one that changed another number
// of rows than expected, the transaction must be rolled back: statements behind it may have run.
func (tx *Tx) Send(b *Batch) error {
	if len(b.steps) == 0 {
		return nil
	}
	changed, err := tx.runAll(b.steps)
	if err != nil {
		return err
	}
	for i, s := range b.steps {
		if s.want >= 0 && changed[i] != s.want {
			return s.short
		}
	}
	return nil
}

// runAll returns how many rows each statement changed.
func (tx *Tx) runAll(steps []step) ([]int64, error) {
	if tx.dialect == MySQL && len(steps) > 1 {
		return tx.runTogether(steps)
	}
	changed := make([]int64, len(steps))
	for i, s := range steps {
		n, err := tx.Run(s.query, s.args...)
		if err != nil {
			return nil, err
		}
		changed[i] = n
	}
	return changed, nil
}

// runTogether speaks to the driver itself, because database/sql hides how many rows each of several statements changed.
func (tx *Tx) runTogether(steps []step) (changed []int64, err error) {
	ctx := tx.Statement.Context
	queries := make([]string, len(steps))
	var args []any
	for i, s := range steps {
		queries[i] = s.query
		args = append(args, s.args...)
	}
	query := strings.Join(queries, "; ")
	ctx, end := tx.store.span(ctx, query, len(steps))
	var failed error
	err = tx.conn.Raw(func(raw any) error {
		// When the context ends, database/sql rolls the transaction back under the lock that is held here. Statements sent
		// after that would commit by themselves.
		if err := ctx.Err(); err != nil {
			return err
		}
		values, err := named(raw, args)
		if err != nil {
			return err
		}
		// Raw must not hear of a broken connection: it would wait for the transaction to end before it closes that. The pool
		// finds out by itself when it gets it back.
		changed, failed = execAll(ctx, raw, query, values)
		return nil
	})
	if err == nil {
		err = failed
	}
	end(err)
	if err == nil && len(changed) != len(steps) {
		err = fmt.Errorf("%d statements were sent and %d answered", len(steps), len(changed))
	}
	return changed, err
}

func named(raw any, args []any) ([]driver.NamedValue, error) {
	checker, ok := raw.(driver.NamedValueChecker)
	if !ok {
		return nil, errors.New("the MySQL driver checks no values")
	}
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
		if err := checker.CheckNamedValue(&values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func execAll(ctx context.Context, raw any, query string, values []driver.NamedValue) ([]int64, error) {
	execer, ok := raw.(driver.ExecerContext)
	if !ok {
		return nil, errors.New("the MySQL driver executes nothing")
	}
	result, err := execer.ExecContext(ctx, query, values)
	if err != nil {
		return nil, err
	}
	all, ok := result.(mysqldriver.Result)
	if !ok {
		return nil, errors.New("the MySQL driver does not tell of several results")
	}
	return all.AllRowsAffected(), nil
}
