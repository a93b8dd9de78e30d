// Package demo fills an empty database with a shop to look at: products with pictures drawn by the program, coupons, freight
// rules. It never touches another database.
package demo

import (
	"context"
	"errors"
	"image"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// MerchantName is the demo's merchant, where there is none yet.
const MerchantName = "Tidemall 演示店"

// setting is the row that says that the demo has filled this database.
const setting = "demo"

// drawing is part of the pictures' keys in the file store; it changes when the drawings do.
const drawing = "demo 1 "

// actor stands in the ledger beside the initial stock.
const actor = "demo"

// Catalog is what the demo needs of the catalogue.
type Catalog interface {
	CreateCategoryIn(tx *store.Tx, merchantID int64, d catalog.CategoryDraft) (model.Category, error)
	CreateIn(tx *store.Tx, merchantID int64, actor string, d catalog.Draft) (catalog.Product, error)
	PublishIn(tx *store.Tx, merchantID, id int64) error
}

// Merchants makes the first merchant.
type Merchants interface {
	AddMerchant(ctx context.Context, name string) (model.Merchant, error)
}

// Pictures keeps what the demo draws.
type Pictures interface {
	Draw(ctx context.Context, name string, size image.Point, draw func() image.Image) (model.Image, error)
}

// Filler fills databases.
type Filler struct {
	Store     *store.Store
	Now       func() model.Time
	Log       *slog.Logger
	Catalog   Catalog
	Merchants Merchants
	Pictures  Pictures
	// Simulated says that a simulator plays WeChat, which takes the demo's templates of subscribe messages; the real one would not.
	Simulated bool
}

// errNotEmpty rolls the marker back.
var errNotEmpty = errors.New("the database is not empty")

// Fill fills the database if it holds no products, categories, orders, coupons or freight rules and at most one merchant, and
// reports whether this call did. It happens in one transaction, once: of replicas that start together one fills, and a shop
// that was emptied later is not filled again. Pictures are drawn on every replica that lacks them.
func (f *Filler) Fill(ctx context.Context) (filled bool, err error) {
	filledBefore, err := f.marked(ctx)
	if err != nil {
		return false, err
	}
	if !filledBefore {
		empty, err := isEmpty(f.Store.Read(ctx))
		if err != nil || !empty {
			return false, store.Classify(err)
		}
	}
	images, err := f.draw(ctx)
	if err != nil || filledBefore {
		return false, err
	}
	merchantID, err := f.merchant(ctx)
	if err != nil {
		return false, err
	}
	err = f.Store.Tx(ctx, func(tx *store.Tx) error {
		// The primary key lets one replica in; the other ones wait here and then find that it is done.
		row := model.Setting{Name: setting, Value: "1", UpdatedAt: f.Now()}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		empty, err := isEmpty(tx.DB)
		if err != nil {
			return err
		}
		if !empty {
			return errNotEmpty
		}
		return f.fill(tx, merchantID, images)
	})
	if store.IsDuplicate(err) || errors.Is(err, errNotEmpty) {
		return false, nil
	}
	if err == nil {
		f.Log.Info("filled the empty database with the demo shop", "products", len(shelf))
	}
	return err == nil, err
}

func (f *Filler) marked(ctx context.Context) (bool, error) {
	var n int64
	err := f.Store.Read(ctx).Raw("SELECT COUNT(*) FROM settings WHERE name = ?", setting).Scan(&n).Error
	return n > 0, store.Classify(err)
}

func isEmpty(db *gorm.DB) (bool, error) {
	var n int64
	err := db.Raw(`SELECT (SELECT COUNT(*) FROM products) + (SELECT COUNT(*) FROM categories) + (SELECT COUNT(*) FROM orders)
		+ (SELECT COUNT(*) FROM coupon_templates) + (SELECT COUNT(*) FROM freight_rules)
		+ (SELECT COUNT(*) FROM merchants WHERE id <> (SELECT MIN(id) FROM merchants))`).Scan(&n).Error
	return n == 0, err
}

// merchant returns the first merchant, making one where there is none.
func (f *Filler) merchant(ctx context.Context) (int64, error) {
	for {
		var ids []int64
		if err := f.Store.Read(ctx).Raw("SELECT id FROM merchants ORDER BY id LIMIT 1").Scan(&ids).Error; err != nil {
			return 0, store.Classify(err)
		}
		if len(ids) > 0 {
			return ids[0], nil
		}
		// name_taken: another replica made it at this moment.
		if _, err := f.Merchants.AddMerchant(ctx, MerchantName); err != nil && !fault.Is(err, fault.NameTaken) {
			return 0, err
		}
	}
}

// draw returns the pictures of every product, one a variant, drawing those that this replica's file store lacks.
func (f *Filler) draw(ctx context.Context) ([][]model.Image, error) {
	images := make([][]model.Image, len(shelf))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, p := range shelf {
		images[i] = make([]model.Image, len(p.variants))
		for j, v := range p.variants {
			group.Go(func() error {
				pic := picture{thing: p.thing, col: v.col, ground: p.ground}
				img, err := f.Pictures.Draw(ctx, drawing+p.name+" "+v.name, image.Pt(side, side), pic.draw)
				images[i][j] = img
				return err
			})
		}
	}
	return images, group.Wait()
}

func (f *Filler) fill(tx *store.Tx, merchantID int64, images [][]model.Image) error {
	categories, err := f.addCategories(tx, merchantID)
	if err != nil {
		return err
	}
	products := make(map[string]int64, len(shelf))
	for i, p := range shelf {
		d := p.draft(images[i])
		d.CategoryID, d.Sort = categories[p.category], len(shelf)-i
		made, err := f.Catalog.CreateIn(tx, merchantID, actor, d)
		if err != nil {
			return err
		}
		if err := f.Catalog.PublishIn(tx, merchantID, made.ID); err != nil {
			return err
		}
		products[p.name] = made.ID
	}
	if err := f.addReviews(tx, merchantID, products, images); err != nil {
		return err
	}
	offers := offers(merchantID, f.Now(), categories, products)
	if err := tx.Create(&offers).Error; err != nil {
		return err
	}
	rules := freight(merchantID, f.Now())
	if err := tx.Create(&rules).Error; err != nil || !f.Simulated {
		return err
	}
	told := templates(f.Now())
	return tx.Create(&told).Error
}

func (f *Filler) addCategories(tx *store.Tx, merchantID int64) (map[string]int64, error) {
	ids := map[string]int64{}
	for i, d := range departments {
		root, err := f.Catalog.CreateCategoryIn(tx, merchantID, catalog.CategoryDraft{Name: d.name, Sort: len(departments) - i})
		if err != nil {
			return nil, err
		}
		ids[d.name] = root.ID
		for j, name := range d.children {
			child, err := f.Catalog.CreateCategoryIn(tx, merchantID, catalog.CategoryDraft{Name: name, ParentID: root.ID, Sort: len(d.children) - j})
			if err != nil {
				return nil, err
			}
			ids[name] = child.ID
		}
	}
	return ids, nil
}
