package model

// PaymentAttempt is one out_trade_no at WeChat. It is committed before the prepay call, with the exact parameters sent.
type PaymentAttempt struct {
	ID         int64        `gorm:"primaryKey;autoIncrement:false"`
	OrderID    int64        `gorm:"not null;index:ix_payment_attempts_order"`
	MerchantID int64        `gorm:"not null"`
	OutTradeNo string       `gorm:"size:32;not null;uniqueIndex:uk_payment_attempts_no"`
	State      AttemptState `gorm:"size:16;not null"`
	AmountFen  Fen          `gorm:"not null"`
	// What was sent, so that a repeated call is identical to the byte.
	AppID       string `gorm:"size:64;not null"`
	MchID       string `gorm:"size:64;not null"`
	OpenID      string `gorm:"column:openid;size:128;not null"`
	Description string `gorm:"size:127;not null"`
	NotifyURL   string `gorm:"size:255;not null"`
	TimeExpire  Time   `gorm:"not null"`
	// CallUntil is when an outstanding prepay call must have ended: its own limit and one second.
	CallUntil Time `gorm:"not null"`
	// PrepayID is empty until a reply of WeChat was stored.
	PrepayID string `gorm:"size:64;not null"`
	PrepayAt Time   `gorm:"not null"`
	// MissingAt is when WeChat first said, twice in a row, that it does not know the number (see the close protocol).
	MissingAt Time `gorm:"not null"`
	// NextQueryAt is when the query sweep asks WeChat next; NULL when nothing is left to ask, as of every attempt that ended.
	NextQueryAt *Time `gorm:"index:ix_payment_attempts_due"`
	Queries     int   `gorm:"not null"`
	CreatedAt   Time  `gorm:"not null;autoCreateTime:false"`
	EndedAt     Time  `gorm:"not null"`
}

// Payment is money WeChat confirmed. Settled payments pay their order; every other one is refunded in full.
type Payment struct {
	ID            int64  `gorm:"primaryKey;autoIncrement:false;index:ix_payments_late,priority:4"`
	OrderID       int64  `gorm:"not null;index:ix_payments_order"`
	AttemptID     int64  `gorm:"not null"`
	MerchantID    int64  `gorm:"not null;index:ix_payments_late,priority:1"`
	OutTradeNo    string `gorm:"size:32;not null"`
	TransactionID string `gorm:"size:64;not null;uniqueIndex:uk_payments_transaction"`
	AmountFen     Fen    `gorm:"not null"`
	PayerFen      Fen    `gorm:"not null"`
	Currency      string `gorm:"size:16;not null"`
	Settled       bool   `gorm:"not null;index:ix_payments_late,priority:2"`
	// SettledOrder is the order's id for its settled payment and NULL for others: unique, so an order is paid once.
	SettledOrder *int64 `gorm:"uniqueIndex:uk_payments_settled"`
	RefundedFen  Fen    `gorm:"not null"`                        // in refunds that are open or succeeded
	PaidAt       Time   `gorm:"not null;index:ix_payments_paid"` // by WeChat's word
	CreatedAt    Time   `gorm:"not null;autoCreateTime:false;index:ix_payments_late,priority:3"`
}

// RefundKind says where a refund came from.
type RefundKind string

// Kinds of refunds.
const (
	RefundLate      RefundKind = "late"      // a confirmed payment that is not its order's settled one
	RefundMerchant  RefundKind = "merchant"  // asked for by an admin
	RefundAftersale RefundKind = "aftersale" // asked for by the shopper
)

// Refund gives back a payment or a part of it, under one number for life.
type Refund struct {
	ID          int64       `gorm:"primaryKey;autoIncrement:false"`
	OrderID     int64       `gorm:"not null;index:ix_refunds_order"`
	PaymentID   int64       `gorm:"not null;index:ix_refunds_payment"`
	AftersaleID int64       `gorm:"not null"`
	MerchantID  int64       `gorm:"not null"`
	OutRefundNo string      `gorm:"size:64;not null;uniqueIndex:uk_refunds_no"`
	RefundID    string      `gorm:"size:64;not null"` // WeChat's
	Kind        RefundKind  `gorm:"size:16;not null"`
	State       RefundState `gorm:"size:16;not null"`
	AmountFen   Fen         `gorm:"not null"`
	FreightFen  Fen         `gorm:"not null"` // the part of AmountFen that is freight
	TotalFen    Fen         `gorm:"not null"` // of the payment, as WeChat wants it
	Reason      string      `gorm:"size:80;not null"`
	Error       string      `gorm:"size:255;not null"` // what WeChat said last, if it refused
	// NextAt is the deadline of the refund task: when WeChat is called or asked next; NULL when the refund ended.
	NextAt *Time `gorm:"index:ix_refunds_next"`
	Calls  int   `gorm:"not null"`
	// CalledAt is when WeChat was last called to make it, other than asked about it; 0 before.
	CalledAt  Time  `gorm:"not null"`
	Version   int64 `gorm:"not null"`
	CreatedAt Time  `gorm:"not null;autoCreateTime:false"`
	EndedAt   Time  `gorm:"not null;index:ix_refunds_ended"`
}

// RefundLine is the part of a refund that belongs to an order line.
type RefundLine struct {
	RefundID  int64 `gorm:"primaryKey;autoIncrement:false"`
	LineID    int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity  int64 `gorm:"not null"`
	AmountFen Fen   `gorm:"not null"`
}

// Anomaly is money that does not add up: one row a kind and thing, open until a person resolves it with a note.
type Anomaly struct {
	ID         int64        `gorm:"primaryKey"`
	MerchantID int64        `gorm:"not null;index:ix_anomalies_state,priority:1"`
	Kind       string       `gorm:"size:40;not null;uniqueIndex:uk_anomalies_ref,priority:1"`
	Ref        string       `gorm:"size:80;not null;uniqueIndex:uk_anomalies_ref,priority:2"`
	OrderID    int64        `gorm:"not null;index:ix_anomalies_order"`
	PaymentID  int64        `gorm:"not null"`
	RefundID   int64        `gorm:"not null"`
	Detail     string       `gorm:"type:text;not null"`
	State      AnomalyState `gorm:"size:16;not null;index:ix_anomalies_state,priority:2"`
	Seen       int64        `gorm:"not null"` // how often it was met
	Note       string       `gorm:"size:255;not null"`
	ResolvedBy string       `gorm:"size:64;not null"`
	CreatedAt  Time         `gorm:"not null;autoCreateTime:false"`
	ResolvedAt Time         `gorm:"not null"`
}

// TableName names the table.
func (Anomaly) TableName() string { return "anomalies" }
