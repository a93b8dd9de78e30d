package timeout

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// forEachRedis runs a test of the scripts on miniredis, on Redis, and on a
// node in cluster mode, which refuses keys of two slots in one script.
func forEachRedis(t *testing.T, test func(t *testing.T, s *store)) {
	for name, client := range map[string]func(t *testing.T) redis.UniversalClient{
		"miniredis": func(t *testing.T) redis.UniversalClient { return redisClient(t, miniRedis(t)) },
		"redis":     func(t *testing.T) redis.UniversalClient { return redisClient(t, realRedis(t)) },
		"cluster":   clusterClient,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker("redis", slog.New(slog.DiscardHandler), redisTrips)
			test(t, &store{client: client(t), breaker: b, prefix: "shop1", shards: 16})
		})
	}
}

// clusterClient is a client of a cluster of one node.
func clusterClient(t *testing.T) redis.UniversalClient {
	server := testserver.StartRedis(t, "--cluster-enabled", "yes")
	ctx := context.Background()
	single := redisClient(t, server.Addr())
	if err := single.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	awaitShards(t, 10*time.Second, "cluster up", func() bool {
		return single.Set(ctx, "probe", 1, 0).Err() == nil
	})
	o := RedisOptions([]string{server.Addr()})
	o.IsClusterMode = true
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// scoreOf is a member's score, 0 if it is not there.
func scoreOf(t *testing.T, s *store, key string) float64 {
	t.Helper()
	score, err := s.client.ZScore(context.Background(), s.setKey("k", shardOf(key, s.shards)), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return score
}

func TestScriptsClaimAndSettle(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		past, ahead := float64(now.UnixMilli()-10), float64(now.UnixMilli()+60_000)
		// Keys that Lua must not take for numbers.
		const due, early, gone = "9007199254740993", "0x10", "1e3"
		if n, err := s.ensure(ctx, "k", []wanted{{due, past, false}, {early, ahead, false}}); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		claims := s.claim(ctx, "k", []string{due, early, gone}, tokens(3), 0)
		if c := claims[0]; c.verdict != "claimed" || c.before != past || scoreOf(t, s, due) != c.lease {
			t.Errorf("due: %+v, score %v", c, scoreOf(t, s, due))
		}
		if c := claims[0].lease - float64(now.UnixMilli()); c < 5000 || c > 8000 {
			t.Errorf("lease ends %v ms ahead", c)
		}
		if c := claims[1]; c.verdict != "early" || c.ahead < 50_000 || c.ahead > 60_001 || scoreOf(t, s, early) != ahead {
			t.Errorf("early: %+v", c)
		}
		if claims[2].verdict != "gone" || scoreOf(t, s, gone) != 0 {
			t.Errorf("gone: %+v", claims[2])
		}
		if again := s.claim(ctx, "k", []string{due}, tokens(1), 0)[0]; again.verdict != "early" {
			t.Errorf("second claim: %+v", again)
		}

		lease := claims[0].lease
		renewed := settlement{due, lease, lease + 1666}
		for range 2 { // the client may send it twice
			if held, err := s.settle(ctx, "k", []settlement{renewed}); !held[0] || err != nil {
				t.Fatal(held, err)
			}
		}
		if held, _ := s.settle(ctx, "k", []settlement{{due, lease, 0}}); held[0] || scoreOf(t, s, due) == 0 {
			t.Error("an old lease was acknowledged")
		}
		if held, _ := s.settle(ctx, "k", []settlement{{due, lease + 1666, 0}}); !held[0] || scoreOf(t, s, due) != 0 {
			t.Error("the lease was not acknowledged")
		}
	})
}

// A claim whose answer was lost is sent again by the client.
func TestScriptClaimTwiceIsOneClaim(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		if _, err := s.ensure(ctx, "k", []wanted{{"a", 1, false}}); err != nil {
			t.Fatal(err)
		}
		c := call{scriptClaim, []string{s.setKey("k", shardOf("a", s.shards))}, []any{5000, "", "a", formatScore(newToken())}}
		var claims [2]claim
		for i := range claims {
			answers, err := s.run(ctx, []call{c})
			if err != nil {
				t.Fatal(err)
			}
			values, err := answers[0].list(3)
			if err != nil {
				t.Fatal(err)
			}
			claims[i] = parseClaim(values)
		}
		if claims[0].verdict != "claimed" || claims[1].verdict != "claimed" || claims[0].lease != claims[1].lease {
			t.Errorf("%+v", claims)
		}
	})
}

