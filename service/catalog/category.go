package catalog

import (
	"context"
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// CategoryDraft is what an admin writes of a category.
type CategoryDraft struct {
	Name     string
	ParentID int64 // 0 for a root
	Sort     int   // the larger comes first
}

// Categories returns the trees of the merchant's categories, or those of every merchant that is not disabled where merchantID
// is 0.
func (c *Catalog) Categories(ctx context.Context, merchantID int64) ([]Node, error) {
	q := c.store.Read(ctx).Where("deleted_at = 0")
	if merchantID != 0 {
		q = q.Where("merchant_id = ?", merchantID)
	} else {
		q = q.Where(merchantEnabled, true)
	}
	var rows []model.Category
	if err := q.Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	return forestOf(rows).nodes(0, MaxDepth), nil
}

func forestOf(rows []model.Category) *forest {
	byID := make(map[int64]model.Category, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	return newForest(byID)
}

// CreateCategory adds a category. Fails with validation_failed.
func (c *Catalog) CreateCategory(ctx context.Context, merchantID int64, d CategoryDraft) (model.Category, error) {
	var made model.Category
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		c.refreshAfter(ctx, tx, c.categories)
		var err error
		made, err = c.CreateCategoryIn(tx, merchantID, d)
		return err
	})
	return made, err
}

// CreateCategoryIn is CreateCategory within the caller's transaction; the tree in memory follows within a second.
func (c *Catalog) CreateCategoryIn(tx *store.Tx, merchantID int64, d CategoryDraft) (model.Category, error) {
	if err := d.check(); err != nil {
		return model.Category{}, err
	}
	all, err := lockCategories(tx, merchantID)
	if err != nil {
		return model.Category{}, err
	}
	if len(all.byID) >= MaxCategories {
		return model.Category{}, fault.New(fault.ValidationFailed).Say("分类最多 500 个", "A merchant may have 500 categories")
	}
	if err := all.accepts(d.ParentID, 1); err != nil {
		return model.Category{}, err
	}
	now := c.now()
	made := model.Category{MerchantID: merchantID, ParentID: d.ParentID, Name: d.Name, Sort: d.Sort, Version: 1, CreatedAt: now, ChangedAt: now}
	if err := tx.Create(&made).Error; err != nil {
		return model.Category{}, err
	}
	return made, changelog.Record(tx, changelog.Category, made.ID, nil, made)
}

// UpdateCategory replaces a category's name, place and order. Fails with not_found, stale_version, and validation_failed where
// it would come to lie below itself or too deep.
func (c *Catalog) UpdateCategory(ctx context.Context, merchantID, id, version int64, d CategoryDraft) (model.Category, error) {
	if err := d.check(); err != nil {
		return model.Category{}, err
	}
	var row model.Category
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		all, err := lockCategories(tx, merchantID)
		if err != nil {
			return err
		}
		if row, err = all.known(id, version); err != nil {
			return err
		}
		if err := all.acceptsMove(id, d.ParentID); err != nil {
			return err
		}
		was := row
		row.Name, row.ParentID, row.Sort, row.Version, row.ChangedAt = d.Name, d.ParentID, d.Sort, version+1, c.now()
		c.refreshAfter(ctx, tx, c.categories)
		if err := writeCategory(tx, row); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Category, id, was, row)
	})
	return row, err
}

// DeleteCategory removes a category. Fails with not_found, and with in_use while products or categories are in it.
func (c *Catalog) DeleteCategory(ctx context.Context, merchantID, id int64) error {
	return c.store.Tx(ctx, func(tx *store.Tx) error {
		all, err := lockCategories(tx, merchantID)
		if err != nil {
			return err
		}
		known, ok := all.byID[id]
		if !ok {
			return fault.New(fault.NotFoundError)
		}
		if len(all.children[id]) > 0 {
			return fault.New(fault.InUse).Say("请先删除下级分类", "Remove the categories below it first")
		}
		// A product that is being put into the category holds the category's row until it commits (takeCategory).
		if err := tx.Exec("UPDATE categories SET version = version + 1 WHERE id = ?", id).Error; err != nil {
			return err
		}
		var products int64
		if err := tx.Raw("SELECT COUNT(*) FROM products WHERE category_id = ? AND deleted_at = 0", id).Scan(&products).Error; err != nil {
			return err
		}
		if products > 0 {
			return fault.New(fault.InUse).Say("请先移走该分类下的商品", "Move the products of this category first")
		}
		now := c.now()
		c.refreshAfter(ctx, tx, c.categories)
		if err := tx.Exec("UPDATE categories SET changed_at = ?, deleted_at = ? WHERE id = ?", now, now, id).Error; err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Category, id, known, nil)
	})
}

