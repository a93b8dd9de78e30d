package catalog

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// SortStock puts the products with the least stock first; only merchants see their products so.
const SortStock Sort = "stock"

// Orders of a merchant's list. Sorting number and sales are served by an index on (merchant_id, column, id). By stock there is
// none: an index on the stock of SKUs would be written by every order, so this order alone reads all SKUs of the merchant.
var adminOrders = map[Sort]string{
	SortDefault: "sort DESC, id DESC",
	SortSales:   "sales DESC, id DESC",
	SortNewest:  "id DESC",
	SortStock:   "(SELECT COALESCE(SUM(k.stock), 0) FROM skus k WHERE k.product_id = products.id AND k.deleted_at = 0), id DESC",
}

// AdminFilter narrows what an admin sees; zero values do not.
type AdminFilter struct {
	CategoryID  int64 // and everything below it
	Published   *bool
	Query       string // part of the name, of the subtitle or of the code
	StockAtMost *int64 // some SKU has no more than this
	Sort        Sort   // SortNewest where empty
}

// AdminList returns a page of the merchant's products, without their detail text, and how many there are.
func (c *Catalog) AdminList(ctx context.Context, merchantID int64, f AdminFilter, page store.Page) ([]Product, int64, error) {
	narrow := func() *gorm.DB { return c.narrowAdmin(ctx, merchantID, f) }
	var total int64
	if err := narrow().Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	order, ok := adminOrders[f.Sort]
	if !ok {
		order = adminOrders[SortNewest]
	}
	var rows []model.Product
	err := narrow().Omit("detail_html").Order(order).Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, total, store.Classify(err)
	}
	products, err := c.withSKUs(ctx, rows)
	return products, total, err
}

func (c *Catalog) narrowAdmin(ctx context.Context, merchantID int64, f AdminFilter) *gorm.DB {
	q := c.store.Read(ctx).Model(&model.Product{}).Where("merchant_id = ? AND deleted_at = 0", merchantID)
	if f.CategoryID != 0 {
		q = q.Where("category_id IN ?", c.tree.below(f.CategoryID))
	}
	if f.Published != nil {
		q = q.Where("published = ?", *f.Published)
	}
	if f.StockAtMost != nil {
		q = q.Where("EXISTS (SELECT 1 FROM skus k WHERE k.product_id = products.id AND k.deleted_at = 0 AND k.stock <= ?)", *f.StockAtMost)
	}
	if text := strings.TrimSpace(f.Query); text != "" {
		like := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
		q = q.Where("(name LIKE ? ESCAPE '!' OR subtitle LIKE ? ESCAPE '!' OR code LIKE ? ESCAPE '!')", like, like, like)
	}
	return q
}
