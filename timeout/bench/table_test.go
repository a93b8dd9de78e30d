package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// row compares one figure of ours with a peer's; both hold a figure a round.
type row struct {
	what         string
	ours, theirs []float64
	atMost       float64 // target: ours ÷ theirs, medians; 0 is none
}

// never as the target of a row: ours is 0 in every round.
const never = -1

// add adds a round.
func (r *row) add(ours, theirs float64) {
	r.ours, r.theirs = append(r.ours, ours), append(r.theirs, theirs)
}

func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}

// percentile returns the figure that the share of sorted figures does not exceed.
func percentile(sorted []float64, share float64) float64 {
	return sorted[int(share*float64(len(sorted)-1))]
}

// report prints the rows as a table and fails the test for each target missed.
func report(t *testing.T, title, peer string, rows []row) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tours\t%s\tratio\ttarget\n", title, peer)
	for _, r := range rows {
		ours, theirs := median(r.ours), median(r.theirs)
		ratio := ""
		if theirs > 0 {
			ratio = fmt.Sprintf("%.3g", ours/theirs)
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%s\t%s\n", r.what, ours, theirs, ratio, r.judge(t, ours, theirs))
	}
	w.Flush()
	t.Logf("medians of %d rounds of ours and %d of theirs, in turns\n%s", len(rows[0].ours), len(rows[0].theirs), b.String())
}

// judge fails the test for a target missed and returns how the table says it.
func (r *row) judge(t *testing.T, ours, theirs float64) string {
	t.Helper()
	switch {
	case r.atMost == never:
		if most := slices.Max(r.ours); most > 0 {
			t.Errorf("%s: %g in a round", r.what, most)
			return "0 MISSED"
		}
		return "0"
	case r.atMost == 0:
		return ""
	case ours > r.atMost*theirs:
		t.Errorf("%s: %.3g, more than %.3g × %.3g", r.what, ours, r.atMost, theirs)
		return fmt.Sprintf("≤ %.3g MISSED", r.atMost)
	}
	return fmt.Sprintf("≤ %.3g", r.atMost)
}
