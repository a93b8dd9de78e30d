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
		target := ""
		if r.atMost > 0 {
			target = fmt.Sprintf("≤ %.2f", r.atMost)
			if ours > r.atMost*theirs {
				target += " MISSED"
				t.Errorf("%s: %.3g, more than %.2f × %.3g", r.what, ours, r.atMost, theirs)
			}
		}
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%.2f\t%s\n", r.what, ours, theirs, ours/theirs, target)
	}
	w.Flush()
	t.Logf("medians of %d rounds, in turns\n%s", len(rows[0].ours), b.String())
}
