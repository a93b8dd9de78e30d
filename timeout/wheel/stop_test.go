package wheel

import (
	"errors"
	"sync"
	"testing"
	"time"
)

func TestStopTwiceAndAddAfterStop(t *testing.T) {
	w, err := New(func([]uint32) {}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, _ := w.Add(time.Hour, 1)
	for range 2 {
		if left := w.Stop(); left != 1 {
			t.Fatalf("%d left, want 1", left)
		}
	}
	if _, err := w.Add(0, 2); !errors.Is(err, ErrStopped) {
		t.Fatalf("add after stop: %v", err)
	}
	if w.Renew(h, 0) {
		t.Fatal("renew after stop")
	}
	if !w.Cancel(h) || w.Cancel(h) || w.Len() != 0 {
		t.Fatal("cancel after stop")
	}
}

// Other wheels blocked for ever in a second Stop, or in an Add that came as the
// wheel stopped, or took that entry and never fired it.
func TestStopWhileOthersAdd(t *testing.T) {
	for range 50 {
		var mu sync.Mutex
		fired := 0
		w, err := New(func(values []uint32) {
			mu.Lock()
			defer mu.Unlock()
			fired += len(values)
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var adders, stoppers sync.WaitGroup
		added := make([]int, 4)
		for i := range added {
			adders.Go(func() {
				for k := 0; ; k++ {
					if _, err := w.Add(w.Now()+time.Duration(k%3-1)*time.Millisecond, uint32(k)); err != nil {
						return // only because it has stopped, or this goes on for ever
					}
					added[i]++
				}
			})
		}
		left := make([]int, 2)
		for i := range left {
			stoppers.Go(func() { left[i] = w.Stop() })
		}
		stoppers.Wait()
		mu.Lock()
		after := fired
		mu.Unlock()
		adders.Wait()
		total := 0
		for _, n := range added {
			total += n
		}
		if total != fired+left[0] || left[0] != left[1] || after != fired {
			t.Fatalf("%d added, %d fired, %d left, says the other stop %d; %d fired after it", total, fired, left[0], left[1], fired-after)
		}
	}
}

// Stop waits for the callback, and nothing is fired after it.
func TestStopWaitsForFire(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	calls := 0
	w, err := New(func([]uint32) {
		calls++
		close(entered) // a second call would panic
		<-leave
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(0, 1); err != nil {
		t.Fatal(err)
	}
	<-entered
	if _, err := w.Add(0, 2); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan int)
	go func() { stopped <- w.Stop() }()
	for {
		if _, err := w.Add(0, 3); err != nil {
			break // Stop has begun
		}
	}
	select {
	case <-stopped:
		t.Fatal("stopped in the middle of a callback")
	default:
	}
	close(leave)
	if left := <-stopped; left < 1 || calls != 1 {
		t.Fatalf("%d left, %d calls", left, calls)
	}
}
