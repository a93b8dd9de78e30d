package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
)

// books opens the shop's database.
func (s *shop) books() *sql.DB {
	s.t.Helper()
	driver, dsn := "sqlite", "file:"+filepath.Join(s.dir, "shop.db")+"?_pragma=busy_timeout(5000)"
	switch {
	case s.parts.mysql != nil: // not by the way that the shop takes
		driver, dsn = "mysql", s.parts.mysql.DSN()
	case s.parts.dsn != "":
		driver, dsn = "mysql", s.parts.dsn
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	return db
}

// soon is when orders fall due that a test makes fall due: the look ahead comes round before.
const soon = 2 * lease

// fallDue has those of the orders that are unpaid be due so much later. What only an unpaid order allows has been done before, however
// slow the machine is.
func (s *shop) fallDue(in time.Duration, numbers ...string) {
	s.t.Helper()
	db, due := s.books(), time.Now().Add(in).UnixMilli()
	for _, no := range numbers {
		change(s.t, db, "UPDATE orders SET pay_deadline = ? WHERE no = ? AND state = 'pending_payment'", due, no)
	}
}

// change changes rows behind the shop's back.
func change(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%v in %s", err, query)
	}
}

// countRows is the one number that a query answers.
func countRows(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	return n
}

// never are rows that exist where something was acted on twice, or half.
var never = map[string]string{
	"orders that closed more or less than once": `SELECT COUNT(*) FROM orders o WHERE o.state = 'closed' AND 1 <>
		(SELECT COUNT(*) FROM order_events e WHERE e.order_id = o.id AND e.to_state = 'closed')`,
	"closed orders whose message was not sent once": `SELECT COUNT(*) FROM order_events e WHERE e.to_state = 'closed' AND 1 <>
		(SELECT COUNT(*) FROM messages m WHERE m.topic = 'order.closed' AND m.msg_key = CONCAT('order:', e.order_id) AND m.state = 'sent')`,
	"lines of unpaid orders that were not given back once, in full": `SELECT COUNT(*) FROM order_lines l JOIN orders o ON o.id = l.order_id
		WHERE o.state = 'closed' AND o.close_reason <> 'refunded' AND NOT (1 =
		(SELECT COUNT(*) FROM stock_ledger g WHERE g.line_id = l.id AND g.kind = 'release') AND l.quantity =
		(SELECT SUM(g.delta) FROM stock_ledger g WHERE g.line_id = l.id AND g.kind = 'release'))`,
	"lines of live orders that were given back": `SELECT COUNT(*) FROM stock_ledger g JOIN orders o ON o.id = g.order_id
		WHERE g.kind = 'release' AND o.state <> 'closed'`,
	"dead tasks":    "SELECT COUNT(*) FROM task_failures WHERE dead_at IS NOT NULL",
	"dead messages": "SELECT COUNT(*) FROM messages WHERE state = 'dead'",
}

// exactlyOnce waits until every message was sent, and fails unless every order that is closed was closed once, with one message
// and one release of each line, and nothing was given up. The audit follows: it knows what else must hold.
func (s *shop) exactlyOnce() {
	s.t.Helper()
	db := s.books()
	// A relay that was killed holds its messages for 30 s.
	eventually(s.t, 30*time.Second+recovery, "every message is sent", func() (bool, string) {
		n := countRows(s.t, db, "SELECT COUNT(*) FROM messages WHERE state <> 'sent'")
		return n == 0, fmt.Sprintf("%d are not", n)
	})
	for what, query := range never {
		if n := countRows(s.t, db, query); n != 0 {
			s.t.Errorf("%d %s", n, what)
		}
	}
	s.audit()
}
