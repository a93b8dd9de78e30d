package bench

import (
	"fmt"
	"math/bits"
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

// dice throws a random timer and how far ahead its deadline is, 10 to 40
// minutes, in a time that is short beside what is measured.
type dice uint64

func (d *dice) throw(n int) (i int, after time.Duration) {
	x := uint64(*d)
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*d = dice(x)
	minutes, _ := bits.Mul64(x, uint64(30*time.Minute))
	which, _ := bits.Mul64(x<<32, uint64(n))
	return int(which), 10*time.Minute + time.Duration(minutes)
}

func newDice() *dice {
	d := dice(rand.Uint64() | 1)
	return &d
}

func fill(c outstanding, n int) {
	d := newDice()
	for i := range n {
		_, after := d.throw(n)
		c.add(i, after)
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
				d := newDice()
				b.ReportAllocs()
				for b.Loop() {
					c.replace(d.throw(n))
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
				ns, allocs := measureReplace(t, side.make(n), n, times)
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

// measureReplace returns the nanoseconds of a turn, without what others on the
// machine and the garbage collector on another thread took, and the
// allocations of all turns; a few are the benchmark's own.
func measureReplace(t *testing.T, c outstanding, n, times int) (ns float64, allocs uint64) {
	defer c.end()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fill(c, n)
	d := newDice()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime(t)
	for range times {
		c.replace(d.throw(n))
	}
	took := threadTime(t) - start
	runtime.ReadMemStats(&after)
	return float64(took) / float64(times), after.Mallocs - before.Mallocs
}
