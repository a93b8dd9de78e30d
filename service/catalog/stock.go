package catalog

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/idempotency"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/store"
)

// MaxReason is how many characters the reason of a change of stock may have.
const MaxReason = 100

// StockChange is what an admin does to the stock of a SKU.
type StockChange struct {
	SKUID  int64
	Delta  int64
	Reason string
}

// ChangeStock adds the delta, which may be negative, to a SKU's stock and returns the new stock. A repeated key with the same
// change changes nothing and returns the stock as it is now. Fails with not_found, validation_failed, stock_insufficient where
// stock would fall below zero, and idempotency_key_reused.
func (c *Catalog) ChangeStock(ctx context.Context, merchantID int64, actor, key string, change StockChange) (stock int64, err error) {
	change.Reason = strings.TrimSpace(change.Reason)
	p := &problems{}
	p.between("delta", change.Delta, -MaxStock, MaxStock)
	if change.Delta == 0 {
		p.add("delta", fault.FieldRange, "不能为 0", "must not be 0")
	}
	p.text("reason", change.Reason, 1, MaxReason)
	if err := p.err(); err != nil {
		return 0, err
	}
	stock, err = c.changeStock(ctx, merchantID, actor, key, change)
	if store.IsDuplicate(err) { // another SKU took the key at this moment: now it is seen
		return c.changeStock(ctx, merchantID, actor, key, change)
	}
	return stock, err
}

func (c *Catalog) changeStock(ctx context.Context, merchantID int64, actor, key string, change StockChange) (stock int64, err error) {
	err = c.store.Tx(ctx, func(tx *store.Tx) error {
		var rows []model.SKU
		err := tx.Raw("SELECT id, stock FROM skus WHERE id = ? AND merchant_id = ? AND deleted_at = 0"+tx.ForUpdate(), change.SKUID, merchantID).Scan(&rows).Error
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fault.New(fault.NotFoundError)
		}
		now := c.now()
		before, err := idempotency.Bind(tx, actor+":stock", key, change, change.SKUID, now)
		if err != nil {
			return err
		}
		was := rows[0].Stock
		if stock = was; before != 0 {
			changelog.Nothing(ctx)
			return nil
		}
		if stock+change.Delta > MaxStock {
			return fault.New(fault.ValidationFailed).With("delta", fault.FieldRange, "库存将超过上限", "would take stock above the limit")
		}
		if stock, err = inventory.Adjust(tx, merchantID, change.SKUID, change.Delta, change.Reason, actor, now); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.SKU, change.SKUID,
			map[string]any{"stock": was, "merchant_id": merchantID}, map[string]any{"stock": stock, "reason": change.Reason})
	})
	return stock, err
}

// Ledger returns a page of the entries of a SKU's stock, the newest first, and how many there are. Fails with not_found.
func (c *Catalog) Ledger(ctx context.Context, merchantID, skuID int64, page store.Page) ([]inventory.Entry, int64, error) {
	return inventory.Ledger(c.store.Read(ctx), merchantID, skuID, page)
}

// LedgerAfter is Ledger by cursor: it does not count. A SKU that sells well has more entries than anybody pages through.
func (c *Catalog) LedgerAfter(ctx context.Context, merchantID, skuID int64, after store.Cursor, limit int) ([]inventory.Entry, *store.Cursor, error) {
	return inventory.LedgerAfter(ctx, c.store, merchantID, skuID, after, limit)
}
