package model

// CallbackKind is the address that WeChat called.
type CallbackKind string

// Kinds of callbacks.
const (
	CallbackPay    CallbackKind = "pay"
	CallbackRefund CallbackKind = "refund"
	CallbackPush   CallbackKind = "push"
)

// CallbackKinds lists them all.
var CallbackKinds = []CallbackKind{CallbackPay, CallbackRefund, CallbackPush}

// CallbackVerdict is what became of a callback.
type CallbackVerdict string

// Verdicts.
const (
	CallbackAccepted  CallbackVerdict = "accepted"
	CallbackDuplicate CallbackVerdict = "duplicate" // what it says was known before
	CallbackRefused   CallbackVerdict = "refused"   // the reason says why; WeChat sends it again
)

// CallbackVerdicts lists them all.
var CallbackVerdicts = []CallbackVerdict{CallbackAccepted, CallbackDuplicate, CallbackRefused}

// Callback is a notification that was verifiably WeChat's, one row for each thing that became of it: WeChat sends a notification
// again until it is taken, and each time with the same outcome is counted on the row. It holds nothing of the body but what the
// notification is about.
type Callback struct {
	ID          int64           `gorm:"primaryKey;index:ix_wechat_callbacks_list,priority:5"`
	MerchantID  int64           `gorm:"not null;index:ix_wechat_callbacks_list,priority:1"` // 0: about no order of ours
	OrderID     int64           `gorm:"not null"`
	Kind        CallbackKind    `gorm:"size:8;not null;index:ix_wechat_callbacks_list,priority:2;uniqueIndex:uk_wechat_callbacks_notice,priority:1"`
	NoticeID    string          `gorm:"size:64;not null;uniqueIndex:uk_wechat_callbacks_notice,priority:2"`
	Verdict     CallbackVerdict `gorm:"size:16;not null;index:ix_wechat_callbacks_list,priority:3;uniqueIndex:uk_wechat_callbacks_notice,priority:3"`
	Reason      string          `gorm:"size:32;not null;uniqueIndex:uk_wechat_callbacks_notice,priority:4"` // of a refusal
	EventType   string          `gorm:"size:64;not null"`
	OutTradeNo  string          `gorm:"size:64;not null;index:ix_wechat_callbacks_trade"`
	OutRefundNo string          `gorm:"size:64;not null"`
	AmountFen   Fen             `gorm:"not null"` // that WeChat says was paid or refunded
	// Of the latest time: the status that was answered, how long that took, and under which request id it is in the log.
	Status    int    `gorm:"not null"`
	TookMS    int64  `gorm:"column:took_ms;not null"`
	RequestID string `gorm:"size:64;not null"`
	Count     int64  `gorm:"not null"`
	// CreatedAt is when it was received first, LastAt when last.
	CreatedAt Time `gorm:"not null;autoCreateTime:false;index:ix_wechat_callbacks_list,priority:4;index:ix_wechat_callbacks_created"`
	LastAt    Time `gorm:"not null"`
}

// TableName names the table.
func (Callback) TableName() string { return "wechat_callbacks" }

// CallbackRefusals counts, for an hour, what came to an address of WeChat's and was not verifiably WeChat's. Anybody can send such
// things, so they are no rows of their own; the latest is kept as an example.
type CallbackRefusals struct {
	Hour   Time         `gorm:"primaryKey;autoIncrement:false"` // its beginning
	Kind   CallbackKind `gorm:"primaryKey;size:8"`
	Reason string       `gorm:"primaryKey;size:32"`
	Count  int64        `gorm:"not null"`
	LastAt Time         `gorm:"not null"`
	LastIP string       `gorm:"column:last_ip;size:64;not null"`
}

// TableName names the table.
func (CallbackRefusals) TableName() string { return "wechat_callback_refusals" }
