package timeout

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// loseOnce lets the first claim have its effect in Redis and loses the answer.
type loseOnce struct{ lost atomic.Bool }

func (*loseOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*loseOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *loseOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		claims := slices.ContainsFunc(cmds, func(c redis.Cmder) bool {
			return len(c.Args()) > 1 && (c.Args()[1] == scriptClaim.hash || c.Args()[1] == scriptClaim.text) && c.Err() == nil
		})
		if !claims || !h.lost.CompareAndSwap(false, true) {
			return err
		}
		gone := &net.OpError{Op: "read", Err: errors.New("the answer was lost")}
		for _, c := range cmds {
			c.SetErr(gone)
		}
		return gone
	}
}

// A claim whose answer was lost is repeated at once and finds its own lease: the task does not wait for the lease to end.
func TestLostAnswerOfAClaimDoesNotCostALease(t *testing.T) {
	for _, p := range everyParts[:2] {
		t.Run(p.name, func(t *testing.T) {
			s := newThings(p.db(t))
			client := redisClient(t, p.redis(t))
			hook := &loseOnce{}
			client.AddHook(hook)
			e := start(t, node(t, s, client, "a"))
			due := in(300 * time.Millisecond)
			schedule(t, e, s, map[string]int64{"a": due})
			s.awaitAllDone(t, 20*time.Second)
			if late := s.callsOf("a")[0].late(); late > 4*time.Second { // a lease is 5 s
				t.Errorf("%v late", late)
			}
			if !hook.lost.Load() {
				t.Error("no answer was lost")
			}
		})
	}
}
