// Command testreport reads what `go test -json` writes and prints it as go test would
// without -v: the output of what failed, then one line a package, verbatim. Besides, it
// says which tests were skipped and why, which go test only says among all the rest, and
// it closes with a line of totals. Its exit code is 1 if anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

func main() {
	ok, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// test names a test; name is empty for the package itself.
type test struct{ pkg, name string }

type totals struct{ passed, failed, skipped int }

// summary is what has been read so far.
type summary struct {
	out    io.Writer
	output map[test]*strings.Builder // of tests that have not ended
	failed map[test]bool
	skips  map[string][]string // tests by the reason they gave
	totals
}

func report(in io.Reader, out io.Writer) (ok bool, err error) {
	s := &summary{out: out, output: map[test]*strings.Builder{}, failed: map[test]bool{}, skips: map[string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	s.printSkips()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", s.passed, s.totals.failed, s.skipped)
	return s.totals.failed == 0 && s.passed > 0, nil
}

func (s *summary) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(s.out, line) // go build and the toolchain speak plainly
		return
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.keep(t, e.Output)
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "pass", "fail", "skip":
		s.end(t, e.Action)
	}
}

// keep stores output until it is known whether anybody wants it. What a package says
// outside its tests, such as a panic, a race or the closing line, is printed at its end.
func (s *summary) keep(t test, text string) {
	if s.output[t] == nil {
		s.output[t] = &strings.Builder{}
	}
	s.output[t].WriteString(text)
}

func (s *summary) end(t test, action string) {
	var text string
	if b := s.output[t]; b != nil {
		text = b.String()
	}
	delete(s.output, t)
	if t.name == "" {
		s.endPackage(t, action, text)
		return
	}
	switch action {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		reason := skipReason(text)
		s.skips[reason] = append(s.skips[reason], t.name)
	case "fail":
		s.failed[test{t.pkg, ""}] = true
		s.totals.failed++
		fmt.Fprint(s.out, text)
	}
}

func (s *summary) endPackage(t test, action, text string) {
	if action == "fail" {
		// A test that was running when the process died has no end of its own.
		for running, b := range s.output {
			if running.pkg == t.pkg {
				fmt.Fprint(s.out, b.String())
				delete(s.output, running)
			}
		}
		if !s.failed[t] {
			s.totals.failed++
		}
		fmt.Fprint(s.out, text)
		return
	}
	for line := range strings.Lines(text) {
		if line != "PASS\n" && line != "testing: warning: no tests to run\n" {
			fmt.Fprint(s.out, line)
		}
	}
}

func (s *summary) printSkips() {
	reasons := make([]string, 0, len(s.skips))
	for reason := range s.skips {
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	for _, reason := range reasons {
		names := s.skips[reason]
		fmt.Fprintf(s.out, "skipped %d: %s (%s)\n", len(names), reason, shorten(names))
	}
}

// skipReason finds the argument of t.Skip in a skipped test's output, which has the form
// "    file_test.go:12: reason".
func skipReason(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if _, reason, found := strings.Cut(line, ".go:"); found {
			if _, reason, found := strings.Cut(reason, ": "); found {
				return reason
			}
		}
	}
	return "no reason given"
}

func shorten(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}
