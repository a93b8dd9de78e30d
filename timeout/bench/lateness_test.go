package bench

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/wheel"
)

const (
	lateTimers = 100_000
	lateOver   = 2 * time.Second
)

// lateness is how 100,000 timers at random instants of two seconds fired.
type lateness struct {
	early         int
	p50, p99, max float64 // ms
	cpu           float64 // ms of the whole process, for arming and firing
}

// arm starts timers that stamp the time since begin into fired, and returns
// when all have.
type arm func(t *testing.T, begin time.Time, due, fired []time.Duration)

func measureLateness(t *testing.T, a arm) lateness {
	due := make([]time.Duration, lateTimers)
	for i := range due {
		due[i] = 300*time.Millisecond + rand.N(lateOver)
	}
	fired := make([]time.Duration, lateTimers)
	runtime.GC()
	before := cpuTime(t)
	a(t, time.Now(), due, fired)
	cpu := cpuTime(t) - before

	l := lateness{cpu: ms(cpu)}
	late := make([]float64, len(due))
	for i := range due {
		late[i] = ms(fired[i] - due[i])
		if late[i] < 0 {
			l.early++
		}
	}
	slices.Sort(late)
	l.p50, l.p99, l.max = percentile(late, .5), percentile(late, .99), late[len(late)-1]
	return l
}

func armRuntime(_ *testing.T, begin time.Time, due, fired []time.Duration) {
	var all sync.WaitGroup
	all.Add(len(due))
	for i := range due {
		time.AfterFunc(due[i]-time.Since(begin), func() {
			fired[i] = time.Since(begin)
			all.Done()
		})
	}
	all.Wait()
}

func armWheel(o wheel.Options) arm {
	return func(t *testing.T, begin time.Time, due, fired []time.Duration) {
		var all sync.WaitGroup
		all.Add(len(due))
		w, err := wheel.New(func(values []uint32) {
			for _, v := range values {
				fired[v] = time.Since(begin)
				all.Done()
			}
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		since := time.Since(begin)
		offset := w.Now() - since // read second: rather late than early
		for i := range due {
			if _, err := w.Add(due[i]+offset, uint32(i)); err != nil {
				t.Fatal(err)
			}
		}
		all.Wait()
	}
}

// cpuTime is the CPU time of the process.
func cpuTime(t testing.TB) time.Duration { return used(t, syscall.RUSAGE_SELF) }

func used(t testing.TB, who int) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func TestLateness(t *testing.T) {
	const rounds = 5
	sides := []struct {
		name string
		arm  arm
	}{
		{"wheel", armWheel(wheel.Options{})},
		{"wheel, tick 1 ms", armWheel(wheel.Options{Tick: time.Millisecond})},
		{"runtime", armRuntime},
	}
	figures := make([]struct{ p50, p99, max, cpu []float64 }, len(sides))
	for range rounds {
		for i, side := range sides {
			l := measureLateness(t, side.arm)
			if l.early > 0 {
				t.Errorf("%s: %d early", side.name, l.early)
			}
			f := &figures[i]
			f.p50, f.p99 = append(f.p50, l.p50), append(f.p99, l.p99)
			f.max, f.cpu = append(f.max, l.max), append(f.cpu, l.cpu)
		}
	}
	fine, coarse, theirs := figures[0], figures[1], figures[2]
	report(t, "100,000 timers over 2 s, none early", "runtime", []row{
		{"p50 lateness (ms)", fine.p50, theirs.p50, .35},
		{"p99 lateness (ms)", fine.p99, theirs.p99, .35},
		{"max lateness (ms)", fine.max, theirs.max, 0},
		{"CPU (ms)", fine.cpu, theirs.cpu, 2},
		{"tick fixed at 1 ms: p99 lateness (ms)", coarse.p99, theirs.p99, 2},
		{"tick fixed at 1 ms: CPU (ms)", coarse.cpu, theirs.cpu, .7},
	})
}
