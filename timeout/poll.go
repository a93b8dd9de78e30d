package timeout

import (
	"context"
	"time"
)

const (
	// pollIdle is how often the schedule is read: well within nearWindow, so
	// that what others schedule is in the wheel in time.
	pollIdle = 500 * time.Millisecond
	// pollBusy is the pause while there is more than one page.
	pollBusy = 20 * time.Millisecond
)

// poll brings tasks that are due soon from Redis into the process, for the
// shards of this replica. What does not fit into a page or into the process
// stays where it is until there is room.
func (e *Engine) poll(ctx context.Context) {
	kinds := make([]string, len(e.order))
	for i, l := range e.order {
		kinds[i] = l.kind.Name
	}
	e.loop(ctx, "poll", e.pollKick, func(ctx context.Context) time.Duration {
		if e.feed() != feedRedis || !e.db.closed() {
			return pollIdle
		}
		found, err := e.store.poll(ctx, e.members.owned(), kinds, e.near.horizon())
		if err != nil {
			if e.feed() == feedRedis {
				e.complain(ctx, "the schedule could not be read", err)
			}
			return pollIdle
		}
		if e.offerAll(found) {
			return pollBusy
		}
		return pollIdle
	})
}

// offerAll offers what was found and reports whether another page with
// something new in it is likely.
func (e *Engine) offerAll(found [][][]soon) (more bool) {
	for _, shard := range found {
		for k, page := range shard {
			fresh := 0
			for _, s := range page {
				if e.near.offer(e.order[k], s.key, deadlineOf(s.score), scoreInstant(s.score)) {
					fresh++
				}
			}
			more = more || len(page) == MaxBatch && fresh > 0
		}
	}
	return more
}
