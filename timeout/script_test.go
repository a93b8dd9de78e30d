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
		if n, err := s.ensure(ctx, "k", []wanted{{due, past, wantOverdue}, {early, ahead, wantOverdue}}); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		claims := s.claim(ctx, "k", requests(due, early, gone), nil, 0)
		if c := claims[0]; c.verdict != claimTaken || c.before != past || scoreOf(t, s, due) != c.lease {
			t.Errorf("due: %+v, score %v", c, scoreOf(t, s, due))
		}
		if c := claims[0].lease - float64(now.UnixMilli()); c < 5000 || c > 8000 {
			t.Errorf("lease ends %v ms ahead", c)
		}
		if c := claims[1]; c.verdict != claimEarly || c.ahead < 50_000 || c.ahead > 60_001 || scoreOf(t, s, early) != ahead {
			t.Errorf("early: %+v", c)
		}
		if claims[2].verdict != claimGone || scoreOf(t, s, gone) != 0 {
			t.Errorf("gone: %+v", claims[2])
		}
		if again := s.claim(ctx, "k", requests(due), nil, 0)[0]; again.verdict != claimEarly {
			t.Errorf("second claim: %+v", again)
		}

		lease := claims[0].lease
		renewed := settlement{key: due, lease: lease, next: lease + 1666}
		for range 2 { // the client may send it twice
			if held, err := s.settle(ctx, "k", []settlement{renewed}); !held[0] || err != nil {
				t.Fatal(held, err)
			}
		}
		if held, _ := s.settle(ctx, "k", []settlement{{key: due, lease: lease}}); held[0] || scoreOf(t, s, due) == 0 {
			t.Error("an old lease was acknowledged")
		}
		if held, _ := s.settle(ctx, "k", []settlement{{key: due, lease: lease + 1666}}); !held[0] || scoreOf(t, s, due) != 0 {
			t.Error("the lease was not acknowledged")
		}
	})
}

// A claim whose answer was lost is sent again by the client.
func TestScriptClaimTwiceIsOneClaim(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		if _, err := s.ensure(ctx, "k", []wanted{{"a", 1, wantOverdue}}); err != nil {
			t.Fatal(err)
		}
		token := newTokens().next()
		var claims [2]claim
		for i := range claims {
			claims[i] = s.claim(ctx, "k", []claimRequest{{"a", token}}, nil, 0)[0]
		}
		if claims[0].verdict != claimTaken || claims[1].verdict != claimTaken || claims[0].lease != claims[1].lease {
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
			{"new", wanted{"a", far, wantOverdue}, 1, far},
			{"there already", wanted{"a", far, wantOverdue}, 0, far},
			{"not later", wanted{"a", far + 5, wantSoon}, 0, far},
			{"lowered", wanted{"a", far - 5, wantSoon}, 1, far - 5},
			{"same", wanted{"a", far - 5, wantSoon}, 0, far - 5},
			{"overdue", wanted{"a", 5, wantOverdue}, 1, 5},
		}
		for _, step := range steps {
			if n := ensure(step.w); n != step.wrote || scoreOf(t, s, "a") != step.score {
				t.Errorf("%s: wrote %d, score %v", step.what, n, scoreOf(t, s, "a"))
			}
		}
		// A lease is nobody's business.
		ensure(wanted{"b", 1, wantOverdue})
		lease := s.claim(ctx, "k", requests("b"), nil, 0)[0].lease
		if ensure(wanted{"b", 2, wantSoon}) != 0 || scoreOf(t, s, "b") != lease {
			t.Error("a lease was lowered")
		}
		// A backoff is lowered for what is due soon.
		ensure(wanted{"c", backoffScore(int64(far)), wantOverdue})
		if ensure(wanted{"c", 2, wantOverdue}) != 0 {
			t.Error("the backoff of an overdue task was lowered")
		}
		if ensure(wanted{"c", 2, wantSoon}) != 1 || scoreOf(t, s, "c") != 2 {
			t.Error("a backoff was not lowered")
		}
	})
}

func TestScriptClaimByForce(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		now := time.Now()
		if _, err := s.ensure(ctx, "k", []wanted{
			{"far", float64(now.Add(time.Hour).UnixMilli()), wantOverdue}, {"near", float64(now.Add(30 * time.Second).UnixMilli()), wantOverdue}, {"due", 1, wantOverdue},
		}); err != nil {
			t.Fatal(err)
		}
		for i, c := range s.claim(ctx, "k", requests("far", "near", "due", "missing"), nil, sweepForce) {
			if want := []claimVerdict{claimRescued, claimEarly, claimTaken, claimRescued}[i]; c.verdict != want {
				t.Errorf("%d: %+v, want %d", i, c, want)
			}
		}
	})
}

