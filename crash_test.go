package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// lag is how long after its deadline an order may close while nothing is broken. On a free machine it is milliseconds; the tests
// share theirs with others.
const lag = 2 * time.Second

// lease is how long a killed replica keeps what it had claimed, and its share of the work; the database is looked through as often.
const lease = 5 * time.Second

// bound is how long after its deadline, or the end of the outage, an order may close that something was broken under.
const bound = lease + lag

// recovery is how much later than a restart everything must be caught up with: a lease, the look-back and the start itself.
const recovery = 15 * time.Second

// TestT01_KilledAndStartedAgain kills the shop over three unpaid orders and starts it before, at and after their deadline. Each
// closes once, none early.
// Case T01.
func TestT01_KilledAndStartedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		const stock, toPay = 50, 4 * time.Second
		g, ann, db := s.sell(stock, toPay), s.shopper("ann"), s.books()
		for when, fromDeadline := range map[string]time.Duration{"before": -toPay, "at": -100 * time.Millisecond, "after": time.Second} {
			var orders []order
			for range 3 {
				orders = append(orders, ann.buy(g.sku, 2))
			}
			s.p.kill()
			open := countRows(t, db, "SELECT COUNT(*) FROM orders WHERE state = 'pending_payment'") // all three, where the machine is not slow
			if left := countRows(t, db, fmt.Sprintf("SELECT stock FROM skus WHERE id = %d", g.sku)); left != stock-2*open {
				t.Errorf("stock is %d while %d orders of two pieces wait, want %d", left, open, stock-2*open)
			}
			deadline := orders[2].PayDeadline
			time.Sleep(time.Until(deadline.Add(fromDeadline))) // the outage itself
			s.start()
			for _, o := range orders {
				closed := ann.await(o.No, "closed", untilAfter(deadline, recovery))
				if late := closed.ClosedAt.Sub(o.PayDeadline); late < 0 || closed.CloseReason != "timeout" {
					t.Errorf("started again %s the deadline: closed by %s %v after it", when, closed.CloseReason, late)
				}
				g.wantEvents(o.No, "pending_payment", "closed")
			}
			t.Logf("started again %s the deadline: the last order closed %v after its deadline", when, ann.order(orders[2].No).ClosedAt.Sub(deadline))
			g.wantStock(stock)
		}
		s.audit()
	})
}

// TestT12_TaskLostAndKilled takes the tasks out of Redis, as a claim that was acknowledged before its work would, and kills the
// shop. The database still knows.
// Case T12.
func TestT12_TaskLostAndKilled(t *testing.T) {
	t.Parallel()
	s := newShop(t, realParts(t))
	g, ann := s.sell(50, time.Hour), s.shopper("ann")
	var orders []string
	for range 5 {
		orders = append(orders, ann.buy(g.sku, 1).No)
	}
	emptySortedSets(t, s.parts.redis.Addr())
	s.p.kill()
	s.fallDue(3*time.Second, orders...)
	s.start()
	for _, no := range orders {
		ann.awaitClosedOnTime(no, recovery)
		g.wantEvents(no, "pending_payment", "closed")
	}
	g.wantStock(50)
	s.audit()
}

// emptySortedSets removes every scheduled task.
func emptySortedSets(t *testing.T, addr string) {
	t.Helper()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	sets, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	removed := int64(0)
	for _, key := range sets {
		if kind, err := client.Type(ctx, key).Result(); err != nil || kind != "zset" || !strings.Contains(key, "pay") {
			continue
		}
		n, err := client.ZRemRangeByRank(ctx, key, 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		removed += n
	}
	if removed == 0 {
		t.Fatalf("no task was scheduled in Redis; its keys are %v", sets)
	}
}

// TestKilledWhileClosing kills the shop again and again while orders close, in the middle of whatever it does.
func TestKilledWhileClosing(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p, "TIDEMALL_ORDER_MAX_UNPAID=1000")
		g, ann := s.sell(500, 2*time.Second), s.shopper("ann")
		var placed []string
		for round := range 3 {
			var last time.Time
			for range 15 {
				o := ann.buy(g.sku, 1)
				placed, last = append(placed, o.No), o.PayDeadline
			}
			// Between the first and the last deadline; a little elsewhere each time.
			time.Sleep(time.Until(last.Add(time.Duration(round*7) * time.Millisecond)))
			s.p.kill()
			s.start()
		}
		for _, no := range placed {
			ann.await(no, "closed", recovery)
			g.wantEvents(no, "pending_payment", "closed")
		}
		g.wantStock(500)
		s.audit()
	})
}

