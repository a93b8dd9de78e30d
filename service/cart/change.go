package cart

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Add puts pieces of a SKU into the cart; a SKU that is there already gets that many more. Errors: validation_failed for a
// quantity that is not, or would not stay, within 1 to MaxQuantity; product_unavailable for a SKU that is not on sale;
// cart_full. Stock is not asked: it may change until the order is placed, and the cart shows what is short.
func (s *Service) Add(ctx context.Context, shopperID, skuID, quantity int64) (item Item, err error) {
	if quantity < 1 || quantity > MaxQuantity {
		return Item{}, outOfRange()
	}
	err = s.store.Tx(ctx, func(tx *store.Tx) error {
		if err := lockShopper(tx, shopperID); err != nil {
			return err
		}
		if err := onSale(tx, skuID); err != nil {
			return err
		}
		if err := put(tx, shopperID, skuID, quantity, s.now()); err != nil {
			return err
		}
		item, err = one(tx.DB, shopperID, skuID)
		return err
	})
	return item, err
}

// SetItem changes the quantity of an item, and its SKU where skuID is another than 0 and the present one: the shopper chose
// other specs. If that SKU has an item of its own, the two become one. Errors as of Add, and not_found.
func (s *Service) SetItem(ctx context.Context, shopperID, id, skuID, quantity int64) (item Item, err error) {
	if quantity < 1 || quantity > MaxQuantity {
		return Item{}, outOfRange()
	}
	err = s.store.Tx(ctx, func(tx *store.Tx) error {
		if err := lockShopper(tx, shopperID); err != nil {
			return err
		}
		var rows []model.CartItem
		if err := tx.Where("id = ? AND shopper_id = ?", id, shopperID).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return fault.New(fault.NotFoundError)
		}
		sku := rows[0].SKUID
		if skuID == 0 || skuID == sku {
			err = tx.Exec("UPDATE cart_items SET quantity = ?, updated_at = ? WHERE id = ?", quantity, s.now(), id).Error
		} else {
			sku = skuID
			err = swap(tx, rows[0], skuID, quantity, s.now())
		}
		if err != nil {
			return err
		}
		item, err = one(tx.DB, shopperID, sku)
		return err
	})
	return item, err
}

// swap replaces an item by pieces of another SKU.
func swap(tx *store.Tx, old model.CartItem, skuID, quantity int64, now model.Time) error {
	if err := onSale(tx, skuID); err != nil {
		return err
	}
	if err := RemoveItems(tx, old.ShopperID, []int64{old.ID}); err != nil {
		return err
	}
	return put(tx, old.ShopperID, skuID, quantity, now)
}

// Remove takes an item out of the cart, or says not_found.
func (s *Service) Remove(ctx context.Context, shopperID, id int64) error {
	return s.store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("DELETE FROM cart_items WHERE id = ? AND shopper_id = ?", id, shopperID)
		if err == nil && n == 0 {
			return fault.New(fault.NotFoundError)
		}
		return err
	})
}

// lockShopper makes changes of one cart wait for each other, so that its bounds are exact.
func lockShopper(tx *store.Tx, shopperID int64) error {
	var id int64
	if err := tx.Raw("SELECT id FROM shoppers WHERE id = ?"+tx.ForUpdate(), shopperID).Scan(&id).Error; err != nil {
		return err
	}
	if id == 0 {
		return fault.New(fault.TokenInvalid)
	}
	return nil
}

func onSale(tx *store.Tx, skuID int64) error {
	var n int64
	err := tx.Raw(`SELECT COUNT(*) FROM skus k JOIN products p ON p.id = k.product_id JOIN merchants m ON m.id = k.merchant_id
		WHERE k.id = ? AND k.deleted_at = 0 AND p.deleted_at = 0 AND p.published AND NOT m.disabled`, skuID).Scan(&n).Error
	if err == nil && n == 0 {
		return fault.New(fault.ProductUnavailable).With("sku_id", fault.FieldGone, "", "")
	}
	return err
}

// put adds pieces of a SKU within the cart's bounds. The caller holds the shopper's lock.
func put(tx *store.Tx, shopperID, skuID, quantity int64, now model.Time) error {
	var have struct{ Items, Held int64 }
	err := tx.Raw(`SELECT COUNT(*) AS items, COALESCE(MAX(CASE WHEN sku_id = ? THEN quantity END), 0) AS held
		FROM cart_items WHERE shopper_id = ?`, skuID, shopperID).Scan(&have).Error
	if err != nil {
		return err
	}
	if have.Held+quantity > MaxQuantity {
		return outOfRange()
	}
	if have.Held == 0 && have.Items >= MaxItems {
		return fault.New(fault.CartFull)
	}
	// The unique key decides whether the SKU was there, so that a cart never has it twice.
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "shopper_id"}, {Name: "sku_id"}},
		DoUpdates: clause.Assignments(map[string]any{"quantity": have.Held + quantity, "updated_at": now}),
	}).Create(&model.CartItem{ShopperID: shopperID, SKUID: skuID, Quantity: quantity, CreatedAt: now, UpdatedAt: now}).Error
}

func outOfRange() error {
	return fault.New(fault.ValidationFailed).With("quantity", fault.FieldRange,
		fmt.Sprintf("同一规格的数量必须在 1 到 %d 之间", MaxQuantity), fmt.Sprintf("of one SKU must be from 1 to %d", MaxQuantity))
}
