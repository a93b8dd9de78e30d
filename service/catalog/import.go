package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Entry is a product as a file has it. What is nil was not in the file and stays as it is; a new product has it empty.
type Entry struct {
	ID         int64  // of a product that is there; 0 = told by Code
	Code       string // the merchant's own; a product that no product has is made
	Name       *string
	CategoryID *int64
	Subtitle   *string
	DetailHTML *string
	Images     *[]model.Image
	Virtual    *bool
	Sort       *int
	Published  *bool
	SKUs       []EntrySKU
}

// EntrySKU is a SKU as a file has it. Specs are in the order in which they are shown.
type EntrySKU struct {
	Specs    []Spec
	PriceFen model.Fen
	Stock    *int64 // of a SKU that is new or comes back; that of one on sale changes only by the stock operation
	WeightG  *int64
	Image    *string
}

// Spec is the value of an option.
type Spec struct{ Option, Value string }

// Imported is what an entry changes.
type Imported struct {
	ProductID              int64 // 0 where it would be made
	Created, Changed       bool  // neither: everything is as the entry says
	Added, Edited, Removed int   // SKUs
}

// CheckEntry makes sure that the entry's pictures are stored here. It asks the file store, so it runs outside any transaction.
func (c *Catalog) CheckEntry(ctx context.Context, e Entry) error {
	d := Draft{}
	if e.Images != nil {
		d.Images = *e.Images
	}
	for _, sku := range e.SKUs {
		if sku.Image != nil {
			d.SKUs = append(d.SKUs, SKUDraft{Image: *sku.Image})
		}
	}
	return c.checkPictures(ctx, d)
}

// PlanEntry says what ImportIn would do with an entry, or fails as it would, and changes nothing.
func (c *Catalog) PlanEntry(tx *store.Tx, merchantID int64, e Entry) (Imported, error) {
	p, err := c.planEntry(tx, "", merchantID, e)
	return p.result, err
}

// ImportIn makes the product of an entry, or brings it to what the entry says, in the caller's transaction; searches follow within a
// second. The entry's SKUs are all of the product's: others are taken off sale, as by Update. Fails with not_found, name_taken (the
// code) and validation_failed.
func (c *Catalog) ImportIn(tx *store.Tx, merchantID int64, actor string, e Entry) (Imported, error) {
	plan, err := c.planEntry(tx, tx.ForUpdate(), merchantID, e)
	if err != nil {
		return Imported{}, err
	}
	p := plan.product
	switch {
	case plan.result.Created:
		made, err := c.createIn(tx, merchantID, actor, plan.draft, p.Published)
		if err != nil {
			return Imported{}, err
		}
		plan.result.ProductID = made.ID
		return plan.result, nil
	case plan.result.Changed:
		p.Version, p.ChangedAt = p.Version+1, c.now()
		if err := writeProduct(tx, p); err != nil {
			return Imported{}, err
		}
		is := Product{Product: p}
		if is.SKUs, err = applySKUs(tx, plan.skus, actor, c.now()); err != nil {
			return Imported{}, err
		}
		return plan.result, changelog.Record(tx, changelog.Product, p.ID, logged(plan.known), logged(is))
	}
	return plan.result, nil
}

// entryPlan is what becomes of an entry.
type entryPlan struct {
	known   Product       // as it is
	product model.Product // as it is to be
	draft   Draft
	skus    skuPlan // of a product that is there
	result  Imported
}

