package wheel

import (
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Stop leaves no file open; that it leaves no goroutine, TestMain checks.
func TestStopClosesItsFiles(t *testing.T) {
	startWheel(t, func([]uint32) {}) // the network poller's own files stay open
	before := openFiles(t)
	for range 50 {
		w, err := New(func([]uint32) {}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Add(time.Hour, 1); err != nil {
			t.Fatal(err)
		}
		if openFiles(t) <= before {
			t.Fatal("a running wheel has no file: the test shows nothing")
		}
		w.Stop()
	}
	if after := openFiles(t); after != before {
		t.Fatalf("%d open files, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// spy counts what it is armed for.
type spy struct{ armed []time.Duration }

func (s *spy) Arm(d time.Duration) { s.armed = append(s.armed, d) }
func (*spy) Sleep()                {}
func (*spy) Close() error          { return nil }

func TestHelperIsRarelySetAndSoonThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		h := &helper{Sleeper: s, start: time.Now()}
		// Ten seconds of a wake-up each 200 µs: set anew each 2 ms or so.
		var until time.Time // what it is set to
		sets := 0
		for range 50_000 {
			h.Arm(200 * time.Microsecond)
			if n := len(s.armed); n > 0 {
				until = time.Now().Add(s.armed[n-1])
				sets += n
				s.armed = nil
			}
			if wait := time.Until(until); wait < 200*time.Microsecond || wait > 200*time.Microsecond+soon {
				t.Fatalf("wakes up in %v", wait)
			}
			time.Sleep(200 * time.Microsecond)
		}
		if sets > 5000 {
			t.Errorf("set %d times in 10 s", sets)
		}
		for _, c := range []struct{ d, want time.Duration }{
			{time.Hour, time.Hour},                       // exact
			{time.Hour - soon, -1},                       // near enough
			{time.Hour - soon - 1, time.Hour - 1 - soon}, // not any more
			{time.Hour, time.Hour},                       // later
			{0, 0},
			{-time.Second, -time.Second},
			{math.MaxInt64 - 1, math.MaxInt64 - 1},
			{time.Millisecond, time.Millisecond + soon},
		} {
			s.armed = nil
			h.Arm(c.d)
			got := time.Duration(-1)
			if len(s.armed) > 0 {
				got = s.armed[0]
			}
			if got != c.want {
				t.Errorf("for %v set to %v, want %v", c.d, got, c.want)
			}
		}
	})
}
