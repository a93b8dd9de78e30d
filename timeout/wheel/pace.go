package wheel

import "time"

const (
	// FinestTick is how exactly a wheel keeps deadlines while few fire.
	FinestTick = 100 * time.Microsecond
	// CoarsestTick is the time between two wake-ups at most when very many do.
	CoarsestTick = time.Millisecond

	// lately is the time over which a pace remembers what fired.
	lately = 10 * time.Millisecond
	// perTick is how many entries fired lately make wake-ups a tick rarer: a
	// wake-up costs as much as many entries, so with 20,000 entries a second
	// the wheel wakes up each 100 µs, with 50,000 each 200 to 300, and from
	// 200,000 on each millisecond.
	perTick = 200
)

// pace decides how many ticks pass between wake-ups at least.
type pace struct {
	most  uint64 // ticks; 1 keeps the pace fixed
	fired float64
	until time.Duration
}

// note counts entries that fired at an instant.
func (p *pace) note(n int, now time.Duration) {
	forgotten := float64(max(now-p.until, 0)) / float64(lately)
	p.fired = p.fired*max(1-forgotten, 0) + float64(n)
	p.until = now
}

// ticks is the least number of ticks to the next wake-up, at least 1.
func (p *pace) ticks() uint64 {
	return min(max(uint64(p.fired/perTick), 1), p.most)
}
