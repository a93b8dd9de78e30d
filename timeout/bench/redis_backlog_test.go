package bench

import (
	"context"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// TestBacklog lets 1,000 deadlines wait for one worker who takes 40 ms for each: 40 s, which is longer than the lease of a
// claim (5 s) times the attempts (5). Queues whose leases begin when a task enters a local buffer lose tasks here.
func TestBacklog(t *testing.T) {
	db, client := engineDB(t, testserver.MySQL(t)), clientOf(t, testserver.StartRedis(t).Addr())
	c := newCrowd(1000, time.Now().Add(time.Second), 0)
	handler := timeout.HandlerFunc(func(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
		time.Sleep(40 * time.Millisecond) // the work
		return c.Handle(ctx, tasks)
	})
	engine, stop := startEngine(t, db, client, timeout.Kind{Handler: handler, Source: c, Batch: 1, Workers: 1})
	for _, task := range c.tasks() {
		if err := engine.Schedule(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	c.await(t, 3*time.Minute)
	stop()
	_, failures, err := engine.Failures(t.Context(), timeout.Page{Limit: 1})
	if err != nil || failures != 0 {
		t.Errorf("%d failures, %v", failures, err)
	}
	t.Logf("1,000 due at once, one worker of 40 ms: %d lost, %d run again, last done after %.1f s", c.left, c.runs-len(c.due),
		c.last.Sub(time.UnixMilli(c.due[0])).Seconds())
}
