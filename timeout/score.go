package timeout

import (
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// Scores are unix milliseconds. A deadline is a whole number. The spare bits
// of a double hold a fraction that tells other instants from a deadline: n/1024
// with n below 1023 is the end of a lease, the fraction naming the claim, and
// 1023/1024 is the end of a backoff. Both are exact at this magnitude until
// the year 2248.
const backoffFraction = 1023.0 / 1024

// tokens makes the fractions that name claims. Those of one process differ as
// long as it does not claim a thousand times a millisecond. Two replicas that
// draw the same one for one shard in one millisecond, which takes a sweep or a
// hand-over, might run a task twice or end each other's lease, and a task so
// forgotten is brought again by the look: both harmless.
type tokens struct{ last atomic.Uint32 }

func newTokens() *tokens {
	t := &tokens{}
	t.last.Store(rand.Uint32())
	return t
}

// next is a fraction for one claim.
func (t *tokens) next() float64 { return float64(1+t.last.Add(1)%1022) / 1024 }

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
