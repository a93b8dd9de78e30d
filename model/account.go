package model

// Setting is one value the installation keeps for itself, such as its id.
type Setting struct {
	Name      string `gorm:"primaryKey;size:64;not null"`
	Value     string `gorm:"size:512;not null"`
	UpdatedAt Time   `gorm:"not null;autoUpdateTime:false"`
}

// IDBlock is a hi-lo sequence: a replica takes a block of ids by raising Next, and hands them out without asking again.
type IDBlock struct {
	Name string `gorm:"primaryKey;size:64;not null"`
	Next int64  `gorm:"not null"`
}

// TableName names the table.
func (IDBlock) TableName() string { return "id_blocks" }

// Merchant is a shop on the platform. Every thing for sale and every order belongs to one.
type Merchant struct {
	ID        int64  `gorm:"primaryKey"`
	Name      string `gorm:"size:100;not null;uniqueIndex:uk_merchants_name"`
	Disabled  bool   `gorm:"not null"`
	Version   int64  `gorm:"not null"`
	CreatedAt Time   `gorm:"not null;autoCreateTime:false"`
	UpdatedAt Time   `gorm:"not null;autoUpdateTime:false"`
}

// Shopper is a person who buys, known by the openid that WeChat gives for the mini-program.
type Shopper struct {
	ID       int64  `gorm:"primaryKey"`
	OpenID   string `gorm:"column:openid;size:128;not null;uniqueIndex:uk_shoppers_openid"`
	UnionID  string `gorm:"column:unionid;size:128;not null"`
	Nickname string `gorm:"size:64;not null;index:ix_shoppers_nickname"`
	Avatar   string `gorm:"size:512;not null"`
	// PhoneCipher is the AES-GCM sealed phone number with its key id; PhoneTail the last four digits.
	PhoneCipher string `gorm:"size:255;not null"`
	PhoneTail   string `gorm:"size:8;not null"`
	CreatedAt   Time   `gorm:"not null;autoCreateTime:false"`
	UpdatedAt   Time   `gorm:"not null;autoUpdateTime:false"`
}

// Address is where a shopper wants parcels sent.
type Address struct {
	ID         int64  `gorm:"primaryKey"`
	ShopperID  int64  `gorm:"not null;index:ix_addresses_shopper"`
	Name       string `gorm:"size:64;not null"`
	Phone      string `gorm:"size:20;not null"`
	Province   string `gorm:"size:64;not null"`
	City       string `gorm:"size:64;not null"`
	District   string `gorm:"size:64;not null"`
	Detail     string `gorm:"size:255;not null"`
	RegionCode string `gorm:"size:12;not null"`
	IsDefault  bool   `gorm:"not null"`
	CreatedAt  Time   `gorm:"not null;autoCreateTime:false"`
	UpdatedAt  Time   `gorm:"not null;autoUpdateTime:false"`
}

// Admin works in the panel: for one merchant, or for the platform where MerchantID is 0.
type Admin struct {
	ID           int64  `gorm:"primaryKey"`
	Username     string `gorm:"size:64;not null;uniqueIndex:uk_admins_username"` // lower case
	PasswordHash string `gorm:"size:255;not null"`                               // argon2id, PHC string format
	MerchantID   int64  `gorm:"not null;index:ix_admins_merchant"`
	RoleID       int64  `gorm:"not null;index:ix_admins_role"`
	Disabled     bool   `gorm:"not null"`
	// Tokens issued before TokensFrom are refused: a changed password or a disabled account signs out everywhere.
	TokensFrom  Time  `gorm:"not null"`
	FailedCount int   `gorm:"not null"` // wrong codes of the second factor in a row
	LockedUntil Time  `gorm:"not null"` // for logins from everywhere
	Version     int64 `gorm:"not null"`
	CreatedAt   Time  `gorm:"not null;autoCreateTime:false"`
	UpdatedAt   Time  `gorm:"not null;autoUpdateTime:false"`
}

// Role is a named set of permissions; of one merchant, or of the platform where MerchantID is 0.
type Role struct {
	ID          int64    `gorm:"primaryKey"`
	MerchantID  int64    `gorm:"not null;uniqueIndex:uk_roles_name,priority:1"`
	Name        string   `gorm:"size:64;not null;uniqueIndex:uk_roles_name,priority:2"`
	Permissions []string `gorm:"type:text;serializer:json;not null"`
	Version     int64    `gorm:"not null"`
	CreatedAt   Time     `gorm:"not null;autoCreateTime:false"`
	ChangedAt   Time     `gorm:"not null;index:ix_roles_changed"`
	DeletedAt   Time     `gorm:"not null"` // a tombstone where not 0
}

