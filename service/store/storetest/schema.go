package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tidemall/tidemall/model/migration"
)

// schema holds the statements that make what the migrations make of an empty MySQL database, read from the first one that was migrated.
// Making every test's tables in their final form at once takes a fraction of the time of doing all steps again.
var schema struct {
	sync.Mutex

	statements []string
}

// makeTables brings an empty MySQL database to where the migrations bring it.
func makeTables(ctx context.Context, db *sql.DB) error {
	schema.Lock()
	statements := schema.statements
	if statements == nil { // under the lock: the others wait for it and are quicker for that
		defer schema.Unlock()
		if _, err := migration.Up(ctx, db, "mysql"); err != nil {
			return err
		}
		var err error
		schema.statements, err = dump(ctx, db)
		return err
	}
	schema.Unlock()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w in %s", err, statement)
		}
	}
	return nil
}

// dump returns statements that make the database's tables and their rows.
func dump(ctx context.Context, db *sql.DB) ([]string, error) {
	tables, err := read(ctx, db, "SHOW TABLES")
	if err != nil {
		return nil, err
	}
	var makes, fills []string
	for _, table := range tables {
		created, err := read(ctx, db, "SHOW CREATE TABLE `"+table[0]+"`")
		if err != nil {
			return nil, err
		}
		makes = append(makes, created[0][1])
		rows, err := read(ctx, db, "SELECT * FROM `"+table[0]+"`")
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			fills = append(fills, "INSERT INTO `"+table[0]+"` VALUES ("+strings.Join(literals(row), ", ")+")")
		}
	}
	return append(makes, fills...), nil
}

func literals(row []string) []string {
	quote := strings.NewReplacer(`\`, `\\`, "'", "''")
	for i, v := range row {
		row[i] = "'" + quote.Replace(v) + "'"
	}
	return row
}

// read returns all rows of a query as texts, times as MySQL writes them. A NULL is an error: no row that the migrations write has one.
func read(ctx context.Context, db *sql.DB, query string) (all [][]string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("%w in %s", err, query)
		}
		for i, v := range row {
			if at, err := time.Parse(time.RFC3339, v); err == nil {
				row[i] = at.UTC().Format(time.DateTime)
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
