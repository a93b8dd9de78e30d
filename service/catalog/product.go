package catalog

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Product is a product with its SKUs in display order, those removed left out.
type Product struct {
	model.Product
	SKUs         []model.SKU
	MerchantName string // only in what shoppers see
}

// Create adds a product, unpublished. actor stands in the ledger beside the initial stock. Fails with validation_failed, and with
// name_taken where another product of the merchant has the code.
func (c *Catalog) Create(ctx context.Context, merchantID int64, actor string, d Draft) (Product, error) {
	d.tidy(nil)
	if err := d.check(); err != nil {
		return Product{}, err
	}
	if err := c.checkPictures(ctx, d); err != nil {
		return Product{}, err
	}
	var made Product
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		var err error
		made, err = c.CreateIn(tx, merchantID, actor, d)
		return err
	})
	return made, err
}

// CreateIn is Create within the caller's transaction, for a draft whose pictures are known to be stored.
func (c *Catalog) CreateIn(tx *store.Tx, merchantID int64, actor string, d Draft) (Product, error) {
	return c.createIn(tx, merchantID, actor, d, false)
}

func (c *Catalog) createIn(tx *store.Tx, merchantID int64, actor string, d Draft, published bool) (Product, error) {
	d.tidy(nil)
	if err := d.check(); err != nil {
		return Product{}, err
	}
	if err := takeCategory(tx, merchantID, d.CategoryID); err != nil {
		return Product{}, err
	}
	now := c.now()
	made := Product{Product: model.Product{MerchantID: merchantID, Published: published, Version: 1, CreatedAt: now, ChangedAt: now}}
	d.write(&made.Product)
	if err := tx.Create(&made.Product).Error; err != nil {
		return Product{}, codeTaken(err)
	}
	plan, err := planSKUs(made.Product, nil, d.SKUs, now)
	if err != nil {
		return Product{}, err
	}
	if made.SKUs, err = applySKUs(tx, plan, actor, now); err != nil {
		return Product{}, err
	}
	return made, changelog.Record(tx, changelog.Product, made.ID, nil, logged(made))
}

// write puts the draft into the row; the price is that of the cheapest SKU, 0 without any.
func (d *Draft) write(p *model.Product) {
	p.CategoryID, p.Name, p.Subtitle, p.DetailHTML = d.CategoryID, d.Name, d.Subtitle, d.DetailHTML
	p.Images, p.Options, p.Virtual, p.Sort = d.Images, d.Options, d.Virtual, d.Sort
	p.Code, p.MinPriceFen = nil, 0
	if d.Code != "" {
		p.Code = &d.Code
	}
	for _, sku := range d.SKUs {
		if p.MinPriceFen == 0 || sku.PriceFen < p.MinPriceFen {
			p.MinPriceFen = sku.PriceFen
		}
	}
}

// Update replaces a product. SKUs that the draft leaves out are taken off sale and come back, with the stock they kept, when a
// later draft names their specs again. Fails with not_found, stale_version, validation_failed and name_taken.
func (c *Catalog) Update(ctx context.Context, merchantID, id, version int64, actor string, d Draft) (Product, error) {
	known, err := c.product(ctx, merchantID, id)
	if err != nil {
		return Product{}, err
	}
	if known.Version != version { // judged again under the lock
		return Product{}, fault.New(fault.StaleVersion)
	}
	d.tidy(known.Options)
	if err := d.check(); err != nil {
		return Product{}, err
	}
	if err := c.checkPictures(ctx, d); err != nil {
		return Product{}, err
	}
	var result Product
	err = c.store.Tx(ctx, func(tx *store.Tx) error {
		var err error
		c.refreshAfter(ctx, tx, c.products)
		result, err = c.update(tx, merchantID, id, version, actor, d)
		return err
	})
	return result, err
}

func (c *Catalog) update(tx *store.Tx, merchantID, id, version int64, actor string, d Draft) (Product, error) {
	if err := takeCategory(tx, merchantID, d.CategoryID); err != nil {
		return Product{}, err
	}
	p, err := lockProduct(tx, merchantID, id)
	if err != nil {
		return Product{}, err
	}
	if p.Version != version {
		return Product{}, fault.New(fault.StaleVersion)
	}
	if p.Published && len(d.SKUs) == 0 {
		return Product{}, fault.New(fault.ValidationFailed).With("skus", fault.FieldRequired, "上架商品至少保留一个 SKU，或先下架", "a published product keeps a SKU; unpublish it first")
	}
	now, was := c.now(), Product{Product: p}
	if was.SKUs, err = skusOf(tx.DB, id); err != nil {
		return Product{}, err
	}
	d.write(&p)
	p.Version, p.ChangedAt = version+1, now
	if err := writeProduct(tx, p); err != nil {
		return Product{}, err
	}
	var old []model.SKU
	if err := tx.Where("product_id = ?", id).Order("id").Find(&old).Error; err != nil {
		return Product{}, err
	}
	plan, err := planSKUs(p, old, d.SKUs, now)
	if err != nil {
		return Product{}, err
	}
	is := Product{Product: p}
	if is.SKUs, err = applySKUs(tx, plan, actor, now); err != nil {
		return Product{}, err
	}
	return is, changelog.Record(tx, changelog.Product, id, logged(was), logged(is))
}

