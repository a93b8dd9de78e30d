package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
)

const (
	scheduleRounds = 5
	scheduleCalls  = 40_000 // a round and side
)

// TestSchedule measures how long a call takes that stores one deadline, an hour ahead, with many callers at a time.
func TestSchedule(t *testing.T) {
	s := newSides(t)
	first := time.Now().Add(time.Hour)
	engine, _ := startEngine(t, s.db, s.ours, timeout.Kind{Handler: newCrowd(0, first, 0), Source: newCrowd(0, first, 0)})
	next := 0 // every deadline is a new one
	ours := func(callers int) float64 {
		from := next
		next += scheduleCalls
		took := each(t, scheduleCalls, callers, func(i int) error {
			return engine.Schedule(t.Context(), timeout.Task{Kind: kind, Key: keyOf(from + i), Due: first.UnixMilli()})
		})
		return us(took) / scheduleCalls
	}

	client := asynqClient(t, s.theirAddr)
	c := newCrowd(scheduleCalls, first, 0)
	theirs := func(callers int) float64 {
		s.theirs.FlushAll(t.Context())
		return us(each(t, scheduleCalls, callers, func(i int) error { return enqueue(client, c, i) })) / scheduleCalls
	}
	against := row{what: "16 callers (µs a call)", atMost: 1 / 1.4}
	for range scheduleRounds {
		against.add(ours(16), theirs(16))
	}
	report(t, "schedule", "asynq ProcessAt", []row{against})

	rows := []row{{atMost: 1 / 2.5}, {atMost: 1 / 6.0}}
	for n, callers := range []int{64, 256} {
		c := &rows[n]
		c.what = fmt.Sprintf("%d callers (µs a call)", callers)
		single := zadder(t, s.theirAddr, callers, first)
		for range scheduleRounds {
			s.theirs.FlushAll(t.Context())
			c.add(ours(callers), us(each(t, scheduleCalls, callers, single))/scheduleCalls)
		}
	}
	report(t, "schedule", "a ZADD a call", rows)
}

// zadder stores one deadline by one ZADD, with a connection for every caller.
func zadder(t *testing.T, addr string, callers int, due time.Time) func(i int) error {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: callers})
	t.Cleanup(func() { _ = client.Close() })
	return func(i int) error {
		return client.ZAdd(t.Context(), "plain", redis.Z{Score: float64(due.UnixMilli()), Member: keyOf(i)}).Err()
	}
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
