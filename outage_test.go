package main

import (
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// patience is the most that a request may take because Redis is away, with room for a busy machine. The rule is 300 ms.
const patience = time.Second

// TestT07_T15_C20_RedisIsAway stops Redis over waiting orders: orders are still accepted and still close, once; so when Redis
// comes back empty.
// Cases T15, C20.
func TestT07_T15_C20_RedisIsAway(t *testing.T) {
	t.Parallel()
	s := newShop(t, realParts(t))
	g, ann := s.sell(50, 4*time.Second), s.shopper("ann")
	ann.awaitReady("ok")
	before := ann.buy(g.sku, 1)
	s.parts.redis.Stop()
	begin := time.Now()
	during := ann.buy(g.sku, 1)
	if took := lateness(begin, time.Now()); took > patience {
		t.Errorf("T07: quote and order took %v while Redis is away", took)
	}
	ann.awaitReady("degraded")
	bob := s.shopper("bob") // login does not need it
	bob.buy(g.sku, 1)
	s.audit()
	for _, no := range []string{before.No, during.No} {
		ann.awaitClosedOnTime(no, lag)
		g.wantEvents(no, "pending_payment", "closed")
	}

	over := ann.buy(g.sku, 1) // waits while Redis comes back
	s.parts.redis.Start()
	ann.awaitReady("ok")
	after := ann.buy(g.sku, 1)
	ann.awaitClosedOnTime(over.No, lag)
	ann.awaitClosedOnTime(after.No, lag)

	lost := ann.buy(g.sku, 1)
	s.parts.redis.Kill() // nothing is on its disk
	s.parts.redis.Start()
	ann.awaitReady("ok")
	ann.awaitClosedOnTime(lost.No, bound)
	for _, no := range []string{over.No, after.No, lost.No} {
		g.wantEvents(no, "pending_payment", "closed")
	}
	g.wantStock(50)
	s.audit()
}

// TestRedisIsAwayFromTheStart serves with a Redis that comes later.
func TestRedisIsAwayFromTheStart(t *testing.T) {
	t.Parallel()
	p := realParts(t)
	p.redis.Stop()
	s := newShop(t, p)
	g, ann := s.sell(50, 2*time.Second), s.shopper("ann")
	ann.awaitReady("degraded")
	ann.awaitClosedOnTime(ann.buy(g.sku, 1).No, lag)
	p.redis.Start()
	ann.awaitReady("ok")
	ann.awaitClosedOnTime(ann.buy(g.sku, 1).No, lag)
	g.wantStock(50)
	s.audit()
}

// TestWithoutRedis serves a shop that does without on purpose.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	s := newShop(t, parts{mysql: testserver.StartMySQL(t), addrs: "none"})
	g, ann := s.sell(50, 2*time.Second), s.shopper("ann")
	ann.awaitReady("ok")
	ann.awaitClosedOnTime(ann.buy(g.sku, 1).No, lag)
	g.wantStock(50)
	s.audit()
}

// TestT34_DatabaseIsAway stops MySQL: the shop says so and recovers by itself. A callback that came meanwhile is answered with an
// error, sent again by WeChat, and has one effect.
// Case T34.
func TestT34_DatabaseIsAway(t *testing.T) {
	t.Parallel()
	s := newShop(t, realParts(t))
	g, ann := s.sell(50, time.Hour), s.shopper("ann")
	unpaid, paid := ann.buy(g.sku, 1), ann.buy(g.sku, 1)
	pay := ann.pay(paid.No)
	s.fallDue(6*time.Second, unpaid.No, paid.No)
	s.parts.mysql.Kill()
	r, err := ann.try("GET", "/readyz", nil)
	if err != nil || r.status != 503 {
		t.Errorf("/readyz without database: %v %d %s", err, r.status, r.text)
	}
	ann.refused(503, "database_unavailable", "GET", "/api/v1/products", nil)
	ann.refused(503, "database_unavailable", "POST", "/api/v1/orders/"+unpaid.No+"/pay", nil)
	if live := ann.call(200, "GET", "/healthz", nil); live.text == "" {
		t.Error("/healthz says nothing")
	}
	s.confirm(pay, 1)
	eventually(t, 20*time.Second, "a callback was answered with 5xx", func() (bool, string) {
		notices := s.wechat().call(200, "GET", "/sandbox/notices", nil)
		for _, n := range as[listOf[struct {
			LastStatus int `json:"last_status"`
		}]](s.wechat(), notices).List {
			if n.LastStatus >= 500 {
				return true, ""
			}
		}
		return false, notices.text
	})
	s.parts.mysql.Start()
	ann.awaitReady("ok")
	ann.await(paid.No, "paid", 20*time.Second)
	closed := ann.await(unpaid.No, "closed", untilAfter(ann.order(unpaid.No).PayDeadline, recovery))
	t.Logf("after the database came back the order closed %v after its deadline", closed.ClosedAt.Sub(closed.PayDeadline))
	g.wantEvents(paid.No, "pending_payment", "paid")
	g.wantStock(49)
	s.audit()
}