// writeProduct stores every field of the row that an admin can change, zero values too.
func writeProduct(tx *store.Tx, p model.Product) error {
	res := tx.Model(&model.Product{}).
		Where("id = ? AND version = ? AND deleted_at = 0", p.ID, p.Version-1).
		Select("CategoryID", "Code", "Name", "Subtitle", "DetailHTML", "Images", "Options", "Virtual", "Published", "MinPriceFen", "Sort", "Version", "ChangedAt").
		Updates(&p)
	if res.Error == nil && res.RowsAffected == 0 {
		return fault.New(fault.StaleVersion)
	}
	return codeTaken(res.Error)
}

// codeTaken tells the one unique key that a product can violate from other errors.
func codeTaken(err error) error {
	if store.IsDuplicate(err, "uk_products_code", "products.code") {
		return errCodeTaken()
	}
	return err
}

func errCodeTaken() error {
	return fault.New(fault.NameTaken).Say("商品编码已被使用", "The product code is taken").
		With("code", fault.FieldDup, "是本店另一商品的编码", "is the code of another product")
}

// Publish puts a product on the shelf; one that is there already stays as it is. Fails with not_found, and with state_conflict
// where it has no SKU.
func (c *Catalog) Publish(ctx context.Context, merchantID, id int64) (Product, error) {
	return c.setPublished(ctx, merchantID, id, true)
}

// Unpublish takes a product off the shelf. Fails with not_found.
func (c *Catalog) Unpublish(ctx context.Context, merchantID, id int64) (Product, error) {
	return c.setPublished(ctx, merchantID, id, false)
}

func (c *Catalog) setPublished(ctx context.Context, merchantID, id int64, published bool) (Product, error) {
	var result Product
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		c.refreshAfter(ctx, tx, c.products)
		var err error
		result, err = c.publishIn(tx, merchantID, id, published)
		return err
	})
	return result, err
}

// PublishIn is Publish within the caller's transaction; searches follow within a second.
func (c *Catalog) PublishIn(tx *store.Tx, merchantID, id int64) error {
	_, err := c.publishIn(tx, merchantID, id, true)
	return err
}

func (c *Catalog) publishIn(tx *store.Tx, merchantID, id int64, published bool) (Product, error) {
	p, err := lockProduct(tx, merchantID, id)
	if err != nil {
		return Product{}, err
	}
	return c.shelveLocked(tx, p, published)
}

// shelveLocked puts a product whose row is locked on the shelf or takes it off.
func (c *Catalog) shelveLocked(tx *store.Tx, p model.Product, published bool) (Product, error) {
	skus, err := skusOf(tx.DB, p.ID)
	if err != nil {
		return Product{}, err
	}
	if published && len(skus) == 0 {
		return Product{}, fault.New(fault.StateConflict).Say("至少有一个 SKU 才能上架", "A product needs a SKU before it can be published")
	}
	was := p.Published
	if was != published {
		p.Published, p.Version, p.ChangedAt = published, p.Version+1, c.now()
		if err := writeProduct(tx, p); err != nil {
			return Product{}, err
		}
	}
	// Where it was as asked already, this only says so.
	err = changelog.Record(tx, changelog.Product, p.ID, map[string]any{"published": was, "merchant_id": p.MerchantID}, map[string]any{"published": published})
	return Product{Product: p, SKUs: skus}, err
}

func lockProduct(tx *store.Tx, merchantID, id int64) (model.Product, error) {
	var p model.Product
	err := tx.Raw("SELECT * FROM products WHERE id = ? AND merchant_id = ? AND deleted_at = 0"+tx.ForUpdate(), id, merchantID).Take(&p).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = fault.New(fault.NotFoundError)
	}
	return p, err
}

func (c *Catalog) product(ctx context.Context, merchantID, id int64) (model.Product, error) {
	var p model.Product
	err := c.store.Read(ctx).Where("id = ? AND merchant_id = ? AND deleted_at = 0", id, merchantID).Take(&p).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return p, fault.New(fault.NotFoundError)
	}
	return p, store.Classify(err)
}

// Product returns the merchant's product, published or not, or fails with not_found.
func (c *Catalog) Product(ctx context.Context, merchantID, id int64) (Product, error) {
	p, err := c.product(ctx, merchantID, id)
	if err != nil {
		return Product{}, err
	}
	skus, err := skusOf(c.store.Read(ctx), id)
	return Product{Product: p, SKUs: skus}, store.Classify(err)
}

func skusOf(db *gorm.DB, productID int64) ([]model.SKU, error) {
	skus := []model.SKU{}
	err := db.Where("product_id = ? AND deleted_at = 0", productID).Order("sort, id").Find(&skus).Error
	return skus, err
}