func writeCategory(tx *store.Tx, row model.Category) error {
	n, err := tx.Affected("UPDATE categories SET name = ?, parent_id = ?, sort = ?, version = ?, changed_at = ? WHERE id = ? AND version = ? AND deleted_at = 0",
		row.Name, row.ParentID, row.Sort, row.Version, row.ChangedAt, row.ID, row.Version-1)
	if err == nil && n == 0 {
		return fault.New(fault.StaleVersion)
	}
	return err
}

// lockCategories reads the merchant's categories under the lock of the merchant's row: changes of one tree happen one after
// another, or two moves could make a circle together.
func lockCategories(tx *store.Tx, merchantID int64) (*forest, error) {
	var id int64
	if err := tx.Raw("SELECT id FROM merchants WHERE id = ?"+tx.ForUpdate(), merchantID).Scan(&id).Error; err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, fault.New(fault.NotFoundError)
	}
	var rows []model.Category
	err := tx.Where("merchant_id = ? AND deleted_at = 0", merchantID).Find(&rows).Error
	return forestOf(rows), err
}

// takeCategory makes sure that the merchant has the category and keeps it until the transaction ends.
func takeCategory(tx *store.Tx, merchantID, id int64) error {
	var row model.Category
	err := tx.Raw("SELECT id FROM categories WHERE id = ? AND merchant_id = ? AND deleted_at = 0"+tx.ForUpdate(), id, merchantID).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return fault.New(fault.ValidationFailed).With("category_id", fault.FieldChoice, "分类不存在", "is not one of the categories")
	}
	return err
}

// known returns the category, or fails with not_found, and with stale_version where it is not the version that was read.
func (f *forest) known(id, version int64) (model.Category, error) {
	row, ok := f.byID[id]
	if !ok {
		return row, fault.New(fault.NotFoundError)
	}
	if row.Version != version {
		return row, fault.New(fault.StaleVersion)
	}
	return row, nil
}

// acceptsMove checks that a category with all that is below it may lie under the parent.
func (f *forest) acceptsMove(id, parentID int64) error {
	if parentID == id || f.isBelow(parentID, id) {
		return badParent("不能移到自己的下级", "may not be the category itself or one below it")
	}
	return f.accepts(parentID, f.height(id))
}

// accepts checks that a category with levels below and including itself may lie under the parent.
func (f *forest) accepts(parentID int64, levels int) error {
	depth := 0
	for at := parentID; at != 0; depth++ {
		parent, ok := f.byID[at]
		if !ok {
			return badParent("上级分类不存在", "is not one of the categories")
		}
		at = parent.ParentID
	}
	if depth+levels > MaxDepth {
		return badParent("分类最多三级", "would make more than three levels")
	}
	return nil
}

func (f *forest) isBelow(id, ancestorID int64) bool {
	for at := f.byID[id]; at.ParentID != 0; at = f.byID[at.ParentID] {
		if at.ParentID == ancestorID {
			return true
		}
	}
	return false
}

func badParent(zh, en string) error {
	return fault.New(fault.ValidationFailed).With("parent_id", fault.FieldChoice, zh, en)
}

func (d *CategoryDraft) check() error {
	d.Name = strings.TrimSpace(d.Name)
	p := &problems{}
	p.text("name", d.Name, 1, MaxCategoryName)
	p.between("sort", int64(d.Sort), -MaxSort, MaxSort)
	return p.err()
}
