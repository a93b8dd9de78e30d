package fault

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// declared reads the codes from the source, so that one that was left out of the table is found.
func declared(t *testing.T) map[Code]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil || codes[Code(text)] {
				t.Errorf("code %s is declared twice (%v)", text, err)
			}
			codes[Code(text)] = true
		}
		return true
	})
	return codes
}

// Every code is in the table, in snake_case, with a text in both languages.
func TestTableIsComplete(t *testing.T) {
	codes := declared(t)
	if len(codes) < 50 || len(Codes()) != len(codes) {
		t.Errorf("%d codes are declared, %d are in the table", len(codes), len(Codes()))
	}
	for code := range codes {
		info, ok := table[code]
		if !ok {
			t.Errorf("%s is not in the table", code)
			continue
		}
		if strings.Trim(string(code), "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
			t.Errorf("%s is not snake_case", code)
		}
		if !strings.ContainsFunc(info.Text.ZH, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s has no Chinese text: %q", code, info.Text.ZH)
		}
		if info.Text.EN == "" || strings.ContainsFunc(info.Text.EN, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s has no English text: %q", code, info.Text.EN)
		}
		if info.Class == Internal && code != InternalError {
			t.Errorf("%s is of the class of internal errors", code)
		}
	}
}

func TestCodesTravelThroughWrapping(t *testing.T) {
	cause := errors.New("the cause")
	err := fmt.Errorf("placing: %w", Wrap(StockInsufficient, cause).Say("不够", "not enough").With("items[0].quantity", FieldStock, "", ""))
	if !Is(err, StockInsufficient) || Is(err, OrderClosed) || !errors.Is(err, cause) {
		t.Errorf("%v has code %s", err, CodeOf(err))
	}
	if got := err.Error(); !strings.Contains(got, "stock_insufficient: not enough [items[0].quantity stock_short]: the cause") {
		t.Errorf("for the log: %s", got)
	}
	if CodeOf(cause) != InternalError || CodeOf(nil) != "" || Is(nil, InternalError) {
		t.Error("an unknown error is not internal_error, or nil is an error")
	}
}
