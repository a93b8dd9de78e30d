//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var (
	point, at = parsePoint(os.Getenv(EnvPoint))
	offset    = parseOffset(os.Getenv(EnvClockOffset))
	hits      atomic.Int64
)

// Hit kills the process if the variable says so, and does not return then.
func Hit(name string) {
	if name != point || hits.Add(1) != at {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // not one statement further
}

// ClockOffset is what is to be added to the wall clock of this process.
func ClockOffset() time.Duration { return offset }

// parsePoint reads name or name:n. A test that misspells it must not pass.
func parsePoint(text string) (name string, n int64) {
	name, count, found := strings.Cut(text, ":")
	if !found {
		return name, 1
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s=%q: want name or name:n", EnvPoint, text))
	}
	return name, n
}

func parseOffset(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", EnvClockOffset, err))
	}
	return d
}
