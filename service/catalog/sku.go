package catalog

import (
	"fmt"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/store"
)

// skuPlan is how a product's SKUs become those of a draft.
type skuPlan struct {
	productID int64
	added     []model.SKU     // without id
	changed   []model.SKU     // kept or revived, with what changes
	parked    []int64         // their spec keys must be free before others take them
	removed   []int64         // taken off sale
	restock   map[int64]int64 // revived SKU → by how much its stock changes
}

// planSKUs compares. A draft's SKU is an existing one by its id, or else by its specs; a removed one that is named by its specs
// is revived. Fails with validation_failed where an existing SKU is given a stock, and where an id is not the product's.
func planSKUs(p model.Product, old []model.SKU, drafts []SKUDraft, now model.Time) (skuPlan, error) {
	plan := skuPlan{productID: p.ID, restock: map[int64]int64{}}
	byID, byKey := map[int64]model.SKU{}, map[string]model.SKU{}
	for _, sku := range old {
		byID[sku.ID], byKey[sku.SpecKey] = sku, sku
	}
	named := map[int64]bool{} // by id: their present specs may go to others
	for _, d := range drafts {
		named[d.ID] = true
	}
	used := map[int64]bool{}
	bad := &problems{}
	for i, d := range drafts {
		key := specKey(d.Specs)
		sku, exists := byKey[key]
		if exists && named[sku.ID] && d.ID != sku.ID {
			exists = false
		}
		if d.ID != 0 {
			if sku, exists = byID[d.ID]; !exists {
				bad.add(fmt.Sprintf("skus[%d].id", i), fault.FieldChoice, "不是该商品的 SKU", "is not a SKU of this product")
				continue
			}
		}
		row := model.SKU{
			ID: sku.ID, ProductID: p.ID, MerchantID: p.MerchantID, Specs: d.Specs, SpecKey: key, PriceFen: d.PriceFen,
			WeightG: d.WeightG, Image: d.Image, Sort: i, CreatedAt: sku.CreatedAt, UpdatedAt: now, Stock: sku.Stock,
		}
		if !exists {
			row.ID, row.CreatedAt, row.Stock = 0, now, 0
			if d.Stock != nil {
				row.Stock = *d.Stock
			}
			plan.added = append(plan.added, row)
			continue
		}
		used[sku.ID] = true
		if d.Stock != nil {
			if sku.DeletedAt.IsZero() {
				bad.add(fmt.Sprintf("skus[%d].stock", i), fault.FieldUnknown, "已有 SKU 的库存请用库存调整修改", "an existing SKU's stock changes only by the stock operation")
				continue
			}
			plan.restock[sku.ID] = *d.Stock - sku.Stock
		}
		if !same(row, sku) {
			plan.changed = append(plan.changed, row)
		}
	}
	for _, sku := range old {
		if !used[sku.ID] && sku.DeletedAt.IsZero() {
			plan.removed = append(plan.removed, sku.ID)
		}
	}
	plan.park(byKey)
	return plan, bad.err()
}

// park finds the rows whose spec keys are in the way of another's: the unique key is checked statement by statement.
func (plan *skuPlan) park(byKey map[string]model.SKU) {
	for _, row := range slices.Concat(plan.changed, plan.added) {
		if holder, ok := byKey[row.SpecKey]; ok && holder.ID != row.ID {
			plan.parked = append(plan.parked, holder.ID)
		}
	}
	slices.Sort(plan.parked)
}

func same(a, b model.SKU) bool {
	return a.SpecKey == b.SpecKey && a.PriceFen == b.PriceFen && a.WeightG == b.WeightG && a.Image == b.Image &&
		a.Sort == b.Sort && a.DeletedAt == b.DeletedAt
}

// applySKUs writes the plan under the product's lock, SKUs in id order, and returns what is on sale then.
func applySKUs(tx *store.Tx, plan skuPlan, actor string, now model.Time) ([]model.SKU, error) {
	for _, id := range plan.parked {
		if err := tx.Exec("UPDATE skus SET spec_key = ? WHERE id = ?", fmt.Sprintf("\x1d%d", id), id).Error; err != nil {
			return nil, err
		}
	}
	slices.SortFunc(plan.changed, func(a, b model.SKU) int { return int(a.ID - b.ID) })
	for _, row := range plan.changed {
		err := tx.Model(&model.SKU{}).Where("id = ?", row.ID).
			Select("Specs", "SpecKey", "PriceFen", "WeightG", "Image", "Sort", "UpdatedAt", "DeletedAt").Updates(&row).Error
		if err != nil {
			return nil, err
		}
		if delta := plan.restock[row.ID]; delta != 0 {
			if _, err := inventory.Adjust(tx, row.MerchantID, row.ID, delta, "重新上架", actor, now); err != nil {
				return nil, err
			}
		}
	}
	if len(plan.removed) > 0 {
		err := tx.Exec("UPDATE skus SET deleted_at = ?, updated_at = ? WHERE id IN ? AND deleted_at = 0", now, now, plan.removed).Error
		if err != nil {
			return nil, err
		}
	}
	if err := addSKUs(tx, plan, actor, now); err != nil {
		return nil, err
	}
	return skusOf(tx.DB, plan.productID)
}

// addSKUs inserts the new SKUs with their stock. Their ids are read back: a distributed database does not count up by one.
func addSKUs(tx *store.Tx, plan skuPlan, actor string, now model.Time) error {
	if len(plan.added) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(slices.Clone(plan.added), 100).Error; err != nil {
		return err
	}
	keys := make([]string, len(plan.added))
	for i, row := range plan.added {
		keys[i] = row.SpecKey
	}
	var made []model.SKU
	if err := tx.Where("product_id = ? AND spec_key IN ?", plan.productID, keys).Order("id").Find(&made).Error; err != nil {
		return err
	}
	return inventory.Open(tx, made, actor, now)
}
