package bench

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/wheel"
)

// TestBusy measures deadlines 10 s ahead while every processor is busy: wheels
// that count ticks are minutes late then.
func TestBusy(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	stop := spin(4)
	defer stop()
	// One after the other, of each side in turns, so far apart that none helps the next.
	const each, apart = 100, 97 * time.Millisecond
	due := make([][]time.Duration, 2)
	for i := range 2 * each {
		due[i%2] = append(due[i%2], 10*time.Second+time.Duration(i)*apart)
	}
	late := make([][]float64, 2)
	begin := time.Now()
	var sides sync.WaitGroup
	for i, a := range []arm{armWheel(wheel.Options{}), armRuntime} {
		sides.Go(func() {
			fired := make([]time.Duration, each)
			a(t, begin, due[i], fired)
			for k := range fired {
				late[i] = append(late[i], ms(fired[k]-due[i][k]))
			}
			if slices.Min(late[i]) < 0 {
				t.Errorf("%v ms early", -slices.Min(late[i]))
			}
		})
	}
	sides.Wait()
	report(t, "4 spinning goroutines on 2 processors", "runtime", []row{
		{"median lateness after 10 s (ms)", late[0], late[1], 1},
	})
}

// spin keeps goroutines busy until the returned function is called.
func spin(n int) (stop func()) {
	var ended atomic.Bool
	var spinners sync.WaitGroup
	for range n {
		spinners.Go(func() {
			for !ended.Load() {
			}
		})
	}
	return func() {
		ended.Store(true)
		spinners.Wait()
	}
}
