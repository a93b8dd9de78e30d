package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/failpoint"
)

var simulatedAlone = regexp.MustCompile(`simulated at (http://\S+)`)

// wechatAlone runs a simulator of its own, which lives when a shop dies, and returns the variable that names it.
func wechatAlone(t *testing.T) string {
	t.Helper()
	return "TIDEMALL_WECHAT_SANDBOX_URL=" + start(t, nil, "sandbox", "--addr", "127.0.0.1:0", "--dir", t.TempDir()).says(simulatedAlone)
}

// replicas serves one shop twice, on one MySQL and one Redis, with a simulator that runs alone.
func replicas(t *testing.T) (one, two *shop) {
	t.Helper()
	shops := serveReplicas(t, realParts(t), []string{}, []string{})
	return shops[0], shops[1]
}

// serveReplicas serves one shop as often as there are lists of variables, with a simulator that runs alone.
func serveReplicas(t *testing.T, p parts, extras ...[]string) []*shop {
	t.Helper()
	shared := []string{wechatAlone(t), "TIDEMALL_SECRET=a-secret-that-all-replicas-share-0123456789"}
	shops := make([]*shop, len(extras))
	var all sync.WaitGroup // they migrate and fill the database at once
	for i, extra := range extras {
		s := &shop{t: t, dir: t.TempDir(), parts: p, extra: slices.Concat(shared, extra), http: "127.0.0.1:0"}
		if slices.ContainsFunc(extra, isBreaking) {
			s.program = breakable(t)
		}
		shops[i] = s
		all.Go(s.start)
	}
	all.Wait()
	return shops
}

// isBreaking reports whether only the program with failpoints knows the variable.
func isBreaking(variable string) bool {
	return strings.HasPrefix(variable, failpoint.EnvPoint+"=") || strings.HasPrefix(variable, failpoint.EnvClockOffset+"=")
}

// TestReplicas orders at one replica, pays at the other, and kills one: what it had taken on, the other one finishes.
func TestReplicas(t *testing.T) {
	t.Parallel()
	one, two := replicas(t)
	g := one.sell(50, time.Hour)
	here := one.shopper("ann")
	there := here.with(two) // the same token

	paid := here.buy(g.sku, 1)
	one.confirm(there.pay(paid.No), 1)
	here.await(paid.No, "paid", 10*time.Second)
	there.await(paid.No, "paid", time.Second)
	g.wantEvents(paid.No, "pending_payment", "paid")

	// A policy changed at one replica counts at the other within a second, with room for a busy machine.
	const toPay = 15 * time.Second // an order is opened meanwhile, however slow the machine is
	g.toPay(toPay)
	eventually(t, 3*time.Second, "the other replica knows the policy", func() (bool, string) {
		o := there.buy(g.sku, 1)
		left := time.Until(o.PayDeadline)
		there.call(200, "POST", "/api/v1/orders/"+o.No+"/cancel", nil) // few unpaid orders are allowed
		return left <= toPay, left.String()
	})

	opened := here.buy(g.sku, 1)
	here.pay(opened.No)
	orders := []order{opened}
	for range 6 {
		orders = append(orders, here.buy(g.sku, 1))
	}
	time.Sleep(time.Until(opened.PayDeadline.Add(-3 * time.Second))) // one that is killed so late still holds its share when they are due
	one.p.kill()
	g.admin = g.admin.with(two)
	for _, o := range orders {
		there.awaitClosedOnTime(o.No, lease+bound)
		g.wantEvents(o.No, "pending_payment", "closed")
	}
	eventually(t, recovery, "only the paid piece is gone", func() (bool, string) { return g.stock() == 49, "not yet" })
	two.audit()
}

// TestReplicas_StopsInOrder terminates a replica under load: it ends with 0, what was in flight is answered, and what was waiting
// closes on time at the other.
func TestReplicas_StopsInOrder(t *testing.T) {
	t.Parallel()
	shops := serveReplicas(t, realParts(t), []string{"TIDEMALL_HTTP_SHUTDOWN_MS=30000"}, []string{}) // enough for a machine that stands still, too
	one, two := shops[0], shops[1]
	g, here := one.sell(500, 4*time.Second), one.shopper("ann")
	there := here.with(two)
	waiting := here.buy(g.sku, 1)
	g.toPay(time.Hour)
	slow := here.buy(g.sku, 1)
	one.fault("/v3/pay/transactions/jsapi", "delay", map[string]any{"delay_ms": 1500, "count": 1})
	answer, began := make(chan reply, 1), time.Now()
	go func() {
		r, _ := here.try("POST", "/api/v1/orders/"+slow.No+"/pay", nil)
		answer <- r
	}()
	eventually(t, 10*time.Second, "the call is under way", func() (bool, string) {
		attempts := g.order(slow.No).Attempts
		return len(attempts) == 1, "not yet"
	})
	code, took := one.p.terminate(10 * time.Second)
	t.Logf("ended %v after SIGTERM", took)
	if code != 0 {
		t.Errorf("exit %d after SIGTERM", code)
	}
	// Where the machine stands still the shop's patience with WeChat may end, and the answer says so.
	r := <-answer
	if answered := r.status == 200 || r.status == 503 && machine.Between(began, time.Now()) > 0; !answered {
		t.Errorf("the request in flight was answered with %d %s", r.status, r.text)
	}
	g.admin = g.admin.with(two)
	there.awaitClosedOnTime(waiting.No, lag)
	two.fallDue(soon, slow.No)
	there.awaitClosedOnTime(slow.No, lag)
	g.wantStock(500)
	two.audit()
}

// TestReplicas_OneOfThreeIsKilled kills a replica while orders come in and fall due at all of them. The shards that it had go over
// to the others; nobody's order is lost, or closed twice.
func TestReplicas_OneOfThreeIsKilled(t *testing.T) {
	t.Parallel()
	shops := serveReplicas(t, realParts(t), crowdEnv, crowdEnv, crowdEnv)
	c := newCrowd(t, 3*time.Second, 100*time.Millisecond, shops...)
	c.awaitCloses(50)
	shops[1].p.kill()
	c.awaitCloses(100)
	c.home(3*time.Second + claimLife + recovery)
	// Its shards go over when its membership has ended, and what it had claimed comes again when the lease has.
	c.settleUp(time.Time{}, limits{lease + bound, claimLife + bound})
}

// TestReplicas_RollingRestart restarts three replicas one after another under load, as a new version is rolled out: every request
// is answered, and every order closes on time.
func TestReplicas_RollingRestart(t *testing.T) {
	t.Parallel()
	shops := serveReplicas(t, realParts(t), crowdEnv, crowdEnv, crowdEnv)
	c := newCrowd(t, 3*time.Second, 100*time.Millisecond, shops...)
	for _, s := range shops {
		c.awaitCloses(30)
		if code, took := s.p.terminate(20 * time.Second); code != 0 {
			t.Errorf("exit %d, %v after SIGTERM", code, took)
		}
		s.start()
	}
	c.awaitCloses(30)
	c.home(3*time.Second + claimLife + recovery)
	// A load balancer goes elsewhere when a replica refuses the connection. An order may be past paying when its shopper turns up.
	c.only("connection refused", "503 starting", "409 order_closed", "409 order_closing", "409 order_busy")
	c.settleUp(time.Time{}, limits{lag, lag})
}