func (c *Catalog) planEntry(tx *store.Tx, lock string, merchantID int64, e Entry) (entryPlan, error) {
	known, err := entryProduct(tx, lock, merchantID, e)
	if err != nil {
		return entryPlan{}, err
	}
	var old []model.SKU
	if known.ID != 0 {
		if err := tx.Where("product_id = ?", known.ID).Order("sort, id").Find(&old).Error; err != nil {
			return entryPlan{}, err
		}
	}
	d := e.draft(known, old)
	d.tidy(nil)
	if err := d.check(); err != nil {
		return entryPlan{}, err
	}
	plan := entryPlan{product: known, draft: d}
	if e.Published != nil {
		plan.product.Published = *e.Published
	}
	if known.ID == 0 {
		plan.result = Imported{Created: true, Added: len(d.SKUs)}
		return plan, takeCategory(tx, merchantID, d.CategoryID)
	}
	if d.CategoryID != known.CategoryID {
		if err := takeCategory(tx, merchantID, d.CategoryID); err != nil {
			return entryPlan{}, err
		}
	}
	plan.known = Product{Product: known, SKUs: slices.DeleteFunc(slices.Clone(old), func(sku model.SKU) bool { return !sku.DeletedAt.IsZero() })}
	d.write(&plan.product)
	if plan.skus, err = planSKUs(plan.product, old, d.SKUs, c.now()); err != nil {
		return entryPlan{}, err
	}
	r := Imported{ProductID: known.ID, Added: len(plan.skus.added), Edited: len(plan.skus.changed), Removed: len(plan.skus.removed)}
	r.Changed = r.Added+r.Edited+r.Removed > 0 || !sameProduct(known, plan.product)
	plan.result = r
	return plan, nil
}

// entryProduct finds the product that an entry is about; its id is 0 where it is to be made.
func entryProduct(tx *store.Tx, lock string, merchantID int64, e Entry) (model.Product, error) {
	var p model.Product
	var err error
	if e.ID != 0 {
		err = tx.Raw("SELECT * FROM products WHERE id = ? AND merchant_id = ?"+lock, e.ID, merchantID).Take(&p).Error
	} else {
		err = tx.Raw("SELECT * FROM products WHERE merchant_id = ? AND code = ?"+lock, merchantID, e.Code).Take(&p).Error
	}
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound) && e.ID == 0:
		return model.Product{MerchantID: merchantID, Images: []model.Image{}}, nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return p, fault.New(fault.NotFoundError).Say(fmt.Sprintf("本店没有 ID 为 %d 的商品", e.ID), fmt.Sprintf("There is no product %d", e.ID))
	case err != nil:
		return p, err
	case !p.DeletedAt.IsZero():
		return p, fault.New(fault.NotFoundError).Say("商品已删除", "The product was removed")
	}
	if e.ID == 0 || e.Code == "" {
		return p, nil
	}
	var others int64
	err = tx.Raw("SELECT COUNT(*) FROM products WHERE merchant_id = ? AND code = ? AND id <> ?", merchantID, e.Code, p.ID).Scan(&others).Error
	if err == nil && others > 0 {
		err = errCodeTaken()
	}
	return p, err
}

