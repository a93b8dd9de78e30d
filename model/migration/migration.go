// Package migration brings a database to the schema of the rows in model and timeout. The files are SQL, one folder a
// dialect: MySQL files hold one DDL statement each, because MySQL commits every DDL statement by itself and a file of several
// that failed half-way could never be repeated.
package migration

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

// lockWait is how long a replica waits for another one that migrates.
const lockWait = 5 * time.Minute

// Step is one migration and when it was applied; zero if it is still to come.
type Step struct {
	Version int64
	Name    string
	Applied time.Time
}

// Up applies what is missing and returns the number of steps taken. dialect is "mysql" or "sqlite". Replicas that start
// together take turns by MySQL's GET_LOCK.
func Up(ctx context.Context, db *sql.DB, dialect string) (n int, err error) {
	provider, err := provider(db, dialect)
	if err != nil {
		return 0, err
	}
	if dialect == "mysql" {
		unlock, err := lock(ctx, db)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	done, err := provider.Up(ctx)
	if err != nil {
		return len(done), fmt.Errorf("migrating the database: %w", err)
	}
	return len(done), nil
}

// Status lists all steps in order.
func Status(ctx context.Context, db *sql.DB, dialect string) ([]Step, error) {
	provider, err := provider(db, dialect)
	if err != nil {
		return nil, err
	}
	status, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the state of migrations: %w", err)
	}
	steps := make([]Step, len(status))
	for i, s := range status {
		steps[i] = Step{Version: s.Source.Version, Name: s.Source.Path, Applied: s.AppliedAt}
	}
	return steps, nil
}

// Pending reports whether any step is still to come.
func Pending(ctx context.Context, db *sql.DB, dialect string) (bool, error) {
	provider, err := provider(db, dialect)
	if err != nil {
		return false, err
	}
	return provider.HasPending(ctx)
}

func provider(db *sql.DB, dialect string) (*goose.Provider, error) {
	kind := map[string]goose.Dialect{"mysql": goose.DialectMySQL, "sqlite": goose.DialectSQLite3}[dialect]
	sub, err := fs.Sub(files, dialect)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(kind, db, sub)
}

// lock takes a server-wide lock named after the database, on a connection of its own; a lost connection frees it.
func lock(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating the database: %w", err)
	}
	var got sql.NullInt64
	const name = "CONCAT('tidemall_migrate:', MD5(DATABASE()))" // GET_LOCK takes 64 characters at most
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", ?)", int(lockWait.Seconds())).Scan(&got); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for another replica's migration: %w", err), conn.Close())
	}
	if got.Int64 != 1 {
		return nil, errors.Join(fmt.Errorf("another replica has been migrating for over %s", lockWait), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+name+")")
		return errors.Join(err, conn.Close())
	}, nil
}
