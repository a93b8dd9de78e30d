package catalog

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Sort is an order of a list of products.
type Sort string

// Orders of a list. The default one is the merchant's own, and by relevance where a text is searched.
const (
	SortDefault   Sort = "default"
	SortSales     Sort = "sales"
	SortNewest    Sort = "newest"
	SortPrice     Sort = "price"
	SortPriceDown Sort = "-price"
)

// Each order is served by an index on (published, column, id).
var orders = map[Sort]string{
	SortDefault:   "sort DESC, id DESC",
	SortSales:     "sales DESC, id DESC",
	SortNewest:    "created_at DESC, id DESC",
	SortPrice:     "min_price_fen, id",
	SortPriceDown: "min_price_fen DESC, id DESC",
}

// Filter narrows what a shopper sees; zero values do not.
type Filter struct {
	CategoryID int64 // and everything below it
	MerchantID int64
	Query      string
	Sort       Sort
}

// merchantEnabled leaves out what belongs to a disabled merchant.
const merchantEnabled = "merchant_id NOT IN (SELECT id FROM merchants WHERE disabled = ?)"

// onShelf narrows a query to what shoppers may see.
func onShelf(db *gorm.DB) *gorm.DB {
	return db.Model(&model.Product{}).Where("published = ? AND deleted_at = 0", true).Where(merchantEnabled, true)
}

// List returns a page of the products on the shelf, without their detail text, and how many there are: two queries, whatever
// the filter.
func (c *Catalog) List(ctx context.Context, f Filter, page store.Page) ([]model.Product, int64, error) {
	if strings.TrimSpace(f.Query) != "" {
		return c.searchList(ctx, f, page)
	}
	var total int64
	if err := c.narrow(ctx, f).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	if int64(page.Offset()) >= total {
		return nil, total, nil
	}
	var rows []model.Product
	err := c.narrow(ctx, f).Omit("detail_html").Order(orderOf(f.Sort)).Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	return rows, total, store.Classify(err)
}

func orderOf(s Sort) string {
	if o, ok := orders[s]; ok {
		return o
	}
	return orders[SortDefault]
}

func (c *Catalog) narrow(ctx context.Context, f Filter) *gorm.DB {
	q := onShelf(c.store.Read(ctx))
	if f.CategoryID != 0 {
		q = q.Where("category_id IN ?", c.tree.below(f.CategoryID))
	}
	if f.MerchantID != 0 {
		q = q.Where("merchant_id = ?", f.MerchantID)
	}
	return q
}

// searchList asks the index which products match, and the database which of these are on the shelf at this moment, in order:
// the total is that of the database.
func (c *Catalog) searchList(ctx context.Context, f Filter, page store.Page) ([]model.Product, int64, error) {
	found, err := c.index.search(ctx, f.Query)
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	var ids []int64
	err = c.narrow(ctx, f).Where("id IN ("+join(found)+")").Order(orderOf(f.Sort)).Pluck("id", &ids).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	if f.Sort == SortDefault || f.Sort == "" {
		ids = keepOrder(found, ids)
	}
	total := int64(len(ids))
	ids = ids[min(page.Offset(), len(ids)):min(page.Offset()+page.Limit, len(ids))]
	if len(ids) == 0 {
		return nil, total, nil
	}
	var rows []model.Product
	if err := c.store.Read(ctx).Omit("detail_html").Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	slices.SortFunc(rows, func(a, b model.Product) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return rows, total, nil
}

// join writes numbers into SQL: thousands of them are more parameters than a driver takes.
func join(ids []int64) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	return b.String()
}

// keepOrder returns those of order that are in ids.
func keepOrder(order, ids []int64) []int64 {
	in := make(map[int64]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(id int64) bool { return !in[id] })
}

// Detail returns a product on the shelf as shoppers see it, in three queries, or fails with not_found.
func (c *Catalog) Detail(ctx context.Context, id int64) (Product, error) {
	var p Product
	err := onShelf(c.store.Read(ctx)).Where("id = ?", id).Take(&p.Product).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Product{}, fault.New(fault.NotFoundError)
	}
	if err != nil {
		return Product{}, store.Classify(err)
	}
	if p.SKUs, err = skusOf(c.store.Read(ctx), id); err != nil {
		return Product{}, store.Classify(err)
	}
	err = c.store.Read(ctx).Raw("SELECT name FROM merchants WHERE id = ?", p.MerchantID).Scan(&p.MerchantName).Error
	return p, store.Classify(err)
}

// OnShelf fails with not_found unless shoppers see the product.
func (c *Catalog) OnShelf(ctx context.Context, id int64) error {
	var n int64
	if err := onShelf(c.store.Read(ctx)).Where("id = ?", id).Count(&n).Error; err != nil {
		return store.Classify(err)
	}
	if n == 0 {
		return fault.New(fault.NotFoundError)
	}
	return nil
}

// withSKUs reads the SKUs of all the products in one query.
func (c *Catalog) withSKUs(ctx context.Context, rows []model.Product) ([]Product, error) {
	products := make([]Product, len(rows))
	ids := make([]int64, len(rows))
	at := map[int64]*Product{}
	for i, row := range rows {
		products[i], ids[i] = Product{Product: row, SKUs: []model.SKU{}}, row.ID
		at[row.ID] = &products[i]
	}
	var skus []model.SKU
	err := c.store.Read(ctx).Where("product_id IN ? AND deleted_at = 0", ids).Order("product_id, sort, id").Find(&skus).Error
	for _, sku := range skus {
		at[sku.ProductID].SKUs = append(at[sku.ProductID].SKUs, sku)
	}
	return products, store.Classify(err)
}
