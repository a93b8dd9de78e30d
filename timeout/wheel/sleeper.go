package wheel

import (
	"sync"
	"time"
)

// Sleeper is what a wheel waits with. Arm replaces the instant of the
// next wake-up, from any goroutine; d <= 0 means at once. Sleep returns once
// an armed instant has come, or now and then for no reason, and after Close.
type Sleeper interface {
	Arm(d time.Duration)
	Sleep()
	Close() error
}

// timerSleeper sleeps on a time.Timer.
type timerSleeper struct {
	timer  *time.Timer
	closed chan struct{}
	once   sync.Once
}

// NewTimerSleeper returns a Sleeper on time.Timer: up to a millisecond coarse
// on Linux, but at home everywhere, also under testing/synctest.
func NewTimerSleeper() Sleeper {
	return &timerSleeper{timer: time.NewTimer(never), closed: make(chan struct{})}
}

func (s *timerSleeper) Arm(d time.Duration) { s.timer.Reset(d) }

func (s *timerSleeper) Sleep() {
	select {
	case <-s.timer.C:
	case <-s.closed:
	}
}

func (s *timerSleeper) Close() error {
	s.once.Do(func() {
		s.timer.Stop()
		close(s.closed)
	})
	return nil
}
