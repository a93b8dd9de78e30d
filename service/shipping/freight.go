// Package shipping prices delivery by the merchant's rules and knows the carriers.
package shipping

import (
	"cmp"
	"database/sql"
	"encoding/json"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Rules returns the merchant's freight rules in no order: Freight needs none.
func Rules(db *gorm.DB, merchantID int64) ([]model.FreightRule, error) {
	var rules []model.FreightRule
	err := db.Where("merchant_id = ?", merchantID).Find(&rules).Error
	return rules, store.Classify(err)
}

// ReadRules adds to the reads the freight rules of the merchant of a SKU, as far as Freight looks at them; into is filled when they run.
func ReadRules(r *store.Reads, skuID int64, into *[]model.FreightRule) {
	r.Add(func(rows *sql.Rows) error {
		var rule model.FreightRule
		var regions []byte
		err := rows.Scan(&rule.ID, &rule.Kind, &regions, &rule.FirstUnits, &rule.FirstFen, &rule.StepUnits, &rule.StepFen, &rule.FreeOverFen, &rule.Sort)
		if err != nil {
			return err
		}
		*into = append(*into, rule)
		return json.Unmarshal(regions, &(*into)[len(*into)-1].Regions)
	}, `SELECT r.id, r.kind, r.regions, r.first_units, r.first_fen, r.step_units, r.step_fen, r.free_over_fen, r.sort
		FROM skus k JOIN freight_rules r ON r.merchant_id = k.merchant_id WHERE k.id = ?`, skuID)
}

// Freight returns what delivery of that many pieces, weighing that much together, to the address costs, as a function of what
// is paid for the goods: by the rule with the most specific region, among equals the one with the lowest sort, then id. A
// merchant without rules delivers free; where there are rules and none fits the address the error is no_delivery. Nothing to
// deliver (no pieces) is free.
func Freight(rules []model.FreightRule, a model.OrderAddress, pieces, weightG int64) (func(goodsAfterDiscount model.Fen) model.Fen, error) {
	if len(rules) == 0 || pieces <= 0 {
		return func(model.Fen) model.Fen { return 0 }, nil
	}
	rule, ok := choose(rules, a)
	if !ok {
		return nil, fault.New(fault.NoDelivery)
	}
	units := pieces
	if rule.Kind == model.FreightWeight {
		units = weightG
	}
	return func(goodsAfterDiscount model.Fen) model.Fen { return price(rule, units, goodsAfterDiscount) }, nil
}

func choose(rules []model.FreightRule, a model.OrderAddress) (best model.FreightRule, ok bool) {
	at := placeOf(a)
	bestLevel := -1
	for _, r := range rules {
		level := at.level(r.Regions)
		if level < 0 || level < bestLevel {
			continue
		}
		if level > bestLevel || cmp.Or(cmp.Compare(r.Sort, best.Sort), cmp.Compare(r.ID, best.ID)) < 0 {
			best, bestLevel = r, level
		}
	}
	return best, bestLevel >= 0
}

// price never exceeds model.MaxFen, whatever the weight.
func price(r model.FreightRule, units int64, goods model.Fen) model.Fen {
	if r.FreeOverFen > 0 && goods >= r.FreeOverFen {
		return 0
	}
	more := units - r.FirstUnits
	if more <= 0 || r.StepUnits <= 0 || r.StepFen <= 0 {
		return r.FirstFen
	}
	steps := (more-1)/r.StepUnits + 1
	if steps > int64((model.MaxFen-r.FirstFen)/r.StepFen) {
		return model.MaxFen
	}
	return r.FirstFen + model.Fen(steps)*r.StepFen
}

// level returns how specifically the regions name the place: 3 its district, 2 its city, 1 its province, 0 for no regions at
// all (everywhere else), -1 where none fits.
func (p place) level(regions []string) int {
	if len(regions) == 0 {
		return 0
	}
	level := -1
	for _, r := range regions {
		level = max(level, p.levelOf(r))
	}
	return level
}
