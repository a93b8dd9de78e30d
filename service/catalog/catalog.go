// Package catalog holds what is for sale: a merchant's tree of categories, products with their SKUs, and the search over them.
// Stock belongs to inventory; the catalogue only shows it.
package catalog

import (
	"context"
	"log/slog"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/replica"
	"github.com/tidemall/tidemall/service/store"
)

// Limits of what a merchant may enter. Lengths count characters.
const (
	MaxDepth        = 3   // levels of categories
	MaxCategories   = 500 // of one merchant
	MaxCategoryName = 30
	MaxName         = 60
	MaxSubtitle     = 100
	MaxCode         = 64
	MaxDetail       = 100_000
	MaxImages       = 9
	MaxOptions      = 3
	MaxOptionName   = 20
	MaxOptionValue  = 40
	MaxValues       = 100 // of one option
	MaxSKUs         = 200
	MaxStock        = 999_999_999
	MaxWeightG      = 1_000_000
	MaxSort         = 999_999 // and as much below zero
)

// Pictures is what the catalogue needs of the file store.
type Pictures interface {
	// Exists reports whether a picture is stored under the key.
	Exists(ctx context.Context, key string) (bool, error)
}

// Catalog is the service. The tree of categories and the search index are in memory and follow the database on every replica.
type Catalog struct {
	store    *store.Store
	now      func() model.Time
	log      *slog.Logger
	pictures Pictures
	tree     *tree
	index    *index

	categories *replica.Follower[model.Category]
	products   *replica.Follower[model.Product]
}

// New makes the service. Start must have returned before the first search.
func New(s *store.Store, now func() model.Time, log *slog.Logger, pictures Pictures) (*Catalog, error) {
	c := &Catalog{store: s, now: now, log: log, pictures: pictures, tree: newTree()}
	var err error
	if c.index, err = newIndex(c.tree, log); err != nil {
		return nil, err
	}
	c.categories = replica.Follow(replica.Options[model.Category]{
		Name: "categories", Now: now, Log: log, Load: replica.Table[model.Category](s), Meta: categoryMeta, Apply: c.tree.apply,
	})
	c.products = replica.Follow(replica.Options[model.Product]{
		Name: "products", Now: now, Log: log, Load: c.loadProducts, Meta: productMeta, Apply: c.index.apply,
	})
	return c, nil
}

// Start reads the categories and builds the search index, and follows both from then on.
func (c *Catalog) Start(ctx context.Context) error {
	if err := c.categories.Start(ctx); err != nil {
		return err
	}
	return c.products.Start(ctx)
}

// Stop ends following and frees the index; nothing may be searched any more.
func (c *Catalog) Stop() error {
	c.products.Stop()
	c.categories.Stop()
	return c.index.close()
}

func categoryMeta(r model.Category) replica.Meta {
	return replica.Meta{ID: r.ID, Version: r.Version, ChangedAt: r.ChangedAt, DeletedAt: r.DeletedAt}
}

func productMeta(r model.Product) replica.Meta {
	return replica.Meta{ID: r.ID, Version: r.Version, ChangedAt: r.ChangedAt, DeletedAt: r.DeletedAt}
}

// loadProducts reads what the index needs: of the detail text, which is large, nothing.
func (c *Catalog) loadProducts(ctx context.Context, since model.Time, afterID int64, limit int) ([]model.Product, error) {
	var rows []model.Product
	err := c.store.Read(ctx).
		Select("id", "merchant_id", "category_id", "name", "subtitle", "options", "published", "version", "changed_at", "deleted_at").
		Where("changed_at >= ? AND id > ?", since, afterID).Order("id").Limit(limit).Find(&rows).Error
	return rows, store.Classify(err)
}

// refreshAfter shows a writer its own write at once; the other replicas see it within a second. A failure is only logged: the
// next read of the follower repairs it.
func (c *Catalog) refreshAfter(ctx context.Context, tx *store.Tx, follower interface{ Refresh(context.Context) error }) {
	tx.AfterCommit(func() { c.refresh(ctx, follower) })
}

func (c *Catalog) refresh(ctx context.Context, follower interface{ Refresh(context.Context) error }) {
	if err := follower.Refresh(context.WithoutCancel(ctx)); err != nil {
		c.log.Warn("what was written is not yet in memory", "error", err)
	}
}

// CategoryPath returns the category and its ancestors, nearest first, from memory. A category that this replica has not heard
// of yet stands alone; 0 has no path.
func (c *Catalog) CategoryPath(merchantID, categoryID int64) []int64 {
	return c.tree.path(merchantID, categoryID)
}
