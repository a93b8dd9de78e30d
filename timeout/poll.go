package timeout

import (
	"context"
	"time"
)

const (
	// pollIdle is the longest pause between two readings of the schedule: well
	// within nearWindow, so that what others schedule is in the wheel in time.
	pollIdle = 500 * time.Millisecond
	// pollBusy is the shortest, while there is more than the process takes in.
	pollBusy = 20 * time.Millisecond
)

// poll brings tasks that are due soon from Redis into the process, for the
// shards of this replica. What the process has no room for stays where it is;
// then the next reading comes soon, and from there on later and later.
func (e *Engine) poll(ctx context.Context) {
	kinds := make([]string, len(e.order))
	for i, l := range e.order {
		kinds[i] = l.kind.Name
	}
	every := pollIdle
	e.loop(ctx, "poll", e.pollKick, func(ctx context.Context) time.Duration {
		every = min(2*every, pollIdle)
		if e.feed() == feedRedis && e.db.closed() {
			full, err := e.pollAll(ctx, kinds)
			if err != nil && e.feed() == feedRedis {
				e.complain(ctx, "the schedule could not be read", err)
			}
			if full {
				every = pollBusy
			}
		}
		e.metrics.pollInterval.Set(every.Seconds())
		return every
	})
}

// pollAll reads page after page and reports whether there was more than the
// process had room for. Claims that shorten a set between two pages make a
// page skip some tasks; the next poll finds them.
func (e *Engine) pollAll(ctx context.Context, kinds []string) (full bool, err error) {
	defer e.metrics.check("poll")()
	until := e.near.horizon()
	var sets []set
	for _, shard := range e.members.owned() {
		for lane := range kinds {
			sets = append(sets, set{shard, lane})
		}
	}
	for offset := 0; len(sets) > 0; offset += MaxBatch {
		pages, err := e.store.poll(ctx, sets, kinds, until, offset)
		if err != nil {
			return false, err
		}
		var more []set
		for i, page := range pages {
			l := e.order[sets[i].lane]
			for _, z := range page {
				key, _ := z.Member.(string)
				e.near.offer(l, key, deadlineOf(z.Score), scoreInstant(z.Score))
			}
			switch {
			case len(page) < MaxBatch:
			case e.near.room(l) > 0:
				more = append(more, sets[i])
			default:
				full = true
			}
		}
		sets = more
	}
	return full, nil
}
