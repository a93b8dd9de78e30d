package policy

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tidemall/tidemall/model"
)

// draftID stands for a policy that is not stored yet; like every new one it is tried before others of its kind.
const draftID = math.MaxInt64

// Trial is a stage's policies with a draft among them, for people who want to know what it would do before they store it.
type Trial struct {
	Draft model.TimeoutPolicy
	// Stored says that the draft is a change of a policy that is there: its share of orders is known by number then.
	Stored bool

	before, after []model.TimeoutPolicy
}

// Try puts a draft among the policies: a new one where id is 0, else the policy with the id and what c changes of it. It fails as
// Create does for a new one; of one that the merchant (0: any) may not see with not_found.
func (p *Policies) Try(ctx context.Context, by By, id int64, d Draft, c Change) (*Trial, error) {
	if err := p.Refresh(ctx); err != nil {
		return nil, err
	}
	t := &Trial{Stored: id != 0}
	if id != 0 {
		row, err := p.Get(ctx, by.MerchantID, id)
		if err != nil {
			return nil, err
		}
		if err := c.same(row); err != nil {
			return nil, err
		}
		c.on(&row)
		t.Draft, d = row, Draft{row.Stage, row.MerchantID, row.OrderType, row.BizLine, row.DurationMS, row.Enabled, row.RolloutPercent}
	} else {
		if err := by.mayMake(d); err != nil {
			return nil, err
		}
		t.Draft = model.TimeoutPolicy{
			ID: draftID, Stage: d.Stage, MerchantID: d.MerchantID, OrderType: d.OrderType, BizLine: d.BizLine,
			DurationMS: d.DurationMS, Enabled: d.Enabled, RolloutPercent: d.RolloutPercent,
		}
	}
	if err := check(d); err != nil {
		return nil, err
	}
	t.before = (*p.table.Load())[d.Stage]
	t.after = slices.DeleteFunc(slices.Clone(t.before), func(r model.TimeoutPolicy) bool { return r.ID == id })
	t.after = append(t.after, t.Draft)
	bySpecificity(t.after)
	return t, nil
}

// Share is the chance, in percent, that the draft decides about an order: 0 or 100 for a stored one, whose orders are known by their
// numbers; of a new one it is its rollout where no more specific policy decides.
func (t *Trial) Share(q Query) int {
	for _, row := range t.after {
		switch {
		case !row.Enabled || !applies(row, q):
		case row.ID == draftID:
			return row.RolloutPercent
		case inShare(row.ID, row.RolloutPercent, q.OrderNo):
			if row.ID == t.Draft.ID {
				return 100
			}
			return 0
		}
	}
	return 0
}

// Decision is what the draft says.
func (t *Trial) Decision() Decision {
	return Decision{Duration: time.Duration(t.Draft.DurationMS) * time.Millisecond, PolicyID: t.Draft.ID, Version: t.Draft.Version}
}

// Tier is a policy that decides about a share of orders. ID 0 is the built-in duration; Draft says that it is the draft.
type Tier struct {
	ID       int64
	Draft    bool
	Duration time.Duration
	Percent  float64
}

// Effect is who decides about one sort of orders, in the order in which they are tried, without the draft and with it.
type Effect struct {
	OrderType, BizLine string
	Before, After      []Tier
}

// Effects says for every sort of the merchant's orders (0: of a merchant without policies of its own) who decides.
func (t *Trial) Effects(merchantID int64) []Effect {
	lines := []string{""}
	for _, row := range t.after {
		if (row.MerchantID == 0 || row.MerchantID == merchantID) && row.BizLine != "" {
			lines = append(lines, row.BizLine)
		}
	}
	slices.Sort(lines)
	var out []Effect
	for _, orderType := range []string{model.OrderTypeGoods, model.OrderTypeVirtual} {
		for _, line := range slices.Compact(slices.Clone(lines)) {
			q := Query{MerchantID: merchantID, OrderType: orderType, BizLine: line}
			out = append(out, Effect{orderType, line, t.tiers(t.before, q, false), t.tiers(t.after, q, true)})
		}
	}
	return out
}

func (t *Trial) tiers(rows []model.TimeoutPolicy, q Query, drafted bool) []Tier {
	var out []Tier
	rest := 100.0
	for _, row := range rows {
		if !row.Enabled || row.RolloutPercent == 0 || rest == 0 || !applies(row, q) {
			continue
		}
		tier := Tier{row.ID, drafted && row.ID == t.Draft.ID, time.Duration(row.DurationMS) * time.Millisecond, rest * float64(row.RolloutPercent) / 100}
		if tier.ID == draftID {
			tier.ID = 0
		}
		rest -= tier.Percent
		out = append(out, tier)
	}
	if rest > 0 {
		out = append(out, Tier{Duration: stages[t.Draft.Stage].builtIn, Percent: rest})
	}
	return out
}
