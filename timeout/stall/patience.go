package stall

import "time"

const (
	// step is the most that counts of the time between two looks.
	step = 250 * time.Millisecond
	// pause is how long Receive waits between two looks at its patience.
	pause = 100 * time.Millisecond
)

// Patience is for how long a test looks again and again for what gives no signal. It is counted in looks, not by the clock: of the time
// between two of them a quarter of a second counts at most, so that a machine that stood still gets its looks afterwards.
type Patience struct {
	left time.Duration
	last time.Time
}

// NewPatience returns the patience of a test that begins to wait now.
func NewPatience(limit time.Duration) *Patience { return &Patience{limit, time.Now()} }

// Over is asked after every look that found nothing, and says that it was one too many: it came after the limit.
func (p *Patience) Over() bool { return p.over(time.Now()) }

func (p *Patience) over(now time.Time) bool {
	over := p.left < 0
	p.left -= min(now.Sub(p.last), step)
	p.last = now
	return over
}

// Receive waits for a value of the channel, or its end, with patience. It returns false if nothing comes.
func Receive[T any](from <-chan T, limit time.Duration) (value T, came bool) {
	for p := NewPatience(limit); !p.Over(); {
		select {
		case value = <-from:
			return value, true
		case <-time.After(pause):
		}
	}
	select { // where both were ready above, chance has chosen
	case value = <-from:
		return value, true
	default:
		return value, false
	}
}
