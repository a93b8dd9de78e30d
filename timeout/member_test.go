package timeout

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/stall"
)

// awaitShards waits until the engines' shards are as wanted.
func awaitShards(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for patience := stall.NewPatience(limit); !holds(); sleep(context.Background(), 10*time.Millisecond) {
		if patience.Over() {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func TestShardsAreDividedAndHandedOver(t *testing.T) {
	for _, p := range everyParts {
		t.Run(p.name, func(t *testing.T) {
			s := newThings(p.db(t))
			change := func(o *Options, _ *Kind) { o.Shards = 64 }
			var a, b *Engine
			if p.redis == nil {
				a, b = node(t, s, nil, "a", change), node(t, s, nil, "b", change)
			} else {
				client := redisClient(t, p.redis(t))
				a, b = node(t, s, client, "a", change), node(t, s, client, "b", change)
			}
			start(t, a)
			if n := len(a.members.owned()); n != 64 {
				t.Fatalf("alone with %d shards", n)
			}
			start(t, b)
			awaitShards(t, 5*time.Second, "divided", func() bool {
				both := append(slices.Clone(a.members.owned()), b.members.owned()...)
				slices.Sort(both)
				return len(b.members.owned()) >= 16 && len(both) == 64 && len(slices.Compact(both)) == 64
			})
			stopped := time.Now()
			stop(t, b)
			awaitShards(t, 2*time.Second, "handed over at once", func() bool { return len(a.members.owned()) == 64 })
			t.Logf("handed over within %v", time.Since(stopped))
			// One that was killed leaves its row, and silence. It lives until it has been seen.
			awaitShards(t, 10*time.Second, "divided with the ghost", func() bool {
				s.exec(t, "REPLACE INTO timeout_members (node, seen_at) VALUES ('ghost', ?)", a.Now().UnixMilli())
				return len(a.members.owned()) < 64
			})
			awaitShards(t, memberTime+5*time.Second, "moved from the ghost", func() bool { return len(a.members.owned()) == 64 })
		})
	}
}

// Who is heard of from the future had a wrong clock when it wrote, and is not
// known to live: it could be dead until that time has come.
func TestHeartbeatFromTheFuture(t *testing.T) {
	db := sqliteDB(t)
	m := newMembers(db, newBreaker("database", slog.New(slog.DiscardHandler), databaseTrips), "a", 8, newClock(db, nil, nil), nil)
	seen := func(node string, ago time.Duration) {
		t.Helper()
		if _, err := db.Exec("REPLACE INTO timeout_members (node, seen_at) VALUES (?, ?)", node, m.clock.Now().Add(-ago).UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	// Far enough from the bounds for a machine that stands still for a while.
	seen("a", 2*memberForget) // itself, whatever it wrote
	seen("future", -5*time.Minute)
	seen("silent", 5*time.Minute)
	seen("gone", 2*memberForget)
	seen("soon", time.Millisecond-memberTime)
	live, err := m.read(context.Background())
	if err != nil || !slices.Equal(live, []string{"a", "soon"}) {
		t.Errorf("live %v (%v), want a and soon", live, err)
	}
}

func TestOnlyShardsOfWhoLeftMove(t *testing.T) {
	moved := 0
	for shard := range 1024 {
		before := ownerOf(shard, []string{"a", "b", "c"})
		after := ownerOf(shard, []string{"a", "c"})
		if before != "b" && before != after {
			t.Fatalf("shard %d moved from %s to %s", shard, before, after)
		}
		if before == "b" {
			moved++
		}
	}
	if moved < 250 || moved > 430 {
		t.Errorf("%d of 1024 shards were b's", moved)
	}
}
