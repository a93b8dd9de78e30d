package cart

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Item is a SKU in the cart, as it is sold now.
type Item struct {
	ID        int64
	SKUID     int64
	ProductID int64
	Name      string // the product's
	Image     string // a key in the file store: the SKU's own, or the product's first; may be empty
	Specs     map[string]string
	Quantity  int64
	PriceFen  model.Fen
	Stock     int64
	Virtual   bool
	Reason    Reason // empty when it can be bought
}

// Group is what the cart has of one merchant; an order takes goods of one.
type Group struct {
	MerchantID   int64
	MerchantName string
	Items        []Item
}

// row is an item joined with its SKU, product and merchant; all but the item's own columns are NULL where they do not exist.
type row struct {
	ID, Quantity          int64
	CreatedAt             model.Time
	SKUID                 int64 `gorm:"column:sku_id"`
	ProductID, MerchantID *int64
	Name, MerchantName    *string
	SKUImage              *string `gorm:"column:sku_image"`
	Images                *string
	Specs                 *string
	PriceFen, Stock       *int64
	Virtual, Published    *bool
	Removed, Disabled     *bool
}

const selectRows = `SELECT c.id, c.sku_id AS sku_id, c.quantity, c.created_at, k.product_id, k.merchant_id, p.name, m.name AS merchant_name,
		k.image AS sku_image, p.images, k.specs, k.price_fen, k.stock, p.virtual, p.published,
		(k.deleted_at <> 0 OR p.deleted_at <> 0) AS removed, m.disabled
	FROM cart_items c LEFT JOIN skus k ON k.id = c.sku_id LEFT JOIN products p ON p.id = k.product_id
		LEFT JOIN merchants m ON m.id = k.merchant_id `

// Groups returns the shopper's cart by merchant: the merchant and the item added last come first.
func (s *Service) Groups(ctx context.Context, shopperID int64) ([]Group, error) {
	var rows []row
	if err := s.store.Read(ctx).Raw(selectRows+"WHERE c.shopper_id = ?", shopperID).Scan(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	// Sorted here: MariaDB would write the joined texts to a temporary table on disk for it.
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	var groups []Group
	at := map[int64]int{}
	for _, r := range rows {
		item, err := r.item()
		if err != nil {
			return nil, err
		}
		merchant := orZero(r.MerchantID)
		i, ok := at[merchant]
		if !ok {
			i = len(groups)
			at[merchant] = i
			groups = append(groups, Group{MerchantID: merchant, MerchantName: orZero(r.MerchantName)})
		}
		groups[i].Items = append(groups[i].Items, item)
	}
	return groups, nil
}

// one returns the shopper's item of the SKU.
func one(db *gorm.DB, shopperID, skuID int64) (Item, error) {
	var rows []row
	if err := db.Raw(selectRows+"WHERE c.shopper_id = ? AND c.sku_id = ?", shopperID, skuID).Scan(&rows).Error; err != nil {
		return Item{}, store.Classify(err)
	}
	if len(rows) == 0 {
		return Item{}, fault.New(fault.NotFoundError)
	}
	return rows[0].item()
}

func (r row) item() (Item, error) {
	item := Item{
		ID: r.ID, SKUID: r.SKUID, ProductID: orZero(r.ProductID), Name: orZero(r.Name), Image: orZero(r.SKUImage), Quantity: r.Quantity,
		PriceFen: model.Fen(orZero(r.PriceFen)), Stock: orZero(r.Stock), Virtual: orZero(r.Virtual), Reason: r.reason(),
	}
	if r.Specs != nil {
		if err := json.Unmarshal([]byte(*r.Specs), &item.Specs); err != nil {
			return Item{}, fmt.Errorf("specs of SKU %d: %w", r.SKUID, err)
		}
	}
	if item.Image == "" && r.Images != nil {
		var images []model.Image
		if err := json.Unmarshal([]byte(*r.Images), &images); err != nil {
			return Item{}, fmt.Errorf("images of product %d: %w", item.ProductID, err)
		}
		if len(images) > 0 {
			item.Image = images[0].Key
		}
	}
	return item, nil
}

func (r row) reason() Reason {
	switch {
	case r.Removed == nil || *r.Removed:
		return ReasonGone
	case !orZero(r.Published) || r.Disabled == nil || *r.Disabled:
		return ReasonOffShelf
	case orZero(r.Stock) <= 0:
		return ReasonSoldOut
	case *r.Stock < r.Quantity:
		return ReasonStockShort
	}
	return ""
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
