// Package stall tells tests whether the machine stood still: a virtual machine may for seconds, and a loaded one may not run a process
// for as long. A bound on how late something was means the program, so that a test adds to it what Between says.
package stall

import (
	"sync"
	"time"
)

const (
	tick = 5 * time.Millisecond
	// least is what counts: shorter pauses are within every bound.
	least = 100 * time.Millisecond
	// aftermath is how long after a stall what has piled up meanwhile may still be in the way.
	aftermath = time.Second
)

type gap struct{ from, to time.Time }

// Watch looks at the clock all the time, and knows when it could not.
type Watch struct {
	mu   sync.Mutex
	gaps []gap
	last time.Time
	stop chan struct{}
	done chan struct{}
}

// Start starts to watch. Stop ends it.
func Start() *Watch {
	w := &Watch{last: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *Watch) run() {
	defer close(w.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			w.saw(time.Now())
		}
	}
}

// Stop ends the watch and waits for its goroutine.
func (w *Watch) Stop() {
	close(w.stop)
	<-w.done
}

func (w *Watch) saw(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.last) > least {
		w.gaps = append(w.gaps, gap{w.last, now})
	}
	w.last = now
}

// Between returns for how long the machine stood still in all the stalls that touch the time from one instant to another, or that
// ended shortly before it. One that has not ended yet counts up to now.
func (w *Watch) Between(from, to time.Time) time.Duration { return w.between(from, to, time.Now()) }

func (w *Watch) between(from, to, now time.Time) (sum time.Duration) {
	w.saw(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.gaps {
		if g.to.After(from.Add(-aftermath)) && g.from.Before(to) {
			sum += g.to.Sub(g.from)
		}
	}
	return sum
}
