package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// contest is one figure of ours against the same of a peer, one of each a round. Less is better.
type contest struct {
	what         string
	ours, theirs []float64
	reach        float64 // ours ÷ theirs, of the middle figures, may be this at most; 0 is no matter
	never        bool    // ours must be 0 in every round
}

// add adds a round.
func (c *contest) add(ours, theirs float64) {
	c.ours, c.theirs = append(c.ours, ours), append(c.theirs, theirs)
}

func middle(figures []float64) float64 {
	return slices.Sorted(slices.Values(figures))[len(figures)/2]
}

// judge prints the contests as a table and fails the test for each that is lost.
func judge(t *testing.T, work, peer string, contests []contest) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tours\t%s\tours ÷ theirs\treach\n", work, peer)
	for _, c := range contests {
		ours, theirs := middle(c.ours), middle(c.theirs)
		ratio, reach := "", ""
		if theirs > 0 {
			ratio = fmt.Sprintf("%.3g", ours/theirs)
		}
		switch {
		case c.never:
			reach = "0"
			if most := slices.Max(c.ours); most > 0 {
				reach += " MISSED"
				t.Errorf("%s: %s: %g in a round", work, c.what, most)
			}
		case c.reach > 0:
			reach = fmt.Sprintf("≤ %.3g", c.reach)
			if ours > c.reach*theirs {
				reach += " MISSED"
				t.Errorf("%s: %s: %.3g, more than %.3g × %.3g", work, c.what, ours, c.reach, theirs)
			}
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%s\t%s\n", c.what, ours, theirs, ratio, reach)
	}
	w.Flush()
	t.Logf("the middle of %d rounds of ours and %d of theirs\n%s", len(contests[0].ours), len(contests[0].theirs), b.String())
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func inUS(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
