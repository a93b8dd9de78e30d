package timeout

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// claimAll stores and claims tasks of one shard and returns their lease.
func claimAll(t *testing.T, s *store, keys ...string) float64 {
	t.Helper()
	var all []wanted
	for _, key := range keys {
		all = append(all, wanted{key, 1, wantOverdue})
	}
	if _, err := s.ensure(context.Background(), "k", all); err != nil {
		t.Fatal(err)
	}
	token := newTokens().next()
	var asked []claimRequest
	for _, key := range keys {
		asked = append(asked, claimRequest{key, token})
	}
	claims := s.claim(context.Background(), "k", asked, nil, 0)
	for _, c := range claims {
		if c.verdict != claimTaken || c.before != 1 || c.lease != claims[0].lease {
			t.Fatalf("claims %+v", claims)
		}
	}
	return claims[0].lease
}

// neighbours are keys of one shard.
func neighbours(s *store, n int) []string {
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if key := "n" + string(rune('A'+i)); shardOf(key, s.shards) == shardOf("nA", s.shards) {
			keys = append(keys, key)
		}
	}
	return keys
}

// A claim that ends as a whole takes with it only what still has its lease.
func TestAcknowledgeWholeClaim(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		keys := neighbours(s, 5)
		lease := claimAll(t, s, keys[:4]...)
		// Meanwhile the owner gives one another deadline, and another task comes.
		later, other := lease+60_000, lease+1
		if err := s.client.ZAdd(ctx, s.setKey("k", shardOf(keys[0], s.shards)), redis.Z{Score: later, Member: keys[3]}, redis.Z{Score: other, Member: keys[4]}).Err(); err != nil {
			t.Fatal(err)
		}
		var all []settlement
		for _, key := range keys[:3] {
			all = append(all, settlement{key: key, lease: lease, whole: true})
		}
		held, err := s.settle(ctx, "k", all)
		if err != nil || slices.Contains(held, false) {
			t.Errorf("held %v, %v", held, err)
		}
		if held, err := s.settle(ctx, "k", all); err != nil || slices.Contains(held, true) { // the client may send it twice
			t.Errorf("again: held %v, %v", held, err)
		}
		for i, want := range []float64{0, 0, 0, later, other} {
			if score := scoreOf(t, s, keys[i]); score != want {
				t.Errorf("task %d: score %v, want %v", i, score, want)
			}
		}
		// One of the tasks was not ours any more.
		lease = claimAll(t, s, keys[:2]...)
		if err := s.client.ZAdd(ctx, s.setKey("k", shardOf(keys[0], s.shards)), redis.Z{Score: later, Member: keys[0]}).Err(); err != nil {
			t.Fatal(err)
		}
		held, err = s.settle(ctx, "k", []settlement{{key: keys[0], lease: lease, whole: true}, {key: keys[1], lease: lease, whole: true}})
		if err != nil || slices.Contains(held, true) || scoreOf(t, s, keys[0]) != later || scoreOf(t, s, keys[1]) != 0 {
			t.Errorf("held %v, %v; scores %v, %v", held, err, scoreOf(t, s, keys[0]), scoreOf(t, s, keys[1]))
		}
	})
}

// A claim of which a part goes on, or of which a part is elsewhere, ends task by task.
func TestAcknowledgePartOfClaim(t *testing.T) {
	forEachRedis(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		keys := neighbours(s, 4)
		lease := claimAll(t, s, keys...)
		held, err := s.settle(ctx, "k", []settlement{
			{key: keys[0], lease: lease, whole: true}, {key: keys[1], lease: lease, next: 7, whole: true},
		})
		if err != nil || slices.Contains(held, false) {
			t.Errorf("held %v, %v", held, err)
		}
		if held, err := s.settle(ctx, "k", []settlement{{key: keys[2], lease: lease}}); err != nil || !held[0] {
			t.Errorf("held %v, %v", held, err)
		}
		for i, want := range []float64{0, 7, 0, lease} {
			if score := scoreOf(t, s, keys[i]); score != want {
				t.Errorf("task %d: score %v, want %v", i, score, want)
			}
		}
	})
}

// Tokens of one process differ, far beyond what it claims in a millisecond.
func TestTokensDiffer(t *testing.T) {
	tokens, seen := newTokens(), map[float64]bool{}
	for range 1022 {
		token := tokens.next()
		if token <= 0 || token >= backoffFraction || token*1024 != float64(int(token*1024)) {
			t.Fatalf("token %v", token)
		}
		seen[token] = true
	}
	if len(seen) != 1022 {
		t.Errorf("%d different tokens: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}