// draft is what the product becomes: what it is, but for what the entry says.
func (e *Entry) draft(known model.Product, old []model.SKU) Draft {
	d := Draft{
		CategoryID: known.CategoryID, Code: e.Code, Name: known.Name, Subtitle: known.Subtitle, DetailHTML: known.DetailHTML,
		Images: known.Images, Virtual: known.Virtual, Sort: known.Sort,
	}
	if e.Code == "" && known.Code != nil {
		d.Code = *known.Code
	}
	set(&d.Name, e.Name)
	set(&d.CategoryID, e.CategoryID)
	set(&d.Subtitle, e.Subtitle)
	set(&d.DetailHTML, e.DetailHTML)
	set(&d.Images, e.Images)
	set(&d.Virtual, e.Virtual)
	set(&d.Sort, e.Sort)
	byKey := make(map[string]model.SKU, len(old))
	for _, sku := range old {
		byKey[sku.SpecKey] = sku
	}
	for _, sku := range e.SKUs {
		specs := make(map[string]string, len(sku.Specs))
		for _, s := range sku.Specs {
			specs[s.Option] = s.Value
		}
		specs = trimSpecs(specs)
		there, exists := byKey[specKey(specs)]
		out := SKUDraft{Specs: specs, PriceFen: sku.PriceFen, Stock: sku.Stock, WeightG: there.WeightG, Image: there.Image}
		if exists && there.DeletedAt.IsZero() {
			out.Stock = nil
		}
		set(&out.WeightG, sku.WeightG)
		set(&out.Image, sku.Image)
		d.SKUs = append(d.SKUs, out)
	}
	d.Options = e.options(known.Options)
	return d
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// options are those of the entry's SKUs, in the order of the file; values that the product has keep their place before new ones.
func (e *Entry) options(known []model.ProductOption) []model.ProductOption {
	options := []model.ProductOption{}
	for _, sku := range e.SKUs {
		for _, s := range sku.Specs {
			name, value := strings.TrimSpace(s.Option), strings.TrimSpace(s.Value)
			at := slices.IndexFunc(options, func(o model.ProductOption) bool { return o.Name == name })
			if at < 0 {
				at = len(options)
				options = append(options, model.ProductOption{Name: name})
			}
			if !slices.Contains(options[at].Values, value) {
				options[at].Values = append(options[at].Values, value)
			}
		}
	}
	for i, o := range options {
		was := slices.IndexFunc(known, func(k model.ProductOption) bool { return k.Name == o.Name })
		if was < 0 {
			continue
		}
		place := func(v string) int {
			if at := slices.Index(known[was].Values, v); at >= 0 {
				return at
			}
			return len(known[was].Values)
		}
		slices.SortStableFunc(options[i].Values, func(a, b string) int { return place(a) - place(b) })
	}
	return options
}

func sameProduct(a, b model.Product) bool {
	code := func(p model.Product) string {
		if p.Code == nil {
			return ""
		}
		return *p.Code
	}
	return a.CategoryID == b.CategoryID && a.Name == b.Name && a.Subtitle == b.Subtitle && a.DetailHTML == b.DetailHTML &&
		slices.Equal(a.Images, b.Images) && a.Virtual == b.Virtual && a.Sort == b.Sort && a.Published == b.Published &&
		a.MinPriceFen == b.MinPriceFen && code(a) == code(b) &&
		slices.EqualFunc(a.Options, b.Options, func(x, y model.ProductOption) bool { return x.Name == y.Name && slices.Equal(x.Values, y.Values) })
}

// PathSeparator parts the names of a category's path in files.
const PathSeparator = " > "

// CategoryPaths returns the path of each of the merchant's categories, from the root down, by id.
func (c *Catalog) CategoryPaths(ctx context.Context, merchantID int64) (map[int64]string, error) {
	roots, err := c.Categories(ctx, merchantID)
	if err != nil {
		return nil, err
	}
	paths := map[int64]string{}
	var walk func(prefix string, nodes []Node)
	walk = func(prefix string, nodes []Node) {
		for _, n := range nodes {
			paths[n.ID] = prefix + n.Name
			walk(prefix+n.Name+PathSeparator, n.Children)
		}
	}
	walk("", roots)
	return paths, nil
}

// AdminAfter returns up to limit of the merchant's products with their SKUs and detail text whose ids follow afterID, in the order of
// their ids. It costs the same at any depth.
func (c *Catalog) AdminAfter(ctx context.Context, merchantID int64, f AdminFilter, afterID int64, limit int) ([]Product, error) {
	var rows []model.Product
	err := c.narrowAdmin(ctx, merchantID, f).Where("id > ?", afterID).Order("id").Limit(limit).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return c.withSKUs(ctx, rows)
}

// AdminCount returns how many of the merchant's products there are.
func (c *Catalog) AdminCount(ctx context.Context, merchantID int64, f AdminFilter) (n int64, err error) {
	err = c.narrowAdmin(ctx, merchantID, f).Count(&n).Error
	return n, store.Classify(err)
}
