//go:build !linux

package bench

import (
	"testing"
	"time"
)

var begun = time.Now()

// threadTime stands for the CPU time of the calling thread, which only Linux tells.
func threadTime(testing.TB) time.Duration { return time.Since(begun) }
