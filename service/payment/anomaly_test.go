package payment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
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

// An anomaly that the shop resolved by itself is open again when it is met again; one that a person resolved stays so.
func TestAnAnomalyThatIsMetAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for i, c := range []struct {
			by    string
			reads model.Anomaly
		}{
			{"", model.Anomaly{State: model.AnomalyOpen}},
			{ActorBill, model.Anomaly{State: model.AnomalyOpen}},
			{ActorWeChat, model.Anomaly{State: model.AnomalyOpen}},
			{"admin:1", model.Anomaly{State: model.AnomalyResolved, Note: "seen to", ResolvedBy: "admin:1", ResolvedAt: 7}},
		} {
			a := model.Anomaly{Kind: AnomalyBillPayment, Ref: strconv.Itoa(i), Detail: "first", CreatedAt: 5}
			err := s.Tx(t.Context(), func(tx *store.Tx) error {
				if err := Report(tx, a); err != nil {
					return err
				}
				if c.by != "" {
					if err := WithdrawOf(tx, a.Kind, a.Ref, "seen to", c.by, 7); err != nil {
						return err
					}
				}
				a.Detail, a.CreatedAt = "again", 9
				return Report(tx, a)
			})
			if err != nil {
				t.Fatal(err)
			}
			var got model.Anomaly
			if err := s.Read(t.Context()).Where("ref = ?", a.Ref).Take(&got).Error; err != nil {
				t.Fatal(err)
			}
			c.reads.ID, c.reads.Kind, c.reads.Ref, c.reads.Detail, c.reads.Seen, c.reads.CreatedAt = got.ID, a.Kind, a.Ref, "again", 2, 5
			if got != c.reads {
				t.Errorf("resolved by %q:\ngot  %+v\nwant %+v", c.by, got, c.reads)
			}
		}
	})
}
