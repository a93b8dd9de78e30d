package inventory

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Entry is an entry of a SKU's ledger, with the number of the order behind it.
type Entry struct {
	model.LedgerEntry
	OrderNo string // empty where no order is behind it
}

// Ledger lists a SKU's entries, newest first, and their number. not_found if the merchant has no such SKU.
func Ledger(db *gorm.DB, merchantID, skuID int64, page store.Page) ([]Entry, int64, error) {
	if err := owned(db, merchantID, skuID); err != nil {
		return nil, 0, err
	}
	var n int64
	if err := db.Model(&model.LedgerEntry{}).Where("sku_id = ?", skuID).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.LedgerEntry
	err := db.Where("sku_id = ?", skuID).Order("created_at DESC, id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	entries, err := numbered(db, rows)
	return entries, n, err
}

// LedgerAfter lists a SKU's entries behind the cursor, newest first, and where to read on. not_found if the merchant has no such SKU.
func LedgerAfter(ctx context.Context, s *store.Store, merchantID, skuID int64, after store.Cursor, limit int) ([]Entry, *store.Cursor, error) {
	db := s.Read(ctx)
	if err := owned(db, merchantID, skuID); err != nil {
		return nil, nil, err
	}
	var rows []model.LedgerEntry
	q := s.After(s.Read(ctx).Where("sku_id = ?", skuID), "stock_ledger", "ix_stock_ledger_sku", after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(e model.LedgerEntry) store.Cursor { return store.Cursor{At: e.CreatedAt, ID: e.ID} })
	entries, err := numbered(db, rows)
	return entries, next, err
}

func owned(db *gorm.DB, merchantID, skuID int64) error {
	var n int64
	if err := db.Raw("SELECT COUNT(*) FROM skus WHERE id = ? AND merchant_id = ?", skuID, merchantID).Scan(&n).Error; err != nil {
		return store.Classify(err)
	}
	if n == 0 {
		return fault.New(fault.NotFoundError)
	}
	return nil
}

// numbered adds the numbers of the orders, in one query.
func numbered(db *gorm.DB, rows []model.LedgerEntry) ([]Entry, error) {
	entries, ids := make([]Entry, len(rows)), []int64{}
	for i, row := range rows {
		entries[i].LedgerEntry = row
		if row.OrderID != 0 {
			ids = append(ids, row.OrderID)
		}
	}
	if len(ids) == 0 {
		return entries, nil
	}
	var orders []struct {
		ID int64
		No string
	}
	if err := db.Raw("SELECT id, no FROM orders WHERE id IN ?", ids).Scan(&orders).Error; err != nil {
		return nil, store.Classify(err)
	}
	numbers := map[int64]string{}
	for _, o := range orders {
		numbers[o.ID] = o.No
	}
	for i := range entries {
		entries[i].OrderNo = numbers[entries[i].OrderID]
	}
	return entries, nil
}
