package stall

import (
	"testing"
	"time"
)

func TestPatienceIsCountedInLooks(t *testing.T) {
	start := time.Now()
	p := &Patience{time.Second, start}
	for i, c := range []struct {
		ms   int // since the look before
		over bool
	}{
		{900, false},    // 250 ms of it count
		{10_000, false}, // and 250 ms of a machine that stood still
		{100, false},
		{240, false},
		{240, false}, // 1080 ms: the limit has passed, maybe after the look
		{0, true},    // another look, in vain
	} {
		start = start.Add(time.Duration(c.ms) * time.Millisecond)
		if got := p.over(start); got != c.over {
			t.Errorf("look %d: over %v, want %v", i, got, c.over)
		}
	}
}

func TestReceiveTakesWhatIsThereAtTheLimit(t *testing.T) {
	full := make(chan int, 1)
	full <- 7
	if v, came := Receive(full, -1); v != 7 || !came {
		t.Errorf("%d, %v", v, came)
	}
	if v, came := Receive(full, time.Millisecond); came {
		t.Errorf("%d came from nowhere", v)
	}
	close(full)
	if _, came := Receive(full, time.Minute); !came {
		t.Error("the end of the channel did not come")
	}
}
