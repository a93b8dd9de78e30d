package model

// OrderAddress is the address as it was when the order was placed.
type OrderAddress struct {
	Name       string `json:"name"`
	Phone      string `json:"phone"`
	Province   string `json:"province"`
	City       string `json:"city"`
	District   string `json:"district,omitempty"`
	Detail     string `json:"detail"`
	RegionCode string `json:"region_code,omitempty"`
}

// Order types.
const (
	OrderTypeGoods   = "goods"
	OrderTypeVirtual = "virtual"
)

// Order is one purchase from one merchant. payable = goods − discount + freight + adjustment.
type Order struct {
	ID            int64         `gorm:"primaryKey;autoIncrement:false"`
	No            string        `gorm:"size:32;not null;uniqueIndex:uk_orders_no"`
	MerchantID    int64         `gorm:"not null;index:ix_orders_merchant,priority:1;index:ix_orders_merchant_state,priority:1;index:ix_orders_merchant_tail,priority:1"`
	ShopperID     int64         `gorm:"not null;uniqueIndex:uk_orders_idem,priority:1;index:ix_orders_shopper,priority:1;index:ix_orders_shopper_state,priority:1"`
	State         OrderState    `gorm:"size:20;not null;index:ix_orders_merchant_state,priority:2;index:ix_orders_shopper_state,priority:2;index:ix_orders_deadline,priority:1"`
	CloseReason   CloseReason   `gorm:"size:16;not null"`
	OrderType     string        `gorm:"size:16;not null"`
	BizLine       string        `gorm:"size:32;not null"`
	GoodsFen      Fen           `gorm:"not null"`
	DiscountFen   Fen           `gorm:"not null"`
	FreightFen    Fen           `gorm:"not null"`
	AdjustmentFen Fen           `gorm:"not null"` // the merchant's, may be negative
	PayableFen    Fen           `gorm:"not null"`
	RefundedFen   Fen           `gorm:"not null"` // succeeded refunds of the settled payment
	CouponID      int64         `gorm:"not null"` // 0 = none
	Address       *OrderAddress `gorm:"type:text;serializer:json"`
	Remark        string        `gorm:"size:255;not null"`
	IdemKey       string        `gorm:"size:64;not null;uniqueIndex:uk_orders_idem,priority:2"`
	IdemHash      string        `gorm:"size:64;not null"`
	PolicyID      int64         `gorm:"not null"` // the timeout policy that set the deadline, 0 = built in
	PolicyVersion int64         `gorm:"not null"`
	PayDeadline   Time          `gorm:"not null;index:ix_orders_deadline,priority:2"`
	// FirstAttemptAt is set by the first payment attempt: from then on the order closes only after WeChat was asked.
	FirstAttemptAt *Time `gorm:""`
	// ClosingReason is set by the close claim and cleared only by settling or closing; the order then reads closing: true.
	ClosingReason *CloseReason `gorm:"size:16"`
	ClaimToken    string       `gorm:"size:40;not null"`
	ClaimUntil    Time         `gorm:"not null"`
	// ClosingNextAt is the deadline of the closing task: when the close protocol is to be taken further.
	ClosingNextAt *Time  `gorm:"index:ix_orders_closing"`
	ClosingNote   string `gorm:"size:64;not null"` // what a closing order waits for, such as "wechat" or "person"
	// The deadlines of the stages beside paying; nil while the order does not wait for them. See service/order/stage.go.
	RemindAt     *Time `gorm:"index:ix_orders_remind"`
	ShipDueAt    *Time `gorm:"index:ix_orders_ship_due"`
	ConfirmDueAt *Time `gorm:"index:ix_orders_confirm"`
	// ShipOverdueAt is when the alert was given that the order is not shipped yet; nil once it is.
	ShipOverdueAt *Time `gorm:""`
	PaidAt        Time  `gorm:"not null"`
	ShippedAt     Time  `gorm:"not null"`
	CompletedAt   Time  `gorm:"not null"`
	ClosedAt      Time  `gorm:"not null"`
	Version       int64 `gorm:"not null"` // rises only together with an OrderEvent
	CreatedAt     Time  `gorm:"not null;autoCreateTime:false;index:ix_orders_merchant,priority:2;index:ix_orders_merchant_state,priority:3;index:ix_orders_merchant_tail,priority:3;index:ix_orders_shopper,priority:2;index:ix_orders_shopper_state,priority:3"`
	UpdatedAt     Time  `gorm:"not null;autoUpdateTime:false"`
	// TraceParent is the W3C traceparent of the order's placing, so that whatever happens to it later continues that trace; empty
	// for an order that was placed outside any trace.
	TraceParent string `gorm:"size:55;not null"`
	// RemarkState hides the remark from the merchant until it was passed.
	RemarkState RemarkState `gorm:"size:16;not null"`
	// ReceiverPhoneTail is the last four digits of the address's phone, empty without an address; nil until service/order/phone_tail.go
	// has filled it in.
	ReceiverPhoneTail *string `gorm:"size:4;index:ix_orders_merchant_tail,priority:2"`
}

