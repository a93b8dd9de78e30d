package catalog

import (
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

type sellableRow struct {
	ID             int64
	ProductID      int64
	MerchantID     int64
	CategoryID     int64
	Name           string
	Image          string
	Images         []model.Image     `gorm:"serializer:json"`
	Specs          map[string]string `gorm:"serializer:json"`
	PriceFen       model.Fen
	Stock          int64
	WeightG        int64
	Virtual        bool
	Published      bool
	Disabled       bool
	SKUDeleted     model.Time `gorm:"column:sku_deleted"`
	ProductDeleted model.Time
}

// Sellables returns what is known of the SKUs, in no order, those no longer on sale too; an id that never was is left out. It
// is one query, and reads what db sees: inside a transaction, its snapshot.
func Sellables(db *gorm.DB, skuIDs []int64) ([]Sellable, error) {
	if len(skuIDs) == 0 {
		return nil, nil
	}
	var rows []sellableRow
	err := db.Raw(`SELECT k.id, k.product_id, k.merchant_id, p.category_id, p.name, k.image, p.images, k.specs, k.price_fen, k.stock,
		k.weight_g, p.virtual, p.published, m.disabled, k.deleted_at AS sku_deleted, p.deleted_at AS product_deleted
		FROM skus k JOIN products p ON p.id = k.product_id JOIN merchants m ON m.id = k.merchant_id
		WHERE k.id IN ?`, skuIDs).Scan(&rows).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	out := make([]Sellable, len(rows))
	for i, r := range rows {
		image := r.Image
		if image == "" && len(r.Images) > 0 {
			image = r.Images[0].Key
		}
		out[i] = Sellable{
			SKUID: r.ID, ProductID: r.ProductID, MerchantID: r.MerchantID, CategoryID: r.CategoryID, Name: r.Name,
			Image: file.ThumbKey(image), Specs: r.Specs, PriceFen: r.PriceFen, Stock: r.Stock, WeightG: r.WeightG, Virtual: r.Virtual,
			OnSale: r.Published && !r.Disabled && r.SKUDeleted.IsZero() && r.ProductDeleted.IsZero(),
		}
	}
	return out, nil
}

// Sellables is the function of the same name, for those who know the catalogue by an interface.
func (c *Catalog) Sellables(db *gorm.DB, skuIDs []int64) ([]Sellable, error) {
	return Sellables(db, skuIDs)
}
