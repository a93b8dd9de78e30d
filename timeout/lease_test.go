package timeout

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// everyRedis runs a test on the parts that have one.
func everyRedis(t *testing.T, test func(t *testing.T, s *things, client redis.UniversalClient)) {
	for _, p := range everyParts {
		if p.redis != nil {
			t.Run(p.name, func(t *testing.T) { test(t, newThings(p.db(t)), redisClient(t, p.redis(t))) })
		}
	}
}

// pair are two engines that have divided the shards.
func pair(t *testing.T, s *things, client redis.UniversalClient) (a, b *Engine) {
	t.Helper()
	a, b = start(t, node(t, s, client, "a")), start(t, node(t, s, client, "b"))
	awaitShards(t, 5*time.Second, "divided", func() bool {
		return len(a.members.owned()) > 0 && len(b.members.owned()) > 0 && len(a.members.owned())+len(b.members.owned()) == 8
	})
	return a, b
}

// What is due sooner than the next reading of the schedule reaches the replica
// that has its shard by a hint.
func TestNearDeadlineOfAnotherReplica(t *testing.T) {
	everyRedis(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		a, b := pair(t, s, client)
		subscribed := func() bool {
			n, err := client.PubSubNumSub(context.Background(), a.store.channel()).Result()
			return err == nil && n[a.store.channel()] == 2
		}
		awaitShards(t, 5*time.Second, "both listen", subscribed)
		for i := range 20 {
			key := ""
			for n := 0; key == "" || !b.members.owns(shardOf(key, 8)); n++ {
				key = fmt.Sprintf("t%05d-%d", i, n)
			}
			due := a.Now().Add(30 * time.Millisecond).UnixMilli()
			schedule(t, a, s, map[string]int64{key: due})
			s.await(t, 5*time.Second, key, func() bool { return len(s.callsOf(key)) > 0 })
		}
		s.awaitAllDone(t, 5*time.Second)
		late := s.lateness()
		// By reading alone it would be half of pollIdle.
		if median := late[len(late)/2]; late[0] < 0 || median > pollIdle/5 {
			t.Errorf("late by %v, median %v", late, median)
		}
	})
}

// A Redis that has failed over to a replica which lagged behind has old scores
// and old beats; what the database says overwrites them.
func TestRedisIsStale(t *testing.T) {
	everyRedis(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		ctx := context.Background()
		e := start(t, node(t, s, client, "a"))
		due := in(3500 * time.Millisecond) // before the look that would come anyway
		tasks := ids(40, func(int) int64 { return due })
		schedule(t, e, s, tasks)
		// Redis goes back to other deadlines, backoffs, and none at all.
		stale := client.Pipeline() // not a transaction: the sets of a cluster lie on different nodes
		for i := range 40 {
			key := fmt.Sprintf("t%05d", i)
			set := e.store.setKey(s.kind, shardOf(key, 8))
			switch i % 4 {
			case 0:
				stale.ZAdd(ctx, set, redis.Z{Score: float64(due + 3_600_000), Member: key})
			case 1:
				stale.ZAdd(ctx, set, redis.Z{Score: backoffScore(due + 25_000), Member: key})
			case 2:
				stale.ZRem(ctx, set, key)
			}
		}
		for shard := range 8 {
			stale.HSet(ctx, e.store.leaseKey(shard), "beat", 0)
		}
		if _, err := stale.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		s.awaitAllDone(t, 20*time.Second)
		for key, calls := range s.allCalls() {
			if late := calls[0].late(); late < 0 || late > time.Second {
				t.Errorf("%s: %v late", key, late)
			}
		}
	})
}

// The beats noted in the database show the loss to an engine that did not see
// what was before.
func TestBeatsAreNoted(t *testing.T) {
	everyRedis(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		ctx := context.Background()
		e := start(t, node(t, s, client, "a"))
		noted := func(limit string) bool {
			var n int
			if err := s.db.QueryRow("SELECT COUNT(*) FROM timeout_shards WHERE epoch >= 1 AND beat >= " + limit).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 8
		}
		awaitShards(t, 10*time.Second, "noted", func() bool { return noted("1") })
		awaitShards(t, 20*time.Second, "noted again", func() bool { return noted("3") })
		stop(t, e)
		if err := client.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		next := node(t, s, client, "b")
		if err := next.Start(ctx); err != nil {
			t.Fatal(err)
		}
		defer stop(t, next)
		if epoch := next.members.epoch(next.members.owned()[0]); epoch < 2 {
			t.Errorf("epoch %d after the flush: the database knew 1", epoch)
		}
	})
}
