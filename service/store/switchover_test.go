package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// primary is a MySQL that is, or was, a shop's.
type primary struct {
	*testing.T

	addr string
	root *sql.DB
}

// newPrimary has a table, and a user whom read_only concerns.
func newPrimary(t *testing.T) *primary {
	t.Helper()
	server := testserver.StartMySQL(t)
	p := &primary{t, server.Addr(), openPool(t, server.DSN())}
	p.do("CREATE TABLE notes (id BIGINT PRIMARY KEY)")
	p.do("CREATE USER shop@'%' IDENTIFIED BY ''")
	p.do("GRANT ALL ON test.* TO shop@'%'")
	return p
}

func openPool(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (p *primary) do(query string) {
	p.Helper()
	if _, err := p.root.Exec(query); err != nil {
		p.Fatal(err)
	}
}

func (p *primary) number(query string) (n int) {
	p.Helper()
	if err := p.root.QueryRow(query).Scan(&n); err != nil {
		p.Fatal(err)
	}
	return n
}

// awaitConnections waits until so many of the shop are open; the server hears late of those that are closed.
func (p *primary) awaitConnections(t *testing.T, enough func(n int) bool) {
	t.Helper()
	storetest.Await(t, time.Minute, "the connections to the former primary", func() bool {
		return enough(p.number("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'shop'"))
	})
}

const pooled = 8

func none(n int) bool  { return n == 0 }
func fewer(n int) bool { return n < pooled }

// writes are the ways by which a service writes two rows.
var writes = []struct {
	name  string
	left  func(n int) bool // how many connections to the former primary are kept
	write func(ctx context.Context, s *store.Store) error
}{
	{"statement by statement", none, func(ctx context.Context, s *store.Store) error {
		return s.Tx(ctx, func(tx *store.Tx) error {
			if _, err := tx.Run("INSERT INTO notes (id) VALUES (?)", 1); err != nil {
				return err
			}
			return tx.Exec("INSERT INTO notes (id) VALUES (?)", 2).Error
		})
	}},
	{"in one round trip", none, func(ctx context.Context, s *store.Store) error {
		return s.Tx(ctx, func(tx *store.Tx) error {
			var b store.Batch
			b.Add("INSERT INTO notes (id) VALUES (?)", 1)
			b.Add("INSERT INTO notes (id) VALUES (?)", 2)
			return tx.Send(&b)
		})
	}},
	{"outside a transaction", fewer, func(ctx context.Context, s *store.Store) error {
		return s.Read(ctx).Exec("INSERT INTO notes (id) VALUES (1), (2)").Error
	}},
}

// A switchover makes the primary read-only and moves its name. What the pool holds leads to the old one, which refuses writes; the
// first write finds out, on whichever connection, and succeeds on the new one.
func TestSwitchover(t *testing.T) {
	before, after := newPrimary(t), newPrimary(t)
	name := testserver.StartProxy(t, before.addr)
	for _, w := range writes {
		t.Run(w.name, func(t *testing.T) {
			name.Point(before.addr)
			before.do("SET GLOBAL read_only = 0")
			after.do("DELETE FROM notes")
			s := shopAt(t, name)
			fill(t, s, pooled)
			before.awaitConnections(t, func(n int) bool { return n == pooled })

			before.do("SET GLOBAL read_only = 1")
			err := store.Classify(w.write(t.Context(), s))
			if !fault.Is(err, fault.DatabaseUnavailable) || !errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while there is no primary: %v", err)
			}
			fill(t, s, pooled)
			name.Point(after.addr)
			if err := w.write(t.Context(), s); err != nil {
				t.Errorf("once there is a new one: %v", err)
			}
			if n := after.number("SELECT COUNT(*) FROM notes"); n != 2 {
				t.Errorf("%d rows on it, want 2", n)
			}
			before.awaitConnections(t, w.left)
		})
	}
}

// A transaction that has written when its server becomes read-only is refused at its commit. Nothing of it is kept there, and it runs
// again on the new primary.
func TestSwitchoverUnderATransaction(t *testing.T) {
	before, after := newPrimary(t), newPrimary(t)
	name := testserver.StartProxy(t, before.addr)
	runs := 0
	err := shopAt(t, name).Tx(t.Context(), func(tx *store.Tx) error {
		runs++
		if _, err := tx.Run("INSERT INTO notes (id) VALUES (1)"); err != nil {
			return err
		}
		if runs == 1 {
			before.do("SET GLOBAL read_only = 1")
			name.Point(after.addr)
		}
		return nil
	})
	if err != nil || runs != 2 {
		t.Errorf("ran %d times, %v", runs, err)
	}
	for server, want := range map[*primary]int{before: 0, after: 1} {
		if n := server.number("SELECT COUNT(*) FROM notes"); n != want {
			t.Errorf("%d rows on %s, want %d", n, server.addr, want)
		}
	}
}

func shopAt(t *testing.T, name *testserver.Proxy) *store.Store {
	t.Helper()
	cfg := mysqldriver.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = "shop", "tcp", name.Addr(), "test"
	s, err := store.OpenMySQL(t.Context(), cfg.FormatDSN(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fill opens n connections, which wait in the pool afterwards.
func fill(t *testing.T, s *store.Store, n int) {
	t.Helper()
	var conns []*sql.Conn
	for range n {
		conn, err := s.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
