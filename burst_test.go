package main

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestT14_TenThousandInOneSecond has 10,000 orders fall due within a second while the shop serves: all close once and soon, and
// nobody waits for it.
// Case T14.
func TestT14_TenThousandInOneSecond(t *testing.T) {
	t.Parallel()
	const n = 10_000
	s := newShop(t, realParts(t), crowdEnv...)
	g, ann := s.sell(2*n, time.Hour), s.shopper("ann")
	db := s.books()
	first := ann.buy(g.sku, 1)
	eventually(t, recovery, "the message of the first order is sent", func() (bool, string) {
		return countRows(t, db, "SELECT COUNT(*) FROM messages WHERE state <> 'sent'") == 0, "not yet"
	})
	tide := copies{t, db, first.No}
	tide.make(n - 1)
	g.wantStock(n)
	// The look ahead finds them some seconds before; they are the more at once.
	due := time.Now().Add(15 * time.Second).Truncate(time.Second)
	tide.fallDue(due)

	answers := serveMeanwhile(t, s, g, due.Add(-2*time.Second), due.Add(4*time.Second))
	t.Logf("%d requests meanwhile: p50 %v, p99 %v, max %v", len(answers), quantile(answers, 50), quantile(answers, 99), quantile(answers, 100))
	if slowest := quantile(answers, 99); slowest > 2*time.Second {
		t.Errorf("of 100 requests one took %v while the orders closed", slowest)
	}
	eventually(t, 60*time.Second, "all have closed", func() (bool, string) {
		left := countRows(t, db, "SELECT COUNT(*) FROM orders WHERE state = 'pending_payment'")
		return left == 0, fmt.Sprintf("%d have not", left)
	})
	late := (&crowd{t: t}).closes(db, time.Time{}).plain
	t.Logf("%d orders: lateness p50 %v, p99 %v, max %v", len(late), quantile(late, 50), quantile(late, 99), quantile(late, 100))
	if len(late) < n || late[0] < 0 || quantile(late, 100) > 15*time.Second {
		t.Errorf("%d closed by timeout, the earliest %v after its deadline, the latest %v", len(late), late[0], quantile(late, 100))
	}
	s.exactlyOnce()
	g.wantStock(2 * n)
}

// serveMeanwhile has shoppers look around and buy between two instants, once at least, and returns how long each answer took, sorted.
func serveMeanwhile(t *testing.T, s *shop, g *goods, from, until time.Time) []time.Duration {
	t.Helper()
	time.Sleep(time.Until(from))
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for i := range crowdSize {
		p := s.shopper(fmt.Sprintf("meanwhile-%d", i))
		all.Go(func() {
			for again := true; again; again = time.Now().Before(until) {
				for _, r := range []struct {
					method, path string
					body         any
					want         int
				}{
					{"GET", "/api/v1/products?limit=20", nil, 200},
					{"GET", "/api/v1/cart", nil, 200},
					{"POST", "/api/v1/orders", placement{basket{Items: []item{{SKUID: g.sku, Quantity: 1}}}, 9900}, 201},
				} {
					got, err := p.try(r.method, r.path, r.body, "Idempotency-Key", newKey())
					if err != nil || got.status != r.want {
						t.Errorf("%s %s meanwhile: %v %d %s", r.method, r.path, err, got.status, got.text)
						return
					}
					mu.Lock()
					took = append(took, got.took)
					mu.Unlock()
					if r.want == 201 {
						p.call(200, "POST", "/api/v1/orders/"+as[order](p, got).No+"/cancel", nil)
					}
				}
				time.Sleep(20 * time.Millisecond) // the shopper reads
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatal("nothing was asked meanwhile")
	}
	return took
}

// copies makes orders as placing them one by one would have, in a few statements: rows like those of one order.
type copies struct {
	t  *testing.T
	db *sql.DB
	no string // of the order they are like
}

// copyIDs is where the ids of copies begin, of orders and of lines.
const copyIDs = 1_000_000_000

// make copies the order n times. The copies have its deadline.
func (c copies) make(n int) {
	c.t.Helper()
	id := fmt.Sprintf("(SELECT id FROM (SELECT id FROM orders WHERE no = '%s') o)", c.no)
	copied := fmt.Sprintf("o.id >= %d", copyIDs)
	c.insert("orders", "o", "orders o WHERE o.id = "+id, map[string]string{
		"id": fmt.Sprint(copyIDs), "no": c.number("1"), "idem_key": c.number("1"),
	})
	for have := 1; have < n; have *= 2 {
		more := min(have, n-have)
		c.insert("orders", "o", fmt.Sprintf("orders o WHERE o.id >= %d AND o.id < %d", copyIDs, copyIDs+more), map[string]string{
			"id": fmt.Sprintf("o.id + %d", have), "no": c.number(fmt.Sprintf("o.id + %d", have)), "idem_key": c.number(fmt.Sprintf("o.id + %d", have)),
		})
	}
	c.insert("order_lines", "l", "order_lines l, orders o WHERE l.order_id = "+id+" AND "+copied, map[string]string{"id": "o.id", "order_id": "o.id"})
	c.insert("stock_ledger", "g", "stock_ledger g, orders o WHERE g.order_id = "+id+" AND "+copied, map[string]string{"id": "", "order_id": "o.id", "line_id": "o.id"})
	c.insert("order_events", "e", "order_events e, orders o WHERE e.order_id = "+id+" AND "+copied, map[string]string{"id": "", "order_id": "o.id"})
	c.insert("messages", "m", "messages m, orders o WHERE m.msg_key = CONCAT('order:', "+id+") AND "+copied, map[string]string{"id": "", "msg_key": "CONCAT('order:', o.id)"})
	c.exec(fmt.Sprintf("UPDATE skus SET stock = stock - %d WHERE id IN (SELECT sku_id FROM order_lines WHERE order_id = %s)", n, id))
}

// fallDue has the order and its copies due within the second from the instant on.
func (c copies) fallDue(due time.Time) {
	c.t.Helper()
	c.exec(fmt.Sprintf("UPDATE orders SET pay_deadline = %d + id %% 1000 WHERE id >= %d OR no = '%s'", due.UnixMilli(), copyIDs, c.no))
}

// number makes texts of the copies that no other order has.
func (c copies) number(id string) string { return "CONCAT('copy', " + id + ")" }

// insert copies rows of a table; changed gives columns their own values, or leaves them to the database where empty.
func (c copies) insert(table, alias, from string, changed map[string]string) {
	c.t.Helper()
	rows, err := c.db.Query("SELECT * FROM " + table + " WHERE 1 = 0")
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	all, err := rows.Columns()
	if err = errors.Join(err, rows.Err()); err != nil {
		c.t.Fatal(err)
	}
	var columns, values []string
	for _, column := range all {
		value, isChanged := changed[column]
		switch {
		case !isChanged:
			value = alias + "." + column
		case value == "":
			continue
		}
		columns, values = append(columns, column), append(values, value)
	}
	c.exec("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + from)
}

func (c copies) exec(query string) {
	c.t.Helper()
	change(c.t, c.db, query)
}
