//go:build !failpoint

package failpoint

import "time"

// Hit does nothing in this build.
func Hit(string) {}

// ClockOffset is 0 in this build.
func ClockOffset() time.Duration { return 0 }
