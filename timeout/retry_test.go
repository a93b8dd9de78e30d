package timeout

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// More dead tasks than fit a page come back at once; those of another kind stay.
func TestRetryAllDead(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		ctx := context.Background()
		e := start(t, node(t, s, client, "a"))
		const n = 2*MaxBatch + 7
		past := time.Now().Add(-time.Minute).UnixMilli()
		bury := func(kind, key string) {
			s.exec(t, `INSERT INTO task_failures (kind, task_key, due, attempts, waits, next_at, dead_at, error, created_at, updated_at)
				VALUES (?, ?, ?, 5, 0, ?, ?, 'poison', ?, ?)`, kind, key, past, past, past, past, past)
		}
		for i := range n {
			key := fmt.Sprintf("t%05d", i)
			bury(s.kind, key)
			s.exec(t, "INSERT INTO things (id, state, deadline, effects) VALUES (?, 'waiting', ?, 0)", key, past)
		}
		bury("other", "t00000")
		if got, err := e.RetryAllDead(ctx, s.kind); got != n || err != nil {
			t.Fatalf("%d retried (%v), want %d", got, err, n)
		}
		s.awaitAllDone(t, 20*time.Second)
		if got, err := e.RetryAllDead(ctx, s.kind); got != 0 || err != nil {
			t.Errorf("%d retried again (%v)", got, err)
		}
		if _, total, err := e.Failures(ctx, Page{Dead: true}); total != 1 || err != nil {
			t.Errorf("%d dead are left (%v), want the other kind's", total, err)
		}
	})
}
