package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/wheel"
)

// outstanding is a crowd of n waiting timers.
type outstanding interface {
	add(i int, after time.Duration)
	replace(i int, after time.Duration) // cancel and add
	end()
}

type wheelCrowd struct {
	wheel   *wheel.Wheel
	handles []wheel.Handle
}

func newWheelCrowd(n int) outstanding {
	w, err := wheel.New(func([]uint32) {}, wheel.Options{})
	if err != nil {
		panic(err)
	}
	return &wheelCrowd{w, make([]wheel.Handle, n)}
}

func (c *wheelCrowd) add(i int, after time.Duration) {
	c.handles[i], _ = c.wheel.Add(c.wheel.Now()+after, uint32(i))
}

func (c *wheelCrowd) replace(i int, after time.Duration) {
	c.wheel.Cancel(c.handles[i])
	c.add(i, after)
}

func (c *wheelCrowd) end() { c.wheel.Stop() }

type runtimeCrowd struct {
	timers []*time.Timer
	fire   func()
}

func newRuntimeCrowd(n int) outstanding {
	return &runtimeCrowd{make([]*time.Timer, n), func() {}}
}

func (c *runtimeCrowd) add(i int, after time.Duration) { c.timers[i] = time.AfterFunc(after, c.fire) }

func (c *runtimeCrowd) replace(i int, after time.Duration) {
	c.timers[i].Stop()
	c.add(i, after)
}

func (c *runtimeCrowd) end() {
	for _, t := range c.timers {
		t.Stop()
	}
}

// delay is how far ahead an order's deadline is: 10 to 40 minutes.
func delay() time.Duration { return 10*time.Minute + rand.N(30*time.Minute) }

func fill(c outstanding, n int) {
	for i := range n {
		c.add(i, delay())
	}
}

var crowds = []struct {
	name string
	make func(n int) outstanding
}{{"wheel", newWheelCrowd}, {"runtime", newRuntimeCrowd}}

// BenchmarkReplace cancels a random one of n waiting timers and adds another
// for it: what an order that is paid and one that is placed cost together.
func BenchmarkReplace(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		for _, side := range crowds {
			b.Run(fmt.Sprintf("%d/%s", n, side.name), func(b *testing.B) {
				c := side.make(n)
				defer c.end()
				fill(c, n)
				b.ReportAllocs()
				for b.Loop() {
					c.replace(rand.IntN(n), delay())
				}
			})
		}
	}
}

func TestReplace(t *testing.T) {
	const rounds, times = 5, 1_000_000
	var rows []row
	for _, n := range []int{1e3, 1e5, 1e6} {
		figures := make([][]float64, len(crowds))
		for range rounds {
			for i, side := range crowds {
				ns, allocs := measureReplace(side.make(n), n, times)
				figures[i] = append(figures[i], ns)
				if side.name == "wheel" && allocs > times/1000 {
					t.Errorf("%d outstanding: %d allocations in %d turns", n, allocs, times)
				}
			}
		}
		target := .40
		if n == 1e6 {
			target = .85
		}
		rows = append(rows, row{fmt.Sprintf("%d outstanding (ns)", n), figures[0], figures[1], target})
	}
	report(t, "replace one of them, no allocation", "runtime", rows)
}

// measureReplace returns the nanoseconds of a turn and the allocations of all;
// a few are the benchmark's own.
func measureReplace(c outstanding, n, times int) (ns float64, allocs uint64) {
	defer c.end()
	fill(c, n)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range times {
		c.replace(rand.IntN(n), delay())
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return float64(took) / float64(times), after.Mallocs - before.Mallocs
}
