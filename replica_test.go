package main

import (
	"regexp"
	"sync"
	"testing"
	"time"
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
	p := realParts(t)
	shared := []string{wechatAlone(t), "TIDEMALL_SECRET=a-secret-that-both-replicas-share-0123456789"}
	var both sync.WaitGroup // they migrate and fill the database at once
	serve := func(s **shop) {
		dir := t.TempDir()
		both.Go(func() {
			*s = &shop{t: t, dir: dir, parts: p, extra: shared, http: "127.0.0.1:0"}
			(*s).start()
		})
	}
	serve(&one)
	serve(&two)
	both.Wait()
	return one, two
}

// TestReplicas orders at one replica, pays at the other, and kills one: what it had taken on, the other one finishes.
func TestReplicas(t *testing.T) {
	t.Parallel()
	one, two := replicas(t)
	g := one.sell(50, 6*time.Second)
	here := one.shopper("ann")
	there := here.with(two) // the same token

	paid := here.buy(g.sku, 1)
	one.confirm(there.pay(paid.No), 1)
	here.await(paid.No, "paid", 10*time.Second)
	there.await(paid.No, "paid", time.Second)
	g.wantEvents(paid.No, "pending_payment", "paid")

	// A policy changed at one replica counts at the other within a second, with room for a busy machine.
	g.toPay(5 * time.Second)
	eventually(t, 3*time.Second, "the other replica knows the policy", func() (bool, string) {
		o := there.buy(g.sku, 1)
		left := time.Until(o.PayDeadline)
		there.call(200, "POST", "/api/v1/orders/"+o.No+"/cancel", nil) // few unpaid orders are allowed
		return left <= 5*time.Second, left.String()
	})

	var orders []string
	for range 6 {
		orders = append(orders, here.buy(g.sku, 1).No)
	}
	opened := here.buy(g.sku, 1)
	here.pay(opened.No)
	one.p.kill()
	g.admin = g.admin.with(two)
	for _, no := range append(orders, opened.No) {
		there.awaitClosedOnTime(no, recovery)
		g.wantEvents(no, "pending_payment", "closed")
	}
	eventually(t, recovery, "only the paid piece is gone", func() (bool, string) { return g.stock() == 49, "not yet" })
	two.audit()
}

// TestReplicas_StopsInOrder terminates a replica under load: it ends with 0, what was in flight is answered, and what was waiting
// closes on time at the other.
func TestReplicas_StopsInOrder(t *testing.T) {
	t.Parallel()
	one, two := replicas(t)
	g, here := one.sell(500, 4*time.Second), one.shopper("ann")
	there := here.with(two)
	waiting := here.buy(g.sku, 1)
	slow := here.buy(g.sku, 1)
	one.fault("/v3/pay/transactions/jsapi", "delay", map[string]any{"delay_ms": 1500, "count": 1})
	answer := make(chan reply, 1)
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
	if r := <-answer; r.status != 200 {
		t.Errorf("the request in flight was answered with %d %s", r.status, r.text)
	}
	g.admin = g.admin.with(two)
	there.awaitClosedOnTime(waiting.No, lag)
	there.awaitClosedOnTime(slow.No, lag)
	g.wantStock(500)
	two.audit()
}
