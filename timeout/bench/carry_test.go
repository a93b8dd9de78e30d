package bench

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// TestCarry measures what a million waiting timers weigh: their bytes and what
// they cost each cycle of the garbage collector.
func TestCarry(t *testing.T) {
	const rounds, n = 5, 1_000_000
	bytes, cycles := make([][]float64, len(crowds)), make([][]float64, len(crowds))
	// Not in turns: what the runtime's timers leave behind, also when they are
	// stopped, would weigh on the wheel's next round.
	for i, side := range crowds {
		for range rounds {
			b, cycle := measureCarry(side.make(n), n)
			bytes[i], cycles[i] = append(bytes[i], b), append(cycles[i], cycle)
		}
	}
	report(t, "1,000,000 outstanding", "runtime", []row{
		{"bytes a timer", bytes[0], bytes[1], .25},
		{"a GC cycle (ms)", cycles[0], cycles[1], .10},
	})
}

// measureCarry returns the bytes a timer, without the callers' slice of
// handles, and the wall time of a GC cycle in milliseconds, the fastest of ten.
func measureCarry(c outstanding, n int) (bytes, cycle float64) {
	defer c.end()
	before := heap()
	fill(c, n)
	bytes = float64(heap()-before) / float64(n)
	fastest := time.Duration(math.MaxInt64)
	for range 10 {
		start := time.Now()
		runtime.GC()
		fastest = min(fastest, time.Since(start))
	}
	return bytes, ms(fastest)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one found to be finalised or swept late
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
