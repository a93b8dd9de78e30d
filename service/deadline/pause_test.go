package deadline

import (
	"testing"
	"time"
)

func TestPausesGrowWithTheWaiting(t *testing.T) {
	pauses := []time.Duration{3 * time.Second, 5 * time.Second, time.Minute}
	for waited, want := range map[time.Duration]time.Duration{
		-time.Second:                     3 * time.Second, // clocks differ
		0:                                3 * time.Second,
		3*time.Second - time.Millisecond: 3 * time.Second,
		3 * time.Second:                  5 * time.Second,
		7 * time.Second:                  5 * time.Second,
		8 * time.Second:                  time.Minute,
		68 * time.Second:                 time.Minute,
		24 * time.Hour:                   time.Minute,
	} {
		if got := Pause(waited, pauses); got != want {
			t.Errorf("after %v the pause is %v, want %v", waited, got, want)
		}
	}
}
