package model

// AdminChange is one entry of the change log: what an admin changed, as it was before and after. It is written in the transaction of
// the change itself.
type AdminChange struct {
	ID        int64  `gorm:"primaryKey;index:ix_admin_changes_created,priority:2;index:ix_admin_changes_merchant,priority:3;index:ix_admin_changes_admin,priority:3;index:ix_admin_changes_action,priority:4;index:ix_admin_changes_kind,priority:4;index:ix_admin_changes_ref,priority:4"`
	AdminID   int64  `gorm:"not null;index:ix_admin_changes_admin,priority:1"`
	AdminName string `gorm:"size:64;not null"` // as it was then
	// MerchantID is whose thing was changed, 0 for the platform's.
	MerchantID int64  `gorm:"not null;index:ix_admin_changes_merchant,priority:1;index:ix_admin_changes_action,priority:1;index:ix_admin_changes_kind,priority:1"`
	Action     string `gorm:"size:96;not null;index:ix_admin_changes_action,priority:2"` // the id of the operation
	Kind       string `gorm:"size:32;not null;index:ix_admin_changes_kind,priority:2;index:ix_admin_changes_ref,priority:1"`
	Ref        string `gorm:"size:64;not null;index:ix_admin_changes_ref,priority:2"` // the thing's id, or its number
	// Before and After are JSON objects of the fields that changed; empty before something was made, and after it was removed.
	Before    string `gorm:"column:fields_before;type:mediumtext;not null"`
	After     string `gorm:"column:fields_after;type:mediumtext;not null"`
	RequestID string `gorm:"size:64;not null"`
	IP        string `gorm:"size:45;not null"`
	CreatedAt Time   `gorm:"not null;autoCreateTime:false;index:ix_admin_changes_created,priority:1;index:ix_admin_changes_merchant,priority:2;index:ix_admin_changes_admin,priority:2;index:ix_admin_changes_action,priority:3;index:ix_admin_changes_kind,priority:3;index:ix_admin_changes_ref,priority:3"`
}

// TableName names the table.
func (AdminChange) TableName() string { return "admin_changes" }

// Contact is a name, a phone number and an address of a merchant's, such as the sender on a packing slip.
type Contact struct {
	Name    string `json:"name"`
	Phone   string `json:"phone"`
	Address string `json:"address"`
}

// ShopSettings is what a merchant says of its shop. The shop's name is the merchant's, and the merchant's version guards both.
type ShopSettings struct {
	MerchantID int64  `gorm:"primaryKey;autoIncrement:false"`
	Logo       string `gorm:"size:255;not null"` // a key in the file store, or empty
	// ContactPhone is shown to shoppers.
	ContactPhone string  `gorm:"size:20;not null"`
	Notice       string  `gorm:"size:600;not null"`
	Sender       Contact `gorm:"type:text;serializer:json;not null"`
	ReturnTo     Contact `gorm:"type:text;serializer:json;not null"`
	UpdatedAt    Time    `gorm:"not null;autoUpdateTime:false"`
}

// TableName names the table.
func (ShopSettings) TableName() string { return "shop_settings" }
