package catalog

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/store"
)

// Sellable is a SKU with what the cart and an order must know of it.
type Sellable struct {
	SKUID      int64
	ProductID  int64
	MerchantID int64
	CategoryID int64
	Name       string
	// Image is the key of the thumbnail: the SKU's own picture, or else the product's first; "" without any.
	Image    string
	Specs    map[string]string
	PriceFen model.Fen
	Stock    int64
	WeightG  int64
	Virtual  bool
	// OnSale is false where the SKU was removed, the product is not published or is gone, or the merchant is disabled.
	OnSale bool
}

// sellableSQL takes the ids in place of its one placeholder.
const sellableSQL = `SELECT k.id, k.product_id, k.merchant_id, p.category_id, p.name, k.image, p.images, k.specs, k.price_fen, k.stock,
	k.weight_g, p.virtual, p.published AND NOT m.disabled AND k.deleted_at = 0 AND p.deleted_at = 0
	FROM skus k JOIN products p ON p.id = k.product_id JOIN merchants m ON m.id = k.merchant_id
	WHERE k.id IN (?)`

// Sellables returns what is known of the SKUs, in no order, those no longer on sale too; an id that never was is left out. It
// is one query, and reads what db sees: inside a transaction, its snapshot.
func Sellables(db *gorm.DB, skuIDs []int64) ([]Sellable, error) {
	if len(skuIDs) == 0 {
		return nil, nil
	}
	rows, err := db.Raw(strings.Replace(sellableSQL, "(?)", "?", 1), skuIDs).Rows()
	if err != nil {
		return nil, store.Classify(err)
	}
	defer rows.Close()
	out := make([]Sellable, 0, len(skuIDs))
	for rows.Next() {
		if err := addSellable(rows, &out); err != nil {
			return nil, store.Classify(err)
		}
	}
	return out, store.Classify(rows.Err())
}

// ReadSellables adds to the reads what Sellables returns; into is filled when they run.
func ReadSellables(r *store.Reads, skuIDs []int64, into *[]Sellable) {
	args := make([]any, len(skuIDs))
	for i, id := range skuIDs {
		args[i] = id
	}
	r.Add(func(rows *sql.Rows) error { return addSellable(rows, into) },
		strings.Replace(sellableSQL, "?", strings.Repeat(", ?", len(args))[2:], 1), args...)
}

// addSellable reads a row of sellableSQL. It scans by itself because every order comes by here twice.
func addSellable(rows *sql.Rows, into *[]Sellable) error {
	var s Sellable
	var image string
	var images, specs []byte
	err := rows.Scan(&s.SKUID, &s.ProductID, &s.MerchantID, &s.CategoryID, &s.Name, &image, &images, &specs, &s.PriceFen, &s.Stock, &s.WeightG, &s.Virtual, &s.OnSale)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(specs, &s.Specs); err != nil {
		return fmt.Errorf("specs of SKU %d: %w", s.SKUID, err)
	}
	if image == "" {
		var all []model.Image
		if err := json.Unmarshal(images, &all); err != nil {
			return fmt.Errorf("images of product %d: %w", s.ProductID, err)
		}
		if len(all) > 0 {
			image = all[0].Key
		}
	}
	s.Image = file.ThumbKey(image)
	*into = append(*into, s)
	return nil
}

// Sellables is the function of the same name, for those who know the catalogue by an interface.
func (c *Catalog) Sellables(db *gorm.DB, skuIDs []int64) ([]Sellable, error) {
	return Sellables(db, skuIDs)
}
