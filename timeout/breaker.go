package timeout

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// How many calls in a row must fail before a part counts as away.
const (
	redisTrips    = 2
	databaseTrips = 3
)

// probeEvery is how often a part that is away is tried.
const probeEvery = 500 * time.Millisecond

// breaker keeps calls from a part that is away. Only probe tries it again, so
// no caller ever pays for finding out.
type breaker struct {
	cb *gobreaker.CircuitBreaker[struct{}]
	// changed has a value after a change of state.
	changed chan struct{}
	away    atomic.Bool // what closed reports the contrary of
}

func newBreaker(name string, log *slog.Logger, trips uint32) *breaker {
	b := &breaker{changed: make(chan struct{}, 1)}
	b.cb = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		Timeout:     probeEvery / 2,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= trips },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateHalfOpen || from == gobreaker.StateHalfOpen && to == gobreaker.StateOpen {
				return
			}
			b.away.Store(to != gobreaker.StateClosed)
			log.Warn(name+" is "+map[bool]string{true: "back", false: "away"}[to == gobreaker.StateClosed], "breaker", to.String())
			notify(b.changed)
		},
	})
	return b
}

// notify leaves a value in a channel of capacity one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// closed reports whether the part is believed to be there.
func (b *breaker) closed() bool { return !b.away.Load() }

// do runs f unless the part is away, and counts how it went.
func (b *breaker) do(f func() error) error {
	if !b.closed() {
		return gobreaker.ErrOpenState
	}
	return b.probe(f)
}

// probe runs f also when the part is away, if it is time to try again.
func (b *breaker) probe(f func() error) error {
	_, err := b.cb.Execute(func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// wait returns true once the part is believed to be there, false when ctx ends.
func (b *breaker) wait(ctx context.Context) bool {
	for !b.closed() {
		if !sleep(ctx, probeEvery/5) {
			return false
		}
	}
	return ctx.Err() == nil
}

// sleep waits and reports false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool { return pause(ctx, d, nil) }

// pause is a sleep that a kick ends early.
func pause(ctx context.Context, d time.Duration, kick <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-kick:
	}
	return ctx.Err() == nil
}
