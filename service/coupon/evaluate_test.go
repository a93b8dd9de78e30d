package coupon

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
)

const testNow model.Time = 1_800_000_000_000

func template(change func(*model.CouponTemplate)) model.CouponTemplate {
	t := model.CouponTemplate{
		ID: 1, MerchantID: 1, Kind: model.CouponAmount, AmountFen: 1000, Scope: model.ScopeAll,
		StartsAt: testNow - 1000, EndsAt: testNow + 1000,
	}
	if change != nil {
		change(&t)
	}
	return t
}

func available() model.Coupon {
	return model.Coupon{ID: 1, MerchantID: 1, State: model.CouponAvailable, ExpiresAt: testNow + 1000}
}

// freight is what delivery costs as a function of what is paid for the goods.
type freight = func(model.Fen) model.Fen

// always is a freight that goods do not change.
func always(fen model.Fen) freight { return func(model.Fen) model.Fen { return fen } }

// freeFrom is a freight that is free from an amount of goods.
func freeFrom(goods, fen model.Fen) freight {
	return func(paid model.Fen) model.Fen {
		if paid >= goods {
			return 0
		}
		return fen
	}
}

func TestEvaluate(t *testing.T) {
	nothing := Result{Reason: ReasonNoSaving, LineSaving: []model.Fen{0, 0, 0}}
	freeShipping := func(c *model.CouponTemplate) { c.Kind = model.CouponFreeShipping }
	lines := []Line{
		{MerchantID: 1, ProductID: 10, CategoryIDs: []int64{5, 2}, Amount: 3333},
		{MerchantID: 1, ProductID: 11, CategoryIDs: []int64{6, 2}, Amount: 3333},
		{MerchantID: 1, ProductID: 12, CategoryIDs: []int64{7}, Amount: 3334},
	}
	for name, c := range map[string]struct {
		change  func(*model.CouponTemplate)
		freight freight
		want    Result
	}{
		"amount is shared by the largest remainder": {
			nil, always(500),
			Result{Usable: true, SavingFen: 1000, LineSaving: []model.Fen{333, 333, 334}},
		},
		"percent drops the fraction": {
			func(c *model.CouponTemplate) { c.Kind, c.PercentOff = model.CouponPercent, 15 }, nil,
			Result{Usable: true, SavingFen: 1500, LineSaving: []model.Fen{500, 500, 500}},
		},
		"percent of the goods in scope only, rounded down": {func(c *model.CouponTemplate) {
			c.Kind, c.PercentOff, c.Scope, c.ScopeIDs = model.CouponPercent, 15, model.ScopeProduct, []int64{11}
		}, nil, Result{Usable: true, SavingFen: 499, LineSaving: []model.Fen{0, 499, 0}}},
		"percent is capped": {func(c *model.CouponTemplate) {
			c.Kind, c.PercentOff, c.MaxDiscountFen = model.CouponPercent, 50, 100
		}, nil, Result{Usable: true, SavingFen: 100, LineSaving: []model.Fen{33, 33, 34}}},
		"an ancestor's category applies": {func(c *model.CouponTemplate) {
			c.AmountFen, c.Scope, c.ScopeIDs = 101, model.ScopeCategory, []int64{2}
		}, nil, Result{Usable: true, SavingFen: 101, LineSaving: []model.Fen{51, 50, 0}}},
		"free shipping lowers the freight, no line": {
			freeShipping, always(800),
			Result{Usable: true, SavingFen: 800, FreightSaving: 800, LineSaving: []model.Fen{0, 0, 0}},
		},
		"free shipping before there is an address": {
			freeShipping, nil,
			Result{Usable: true, LineSaving: []model.Fen{0, 0, 0}},
		},
		"free shipping of what is delivered free":                {freeShipping, always(0), nothing},
		"free shipping of goods that are free from their amount": {freeShipping, freeFrom(10000, 800), nothing},
		"free shipping a fen below": {
			freeShipping, freeFrom(10001, 800),
			Result{Usable: true, SavingFen: 800, FreightSaving: 800, LineSaving: []model.Fen{0, 0, 0}},
		},
		"what delivery costs more is no saving": {
			nil, freeFrom(9001, 800),
			Result{Usable: true, SavingFen: 200, LineSaving: []model.Fen{333, 333, 334}},
		},
		"the goods stay above free delivery": {
			nil, freeFrom(9000, 800),
			Result{Usable: true, SavingFen: 1000, LineSaving: []model.Fen{333, 333, 334}},
		},
		"delivery that costs as much more":    {nil, freeFrom(10000, 1000), nothing},
		"delivery that costs more than it":    {nil, freeFrom(10000, 1800), nothing},
		"the same before there is an address": {nil, nil, Result{Usable: true, SavingFen: 1000, LineSaving: []model.Fen{333, 333, 334}}},
		"the threshold itself is enough": {
			func(c *model.CouponTemplate) { c.AmountFen, c.ThresholdFen = 1, 10000 }, nil,
			Result{Usable: true, SavingFen: 1, LineSaving: []model.Fen{0, 0, 1}},
		},
		"below the threshold": {
			func(c *model.CouponTemplate) { c.ThresholdFen = 10001 }, nil,
			Result{Reason: ReasonThreshold, LineSaving: []model.Fen{0, 0, 0}},
		},
		"the threshold counts goods in scope": {func(c *model.CouponTemplate) {
			c.ThresholdFen, c.Scope, c.ScopeIDs = 6667, model.ScopeCategory, []int64{2}
		}, nil, Result{Reason: ReasonThreshold, LineSaving: []model.Fen{0, 0, 0}}},
		"nothing in scope": {
			func(c *model.CouponTemplate) { c.Scope, c.ScopeIDs = model.ScopeProduct, []int64{2} }, nil,
			Result{Reason: ReasonScope, LineSaving: []model.Fen{0, 0, 0}},
		},
		"another merchant's": {
			func(c *model.CouponTemplate) { c.MerchantID = 2 }, nil,
			Result{Reason: ReasonOtherMerchant, LineSaving: []model.Fen{0, 0, 0}},
		},
		"not started": {
			func(c *model.CouponTemplate) { c.StartsAt = testNow + 1 }, nil,
			Result{Reason: ReasonNotStarted, LineSaving: []model.Fen{0, 0, 0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Evaluate(template(c.change), available(), lines, c.freight, testNow)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A percentage of so little that no fen comes off saves nothing, whatever the freight will be.
func TestEvaluatePercentOfLittle(t *testing.T) {
	if why := ReasonNoSaving.Text(); why.ZH == "" || why.EN == "" {
		t.Errorf("no_saving says %+v", why)
	}
	onePercent := template(func(c *model.CouponTemplate) { c.Kind, c.PercentOff = model.CouponPercent, 1 })
	for amount, want := range map[model.Fen]Result{
		0:   {Reason: ReasonNoSaving, LineSaving: []model.Fen{0}},
		99:  {Reason: ReasonNoSaving, LineSaving: []model.Fen{0}},
		100: {Usable: true, SavingFen: 1, LineSaving: []model.Fen{1}},
	} {
		for name, f := range map[string]freight{"unknown": nil, "free": always(0), "8 yuan": always(800)} {
			if diff := cmp.Diff(want, Evaluate(onePercent, available(), []Line{{MerchantID: 1, Amount: amount}}, f, testNow)); diff != "" {
				t.Errorf("%d fen, freight %s: %s", amount, name, diff)
			}
		}
	}
}

func TestEvaluateAsksTheCoupon(t *testing.T) {
	lines := []Line{{MerchantID: 1, Amount: 5000}}
	for name, c := range map[string]struct {
		state   model.CouponState
		expires model.Time
		want    Reason
	}{
		"available":                  {model.CouponAvailable, testNow + 1, ""},
		"at its end":                 {model.CouponAvailable, testNow, ReasonExpired},
		"expired":                    {model.CouponExpired, testNow + 1, ReasonExpired},
		"locked":                     {model.CouponLocked, testNow + 1, ReasonLocked},
		"used":                       {model.CouponUsed, testNow + 1, ReasonUsed},
		"used, and past its end too": {model.CouponUsed, testNow, ReasonUsed},
	} {
		t.Run(name, func(t *testing.T) {
			res := Evaluate(template(nil), model.Coupon{State: c.state, ExpiresAt: c.expires}, lines, nil, testNow)
			if res.Reason != c.want || res.Usable != (c.want == "") {
				t.Errorf("got %+v, want reason %q", res, c.want)
			}
			if !res.Usable && (res.SavingFen != 0 || res.Reason.Text().ZH == "" || res.Reason.Text().EN == "") {
				t.Errorf("an unusable coupon saves %d and says %+v", res.SavingFen, res.Reason.Text())
			}
		})
	}
}

// The end of a held coupon was promised at the claim; a template shortened later does not take it back.
func TestEvaluateKeepsThePromisedEnd(t *testing.T) {
	ended := template(func(c *model.CouponTemplate) { c.EndsAt = testNow - 1 })
	if res := Evaluate(ended, available(), []Line{{MerchantID: 1, Amount: 5000}}, nil, testNow); !res.Usable {
		t.Errorf("got %+v, want usable", res)
	}
}

func TestT52_CouponAboveTheGoodsIsCapped(t *testing.T) {
	lines := []Line{{MerchantID: 1, ProductID: 10, Amount: 300}, {MerchantID: 1, ProductID: 11, Amount: 500}}
	res := Evaluate(template(func(c *model.CouponTemplate) { c.Scope, c.ScopeIDs = model.ScopeProduct, []int64{10} }), available(), lines, always(700), testNow)
	want := Result{Usable: true, SavingFen: 300, LineSaving: []model.Fen{300, 0}}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Error(diff)
	}
}

func TestT53_DiscountOfTheWholeGoods(t *testing.T) {
	for _, amount := range []model.Fen{800, 801, 100_000} {
		res := Evaluate(template(func(c *model.CouponTemplate) { c.AmountFen = amount }), available(),
			[]Line{{MerchantID: 1, Amount: 300}, {MerchantID: 1, Amount: 500}}, always(0), testNow)
		want := Result{Usable: true, SavingFen: 800, LineSaving: []model.Fen{300, 500}}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("amount %d: %s", amount, diff)
		}
	}
}

func genTemplate(t *rapid.T) model.CouponTemplate {
	fen := rapid.Custom(func(t *rapid.T) model.Fen { return model.Fen(rapid.Int64Range(0, int64(model.MaxFen)).Draw(t, "fen")) })
	return model.CouponTemplate{
		MerchantID: 1,
		Kind:       rapid.SampledFrom([]model.CouponKind{model.CouponAmount, model.CouponPercent, model.CouponFreeShipping}).Draw(t, "kind"),
		AmountFen:  fen.Draw(t, "amount"), PercentOff: rapid.IntRange(1, 99).Draw(t, "percent"),
		MaxDiscountFen: rapid.SampledFrom([]model.Fen{0, 1, 999, model.MaxFen}).Draw(t, "cap"),
		ThresholdFen:   rapid.SampledFrom([]model.Fen{0, 0, 1, 5000, model.MaxFen}).Draw(t, "threshold"),
		Scope:          rapid.SampledFrom([]model.CouponScope{model.ScopeAll, model.ScopeCategory, model.ScopeProduct}).Draw(t, "scope"),
		ScopeIDs:       rapid.SliceOfNDistinct(rapid.Int64Range(1, 6), 1, 3, rapid.ID).Draw(t, "scope ids"),
	}
}

func genLines(t *rapid.T) []Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Line {
		return Line{
			MerchantID: 1, ProductID: rapid.Int64Range(1, 6).Draw(t, "product"),
			CategoryIDs: rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 3).Draw(t, "categories"),
			Amount:      model.Fen(rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, int64(model.MaxFen)*9999)).Draw(t, "amount")),
		}
	}), 1, 12).Draw(t, "lines")
}

