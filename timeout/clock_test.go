package timeout

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

func TestClockMovesOnlyWhereItMust(t *testing.T) {
	c := newClock(nil, nil, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		reading bounds
		want    int64
	}{
		{bounds{150, 250}, 150}, // the first reading: rather slow than early
		{bounds{0, 1000}, 150},  // agrees: noise moves nothing
		{bounds{160, 300}, 160}, // disagrees: to the nearer bound
		{bounds{0, 120}, 120},
	} {
		c.adopt(step.reading)
		if got := c.offset.Load(); got != step.want {
			t.Fatalf("after %v: %d, want %d", step.reading, got, step.want)
		}
	}
}

// The clocks of Redis and the database may differ; a switch must not show it.
func TestClockDoesNotJumpOnASwitch(t *testing.T) {
	for _, p := range everyParts[:2] {
		t.Run(p.name, func(t *testing.T) {
			ctx := context.Background()
			c := newClock(p.db(t), &store{client: redisClient(t, p.redis(t)), prefix: "shop1", shards: 8}, slog.New(slog.DiscardHandler))
			local := time.Now()
			if d := c.Now().Sub(local); d < 0 || d > time.Second {
				t.Fatalf("before any measurement %v from the local clock", d)
			}
			c.measure(ctx, feedRedis)
			if d := c.difference(); d.Abs() > 100*time.Millisecond {
				t.Fatalf("one machine, two clocks %v apart", d)
			}
			// As if Redis had been an hour ahead of the database.
			c.carry = c.carry.plus(bounds{int64(time.Hour), int64(time.Hour)})
			c.offset.Add(int64(time.Hour))
			before := c.Now()
			c.measure(ctx, feedSQL)
			if jump := c.Now().Sub(before); jump < 0 || jump > 500*time.Millisecond {
				t.Errorf("jumped by %v", jump)
			}
		})
	}
}

// Without a switch the database's clock is followed; SQLite has none, and
// the local one stands in.
func TestClockWithoutRedis(t *testing.T) {
	for _, p := range everyParts[2:] {
		c := newClock(p.db(t), nil, slog.New(slog.DiscardHandler))
		c.offset.Store(int64(time.Hour))
		c.measure(context.Background(), feedSQL)
		if d := time.Since(c.Now()).Abs(); d > time.Second {
			t.Errorf("%s: %v from the local clock of the same machine", p.name, d)
		}
	}
}
