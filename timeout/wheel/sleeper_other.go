//go:build !linux

package wheel

func newSleepers() ([]Sleeper, error) { return []Sleeper{NewTimerSleeper()}, nil }