// TestT04T05_PolicyChanges changes the policy between two orders: the later one closes first, the earlier one keeps its deadline.
// What closes does so within a few seconds of its deadline (T02).
// Cases T04, T05.
func TestT04T05_PolicyChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		g, ann := s.sell(50, time.Hour), s.shopper("ann")
		first := ann.buy(g.sku, 1)
		g.toPay(2 * time.Second)
		second := ann.buy(g.sku, 1)
		if d := second.PayDeadline.Sub(first.PayDeadline); d > -50*time.Minute {
			t.Fatalf("the second order's deadline is %v after the first one's", d)
		}
		ann.awaitClosedOnTime(second.No, lag)
		got := ann.order(first.No)
		if got.Status != "pending_payment" || !got.PayDeadline.Equal(first.PayDeadline) {
			t.Errorf("the first order is %s with deadline %v, want it to wait until %v", got.Status, got.PayDeadline, first.PayDeadline)
		}
		g.wantStock(49)
		if got := as[order](ann, ann.call(200, "POST", "/api/v1/orders/"+first.No+"/cancel", nil)); got.CloseReason != "shopper" {
			t.Errorf("after the cancel: %s by %s", got.Status, got.CloseReason)
		}
		g.wantStock(50)
		s.audit()
	})
}

// TestT14_ManyAtOnce has 500 orders fall due within a second while the shop serves.
// Case T14.
func TestT14_ManyAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		const shoppers, each = 10, 50
		s := newShop(t, p, "TIDEMALL_ORDER_MAX_UNPAID=100", "TIDEMALL_RATE_LIMIT_ENABLED=false")
		g := s.sell(shoppers*each, time.Hour)
		people := make([]person, shoppers)
		for i := range people {
			people[i] = s.shopper(fmt.Sprintf("many-%d", i))
		}
		orders := make([][]order, shoppers)
		var all sync.WaitGroup
		for i, p := range people {
			all.Go(func() {
				for range each {
					r, err := p.try("POST", "/api/v1/orders", placement{basket{Items: []item{{SKUID: g.sku, Quantity: 1}}}, 9900}, "Idempotency-Key", newKey())
					if err != nil || r.status != 201 {
						t.Errorf("placing: %v %s", err, r.text)
						return
					}
					orders[i] = append(orders[i], as[order](p, r))
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		g.wantStock(0)
		// Within a second, whatever time it took to place them.
		due := time.Now().Add(soon)
		change(t, s.books(), "UPDATE orders SET pay_deadline = ? + id % 1000 WHERE state = 'pending_payment'", due.UnixMilli())
		slowest := time.Duration(0)
		for time.Now().Before(due.Add(3 * time.Second)) {
			begin := time.Now()
			people[0].call(200, "GET", "/api/v1/products?limit=20", nil)
			people[0].call(200, "GET", "/api/v1/cart", nil)
			slowest = max(slowest, lateness(begin, time.Now())/2)
		}
		var late []time.Duration
		for i, p := range people {
			for _, o := range orders[i] {
				closed := p.await(o.No, "closed", recovery)
				late = append(late, lateness(closed.PayDeadline, closed.ClosedAt))
			}
		}
		slices.Sort(late)
		t.Logf("%d orders due within a second: lateness p50 %v, p99 %v, max %v; slowest request meanwhile %v",
			len(late), quantile(late, 50), quantile(late, 99), quantile(late, 100), slowest)
		if late[0] < 0 || quantile(late, 50) > lag || quantile(late, 100) > lag+time.Second || slowest > 2*time.Second {
			t.Errorf("the earliest closed %v after its deadline, the latest %v; the slowest request took %v", late[0], quantile(late, 100), slowest)
		}
		g.wantStock(shoppers * each)
		s.audit()
	})
}
