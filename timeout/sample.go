package timeout

import (
	"slices"
	"sync"
	"time"
)

const (
	sampleLimit = 4096
	sampleTime  = time.Hour
)

// samples keeps the newest measurements of the last hour.
type samples struct {
	mu   sync.Mutex
	ring []sample
	next int
}

type sample struct {
	at    time.Time
	value time.Duration
}

func (s *samples) add(at time.Time, value time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < sampleLimit {
		s.ring = append(s.ring, sample{at, value})
		return
	}
	s.ring[s.next] = sample{at, value}
	s.next = (s.next + 1) % sampleLimit
}

// percentiles are the values that the given shares, in percent, do not
// exceed; zeros when there are none.
func (s *samples) percentiles(now time.Time, percents ...int) []time.Duration {
	s.mu.Lock()
	var values []time.Duration
	for _, one := range s.ring {
		if now.Sub(one.at) <= sampleTime {
			values = append(values, one.value)
		}
	}
	s.mu.Unlock()
	slices.Sort(values)
	out := make([]time.Duration, len(percents))
	for i, p := range percents {
		if len(values) > 0 {
			out[i] = values[(len(values)*p+99)/100-1]
		}
	}
	return out
}
