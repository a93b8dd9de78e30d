package timeout

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Scores are unix milliseconds. A deadline is a whole number. The spare bits
// of a double hold a fraction that tells other instants from a deadline: n/1024
// with n below 1023 is the end of a lease, the fraction naming the claim, and
// 1023/1024 is the end of a backoff. Both are exact at this magnitude until
// the year 2248.
const backoffFraction = 1023.0 / 1024

// newToken is a fraction for one claim. Two claims of one task that draw the
// same one at the same time would both run it, which is harmless.
func newToken() float64 { return float64(1+rand.IntN(1022)) / 1024 }

// backoffScore is a score for an instant that is not the task's deadline.
func backoffScore(at int64) float64 { return float64(at) + backoffFraction }

// deadlineOf is the deadline a score stands for, 0 if it stands for none.
func deadlineOf(score float64) int64 {
	if whole := math.Floor(score); whole == score {
		return int64(whole)
	}
	return 0
}

// scoreInstant is the first millisecond at which the score is past.
func scoreInstant(score float64) int64 { return int64(math.Ceil(score)) }

func formatScore(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }
