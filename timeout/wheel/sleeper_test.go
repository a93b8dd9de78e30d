package wheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// sleepers are those of this system: each keeps the contract by itself.
func sleepers(t *testing.T) []Sleeper {
	t.Helper()
	all, err := newSleepers()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// asleep runs Sleep until it has returned at or after an instant.
func asleep(s Sleeper, until time.Time) <-chan struct{} {
	woke := make(chan struct{})
	go func() {
		defer close(woke)
		for {
			s.Sleep()
			if !time.Now().Before(until) {
				return
			}
		}
	}()
	return woke
}

func TestSleeperWakesUp(t *testing.T) {
	for _, s := range sleepers(t) {
		for _, d := range []time.Duration{20 * time.Millisecond, 1, 0, -time.Hour} {
			until := time.Now().Add(d)
			s.Arm(d)
			<-asleep(s, until)
		}
		// Armed again while it sleeps: the last one holds, earlier or not.
		s.Arm(time.Hour)
		woke := asleep(s, time.Now())
		s.Arm(0)
		<-woke
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseWakesUp(t *testing.T) {
	for _, s := range sleepers(t) {
		s.Arm(time.Hour)
		woke := asleep(s, time.Now())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-woke
		s.Sleep() // returns at once from now on
	}
}

func TestTimerSleeperIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTimerSleeper()
		start := time.Now()
		for i, d := range []time.Duration{time.Hour, time.Nanosecond, 0, -time.Second, 2 * 365 * 24 * time.Hour} {
			before := time.Now()
			s.Arm(d)
			s.Sleep()
			if slept := time.Since(before); slept != max(d, 0) {
				t.Errorf("%d: slept %v, want %v", i, slept, d)
			}
		}
		// What was armed and not slept for is gone once another instant is armed.
		s.Arm(time.Millisecond)
		time.Sleep(time.Second)
		s.Arm(time.Hour)
		before := time.Now()
		s.Sleep()
		if slept := time.Since(before); slept != time.Hour {
			t.Errorf("slept %v, want 1h", slept)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if time.Since(start) < time.Hour {
			t.Error("the clock is not simulated")
		}
	})
}
