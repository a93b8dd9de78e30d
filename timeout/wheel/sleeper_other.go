//go:build !linux

package wheel

func newSleeper() (Sleeper, error) { return NewTimerSleeper(), nil }
