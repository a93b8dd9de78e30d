package report

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// BestSeller is what was paid for of a product.
type BestSeller struct {
	ProductID int64
	Name      string // as the catalogue has it now
	Quantity  int64
	PaidFen   model.Fen // after discounts and adjustments
}

// BestSellers returns the products of which most pieces were paid for among the merchant's orders created from ≤ t < to.
func (r Report) BestSellers(ctx context.Context, merchantID int64, from, to model.Time, limit int) (rows []BestSeller, err error) {
	err = r.Store.Read(ctx).Raw(`SELECT b.*, p.name FROM (
			SELECT l.product_id, SUM(l.quantity) AS quantity, SUM(l.quantity * l.price_fen - l.discount_fen + l.adjustment_fen) AS paid_fen
			FROM orders o JOIN order_lines l ON l.order_id = o.id
			WHERE o.merchant_id = ? AND o.created_at >= ? AND o.created_at < ? AND o.paid_at > 0
			GROUP BY l.product_id ORDER BY quantity DESC, l.product_id LIMIT ?
		) b JOIN products p ON p.id = b.product_id ORDER BY b.quantity DESC, b.product_id`, merchantID, from, to, limit).Scan(&rows).Error
	return rows, store.Classify(err)
}

// LowStock is a SKU of a published product of which little is left.
type LowStock struct {
	SKUID     int64 `gorm:"column:sku_id"`
	ProductID int64
	Name      string
	Specs     map[string]string `gorm:"serializer:json"`
	Stock     int64
}

// LowStock returns the merchant's published SKUs with at most `most` pieces left, the fewest first. It reads them by index.
func (r Report) LowStock(ctx context.Context, merchantID, most int64, limit int) (rows []LowStock, err error) {
	err = r.Store.Read(ctx).Table("skus s").Select("s.id AS sku_id, s.product_id, p.name, s.specs, s.stock").
		Joins("JOIN products p ON p.id = s.product_id AND p.published = ? AND p.deleted_at = 0", true).
		Where("s.merchant_id = ? AND s.stock <= ? AND s.deleted_at = 0", merchantID, most).
		Order("s.stock, s.id").Limit(limit).Find(&rows).Error
	return rows, store.Classify(err)
}
