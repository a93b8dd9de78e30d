package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is the outcome of an audit.
type Report struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Check is the outcome of one invariant.
type Check struct {
	ID   string `json:"id"` // A1, A2, …
	Name string `json:"name"`
	// Violations counts offenders; one that breaks the invariant in two ways counts twice.
	Violations int64 `json:"violations"`
	// Examples are up to ten of them: order numbers, ids, WeChat's numbers.
	Examples []string `json:"examples"`
	// Findings say what is wrong with which.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one way in which an invariant is broken.
type Finding struct {
	Broken     string   `json:"broken"`
	Violations int64    `json:"violations"`
	Examples   []string `json:"examples"`
}

func (f *Finding) found(ref string) {
	f.Violations++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, ref)
	}
}

func (c *Check) add(f Finding) {
	if f.Violations == 0 {
		return
	}
	c.Violations += f.Violations
	c.Findings = append(c.Findings, f)
	for _, ref := range f.Examples {
		if len(c.Examples) < maxExamples && !slices.Contains(c.Examples, ref) {
			c.Examples = append(c.Examples, ref)
		}
	}
}

// WriteJSON writes the report for programs.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteText writes the report for people: a line an invariant, and below a broken one what is wrong with which.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	broken := 0
	for _, c := range r.Checks {
		verdict := "ok"
		if c.Violations > 0 {
			verdict = fmt.Sprintf("BROKEN, %d", c.Violations)
			broken++
		}
		fmt.Fprintf(&b, "%-4s %s: %s\n", c.ID, c.Name, verdict)
		for _, f := range c.Findings {
			more := ""
			if f.Violations > int64(len(f.Examples)) {
				more = ", …"
			}
			fmt.Fprintf(&b, "       %d × %s: %s%s\n", f.Violations, f.Broken, strings.Join(f.Examples, ", "), more)
		}
	}
	if broken == 0 {
		b.WriteString("All invariants hold.\n")
	} else {
		fmt.Fprintf(&b, "%d of %d invariants are broken.\n", broken, len(r.Checks))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
