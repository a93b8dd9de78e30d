package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// claimLife is how long the claim of an attempted order keeps others out.
const claimLife = 20 * time.Second

// TestRedisBreaksUnderLoad breaks Redis in every way while orders come in and fall due. The shop goes on from the database.
// Cases T07, T15, C20.
func TestRedisBreaksUnderLoad(t *testing.T) {
	t.Parallel()
	revive := func(r *testserver.Server) {
		r.Kill()
		time.Sleep(2 * time.Second) // the outage itself
		r.Start()
	}
	for name, accident := range map[string]struct {
		args   []string
		happen func(r *testserver.Server)
	}{
		"killed, its data lost": {nil, revive},
		"killed, its data kept": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, revive},
		"FLUSHALL":              {nil, func(r *testserver.Server) { flush(t, r.Addr()) }},
		"paused for 10 s": {nil, func(r *testserver.Server) {
			r.Pause()
			time.Sleep(10 * time.Second) // the outage itself
			r.Resume()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parts{mysql: testserver.StartMySQL(t), redis: testserver.StartRedis(t, accident.args...)}
			c := newCrowd(t, 4*time.Second, 100*time.Millisecond, newShop(t, p, crowdEnv...))
			c.awaitCloses(50)
			accident.happen(p.redis)
			c.awaitCloses(100)
			c.home(4*time.Second + claimLife + recovery)
			if c.slowest > 2*patience { // of hundreds, on a machine that others use too
				t.Errorf("an answer took %v because of Redis", c.slowest)
			}
			c.settleUp(time.Time{}, limits{bound, claimLife + bound})
		})
	}
}

// TestClusterLosesANodeUnderLoad serves a shop on a Redis Cluster of three nodes and kills one of them, which later comes back
// empty.
func TestClusterLosesANodeUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := testserver.StartRedisCluster(t)
	p := parts{mysql: testserver.StartMySQL(t), addrs: strings.Join(cluster.Addrs(), ",")}
	c := newCrowd(t, 4*time.Second, 100*time.Millisecond, newShop(t, p, crowdEnv...))
	c.awaitCloses(50)
	cluster.Nodes[1].Kill()
	c.awaitCloses(100)
	cluster.Nodes[1].Start()
	cluster.AwaitWhole()
	c.awaitCloses(50)
	c.home(4*time.Second + claimLife + recovery)
	c.settleUp(time.Time{}, limits{bound, claimLife + bound})
}

func flush(t *testing.T, addr string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	if err := client.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
}

// envLong names an outage longer than the usual ones that TestDatabaseIsAwayUnderLoad and TestWeChatIsAwayUnderLoad try as well:
// a run by hand.
const envLong = "TIDEMALL_TEST_OUTAGE"

// outages are the usual ones and the one that was asked for.
func outages(t *testing.T, usual ...time.Duration) []time.Duration {
	t.Helper()
	if long := os.Getenv(envLong); long != "" {
		d, err := time.ParseDuration(long)
		if err != nil {
			t.Fatalf("%s: %v", envLong, err)
		}
		usual = append(usual, d)
	}
	return usual
}

// TestDatabaseIsAwayUnderLoad takes MySQL away for a while, by a kill and in order. What falls due meanwhile closes when it is back,
// and no task has died of it.
func TestDatabaseIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	for i, outage := range outages(t, 10*time.Second, 3*time.Minute) {
		t.Run(outage.String(), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, realParts(t), crowdEnv...)
			c := newCrowd(t, 4*time.Second, 100*time.Millisecond, s)
			c.awaitCloses(50)
			if i%2 == 0 {
				s.parts.mysql.Kill()
			} else {
				s.parts.mysql.Stop()
			}
			time.Sleep(outage) // the outage itself
			s.parts.mysql.Start()
			back := time.Now()
			c.awaitCloses(50)
			s.shopper("").awaitReady("ok")
			c.home(4*time.Second + claimLife + recovery)
			c.settleUp(back, limits{bound, claimLife + bound})
		})
	}
}

// TestDatabaseHangsUnderLoad freezes MySQL for longer than a transaction may take: its connections stay open and are not answered.
func TestDatabaseHangsUnderLoad(t *testing.T) {
	t.Parallel()
	s := newShop(t, realParts(t), crowdEnv...)
	c := newCrowd(t, 4*time.Second, 100*time.Millisecond, s)
	c.awaitCloses(50)
	s.parts.mysql.Pause()
	time.Sleep(25 * time.Second) // the outage itself
	s.parts.mysql.Resume()
	back := time.Now()
	c.awaitCloses(50)
	c.home(4*time.Second + claimLife + recovery)
	c.settleUp(back, limits{bound, claimLife + bound})
}

// TestWeChatIsAwayUnderLoad takes WeChat away for a while: orders that it may still be paid for wait for it, the others close on
// time, and no task has died of it.
func TestWeChatIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	for _, outage := range outages(t, 20*time.Second) {
		t.Run(outage.String(), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, realParts(t), crowdEnv...)
			c := newCrowd(t, 4*time.Second, 100*time.Millisecond, s)
			c.awaitCloses(50)
			s.fault("/v3/", "reset", nil)
			time.Sleep(outage) // the outage itself
			if n := countRows(t, s.books(), "SELECT COUNT(*) FROM orders WHERE closing_reason IS NOT NULL"); n == 0 {
				t.Error("no order waits for WeChat: that shows nothing")
			}
			s.noFaults()
			back := time.Now()
			// Waiting tasks are tried again at most 30 s later.
			c.home(4*time.Second + 30*time.Second + claimLife + recovery)
			got := c.closes(s.books(), time.Time{})
			if late := quantile(got.plain, 100); late > lag {
				t.Errorf("orders that were never opened waited %v for WeChat", late)
			}
			c.settleUp(back, limits{lag, 30*time.Second + claimLife + bound})
		})
	}
}