func TestScriptEnsure(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		ensure := func(w wanted) int64 {
			n, err := s.ensure(ctx, "k", []wanted{w})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		far := float64(time.Now().Add(time.Hour).UnixMilli())
		steps := []struct {
			what  string
			w     wanted
			wrote int64
			score float64
		}{
			{"new", wanted{"a", far, false}, 1, far},
			{"there already", wanted{"a", far, false}, 0, far},
			{"not later", wanted{"a", far + 5, true}, 0, far},
			{"lowered", wanted{"a", far - 5, true}, 1, far - 5},
			{"same", wanted{"a", far - 5, true}, 0, far - 5},
			{"overdue", wanted{"a", 5, false}, 1, 5},
		}
		for _, step := range steps {
			if n := ensure(step.w); n != step.wrote || scoreOf(t, s, "a") != step.score {
				t.Errorf("%s: wrote %d, score %v", step.what, n, scoreOf(t, s, "a"))
			}
		}
		// A lease is nobody's business.
		ensure(wanted{"b", 1, false})
		lease := s.claim(ctx, "k", []string{"b"}, tokens(1), 0)[0].lease
		if ensure(wanted{"b", 2, true}) != 0 || scoreOf(t, s, "b") != lease {
			t.Error("a lease was lowered")
		}
		// A backoff is lowered for what is due soon.
		ensure(wanted{"c", backoffScore(int64(far)), false})
		if ensure(wanted{"c", 2, false}) != 0 {
			t.Error("the backoff of an overdue task was lowered")
		}
		if ensure(wanted{"c", 2, true}) != 1 || scoreOf(t, s, "c") != 2 {
			t.Error("a backoff was not lowered")
		}
	})
}

func TestScriptClaimByForce(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		now := time.Now()
		if _, err := s.ensure(ctx, "k", []wanted{
			{"far", float64(now.Add(time.Hour).UnixMilli()), false}, {"near", float64(now.Add(30 * time.Second).UnixMilli()), false}, {"due", 1, false},
		}); err != nil {
			t.Fatal(err)
		}
		for i, c := range s.claim(ctx, "k", []string{"far", "near", "due", "missing"}, tokens(4), sweepForce) {
			if want := []string{"rescued", "early", "claimed", "rescued"}[i]; c.verdict != want {
				t.Errorf("%d: %+v, want %s", i, c, want)
			}
		}
	})
}

func TestScriptsAreReloaded(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		for range 2 {
			found, err := s.poll(ctx, []int{0, 1, 2, 3}, []string{"k", "l"}, 1, 0)
			if err != nil || len(found) != 4 || len(found[0]) != 2 {
				t.Fatal(found, err)
			}
			if err := s.client.ScriptFlush(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestPollPages(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		s.shards = 1
		var all []wanted
		for key, at := range ids(MaxBatch+10, func(i int) int64 { return int64(i) }) {
			all = append(all, wanted{key, float64(at), false})
		}
		for _, part := range [][]wanted{all[:200], all[200:]} {
			if _, err := s.ensure(ctx, "l", part); err != nil {
				t.Fatal(err)
			}
		}
		for offset, want := range map[int]int{0: MaxBatch, MaxBatch: 6} { // up to 255
			found, err := s.poll(ctx, []int{0}, []string{"k", "l"}, 255, offset)
			if err != nil || len(found[0][0]) != 0 || len(found[0][1]) != want {
				t.Errorf("offset %d: %d found (%v), want %d", offset, len(found[0][1]), err, want)
			}
		}
	})
}

// tokens makes the tokens of n new claims.
func tokens(n int) []float64 {
	t := make([]float64, n)
	for i := range t {
		t[i] = newToken()
	}
	return t
}
