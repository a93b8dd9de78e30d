package bench

import (
	"syscall"
	"testing"
	"time"
)

// threadTime is the CPU time of the calling thread: what others on the machine
// take does not count.
func threadTime(t testing.TB) time.Duration { return used(t, syscall.RUSAGE_THREAD) }
