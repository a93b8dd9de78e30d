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
	ID         int64       `gorm:"primaryKey;autoIncrement:false"`
	OrderID    int64       `gorm:"not null;index:ix_parcels_order"`
	MerchantID int64       `gorm:"not null"`
	Delivery   Delivery    `gorm:"size:16;not null"`
	Carrier    string      `gorm:"size:32;not null"`
	TrackingNo string      `gorm:"size:64;not null"`
	State      ParcelState `gorm:"size:16;not null"`
	CreatedAt  Time        `gorm:"not null;autoCreateTime:false"`
	UploadedAt Time        `gorm:"not null"`
}

// ParcelLine is what of an order line is in a parcel.
type ParcelLine struct {
	ParcelID int64 `gorm:"primaryKey;autoIncrement:false"`
	LineID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity int64 `gorm:"not null"`
}

// ReceivedBy says how the receipt of an order's goods came to be known to WeChat.
type ReceivedBy string

// WeChat's confirm_receive_method: 1 automatic, 2 by hand.
const (
	ReceivedAuto ReceivedBy = "auto"
	ReceivedHand ReceivedBy = "shopper"
)

// ShippingUpload is what WeChat is to know, and knows, of how an order was shipped. ID is the order's: WeChat takes one upload for
// an order, with all its parcels, and renews it by the next.
type ShippingUpload struct {
	ID         int64       `gorm:"primaryKey;autoIncrement:false"`
	MerchantID int64       `gorm:"not null;index:ix_shipping_uploads_merchant,priority:1"`
	State      UploadState `gorm:"size:16;not null;index:ix_shipping_uploads_merchant,priority:2"`
	// NextAt is the deadline of the upload task: when WeChat is called next; NULL when nothing is to be uploaded.
	NextAt *Time `gorm:"index:ix_shipping_uploads_next"`
	Calls  int64 `gorm:"not null"` // since the last change of what is to be uploaded
	// Revision rises with every change of what is to be uploaded: the answer to an older one settles nothing.
	Revision int64 `gorm:"not null"`
	WantedAt Time  `gorm:"not null"` // when the last of those changes was
	// What WeChat was called with last, and what it took last: hashes of the content, and the upload_time that was sent with it.
	CalledHash  string `gorm:"size:64;not null"`
	CalledAt    Time   `gorm:"not null"`
	SentHash    string `gorm:"size:64;not null"`
	SentAt      Time   `gorm:"not null"`
	Split       bool   `gorm:"not null"` // what WeChat took last was split
	Finished    bool   `gorm:"not null"` // what WeChat took last was the whole order; changing it from there on is a correction
	Corrections int64  `gorm:"not null"` // WeChat allows one
	Error       string `gorm:"size:255;not null"`
	UploadedAt  Time   `gorm:"not null"`
	// What WeChat's settlement pushes say.
	SettlementDueAt Time       `gorm:"not null"` // when WeChat will give the money free at the latest
	ReceivedAt      Time       `gorm:"not null"`
	ReceivedBy      ReceivedBy `gorm:"size:16;not null"`
	SettledAt       Time       `gorm:"not null"`
	CreatedAt       Time       `gorm:"not null;autoCreateTime:false;index:ix_shipping_uploads_merchant,priority:3"`
	UpdatedAt       Time       `gorm:"not null;autoUpdateTime:false"`
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
	MerchantID int64          `gorm:"not null;index:ix_aftersales_merchant,priority:1;index:ix_aftersales_merchant_created,priority:1;index:ix_aftersales_queue,priority:1;index:ix_aftersales_overdue,priority:1;index:ix_aftersales_type,priority:1"`
	ShopperID  int64          `gorm:"not null;index:ix_aftersales_shopper,priority:1"`
	Type       AftersaleType  `gorm:"size:16;not null;index:ix_aftersales_type,priority:2"`
	State      AftersaleState `gorm:"size:16;not null;index:ix_aftersales_merchant,priority:2"`
	Reason     string         `gorm:"size:255;not null"`
	Answer     string         `gorm:"size:255;not null"` // the merchant's
	AnsweredBy string         `gorm:"size:64;not null"`  // the admin who answered last
	// AmountFen is what it gives back: an estimate until its refund is made, which says it to the fen.
	AmountFen Fen `gorm:"not null"`
	// RefundID is the refund that gives it back; 0 while there is none.
	RefundID   int64  `gorm:"not null"`
	Carrier    string `gorm:"size:32;not null"` // of the parcel sent back
	TrackingNo string `gorm:"size:64;not null"`
	// ReturnTo is where the goods go back to, as it was when that was approved; nil where nothing was said.
	ReturnTo *Contact `gorm:"type:text;serializer:json"`
	// Restock says that what came back is for sale again once the refund has succeeded.
	Restock bool `gorm:"not null"`
	// AnswerDeadline is when the merchant is to have answered; nil while nothing is waited for.
	AnswerDeadline *Time `gorm:"index:ix_aftersales_deadline;index:ix_aftersales_queue,priority:2"`
	// AnswerOverdueAt is when the alert was given that the merchant has not answered yet; nil once it has.
	AnswerOverdueAt *Time `gorm:"index:ix_aftersales_overdue,priority:2"`
	// Steps are its changes, oldest first; NULL of one that last changed before they were kept.
	Steps     AftersaleSteps `gorm:"type:text"`
	Version   int64          `gorm:"not null"`
	CreatedAt Time           `gorm:"not null;autoCreateTime:false;index:ix_aftersales_merchant,priority:3;index:ix_aftersales_merchant_created,priority:2;index:ix_aftersales_shopper,priority:2;index:ix_aftersales_type,priority:3"`
	UpdatedAt Time           `gorm:"not null;autoUpdateTime:false"`
}

// AftersaleLine is what of an order line an after-sale is about.
type AftersaleLine struct {
	AftersaleID int64 `gorm:"primaryKey;autoIncrement:false"`
	LineID      int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity    int64 `gorm:"not null"`
}
