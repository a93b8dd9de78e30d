package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is many shoppers who place orders all the time, at any of the replicas, and insist whatever happens to the shop. Some open
// their order for payment and some cancel it; nobody pays.
type crowd struct {
	t     *testing.T
	shop  *shop // whose database they are in
	bases []string
	g     *goods
	every time.Duration

	leave context.CancelFunc
	all   sync.WaitGroup

	mu      sync.Mutex
	placed  []string       // what was answered with 201
	answers map[string]int // other answers, by what they were
	slowest time.Duration  // of the answers, but for the time that the machine stood still
}

// crowdSize is how many shoppers there are, crowdStock what they find on the shelf.
const (
	crowdSize  = 4
	crowdStock = 100_000
	// insistence is how long somebody who wants to leave still asks for the answer that did not come.
	insistence = 30 * time.Second
)

// crowdEnv lets a few shoppers be many.
var crowdEnv = []string{"TIDEMALL_ORDER_MAX_UNPAID=1000", "TIDEMALL_RATE_LIMIT_ENABLED=false"}

// newCrowd sells to a crowd that begins to buy at once; each shopper every so often. Their orders may be paid for as long as toPay.
func newCrowd(t *testing.T, toPay, every time.Duration, shops ...*shop) *crowd {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	c := &crowd{t: t, shop: shops[0], g: shops[0].sell(crowdStock, toPay), every: every, leave: leave, answers: map[string]int{}}
	for _, s := range shops {
		c.bases = append(c.bases, s.url())
	}
	people := make([]person, crowdSize)
	for i := range people {
		people[i] = shops[0].shopper(fmt.Sprintf("crowd-%d", i))
	}
	for _, s := range shops {
		s.awaitPolicy(c.g.sku, toPay)
	}
	for _, p := range people {
		c.all.Go(func() { c.buy(ctx, p) })
	}
	t.Cleanup(func() { leave(); c.all.Wait() })
	return c
}

// awaitPolicy returns when the shop gives new orders no longer to be paid: a policy made at one replica is at every other within
// a second.
func (s *shop) awaitPolicy(sku int64, toPay time.Duration) {
	s.t.Helper()
	first := s.shopper("first")
	eventually(s.t, 10*time.Second, "the replica knows the policy", func() (bool, string) {
		o := first.buy(sku, 1)
		first.call(200, "POST", "/api/v1/orders/"+o.No+"/cancel", nil)
		return o.PayDeadline.Before(time.Now().Add(toPay)), o.PayDeadline.String()
	})
}

// buy is a shopper's day.
func (c *crowd) buy(ctx context.Context, p person) {
	for ctx.Err() == nil {
		if no := c.place(ctx, p); no != "" {
			// With a key the client asks again where a stopping replica has closed an idle connection under its request.
			switch rand.IntN(8) {
			case 0:
				p.base = c.somewhere()
				c.note(p.try("POST", "/api/v1/orders/"+no+"/cancel", nil, "Idempotency-Key", newKey()))
			case 1, 2:
				p.base = c.somewhere()
				c.note(p.try("POST", "/api/v1/orders/"+no+"/pay", nil, "Idempotency-Key", newKey()))
			}
		}
		idle(ctx, c.every)
	}
}

// place insists on an order: the same submit is made again, at another replica, until it is answered with 201.
func (c *crowd) place(ctx context.Context, p person) (no string) {
	body, key := placement{basket{Items: []item{{SKUID: c.g.sku, Quantity: 1}}}, 9900}, newKey()
	var giveUp time.Time
	for {
		p.base = c.somewhere()
		r := c.note(p.try("POST", "/api/v1/orders", body, "Idempotency-Key", key))
		if r.status == 201 {
			var o order
			if err := json.Unmarshal([]byte(r.text), &o); err == nil {
				c.mu.Lock()
				c.placed = append(c.placed, o.No)
				c.mu.Unlock()
				return o.No
			}
		}
		if ctx.Err() != nil && giveUp.IsZero() {
			giveUp = time.Now().Add(insistence)
		}
		if !giveUp.IsZero() && time.Now().After(giveUp) {
			return ""
		}
		idle(context.Background(), 200*time.Millisecond)
	}
}

func (c *crowd) somewhere() string { return c.bases[rand.IntN(len(c.bases))] }

// note keeps an answer for the report.
func (c *crowd) note(r reply, err error) reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	var problem struct{ Code string }
	switch {
	case err != nil && strings.Contains(err.Error(), "connection refused"):
		c.answers["connection refused"]++
	case err != nil:
		c.answers["connection broken"]++
	case r.status >= 300:
		_ = json.Unmarshal([]byte(r.text), &problem)
		c.answers[fmt.Sprintf("%d %s", r.status, problem.Code)]++
	}
	if err == nil {
		c.slowest = max(c.slowest, r.took)
	}
	return r
}