// genFreight is unknown, one price, or free from an amount near what the goods cost.
func genFreight(t *rapid.T, goods model.Fen) freight {
	fen := model.Fen(rapid.Int64Range(0, 100_000).Draw(t, "freight"))
	switch rapid.SampledFrom([]string{"unknown", "always", "free from"}).Draw(t, "freight is") {
	case "unknown":
		return nil
	case "always":
		return always(fen)
	}
	return freeFrom(goods+1-model.Fen(rapid.Int64Range(0, 100_000).Draw(t, "below the goods")), fen)
}

// worth is what the coupon takes off goods.
func worth(tpl model.CouponTemplate, goods model.Fen) model.Fen {
	switch tpl.Kind {
	case model.CouponAmount:
		return min(tpl.AmountFen, goods)
	case model.CouponPercent:
		off := goods * model.Fen(tpl.PercentOff) / 100
		if tpl.MaxDiscountFen > 0 {
			off = min(off, tpl.MaxDiscountFen)
		}
		return off
	}
	return 0
}

// The shares add up to the fen, none is negative or above its line, only lines in scope get one, and neither the goods nor the
// freight goes below zero. What is saved is what is to be paid without the coupon less what is to be paid with it.
func TestEvaluateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tpl, lines := genTemplate(t), genLines(t)
		var all, goods model.Fen
		for _, l := range lines {
			all += l.Amount
			if inScope(tpl, l) {
				goods += l.Amount
			}
		}
		known := genFreight(t, all)
		res := Evaluate(tpl, available(), lines, known, testNow)
		if len(res.LineSaving) != len(lines) {
			t.Fatalf("%d shares for %d lines", len(res.LineSaving), len(lines))
		}
		var sum model.Fen
		for i, share := range res.LineSaving {
			if share < 0 || share > lines[i].Amount {
				t.Fatalf("line %d of %d fen gets %d", i, lines[i].Amount, share)
			}
			if share > 0 && !inScope(tpl, lines[i]) {
				t.Fatalf("line %d is out of scope and gets %d", i, share)
			}
			sum += share
		}
		if res.Usable != (res.Reason == "") || !res.Usable && (res.SavingFen != 0 || sum != 0 || res.FreightSaving != 0) {
			t.Fatalf("%+v", res)
		}
		if !res.Usable && res.Reason != ReasonNoSaving {
			return
		}
		if goods < tpl.ThresholdFen {
			t.Fatalf("%q with %d of goods below %d", res.Reason, goods, tpl.ThresholdFen)
		}
		price, off, free := known, worth(tpl, goods), model.Fen(0)
		if known == nil {
			price = always(0)
		}
		if tpl.Kind == model.CouponFreeShipping {
			free = price(all)
		}
		want := all + price(all) - (all - off + price(all-off) - free)
		switch saves := want > 0 || known == nil && tpl.Kind == model.CouponFreeShipping; {
		case res.Usable != saves:
			t.Fatalf("usable %t, it saves %d", res.Usable, want)
		case saves && (res.SavingFen != want || sum != off || res.FreightSaving != free):
			t.Fatalf("saving %d, shares %d, freight %d; want %d, %d, %d", res.SavingFen, sum, res.FreightSaving, want, off, free)
		}
	})
}

// What a coupon does to a line does not depend on lines it does not apply to.
func TestEvaluateIgnoresLinesOutOfScope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tpl, lines := genTemplate(t), genLines(t)
		in := slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return !inScope(tpl, l) })
		all, only := Evaluate(tpl, available(), lines, nil, testNow), Evaluate(tpl, available(), in, nil, testNow)
		if all.SavingFen != only.SavingFen || all.Reason != only.Reason {
			t.Fatalf("with other lines %+v, without %+v", all, only)
		}
	})
}
