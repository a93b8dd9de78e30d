package payment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every kind that has a constant is listed, and so has words wherever anomalies are shown.
func TestEveryKindIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "anomaly.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds, seen := AnomalyKinds(), 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Anomaly") {
			return true
		}
		seen++
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if value == AnomalyMismatch {
			value += "amount"
		}
		if !slices.Contains(kinds, value) {
			t.Errorf("%s (%s) is not among the kinds", spec.Names[0].Name, value)
		}
		return true
	})
	if want := len(kinds) - len(MismatchFields) + 1; seen != want {
		t.Errorf("%d constants, want %d", seen, want)
	}
}
