package shipping_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func input(change func(*shipping.RuleInput)) shipping.RuleInput {
	in := shipping.RuleInput{
		Name: "全国", Kind: model.FreightPiece, FirstUnits: 1, FirstFen: 800, StepUnits: 1, StepFen: 200, FreeOverFen: 9900, Sort: 1,
	}
	if change != nil {
		change(&in)
	}
	return in
}

func fields(err error) (names []string) {
	var e *fault.Error
	if errors.As(err, &e) {
		for _, f := range e.Fields {
			names = append(names, fmt.Sprintf("%s %s", f.Field, f.Code))
		}
	}
	return names
}

func TestT61_RuleIsValidated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		svc := shipping.New(s, func() model.Time { return 5 })
		for name, c := range map[string]struct {
			change func(*shipping.RuleInput)
			want   []string
		}{
			"right":                  {nil, nil},
			"right, free":            {func(in *shipping.RuleInput) { in.FirstFen, in.StepUnits, in.StepFen = 0, 0, 0 }, nil},
			"right, with regions":    {func(in *shipping.RuleInput) { in.Regions = []string{"广东", "440300", "65"} }, nil},
			"freight of -90":         {func(in *shipping.RuleInput) { in.FirstFen = -90 }, []string{"first_fen out_of_range"}},
			"negative step and free": {func(in *shipping.RuleInput) { in.StepFen, in.FreeOverFen = -1, -1 }, []string{"step_fen out_of_range", "free_over_fen out_of_range"}},
			"blank":                  {func(in *shipping.RuleInput) { in.Name, in.Kind = " ", "" }, []string{"name wrong_length", "kind not_a_choice"}},
			"no first unit":          {func(in *shipping.RuleInput) { in.FirstUnits = 0 }, []string{"first_units out_of_range"}},
			"a step of nothing":      {func(in *shipping.RuleInput) { in.StepUnits = 0 }, []string{"step_units required"}},
			"regions that cannot be one": {
				func(in *shipping.RuleInput) {
					in.Regions = []string{"", " 广东", "4", "440", "44030512", "广东", "广东"}
				},
				[]string{"regions[0] wrong_format", "regions[1] wrong_format", "regions[2] wrong_format", "regions[3] wrong_format", "regions[4] wrong_format", "regions[6] duplicate"},
			},
			"too many regions": {func(in *shipping.RuleInput) { in.Regions = make([]string, 201) }, []string{"regions wrong_length"}},
		} {
			_, err := svc.Create(t.Context(), 1, input(c.change))
			if diff := cmp.Diff(c.want, fields(err)); diff != "" || (err != nil) != (c.want != nil) {
				t.Errorf("%s: %v %s", name, err, diff)
			}
		}
		if rules, err := svc.List(t.Context(), 1); err != nil || len(rules) != 3 {
			t.Errorf("%d rules are stored (%v), want the 3 right ones", len(rules), err)
		}
	})
}

func TestRuleLife(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := model.Time(5)
		svc := shipping.New(s, func() model.Time { return now })
		rule, err := svc.Create(t.Context(), 1, input(func(in *shipping.RuleInput) { in.Sort = 7 }))
		if err != nil {
			t.Fatal(err)
		}
		first, err := svc.Create(t.Context(), 1, input(func(in *shipping.RuleInput) { in.Regions = []string{"新疆"} }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Create(t.Context(), 2, input(nil)); err != nil {
			t.Fatal(err)
		}
		rules, err := svc.List(t.Context(), 1)
		if diff := cmp.Diff([]model.FreightRule{first, rule}, rules); diff != "" || err != nil {
			t.Errorf("list: %s (%v)", diff, err)
		}

		_, stale := svc.Update(t.Context(), 1, rule.ID, 2, input(nil))
		_, others := svc.Update(t.Context(), 2, rule.ID, 1, input(nil))
		_, wrong := svc.Update(t.Context(), 1, rule.ID, 1, input(func(in *shipping.RuleInput) { in.Name = "" }))
		_, read := svc.Get(t.Context(), 2, rule.ID)
		for name, c := range map[string]struct {
			err  error
			want fault.Code
		}{
			"stale": {stale, fault.StaleVersion}, "another merchant's": {others, fault.NotFoundError}, "wrong": {wrong, fault.ValidationFailed},
			"another merchant reads": {read, fault.NotFoundError}, "another merchant deletes": {svc.Delete(t.Context(), 2, rule.ID), fault.NotFoundError},
		} {
			if !fault.Is(c.err, c.want) {
				t.Errorf("%s: %v, want %s", name, c.err, c.want)
			}
		}
		if got, err := svc.Get(t.Context(), 1, rule.ID); err != nil || !cmp.Equal(got, rule) {
			t.Errorf("a refused change left %+v (%v)", got, err)
		}

		now = 9
		got, err := svc.Update(t.Context(), 1, rule.ID, 1, input(func(in *shipping.RuleInput) { in.FirstFen, in.FreeOverFen, in.Kind = 0, 0, model.FreightWeight }))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := svc.Get(t.Context(), 1, rule.ID)
		if diff := cmp.Diff(got, stored); diff != "" || err != nil {
			t.Errorf("the reply and what is stored differ: %s (%v)", diff, err)
		}
		if stored.Version != 2 || stored.FirstFen != 0 || stored.FreeOverFen != 0 || stored.Kind != model.FreightWeight || stored.UpdatedAt != 9 || stored.CreatedAt != 5 {
			t.Errorf("stored %+v", stored)
		}
		if err := svc.Delete(t.Context(), 1, rule.ID); err != nil {
			t.Error(err)
		}
		if err := svc.Delete(t.Context(), 1, rule.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("deleted twice: %v, want not_found", err)
		}
	})
}

func TestRulesAreBounded(t *testing.T) {
	s := storetest.SQLite(t)
	svc := shipping.New(s, func() model.Time { return 5 })
	for range shipping.MaxRules {
		if _, err := svc.Create(t.Context(), 1, input(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := svc.Create(t.Context(), 1, input(nil)); !fault.Is(err, fault.StateConflict) {
		t.Errorf("got %v, want state_conflict", err)
	}
}

func TestCarriers(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range shipping.Carriers() {
		if seen[c.Code] || c.Name.ZH == "" || c.Name.EN == "" {
			t.Errorf("%+v is there twice or has no name", c)
		}
		seen[c.Code] = true
		if got, ok := shipping.CarrierOf(c.Code); !ok || got != c {
			t.Errorf("CarrierOf(%s) = %+v", c.Code, got)
		}
		if c.NeedsContact != (c.Code == "SF") {
			t.Errorf("%s: needs contact %v", c.Code, c.NeedsContact)
		}
	}
	for _, code := range []string{"SF", "ZTO", "YTO", "YD", "STO", "JTSD", "EMS", "YZPY", "JD", "DBL"} {
		if !seen[code] {
			t.Errorf("%s is missing", code)
		}
	}
	if _, ok := shipping.CarrierOf("sf"); ok {
		t.Error("codes are upper case")
	}
}
