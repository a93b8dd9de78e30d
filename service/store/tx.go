package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/glebarez/go-sqlite"
	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/service/fault"
)

// Tx is an open transaction. Functions that must run inside the caller's transaction take one.
type Tx struct {
	*gorm.DB
	store        *Store
	conn         *sql.Conn
	dialect      Dialect
	noSkipLocked bool
	after        []func()
}

// AfterCommit registers what is to run once the transaction is committed, such as scheduling a deadline. It runs in the
// goroutine that called Tx and is dropped if the transaction is rolled back or repeated.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// ForUpdate returns the locking clause for plain SQL; SQLite has none and needs none, it writes one transaction at a time.
func (tx *Tx) ForUpdate() string {
	if tx.dialect == SQLite {
		return ""
	}
	return " FOR UPDATE"
}

// SkipLocked returns the clause that locks what is free and passes over the rest. It is an optimisation only: correctness
// rests on conditional updates.
func (tx *Tx) SkipLocked() string {
	if tx.noSkipLocked {
		return tx.ForUpdate()
	}
	return " FOR UPDATE SKIP LOCKED"
}

// Affected runs a statement and returns how many rows it changed. The rows of an UPDATE that changes nothing do not count.
func (tx *Tx) Affected(sql string, args ...any) (int64, error) {
	res := tx.Exec(sql, args...)
	return res.RowsAffected, res.Error
}

// Run runs a statement whose arguments are plain values (no slices) and returns how many rows it changed. It passes by gorm, which
// builds every statement anew; the hot paths use it.
func (tx *Tx) Run(query string, args ...any) (int64, error) {
	res, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Dialect returns the kind of database.
func (tx *Tx) Dialect() Dialect { return tx.dialect }

const (
	txAttempts   = 10
	connAttempts = 3 // of connections that went stale
	txLimit      = 20 * time.Second
)

// Tx runs fn in a transaction at READ COMMITTED and commits it if fn returns nil. On a deadlock, a lock wait, a busy SQLite
// or a write conflict of a distributed database everything is rolled back and fn is run again, and so it is, on another connection,
// where the server takes no writes any more; so fn must only touch the transaction and its own locals. An error of fn comes back as it is. Where the database cannot be reached the error has the
// code database_unavailable; if that happened during the commit, its outcome is unknown.
func (s *Store) Tx(ctx context.Context, fn func(tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, txLimit)
	defer cancel()
	for attempt := 1; ; attempt++ {
		after, err := s.once(ctx, fn)
		if err == nil {
			for _, f := range after {
				f()
			}
			return nil
		}
		if !s.worthRepeating(err, attempt) {
			return classify(err)
		}
		s.log.Debug("transaction is repeated", "attempt", attempt, "error", err)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(attempt)*int64(5*time.Millisecond)) + 1))
		select {
		case <-ctx.Done():
			pause.Stop()
			return classify(err)
		case <-pause.C:
		}
	}
}

// worthRepeating reports whether nothing came of the transaction and another attempt may do better.
func (s *Store) worthRepeating(err error, attempt int) bool {
	if errors.Is(err, driver.ErrBadConn) { // of a commit, too: the driver says so where it was not sent or was refused
		s.leave()
		return attempt < connAttempts
	}
	return attempt < txAttempts && IsConflict(err)
}

// leave closes the connections that wait in the pool. When one of them leads to a server that takes no writes any more, so do the
// others, and whatever is read there is old.
func (s *Store) leave() {
	if s.dialect == MySQL {
		s.sql.SetMaxIdleConns(0)
		s.sql.SetMaxIdleConns(poolSize)
	}
}

