package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// TestBadNetwork puts 300 ms of latency between the shop and its MySQL and Redis, and breaks the connection at 5 % of the requests,
// at half of those when they have been acted on. Orders still come in and close, once.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	p := realParts(t)
	toMySQL, toRedis := testserver.StartProxy(t, p.mysql.Addr()), testserver.StartProxy(t, p.redis.Addr())
	p.dsn, p.addrs = strings.Replace(p.mysql.DSN(), p.mysql.Addr(), toMySQL.Addr(), 1), toRedis.Addr()
	c := newCrowd(t, 4*time.Second, 100*time.Millisecond, newShop(t, p, crowdEnv...))
	c.awaitCloses(20)
	for _, network := range []*testserver.Proxy{toMySQL, toRedis} {
		network.Disturb(300*time.Millisecond, 0.05)
	}
	c.awaitCloses(60)
	// So far away Redis counts as gone, and is not used. It is, where it is only slow.
	toRedis.Disturb(30*time.Millisecond, 0.05)
	eventually(t, time.Minute, "connections broken to MySQL and to Redis", func() (bool, string) {
		return toMySQL.Broken() > 0 && toRedis.Broken() > 0, fmt.Sprintf("%d to MySQL, %d to Redis", toMySQL.Broken(), toRedis.Broken())
	})
	t.Logf("connections broken: %d to MySQL, %d to Redis", toMySQL.Broken(), toRedis.Broken())
	// Every second transaction fails in such a network, and an order may be unlucky many times; it waits at most 30 s between two tries.
	for _, network := range []*testserver.Proxy{toMySQL, toRedis} {
		network.Disturb(0, 0)
	}
	healed := time.Now()
	c.home(30*time.Second + claimLife + recovery)
	c.settleUp(healed, limits{30*time.Second + bound, 30*time.Second + claimLife + bound})
}
