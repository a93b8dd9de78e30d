package catalog

import (
	"encoding/json"
	"fmt"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Sellable is a SKU with what of its product matters when it is sold.
type Sellable struct {
	SKUID      int64
	ProductID  int64
	MerchantID int64
	CategoryID int64
	Name       string // the product's
	Image      string // a key in the file store: the SKU's own, or the product's first
	Specs      map[string]string
	PriceFen   model.Fen
	Stock      int64
	WeightG    int64
	Virtual    bool
	OnSale     bool // published, not removed, its merchant not disabled
}

// Sellables reads SKUs by one query; those that do not exist are left out, removed ones are not OnSale.
func Sellables(db *gorm.DB, skuIDs []int64) ([]Sellable, error) {
	var rows []struct {
		SKUID                             int64 `gorm:"column:sku_id"`
		ProductID, MerchantID, CategoryID int64
		Name, Image, Images, Specs        string
		PriceFen                          model.Fen
		Stock, WeightG                    int64
		Virtual, OnSale                   bool
	}
	err := db.Raw(`SELECT k.id AS sku_id, k.product_id, k.merchant_id, p.category_id, p.name, k.image, p.images, k.specs, k.price_fen, k.stock,
			k.weight_g, p.virtual, (p.published AND p.deleted_at = 0 AND k.deleted_at = 0 AND NOT m.disabled) AS on_sale
		FROM skus k JOIN products p ON p.id = k.product_id JOIN merchants m ON m.id = k.merchant_id
		WHERE k.id IN ?`, skuIDs).Scan(&rows).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	out := make([]Sellable, len(rows))
	for i, r := range rows {
		out[i] = Sellable{SKUID: r.SKUID, ProductID: r.ProductID, MerchantID: r.MerchantID, CategoryID: r.CategoryID, Name: r.Name,
			Image: r.Image, PriceFen: r.PriceFen, Stock: r.Stock, WeightG: r.WeightG, Virtual: r.Virtual, OnSale: r.OnSale}
		if err := json.Unmarshal([]byte(r.Specs), &out[i].Specs); err != nil {
			return nil, fmt.Errorf("specs of SKU %d: %w", r.SKUID, err)
		}
		if r.Image != "" {
			continue
		}
		var images []model.Image
		if err := json.Unmarshal([]byte(r.Images), &images); err != nil {
			return nil, fmt.Errorf("images of product %d: %w", r.ProductID, err)
		}
		if len(images) > 0 {
			out[i].Image = images[0].Key
		}
	}
	return out, nil
}
