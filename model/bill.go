package model

// BillState is where the reconciliation of a day stands.
type BillState string

// States of a bill.
const (
	BillWaiting   BillState = "waiting"   // for its hour, or for WeChat to make it
	BillImporting BillState = "importing" // its rows are being stored
	BillComparing BillState = "comparing" // with what the shop recorded
	BillCompared  BillState = "compared"
	BillNone      BillState = "none" // compared too: WeChat has no payment and no refund of the day
	BillFailed    BillState = "failed"
)

// BillTransitions are the changes that a bill may make. One that ended waits again when a person runs it again.
var BillTransitions = Transitions[BillState]{
	BillWaiting:   {BillImporting, BillComparing, BillFailed},
	BillImporting: {BillImporting, BillComparing, BillFailed},
	BillComparing: {BillCompared, BillNone},
	BillCompared:  {BillWaiting},
	BillNone:      {BillWaiting},
	BillFailed:    {BillWaiting},
}

// Bill is the reconciliation of one day, in China's time, with WeChat's bill of it.
type Bill struct {
	ID          int64     `gorm:"primaryKey;autoIncrement:false"` // the day in digits, 20261128
	State       BillState `gorm:"size:16;not null"`
	Run         int64     `gorm:"not null"` // number of the import; rows with another are not of this bill any more
	Hash        string    `gorm:"size:64;not null"`
	Imported    int64     `gorm:"not null"` // rows of the file that are stored
	Payments    int64     `gorm:"not null"`
	PaymentFen  Fen       `gorm:"not null"`
	Refunds     int64     `gorm:"not null"`
	RefundFen   Fen       `gorm:"not null"`
	Differences int64     `gorm:"not null"`
	// CompareStep and CompareAfter are how far the comparison is.
	CompareStep  int    `gorm:"not null"`
	CompareAfter string `gorm:"size:80;not null"`
	// NextAt is the deadline of the bill task: when it is taken further, and while that happens, until when others keep away; NULL
	// when the bill ended.
	NextAt    *Time  `gorm:"index:ix_bills_next"`
	Calls     int    `gorm:"not null"`
	Error     string `gorm:"size:255;not null"` // what kept it from going on, if anything
	Version   int64  `gorm:"not null"`
	CreatedAt Time   `gorm:"not null;autoCreateTime:false"`
	UpdatedAt Time   `gorm:"not null;autoUpdateTime:false"`
	EndedAt   Time   `gorm:"not null"`
}

// BillRowKind says what a row of a bill is.
type BillRowKind string

// Kinds of rows.
const (
	BillPayment BillRowKind = "payment"
	BillRefund  BillRowKind = "refund"
)

// BillRow is a line of a bill as WeChat wrote it.
type BillRow struct {
	Day           int64       `gorm:"primaryKey;autoIncrement:false"`
	Kind          BillRowKind `gorm:"primaryKey;size:8"`
	Number        string      `gorm:"primaryKey;size:64;index:ix_bill_rows_number"` // transaction id of a payment, our number of a refund
	Run           int64       `gorm:"not null"`
	LineNo        int64       `gorm:"not null"`
	At            Time        `gorm:"not null"`
	AppID         string      `gorm:"size:64;not null"`
	MchID         string      `gorm:"size:64;not null"`
	TransactionID string      `gorm:"size:64;not null"`
	OutTradeNo    string      `gorm:"size:64;not null"`
	RefundID      string      `gorm:"size:64;not null"` // WeChat's number of a refund
	Currency      string      `gorm:"size:16;not null"`
	AmountFen     Fen         `gorm:"not null"`
	CouponFen     Fen         `gorm:"not null"` // what WeChat's coupons pay of a payment
	Status        string      `gorm:"size:16;not null"`
}

// BillDifference is something in which a day's bill and the shop differed at the latest comparison. Most are anomalies of the same
// kind and ref.
type BillDifference struct {
	Day     int64  `gorm:"primaryKey;autoIncrement:false"`
	Kind    string `gorm:"primaryKey;size:40"`
	Ref     string `gorm:"primaryKey;size:80"`
	BillFen Fen    `gorm:"not null"` // 0 where the bill has nothing
	ShopFen Fen    `gorm:"not null"` // 0 where the shop has nothing
	FoundAt Time   `gorm:"not null"`
}
