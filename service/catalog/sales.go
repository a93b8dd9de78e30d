package catalog

import (
	"context"
	"slices"

	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// salesCounter is the subscriber's name; receipts carry it.
const salesCounter = "product-sales"

// SalesCounter is the subscriber that counts sold pieces, once for every paid order. Sales are counted here and not while an
// order is paid, because a popular product's row would be locked by every payment.
func (c *Catalog) SalesCounter() event.Subscriber {
	return event.Subscriber{Name: salesCounter, Topic: "order.paid", Handle: c.countSales}
}

func (c *Catalog) countSales(ctx context.Context, m event.Message) error {
	var paid struct {
		OrderID int64 `json:"order_id"`
	}
	if err := m.Decode(&paid); err != nil {
		return err
	}
	return c.store.Tx(ctx, func(tx *store.Tx) error {
		first, err := event.Once(tx, salesCounter, m, c.now())
		if err != nil || !first {
			return err
		}
		var sold []struct{ ProductID, Pieces int64 }
		if err := tx.Raw("SELECT product_id, SUM(quantity) AS pieces FROM order_lines WHERE order_id = ? GROUP BY product_id", paid.OrderID).Scan(&sold).Error; err != nil {
			return err
		}
		slices.SortFunc(sold, func(a, b struct{ ProductID, Pieces int64 }) int { return int(a.ProductID - b.ProductID) })
		for _, s := range sold { // few, and in id order
			if err := tx.Exec("UPDATE products SET sales = sales + ? WHERE id = ?", s.Pieces, s.ProductID).Error; err != nil {
				return err
			}
		}
		return nil
	})
}
