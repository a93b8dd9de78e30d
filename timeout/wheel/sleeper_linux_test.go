package wheel

import (
	"os"
	"testing"
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
