package timeout

import (
	"context"
	"time"
)

const (
	// pollIdle is how often the schedule is read: well within nearWindow, so
	// that what others schedule is in the wheel in time.
	pollIdle = 500 * time.Millisecond
	// pollBusy is the pause while there is more than the process takes in.
	pollBusy = 20 * time.Millisecond
)

// poll brings tasks that are due soon from Redis into the process, for the
// shards of this replica. What the process has no room for stays where it is.
func (e *Engine) poll(ctx context.Context) {
	kinds := make([]string, len(e.order))
	for i, l := range e.order {
		kinds[i] = l.kind.Name
	}
	e.loop(ctx, "poll", e.pollKick, func(ctx context.Context) time.Duration {
		if e.feed() != feedRedis || !e.db.closed() {
			return pollIdle
		}
		full, err := e.pollAll(ctx, kinds)
		switch {
		case err != nil && e.feed() == feedRedis:
			e.complain(ctx, "the schedule could not be read", err)
		case err == nil && full:
			return pollBusy
		}
		return pollIdle
	})
}

// pollAll reads page after page and reports whether there was more than the
// process had room for. Claims that shorten a set between two pages make a
// page skip some tasks; the next poll finds them.
func (e *Engine) pollAll(ctx context.Context, kinds []string) (full bool, err error) {
	shards, until := e.members.owned(), e.near.horizon()
	for offset := 0; len(shards) > 0; offset += MaxBatch {
		found, err := e.store.poll(ctx, shards, kinds, until, offset)
		if err != nil {
			return false, err
		}
		var more []int
		for i, pages := range found {
			next := false
			for k, page := range pages {
				l := e.order[k]
				for _, s := range page {
					e.near.offer(l, s.key, deadlineOf(s.score), scoreInstant(s.score))
				}
				if len(page) < MaxBatch {
					continue
				}
				if e.near.room(l) > 0 {
					next = true
				} else {
					full = true
				}
			}
			if next {
				more = append(more, shards[i])
			}
		}
		shards = more
	}
	return full, nil
}