func (s *Store) once(ctx context.Context, fn func(tx *Tx) error) (after []func(), err error) {
	if s.writer != nil {
		select {
		case s.writer <- struct{}{}:
			defer func() { <-s.writer }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	_, end := s.span(ctx, "BEGIN", 1)
	conn, begun, err := s.begin(ctx)
	end(err)
	if err != nil {
		return nil, err
	}
	// The connection goes back to the pool, or out of it if it broke; the outcome is known by then.
	defer func() { _ = conn.Close() }()
	tx := &Tx{DB: s.db.Session(&gorm.Session{NewDB: true, Context: ctx}), store: s, conn: conn, dialect: s.dialect, noSkipLocked: s.noSkipLocked}
	tx.Statement.ConnPool = s.spanning(ctx, begun)
	done := false
	defer func() {
		if !done { // fn panicked or failed; a rollback that fails too leaves the connection to the pool to discard
			_ = begun.Rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return nil, err
	}
	done = true
	_, end = s.span(ctx, "COMMIT", 1)
	err = begun.Commit()
	end(err)
	if err != nil {
		return nil, err
	}
	return tx.after, nil
}

// begin takes a connection and begins a transaction on it. A connection that went stale in the pool is replaced.
func (s *Store) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	for attempt := 1; ; attempt++ {
		conn, err := s.sql.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		begun, err := conn.BeginTx(ctx, nil)
		if err == nil {
			return conn, begun, nil
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) || attempt == connAttempts {
			return nil, nil, err
		}
	}
}

// Snapshot runs fn in one consistent read-only snapshot of the database.
func (s *Store) Snapshot(ctx context.Context, fn func(db *gorm.DB) error) error {
	if s.dialect == SQLite {
		// A deferred transaction keeps the snapshot of its first read (WAL) and never waits for a writer.
		conn, err := s.sql.Conn(ctx)
		if err != nil {
			return classify(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
			return classify(err)
		}
		defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
		session := s.db.Session(&gorm.Session{NewDB: true, Context: ctx})
		session.Statement.ConnPool = conn
		return fn(session)
	}
	tx := s.db.WithContext(ctx).Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if tx.Error != nil {
		return classify(tx.Error)
	}
	defer tx.Rollback()
	return fn(tx)
}

// MySQL's error numbers; 9007, 8002, 8022 and 8028 are TiDB's write conflicts, 1020 is MariaDB's under snapshot isolation.
var conflictNumbers = map[uint16]bool{1213: true, 1205: true, 1020: true, 9007: true, 8002: true, 8022: true, 8028: true}

// IsConflict reports whether a transaction failed only because of other transactions, so that repeating it makes sense.
func IsConflict(err error) bool {
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		return conflictNumbers[my.Number]
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		primary := lite.Code() & 0xff
		return primary == 5 || primary == 6 // SQLITE_BUSY, SQLITE_LOCKED
	}
	return false
}

// IsDuplicate reports whether the error is a violated unique key; key, if not empty, must be the key's name (MySQL) or
// columns (SQLite) and is looked for in the message.
func IsDuplicate(err error, keys ...string) bool {
	var text string
	var my *mysqldriver.MySQLError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &my) && my.Number == 1062:
		text = my.Message
	case errors.As(err, &lite) && (lite.Code() == 2067 || lite.Code() == 1555): // CONSTRAINT_UNIQUE, CONSTRAINT_PRIMARYKEY
		text = lite.Error()
	default:
		return false
	}
	for _, k := range keys {
		if strings.Contains(text, k) {
			return true
		}
	}
	return len(keys) == 0
}

// IsUnavailable reports whether the database could not be reached, or ended the connection.
func IsUnavailable(err error) bool {
	if fault.Is(err, fault.DatabaseUnavailable) {
		return true
	}
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) {
		switch my.Number {
		case 1040, 1053, 1077, 1129, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1927, 2006, 2013, 1290, 1836, 3168:
			return true
		}
		return false
	}
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysqldriver.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, context.DeadlineExceeded)
}

// classify gives errors of the connection, and conflicts that never ended, the code database_unavailable.
func classify(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if IsUnavailable(err) || IsConflict(err) {
		return fault.Wrap(fault.DatabaseUnavailable, err).After(time.Second)
	}
	return err
}

// Classify gives errors of the connection the code database_unavailable; other errors and nil come back as they are. Reads
// outside a transaction go through it.
func Classify(err error) error {
	if err == nil || errors.Is(err, gorm.ErrRecordNotFound) {
		return err
	}
	return classify(fmt.Errorf("database: %w", err))
}
