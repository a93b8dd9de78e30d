package model

// Category is a node of a merchant's tree of categories; ParentID 0 is a root.
type Category struct {
	ID         int64  `gorm:"primaryKey"`
	MerchantID int64  `gorm:"not null;index:ix_categories_merchant,priority:1"`
	ParentID   int64  `gorm:"not null;index:ix_categories_merchant,priority:2"`
	Name       string `gorm:"size:64;not null"`
	Sort       int    `gorm:"not null"`
	Version    int64  `gorm:"not null"`
	CreatedAt  Time   `gorm:"not null;autoCreateTime:false"`
	ChangedAt  Time   `gorm:"not null;index:ix_categories_changed"`
	DeletedAt  Time   `gorm:"not null"` // a tombstone where not 0
}

// Image is a picture of a product as stored: keys in the file store, not URLs.
type Image struct {
	Key      string `json:"key"`
	ThumbKey string `json:"thumb_key"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
}

// ProductOption is one dimension of a product's SKUs with its values in display order.
type ProductOption struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Product is what is shown; its SKUs are what is sold.
type Product struct {
	ID         int64           `gorm:"primaryKey"`
	MerchantID int64           `gorm:"not null;index:ix_products_merchant,priority:1;uniqueIndex:uk_products_code,priority:1;index:ix_products_merchant_sort,priority:1;index:ix_products_merchant_sales,priority:1"`
	CategoryID int64           `gorm:"not null;index:ix_products_category,priority:1"`
	Code       *string         `gorm:"size:64;uniqueIndex:uk_products_code,priority:2"` // the merchant's own, unique within the merchant; nil = none
	Name       string          `gorm:"size:200;not null"`
	Subtitle   string          `gorm:"size:255;not null"`
	DetailHTML string          `gorm:"type:mediumtext;not null"` // sanitised when stored
	Images     []Image         `gorm:"type:text;serializer:json;not null"`
	Options    []ProductOption `gorm:"type:text;serializer:json;not null"`
	// Virtual products ship nothing: no address, no freight, no tracking number.
	Virtual     bool  `gorm:"not null"`
	Published   bool  `gorm:"not null;index:ix_products_merchant,priority:2;index:ix_products_category,priority:2;index:ix_products_sales,priority:1;index:ix_products_newest,priority:1;index:ix_products_price,priority:1;index:ix_products_sort,priority:1"`
	MinPriceFen Fen   `gorm:"not null;index:ix_products_price,priority:2"`                                             // of the SKUs on sale
	Sales       int64 `gorm:"not null;index:ix_products_sales,priority:2;index:ix_products_merchant_sales,priority:2"` // pieces paid for, counted by a subscriber
	Sort        int   `gorm:"not null;index:ix_products_sort,priority:2;index:ix_products_merchant_sort,priority:2"`
	Version     int64 `gorm:"not null"`
	CreatedAt   Time  `gorm:"not null;autoCreateTime:false;index:ix_products_newest,priority:2"`
	ChangedAt   Time  `gorm:"not null;index:ix_products_changed"`
	DeletedAt   Time  `gorm:"not null"` // a tombstone where not 0
}

// SKU is one sellable combination of a product's option values. Its stock changes only together with a ledger entry.
type SKU struct {
	ID         int64             `gorm:"primaryKey"`
	ProductID  int64             `gorm:"not null;uniqueIndex:uk_skus_spec,priority:1"`
	MerchantID int64             `gorm:"not null;index:ix_skus_merchant;index:ix_skus_merchant_stock,priority:1"`
	Specs      map[string]string `gorm:"type:text;serializer:json;not null"`
	SpecKey    string            `gorm:"size:255;not null;uniqueIndex:uk_skus_spec,priority:2"` // Specs in a canonical form
	PriceFen   Fen               `gorm:"not null"`
	Stock      int64             `gorm:"not null;index:ix_skus_merchant_stock,priority:2"`
	WeightG    int64             `gorm:"not null"`
	Image      string            `gorm:"size:255;not null"` // a key in the file store, or empty
	Sort       int               `gorm:"not null"`
	CreatedAt  Time              `gorm:"not null;autoCreateTime:false"`
	UpdatedAt  Time              `gorm:"not null;autoUpdateTime:false"`
	DeletedAt  Time              `gorm:"not null"` // removed from the product where not 0; orders still point at it
}

// TableName names the table.
func (SKU) TableName() string { return "skus" }

// LedgerKind says why stock changed.
type LedgerKind string

// Kinds of ledger entries. Reserve, release and return belong to an order line, at most once for a line (and refund).
const (
	LedgerInitial LedgerKind = "initial"
	LedgerAdjust  LedgerKind = "adjust"
	LedgerReserve LedgerKind = "reserve"
	LedgerRelease LedgerKind = "release"
	LedgerReturn  LedgerKind = "return"
)

// LedgerEntry is one change of a SKU's stock. The sum of a SKU's entries is its stock.
type LedgerEntry struct {
	ID         int64      `gorm:"primaryKey"`
	MerchantID int64      `gorm:"not null"`
	SKUID      int64      `gorm:"column:sku_id;not null;index:ix_stock_ledger_sku,priority:1"`
	Kind       LedgerKind `gorm:"size:16;not null;uniqueIndex:uk_stock_ledger_line,priority:2"`
	Delta      int64      `gorm:"not null"`
	OrderID    int64      `gorm:"not null"`                                             // 0 where no order is behind it
	LineID     *int64     `gorm:"uniqueIndex:uk_stock_ledger_line,priority:1"`          // NULL where no order is behind it
	RefundID   int64      `gorm:"not null;uniqueIndex:uk_stock_ledger_line,priority:3"` // 0 unless Kind is return
	Reason     string     `gorm:"size:255;not null"`
	Actor      string     `gorm:"size:64;not null"`
	CreatedAt  Time       `gorm:"not null;autoCreateTime:false;index:ix_stock_ledger_sku,priority:2"`
}

// TableName names the table.
func (LedgerEntry) TableName() string { return "stock_ledger" }

// CartItem is a SKU in a shopper's cart.
type CartItem struct {
	ID        int64 `gorm:"primaryKey"`
	ShopperID int64 `gorm:"not null;uniqueIndex:uk_cart_items_sku,priority:1"`
	SKUID     int64 `gorm:"column:sku_id;not null;uniqueIndex:uk_cart_items_sku,priority:2"`
	Quantity  int64 `gorm:"not null"`
	CreatedAt Time  `gorm:"not null;autoCreateTime:false"`
	UpdatedAt Time  `gorm:"not null;autoUpdateTime:false"`
}

// FreightKind says in which units a freight rule counts.
type FreightKind string

// Freight is counted by pieces or by weight in grams.
const (
	FreightPiece  FreightKind = "piece"
	FreightWeight FreightKind = "weight"
)

// FreightRule prices delivery to a set of regions: FirstFen for the first FirstUnits, StepFen for each further StepUnits
// begun; free from FreeOverFen of goods after discount (0 = never).
type FreightRule struct {
	ID          int64       `gorm:"primaryKey"`
	MerchantID  int64       `gorm:"not null;index:ix_freight_rules_merchant"`
	Name        string      `gorm:"size:64;not null"`
	Kind        FreightKind `gorm:"size:16;not null"`
	Regions     []string    `gorm:"type:text;serializer:json;not null"` // province or city names, or region codes; empty = everywhere else
	FirstUnits  int64       `gorm:"not null"`
	FirstFen    Fen         `gorm:"not null"`
	StepUnits   int64       `gorm:"not null"`
	StepFen     Fen         `gorm:"not null"`
	FreeOverFen Fen         `gorm:"not null"`
	Sort        int         `gorm:"not null"`
	Version     int64       `gorm:"not null"`
	CreatedAt   Time        `gorm:"not null;autoCreateTime:false"`
	UpdatedAt   Time        `gorm:"not null;autoUpdateTime:false"`
}