// OrderLine is one SKU of an order as it was when the order was placed. DiscountFen and AdjustmentFen are this line's exact
// shares; AdjustmentFen may be negative.
type OrderLine struct {
	ID                int64             `gorm:"primaryKey;autoIncrement:false"`
	OrderID           int64             `gorm:"not null;uniqueIndex:uk_order_lines_no,priority:1;index:ix_order_lines_product,priority:3"`
	LineNo            int               `gorm:"not null;uniqueIndex:uk_order_lines_no,priority:2"`
	MerchantID        int64             `gorm:"not null"`
	ProductID         int64             `gorm:"not null;index:ix_order_lines_product,priority:1"`
	SKUID             int64             `gorm:"column:sku_id;not null"`
	Name              string            `gorm:"size:200;not null"`
	Image             string            `gorm:"size:255;not null"`
	Specs             map[string]string `gorm:"type:text;serializer:json;not null"`
	Virtual           bool              `gorm:"not null"`
	Quantity          int64             `gorm:"not null"`
	PriceFen          Fen               `gorm:"not null"`
	DiscountFen       Fen               `gorm:"not null"`
	AdjustmentFen     Fen               `gorm:"not null"`
	ShippedQuantity   int64             `gorm:"not null"`
	RefundingQuantity int64             `gorm:"not null"` // in refunds that are open or succeeded
	RefundedQuantity  int64             `gorm:"not null"` // in refunds that succeeded
	DroppedQuantity   int64             `gorm:"not null"` // of the refunded ones, those that were not shipped and never will be
	RefundedFen       Fen               `gorm:"not null"`
	ReviewedAt        Time              `gorm:"not null"` // when the shopper reviewed it; 0 = not yet
	// CreatedAt is the order's: it gives the lines of a product the order of the list.
	CreatedAt Time `gorm:"not null;autoCreateTime:false;index:ix_order_lines_product,priority:2"`
}

// Unshipped is how many pieces are left to ship. Pieces that were shipped and refunded do not count: they are not shipped again.
func (l OrderLine) Unshipped() int64 { return l.Quantity - l.ShippedQuantity - l.DroppedQuantity }

// OrderEvent is appended with every change of an order; its version is the order's.
type OrderEvent struct {
	OrderID   int64      `gorm:"primaryKey;autoIncrement:false"`
	Version   int64      `gorm:"primaryKey;autoIncrement:false"`
	FromState OrderState `gorm:"size:20;not null"` // empty for the first
	ToState   OrderState `gorm:"size:20;not null"`
	Actor     string     `gorm:"size:64;not null"` // "shopper:12", "admin:3", "timeout", "wechat"
	Reason    string     `gorm:"size:255;not null"`
	TraceID   string     `gorm:"size:32;not null"`
	CreatedAt Time       `gorm:"not null;autoCreateTime:false"`
}

// OrderRemark is what a merchant's people note on an order for themselves; the shopper never sees it. Every version is kept, the newest
// one stands. Its version is its own: a remark is no change of the order.
type OrderRemark struct {
	OrderID    int64  `gorm:"primaryKey;autoIncrement:false"`
	Version    int64  `gorm:"primaryKey;autoIncrement:false"`
	MerchantID int64  `gorm:"not null"`
	Text       string `gorm:"size:500;not null"` // empty where it was taken away
	Actor      string `gorm:"size:64;not null"`
	CreatedAt  Time   `gorm:"not null;autoCreateTime:false"`
}
