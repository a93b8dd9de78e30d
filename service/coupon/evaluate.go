package coupon

import (
	"slices"

	"github.com/tidemall/tidemall/model"
)

// Line is one line of what is being bought, as far as a coupon looks at it.
type Line struct {
	MerchantID  int64
	ProductID   int64
	CategoryIDs []int64   // the product's category and its ancestors
	Amount      model.Fen // price × quantity, ≥ 0
}

// Result is what a coupon does to a purchase.
type Result struct {
	Usable bool
	Reason Reason // why not, empty when usable
	// SavingFen is how much less is to be paid with it than without any coupon, never negative: the sum of LineSaving and
	// FreightSaving, less what delivery costs more because less is paid for the goods.
	SavingFen model.Fen
	// LineSaving has each line's share, in the order of the lines: 0 ≤ share ≤ amount. It is the order's discount.
	LineSaving []model.Fen
	// FreightSaving is taken off the freight itself and is no part of the discount, which belongs to lines.
	FreightSaving model.Fen
}

// Evaluate says whether the coupon can be used for these lines at that time, and what it saves. freight is what delivery costs
// as a function of what is paid for the goods, nil while that is not known; it never falls when less is paid for them. Evaluate
// knows no database, so quoting and placing an order agree.
//
// A coupon that saves nothing cannot be used: it would be spent for nothing, or even make the order dearer, where the goods after
// discount fall below the amount from which delivery is free. One for free shipping may, while the freight is not known.
//
// The coupon's own end decides when it expires: it was fixed when the coupon was claimed, and a template that is shortened
// later does not take back what shoppers hold.
func Evaluate(t model.CouponTemplate, c model.Coupon, lines []Line, freight func(goods model.Fen) model.Fen, now model.Time) Result {
	res := Result{LineSaving: make([]model.Fen, len(lines))}
	var all, goods model.Fen
	var applicable []int
	for i, l := range lines {
		all += l.Amount
		if t.MerchantID == l.MerchantID && inScope(t, l) {
			applicable = append(applicable, i)
			goods += l.Amount
		}
	}
	res.Reason = unusable(t, c, lines, len(applicable) > 0, goods, now)
	if res.Reason != "" {
		return res
	}
	off := discount(t, goods)
	free, saving := waived(t, all, freight), off
	if freight != nil {
		saving += freight(all) - (freight(all-off) - free)
	}
	if saving <= 0 && (freight != nil || t.Kind != model.CouponFreeShipping) {
		res.Reason = ReasonNoSaving
		return res
	}
	res.Usable, res.SavingFen, res.FreightSaving = true, saving, free
	weights := make([]model.Fen, len(applicable))
	for i, at := range applicable {
		weights[i] = lines[at].Amount
	}
	for i, share := range model.Share(off, weights) {
		res.LineSaving[applicable[i]] = share
	}
	return res
}

func inScope(t model.CouponTemplate, l Line) bool {
	switch t.Scope {
	case model.ScopeAll:
		return true
	case model.ScopeProduct:
		return slices.Contains(t.ScopeIDs, l.ProductID)
	case model.ScopeCategory:
		return slices.ContainsFunc(l.CategoryIDs, func(id int64) bool { return slices.Contains(t.ScopeIDs, id) })
	}
	return false
}

func unusable(t model.CouponTemplate, c model.Coupon, lines []Line, applies bool, goods model.Fen, now model.Time) Reason {
	switch {
	case slices.ContainsFunc(lines, func(l Line) bool { return l.MerchantID != t.MerchantID }):
		return ReasonOtherMerchant
	case c.State == model.CouponUsed:
		return ReasonUsed
	case c.State == model.CouponLocked:
		return ReasonLocked
	case c.State != model.CouponAvailable || c.ExpiresAt <= now:
		return ReasonExpired
	case t.StartsAt > now:
		return ReasonNotStarted
	case !applies:
		return ReasonScope
	case goods < t.ThresholdFen:
		return ReasonThreshold
	}
	return ""
}

// waived returns what a coupon for free shipping takes off the freight, 0 of every other kind.
func waived(t model.CouponTemplate, goods model.Fen, freight func(goods model.Fen) model.Fen) model.Fen {
	if t.Kind != model.CouponFreeShipping || freight == nil {
		return 0
	}
	return freight(goods)
}

// discount returns what the coupon takes off goods; never more than the goods, fractions of a fen are dropped.
func discount(t model.CouponTemplate, goods model.Fen) model.Fen {
	switch t.Kind {
	case model.CouponFreeShipping:
		return 0
	case model.CouponAmount:
		return min(t.AmountFen, goods)
	}
	percent := model.Fen(t.PercentOff)
	off := goods/100*percent + goods%100*percent/100 // floor(goods × percent / 100) without overflow
	if t.MaxDiscountFen > 0 {
		off = min(off, t.MaxDiscountFen)
	}
	return off
}