// idle waits, or until ctx ends.
func idle(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// awaitCloses returns when so many orders more have closed by timeout: the crowd's deadlines come one after another now.
func (c *crowd) awaitCloses(n int64) {
	c.t.Helper()
	db := c.shop.books()
	const query = "SELECT COUNT(*) FROM orders WHERE close_reason = 'timeout'"
	before := countRows(c.t, db, query)
	eventually(c.t, 60*time.Second, fmt.Sprintf("%d orders have closed by timeout", n), func() (bool, string) {
		now := countRows(c.t, db, query)
		return now >= before+n, fmt.Sprint(now - before)
	})
}

// home sends the crowd home and waits until no order is unpaid any more.
func (c *crowd) home(within time.Duration) {
	c.t.Helper()
	c.leave()
	c.all.Wait()
	db := c.shop.books()
	eventually(c.t, within, "no order is unpaid", func() (bool, string) {
		n := countRows(c.t, db, "SELECT COUNT(*) FROM orders WHERE state = 'pending_payment'")
		return n == 0, fmt.Sprintf("%d are", n)
	})
}

// limits are how late orders may have closed that were never opened for payment, and those that were: a claim of theirs may have
// to end first, which takes 20 s.
type limits struct{ plain, opened time.Duration }

// settleUp fails unless every order that was promised exists, all closed exactly once, none before its deadline, none later than
// the limits after it, or after the outage that ended at the instant (which may be zero), and every piece is back.
func (c *crowd) settleUp(outage time.Time, most limits) {
	c.t.Helper()
	db := c.shop.books()
	got := c.closes(db, outage)
	for _, no := range c.placed {
		if _, there := got.numbers[no]; !there {
			c.t.Errorf("order %s was promised with 201 and is not closed, or not there", no)
		}
	}
	c.t.Logf("%d orders, %d more than were answered; other answers %v; slowest answer %v", len(got.numbers), len(got.numbers)-len(c.placed), c.answers, c.slowest)
	for _, kind := range []struct {
		name string
		late []time.Duration
		most time.Duration
	}{{"never opened", got.plain, most.plain}, {"opened for payment", got.opened, most.opened}} {
		if len(kind.late) == 0 {
			c.t.Errorf("no order %s closed by timeout: that shows nothing", kind.name)
			continue
		}
		first, last := kind.late[0], kind.late[len(kind.late)-1]
		c.t.Logf("%d %s closed by timeout: lateness p50 %v, p99 %v, max %v", len(kind.late), kind.name, quantile(kind.late, 50), quantile(kind.late, 99), last)
		if first < 0 || last > kind.most {
			c.t.Errorf("orders %s: the earliest closed %v after its deadline, the latest %v, want at most %v", kind.name, first, last, kind.most)
		}
	}
	c.shop.exactlyOnce()
	if n := countRows(c.t, db, fmt.Sprintf("SELECT stock FROM skus WHERE id = %d", c.g.sku)); n != crowdStock {
		c.t.Errorf("stock is %d, want %d", n, crowdStock)
	}
}

// closes are the orders that closed, and the sorted lateness of those that did so by timeout, but for the time that the machine stood
// still.
type closes struct {
	numbers       map[string]bool
	plain, opened []time.Duration
}

func (c *crowd) closes(db *sql.DB, outage time.Time) (got closes) {
	c.t.Helper()
	rows, err := db.Query("SELECT no, close_reason, first_attempt_at IS NOT NULL, pay_deadline, closed_at FROM orders WHERE state = 'closed'")
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	got.numbers = map[string]bool{}
	for rows.Next() {
		var no, reason string
		var opened bool
		var deadline, closed int64
		if err := rows.Scan(&no, &reason, &opened, &deadline, &closed); err != nil {
			c.t.Fatal(err)
		}
		got.numbers[no] = true
		late := lateness(time.UnixMilli(deadline), time.UnixMilli(closed))
		if late >= 0 && outage.UnixMilli() > deadline {
			late = max(lateness(outage, time.UnixMilli(closed)), 0)
		}
		switch {
		case reason != "timeout":
		case opened:
			got.opened = append(got.opened, late)
		default:
			got.plain = append(got.plain, late)
		}
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	slices.Sort(got.plain)
	slices.Sort(got.opened)
	return got
}

// quantile of a sorted list.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

// only fails if the crowd was ever answered otherwise than by 201, or by what is allowed.
func (c *crowd) only(allowed ...string) {
	c.t.Helper()
	for _, answer := range slices.Sorted(maps.Keys(c.answers)) {
		if !slices.Contains(allowed, answer) {
			c.t.Errorf("%d requests were answered with %s", c.answers[answer], answer)
		}
	}
}