// RevokedToken is the id of a token that was logged out before it expired. Replicas follow RevokedAt; rows past ExpiresAt are
// removed.
type RevokedToken struct {
	JTI       string `gorm:"column:jti;primaryKey;size:64;not null"`
	RevokedAt Time   `gorm:"not null;index:ix_revoked_tokens_revoked"`
	ExpiresAt Time   `gorm:"not null;index:ix_revoked_tokens_expires"`
}

// AdminFailure counts wrong passwords (and where the admin is logged in, wrong codes) from one source. Rows are removed some time after
// EndsAt.
type AdminFailure struct {
	ID      int64  `gorm:"primaryKey"`
	AdminID int64  `gorm:"not null;uniqueIndex:uk_admin_failures_source,priority:1"`
	Source  string `gorm:"size:80;not null;uniqueIndex:uk_admin_failures_source,priority:2"` // an address, a session, or all addresses
	Failed  int    `gorm:"not null"`
	EndsAt  Time   `gorm:"not null;index:ix_admin_failures_ends"` // when the count, or the lock that it led to, is over
}

// AdminSession is one login of an admin, known by the id of its token. An ended one is among the revoked tokens, or was issued
// before its admin's TokensFrom. Rows are removed some time after ExpiresAt.
type AdminSession struct {
	ID         int64  `gorm:"primaryKey"`
	AdminID    int64  `gorm:"not null;index:ix_admin_sessions_admin,priority:1"`
	JTI        string `gorm:"column:jti;size:64;not null;uniqueIndex:uk_admin_sessions_jti"`
	IP         string `gorm:"column:ip;size:64;not null"`
	Agent      string `gorm:"size:200;not null"`
	CreatedAt  Time   `gorm:"not null;autoCreateTime:false"`
	LastSeenAt Time   `gorm:"not null"`
	ExpiresAt  Time   `gorm:"not null;index:ix_admin_sessions_admin,priority:2;index:ix_admin_sessions_expires"`
	EndedAt    Time   `gorm:"not null"` // 0 while it goes on
}

// AdminTOTP is an admin's second factor by RFC 6238. One that was begun and not confirmed asks for nothing yet.
type AdminTOTP struct {
	AdminID      int64  `gorm:"primaryKey;autoIncrement:false"`
	SecretCipher string `gorm:"size:255;not null"` // AES-GCM sealed, with its key id
	LastStep     int64  `gorm:"not null"`          // of the last code that was used; a code works once
	ConfirmedAt  Time   `gorm:"not null"`          // 0 until the first code
	CreatedAt    Time   `gorm:"not null;autoCreateTime:false"`
}

// TableName names the table.
func (AdminTOTP) TableName() string { return "admin_totps" }

// AdminRecoveryCode stands in for a code of the second factor, once.
type AdminRecoveryCode struct {
	AdminID  int64  `gorm:"primaryKey;autoIncrement:false"`
	CodeHash string `gorm:"primaryKey;size:64;not null"` // SHA-256; the code itself has 79 bits of chance
	UsedAt   Time   `gorm:"not null"`                    // 0 until it was used
}

// IdempotencyKey remembers the success of an admin's operation that carried an Idempotency-Key. An order's key is kept on the order.
type IdempotencyKey struct {
	Scope     string `gorm:"primaryKey;size:64;not null"` // who and which operation, such as "admin:3:ship"
	Key       string `gorm:"column:idem_key;primaryKey;size:64;not null"`
	BodyHash  string `gorm:"size:64;not null"`
	Ref       string `gorm:"size:64;not null"` // the thing that was made or changed
	CreatedAt Time   `gorm:"not null;autoCreateTime:false;index:ix_idempotency_keys_created"`
}

// PushMessage is the inbox of WeChat's message push: a unique id in one transaction with the effect makes it single-use.
type PushMessage struct {
	MessageID  string `gorm:"primaryKey;size:128;not null"`
	Event      string `gorm:"size:64;not null"`
	ReceivedAt Time   `gorm:"not null;index:ix_push_messages_received"`
}
