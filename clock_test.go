package main

import (
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/failpoint"
)

// TestWrongClocks serves three replicas of which one's clock is right, one's 5 minutes fast and one's 5 minutes slow. Whoever takes
// an order gives it the same deadline, and whoever closes it does so then: by the clock of Redis and, when that is away, of MySQL,
// without a jump between them.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	p := realParts(t)
	const toPay = 4 * time.Second
	off := func(d time.Duration) []string {
		return append([]string{failpoint.EnvClockOffset + "=" + d.String()}, crowdEnv...)
	}
	shops := serveReplicas(t, p, crowdEnv, off(5*time.Minute), off(-5*time.Minute))
	c := newCrowd(t, toPay, 100*time.Millisecond, shops...)

	check := func(when string) {
		t.Helper()
		for i, s := range shops {
			ann := s.shopper("ann")
			before := time.Now()
			o := ann.buy(c.g.sku, 1)
			if early, late := before.Add(toPay), time.Now().Add(toPay+time.Millisecond); o.PayDeadline.Before(early.Truncate(time.Millisecond)) || o.PayDeadline.After(late) {
				t.Errorf("%s, replica %d: the deadline is %v, want it between %v and %v", when, i, o.PayDeadline, early, late)
			}
			ann.call(200, "POST", "/api/v1/orders/"+o.No+"/cancel", nil)
		}
	}
	check("by Redis")
	c.awaitCloses(30)
	p.redis.Kill()
	for _, s := range shops {
		s.shopper("").awaitReady("degraded")
	}
	check("by MySQL")
	c.awaitCloses(30)
	// One that starts while Redis is away has never seen its clock.
	shops[1].p.kill()
	shops[1].start()
	check("started by MySQL")
	c.awaitCloses(30)
	p.redis.Start()
	for _, s := range shops {
		s.shopper("").awaitReady("ok")
	}
	check("by Redis again")
	c.awaitCloses(30)
	c.home(toPay + claimLife + recovery)
	c.settleUp(time.Time{}, limits{lease + bound, claimLife + bound})
}
