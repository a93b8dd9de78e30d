package timeout

import (
	"context"
	"time"
)

// clockEvery is how often the clocks are measured.
const clockEvery = 5 * time.Second

// watch tries parts that are away, sees to it that a change of the feed takes
// effect at once, and measures the clock.
func (e *Engine) watch(ctx context.Context) {
	var redisChanged <-chan struct{}
	if e.redis != nil {
		redisChanged = e.redis.changed
	}
	var measured time.Time
	last := e.feed()
	e.loop(ctx, "watch", redisChanged, func(ctx context.Context) time.Duration {
		now := e.feed()
		if now != last {
			e.log.Warn("the feed has changed", "feed", string(now))
			notify(e.members.kick)
			e.kick()
		}
		if now != last || time.Since(measured) >= clockEvery {
			last, measured = now, time.Now()
			_ = e.clock.measure(ctx, now) // it is kept as it was; the breakers tell who is away
		}
		e.probe(ctx)
		return probeEvery
	})
}

// probe tries what is away.
func (e *Engine) probe(ctx context.Context) {
	if e.redis != nil && !e.redis.closed() {
		_ = e.store.ping(ctx)
	}
	if !e.db.closed() {
		_ = e.db.probe(func() error {
			ctx, cancel := context.WithTimeout(ctx, queryTimeout)
			defer cancel()
			return e.o.DB.PingContext(ctx)
		})
	}
}
