package model

// SubscribeTemplate says which of WeChat's templates tells shoppers of an event, and what its fields hold. There is one an event,
// for all merchants: templates belong to the mini-program.
type SubscribeTemplate struct {
	ID         int64             `gorm:"primaryKey"`
	Event      string            `gorm:"size:32;not null;uniqueIndex:uk_subscribe_templates_event"`
	TemplateID string            `gorm:"size:64;not null"`
	Page       string            `gorm:"size:255;not null"`
	Fields     map[string]string `gorm:"type:text;serializer:json;not null"` // the template's field → where its value comes from
	Enabled    bool              `gorm:"not null"`
	Version    int64             `gorm:"not null"`
	CreatedAt  Time              `gorm:"not null;autoCreateTime:false"`
	ChangedAt  Time              `gorm:"not null"`
}

// SubscribeMessage is one message to a shopper, written when a message of the local table told of its event. Key is the event and
// the thing it is about: one message each. What it says is read when it is sent.
type SubscribeMessage struct {
	ID         int64       `gorm:"primaryKey"`
	Event      string      `gorm:"size:32;not null"`
	Key        string      `gorm:"column:notice_key;size:64;not null;uniqueIndex:uk_subscribe_messages_key"`
	ShopperID  int64       `gorm:"not null"`
	MerchantID int64       `gorm:"not null"`
	OrderID    int64       `gorm:"not null;index:ix_subscribe_messages_order"`
	RefundID   int64       `gorm:"not null"` // 0 = not about a refund
	State      NoticeState `gorm:"size:16;not null;index:ix_subscribe_messages_state"`
	// NextAt is the deadline of the notice task: when WeChat is called next; NULL when the message has ended.
	NextAt *Time  `gorm:"index:ix_subscribe_messages_next"`
	Calls  int    `gorm:"not null"`
	Code   string `gorm:"size:64;not null"`  // WeChat's, of the last call that it answered
	Error  string `gorm:"size:255;not null"` // why it was not sent, or not yet
	// CreatedAt is when the thing happened that the message tells of.
	CreatedAt Time `gorm:"not null;autoCreateTime:false;index:ix_subscribe_messages_created"`
	SentAt    Time `gorm:"not null"`
}
