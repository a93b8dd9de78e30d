package model

// Message is a row of the local message table: written in the transaction of the change that it tells of, delivered later by
// the relay. Key is the aggregate ("order:17"), Seq its version; messages of one key are delivered in order.
type Message struct {
	ID         int64        `gorm:"primaryKey;index:ix_messages_merchant,priority:2"`
	Topic      string       `gorm:"size:64;not null"`
	Key        string       `gorm:"column:msg_key;size:64;not null;uniqueIndex:uk_messages_key,priority:1"`
	Seq        int64        `gorm:"not null;uniqueIndex:uk_messages_key,priority:2"`
	MerchantID int64        `gorm:"not null;index:ix_messages_merchant,priority:1"`
	Payload    string       `gorm:"type:text;not null"` // JSON
	Trace      string       `gorm:"size:64;not null"`   // W3C traceparent
	State      MessageState `gorm:"size:16;not null;index:ix_messages_due,priority:1"`
	DueAt      Time         `gorm:"not null;index:ix_messages_due,priority:2"`
	LeaseToken string       `gorm:"size:40;not null"`
	LeaseUntil Time         `gorm:"not null"`
	Attempts   int          `gorm:"not null"`
	Error      string       `gorm:"size:255;not null"`
	CreatedAt  Time         `gorm:"not null;autoCreateTime:false"`
	SentAt     Time         `gorm:"not null"`
}

// SubscriberReceipt says that a subscriber has had the effect of a message; it is written in the effect's transaction.
type SubscriberReceipt struct {
	Subscriber string `gorm:"primaryKey;size:64;not null"`
	MessageID  int64  `gorm:"primaryKey;autoIncrement:false"`
	CreatedAt  Time   `gorm:"not null;autoCreateTime:false;index:ix_subscriber_receipts_created"`
}

// TimeoutPolicy decides how long a stage may take. The most specific one that applies wins; zero values mean "any".
type TimeoutPolicy struct {
	ID             int64  `gorm:"primaryKey"`
	Stage          string `gorm:"size:32;not null;index:ix_timeout_policies_stage"`
	MerchantID     int64  `gorm:"not null"`
	OrderType      string `gorm:"size:16;not null"`
	BizLine        string `gorm:"size:32;not null"`
	DurationMS     int64  `gorm:"column:duration_ms;not null"`
	Enabled        bool   `gorm:"not null"`
	RolloutPercent int    `gorm:"not null"`
	Version        int64  `gorm:"not null"`
	CreatedAt      Time   `gorm:"not null;autoCreateTime:false"`
	ChangedAt      Time   `gorm:"not null;index:ix_timeout_policies_changed"`
	DeletedAt      Time   `gorm:"not null"` // a tombstone where not 0
}

// PolicyAction says how a version of a policy came to be.
type PolicyAction string

// What makes versions of a policy. Versions from before this was kept have none.
const (
	PolicyCreated    PolicyAction = "create"
	PolicyUpdated    PolicyAction = "update"
	PolicyRolledBack PolicyAction = "rollback"
	PolicyRemoved    PolicyAction = "remove"
)

// TimeoutPolicyVersion keeps every version of a policy, for rollback and audit.
type TimeoutPolicyVersion struct {
	PolicyID       int64        `gorm:"primaryKey;autoIncrement:false"`
	Version        int64        `gorm:"primaryKey;autoIncrement:false"`
	DurationMS     int64        `gorm:"column:duration_ms;not null"`
	Enabled        bool         `gorm:"not null"`
	RolloutPercent int          `gorm:"not null"`
	Action         PolicyAction `gorm:"size:16;not null"`
	FromVersion    int64        `gorm:"not null"` // whose values a rollback took; 0 otherwise
	Actor          string       `gorm:"size:64;not null"`
	CreatedAt      Time         `gorm:"not null;autoCreateTime:false"`
}
