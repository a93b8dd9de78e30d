package bench

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
)

const memoryCount = 1_000_000

// TestMemory measures what a waiting deadline takes in Redis, against a member of one plain sorted set.
func TestMemory(t *testing.T) {
	s := newSides(t)
	due := time.Now().Add(time.Hour)
	engine, _ := startEngine(t, s.db, s.ours, timeout.Kind{Handler: newCrowd(0, due, 0), Source: newCrowd(0, due, 0)})
	before := usedMemory(t, s.ours)
	each(t, memoryCount, 256, func(i int) error {
		return engine.Schedule(t.Context(), timeout.Task{Kind: kind, Key: keyOf(i), Due: due.UnixMilli() + int64(i)})
	})
	ours := (usedMemory(t, s.ours) - before) / memoryCount

	before = usedMemory(t, s.theirs)
	const page = 1000
	each(t, memoryCount/page, 4, func(p int) error {
		members := make([]redis.Z, page)
		for i := range members {
			members[i] = redis.Z{Score: float64(due.UnixMilli() + int64(p*page+i)), Member: keyOf(p*page + i)}
		}
		return s.theirs.ZAdd(t.Context(), "plain", members...).Err()
	})
	theirs := (usedMemory(t, s.theirs) - before) / memoryCount
	report(t, "1,000,000 waiting", "a plain sorted set", []row{
		{what: "bytes in Redis a deadline", ours: []float64{ours}, theirs: []float64{theirs}, atMost: 1.5},
	})
}

func usedMemory(t *testing.T, client redis.UniversalClient) float64 {
	t.Helper()
	text, err := client.Info(context.WithoutCancel(t.Context()), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if digits, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("Redis does not tell its memory")
	return 0
}
