package model

// Delivery says how goods reach the shopper.
type Delivery string

// Ways of delivery; WeChat's logistics_type is 1 express, 2 same city, 3 virtual, 4 pick-up.
const (
	DeliveryExpress  Delivery = "express"
	DeliverySameCity Delivery = "same_city"
	DeliveryVirtual  Delivery = "virtual"
	DeliveryPickup   Delivery = "pickup"
)

// Parcel is something handed over; State is where the upload of its shipping information to WeChat stands.
type Parcel struct {
	ID           int64       `gorm:"primaryKey;autoIncrement:false"`
	OrderID      int64       `gorm:"not null;index:ix_parcels_order"`
	MerchantID   int64       `gorm:"not null"`
	Delivery     Delivery    `gorm:"size:16;not null"`
	Carrier      string      `gorm:"size:32;not null"`
	TrackingNo   string      `gorm:"size:64;not null"`
	State        ParcelState `gorm:"size:16;not null"`
	UploadNextAt *Time       `gorm:"index:ix_parcels_upload"`
	CreatedAt    Time        `gorm:"not null;autoCreateTime:false"`
	UploadedAt   Time        `gorm:"not null"`
}

// ParcelLine is what of an order line is in a parcel.
type ParcelLine struct {
	ParcelID int64 `gorm:"primaryKey;autoIncrement:false"`
	LineID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity int64 `gorm:"not null"`
}

// AftersaleType says what the shopper wants.
type AftersaleType string

// Types of after-sales.
const (
	AftersaleRefundOnly AftersaleType = "refund"
	AftersaleReturn     AftersaleType = "return_refund"
)

// Aftersale is a shopper's request to give something back or get money back.
type Aftersale struct {
	ID         int64          `gorm:"primaryKey;autoIncrement:false"`
	OrderID    int64          `gorm:"not null;index:ix_aftersales_order"`
	MerchantID int64          `gorm:"not null;index:ix_aftersales_merchant,priority:1"`
	ShopperID  int64          `gorm:"not null;index:ix_aftersales_shopper,priority:1"`
	Type       AftersaleType  `gorm:"size:16;not null"`
	State      AftersaleState `gorm:"size:16;not null;index:ix_aftersales_merchant,priority:2"`
	Reason     string         `gorm:"size:255;not null"`
	Answer     string         `gorm:"size:255;not null"`
	RefundID   int64          `gorm:"not null"`
	Carrier    string         `gorm:"size:32;not null"` // of the parcel sent back
	TrackingNo string         `gorm:"size:64;not null"`
	// AnswerDeadline is when the merchant is to have answered; nil while nothing is waited for.
	AnswerDeadline *Time `gorm:"index:ix_aftersales_deadline"`
	// AnswerOverdueAt is when the alert was given that the merchant has not answered yet; nil once it has.
	AnswerOverdueAt *Time `gorm:""`
	Version         int64 `gorm:"not null"`
	CreatedAt       Time  `gorm:"not null;autoCreateTime:false;index:ix_aftersales_merchant,priority:3;index:ix_aftersales_shopper,priority:2"`
	UpdatedAt       Time  `gorm:"not null;autoUpdateTime:false"`
}

// AftersaleLine is what of an order line an after-sale is about.
type AftersaleLine struct {
	AftersaleID int64 `gorm:"primaryKey;autoIncrement:false"`
	LineID      int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity    int64 `gorm:"not null"`
}