func TestScriptsAreReloaded(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		for range 2 {
			if _, err := s.ensure(ctx, "k", []wanted{{"a", 1, wantSoon}, {"b", 1, wantSoon}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.time(ctx); err != nil {
				t.Fatal(err)
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
			all = append(all, wanted{key, float64(at), wantOverdue})
		}
		for _, part := range [][]wanted{all[:200], all[200:]} {
			if _, err := s.ensure(ctx, "l", part); err != nil {
				t.Fatal(err)
			}
		}
		for offset, want := range map[int]int{0: MaxBatch, MaxBatch: 6} { // up to 255
			found, err := s.poll(ctx, []set{{0, 0}, {0, 1}}, []string{"k", "l"}, 255, offset)
			if err != nil || len(found[0]) != 0 || len(found[1]) != want {
				t.Errorf("offset %d: %d found (%v), want %d", offset, len(found[1]), err, want)
			}
		}
	})
}

// requests asks for tasks with tokens of their own.
func requests(keys ...string) []claimRequest {
	r := make([]claimRequest, len(keys))
	for i, key := range keys {
		r[i] = claimRequest{key, newTokens().next()}
	}
	return r
}

// After a loss what the source says overwrites deadlines and backoffs, later
// or earlier ones, and no lease.
func TestScriptEnsureAfterALoss(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		want := float64(time.Now().Add(time.Minute).UnixMilli())
		for _, before := range []float64{want - 5000, want + 5000, backoffScore(int64(want) + 5000)} {
			if err := s.client.ZAdd(ctx, s.setKey("k", shardOf("a", s.shards)), redis.Z{Score: before, Member: "a"}).Err(); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				if n, err := s.ensure(ctx, "k", []wanted{{"a", want, wantLost}}); n != int64(1-i) || err != nil || scoreOf(t, s, "a") != want {
					t.Errorf("over %v: wrote %d (%v), score %v", before, n, err, scoreOf(t, s, "a"))
				}
			}
		}
		if _, err := s.ensure(ctx, "k", []wanted{{"b", 1, wantSoon}}); err != nil {
			t.Fatal(err)
		}
		lease := s.claim(ctx, "k", requests("b"), nil, 0)[0].lease
		if n, err := s.ensure(ctx, "k", []wanted{{"b", 2, wantLost}}); n != 0 || err != nil || scoreOf(t, s, "b") != lease {
			t.Error("a lease was overwritten", n, err)
		}
	})
}

// One replica holds a shard; another gets it when it is given back or its
// time is up, with a higher epoch, under which the former claims nothing.
func TestScriptHold(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		hold := func(node string, known int64, d time.Duration) hold {
			t.Helper()
			h, err := s.hold(ctx, node, []int{shardOf("a", s.shards)}, []int64{known}, d)
			if err != nil {
				t.Fatal(err)
			}
			return h[0]
		}
		claimUnder := func(epoch int64) claimVerdict {
			return s.claim(ctx, "k", requests("a"), func(int) int64 { return epoch }, 0)[0].verdict
		}
		if _, err := s.ensure(ctx, "k", []wanted{{"a", float64(time.Now().Add(time.Hour).UnixMilli()), wantSoon}}); err != nil {
			t.Fatal(err)
		}
		if v := claimUnder(0); v != claimEarly {
			t.Errorf("nobody's shard: %d", v)
		}
		first := hold("one", 41, time.Minute)
		if !first.held || first.epoch != 42 || first.beat != 1 {
			t.Fatalf("taken: %+v", first)
		}
		if again := hold("one", 0, time.Minute); !again.held || again.epoch != 42 || again.beat != 2 {
			t.Errorf("renewed: %+v", again)
		}
		if other := hold("two", 0, time.Minute); other.held || other.free < 50*time.Second || other.free > time.Minute {
			t.Errorf("another's: %+v", other)
		}
		if v := claimUnder(42); v != claimEarly {
			t.Errorf("claim of the owner: %d", v)
		}
		for _, epoch := range []int64{0, 41, 43} {
			if v := claimUnder(epoch); v != claimForeign {
				t.Errorf("claim under epoch %d: %d", epoch, v)
			}
		}
		if v := s.claim(ctx, "k", requests("a"), nil, 0)[0].verdict; v != claimEarly {
			t.Errorf("claim that asks nobody: %d", v)
		}
		hold("two", 0, 0) // not its to give back
		if other := hold("two", 0, time.Minute); other.held {
			t.Error("given back by another")
		}
		for range 2 {
			hold("one", 42, 0)
		}
		if v := claimUnder(42); v != claimEarly {
			t.Errorf("claim of the last owner, before there is another: %d", v)
		}
		if next := hold("two", 0, time.Millisecond); !next.held || next.epoch != 43 || next.beat != 3 {
			t.Errorf("after it was given back: %+v", next)
		}
		awaitShards(t, 5*time.Second, "the lease ends", func() bool { return hold("one", 42, time.Minute).held })
		if v := claimUnder(43); v != claimForeign {
			t.Errorf("claim of a former owner: %d", v)
		}
	})
}
