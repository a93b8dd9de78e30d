package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Reads is queries that are sent to the server together, in one round trip on MySQL: those of which none waits for the answer of
// another. They run in their order, each seeing what was committed when it begins, as they would one by one.
type Reads struct{ queries []query }

type query struct {
	text string
	args []any
	row  func(*sql.Rows) error
}

// Add adds a query whose arguments are plain values (no slices). row is called for each row that it finds.
func (r *Reads) Add(row func(rows *sql.Rows) error, text string, args ...any) {
	r.queries = append(r.queries, query{text, args, row})
}

// Ask runs the queries and stops at the first error.
func (tx *Tx) Ask(r *Reads) error {
	if tx.dialect == MySQL && len(r.queries) > 1 {
		return tx.askTogether(r.queries)
	}
	for _, q := range r.queries {
		if err := tx.ask(q); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) ask(q query) (err error) {
	rows, err := tx.Statement.ConnPool.QueryContext(tx.Statement.Context, q.text, q.args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return each(rows, q.row)
}

func (tx *Tx) askTogether(queries []query) (err error) {
	texts := make([]string, len(queries))
	var args []any
	for i, q := range queries {
		texts[i] = q.text
		args = append(args, q.args...)
	}
	rows, err := tx.Statement.ConnPool.QueryContext(tx.Statement.Context, strings.Join(texts, "; "), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for i, q := range queries {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return err
			}
			return fmt.Errorf("%d queries were sent and %d answered", len(queries), i)
		}
		if err := each(rows, q.row); err != nil {
			return err
		}
	}
	return nil
}

func each(rows *sql.Rows, row func(*sql.Rows) error) error {
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
