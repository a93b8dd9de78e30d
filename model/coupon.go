package model

// CouponKind says how a coupon lowers a price.
type CouponKind string

// CouponScope says which goods a coupon applies to.
type CouponScope string

// Kinds and scopes of coupons.
const (
	CouponAmount       CouponKind = "amount"
	CouponPercent      CouponKind = "percent"
	CouponFreeShipping CouponKind = "free_shipping"

	ScopeAll      CouponScope = "all"
	ScopeCategory CouponScope = "category"
	ScopeProduct  CouponScope = "product"
)

// TemplateState says whether a template can be claimed.
type TemplateState string

// States of coupon templates, which follow from their times.
const (
	TemplateUpcoming TemplateState = "upcoming"
	TemplateRunning  TemplateState = "running"
	TemplateStopped  TemplateState = "stopped"
	TemplateEnded    TemplateState = "ended"
)

// CouponTemplate is what a merchant issues; a Coupon is the one a shopper holds.
type CouponTemplate struct {
	ID             int64       `gorm:"primaryKey"`
	MerchantID     int64       `gorm:"not null;index:ix_coupon_templates_merchant"`
	Name           string      `gorm:"size:64;not null"`
	Kind           CouponKind  `gorm:"size:16;not null"`
	AmountFen      Fen         `gorm:"not null"` // kind amount
	PercentOff     int         `gorm:"not null"` // kind percent, 1–99: 15 takes 15 % off
	MaxDiscountFen Fen         `gorm:"not null"` // kind percent, 0 = no cap
	ThresholdFen   Fen         `gorm:"not null"` // of the goods in scope
	Scope          CouponScope `gorm:"size:16;not null"`
	ScopeIDs       []int64     `gorm:"type:text;serializer:json;not null"`
	Total          int64       `gorm:"not null"`
	PerShopper     int64       `gorm:"not null"`
	Issued         int64       `gorm:"not null"`
	StartsAt       Time        `gorm:"not null"` // claims and use
	EndsAt         Time        `gorm:"not null"`
	ValidDays      int         `gorm:"not null"` // after the claim; 0 = until EndsAt
	StoppedAt      Time        `gorm:"not null"` // since when nobody may claim it; 0 while it is issued
	Version        int64       `gorm:"not null"`
	CreatedAt      Time        `gorm:"not null;autoCreateTime:false"`
	UpdatedAt      Time        `gorm:"not null;autoUpdateTime:false"`
}

// State says where the template stands at an instant. One that has ended is no longer stopped.
func (t *CouponTemplate) State(now Time) TemplateState {
	switch {
	case now >= t.EndsAt:
		return TemplateEnded
	case t.StoppedAt != 0:
		return TemplateStopped
	case now < t.StartsAt:
		return TemplateUpcoming
	}
	return TemplateRunning
}

// Coupon is held by one shopper. Seq is 1 for the shopper's first of a template, 2 for the next; its unique key keeps the limit
// even where two claims race.
type Coupon struct {
	ID         int64       `gorm:"primaryKey"`
	TemplateID int64       `gorm:"not null;uniqueIndex:uk_coupons_seq,priority:1;index:ix_coupons_figures,priority:1"`
	MerchantID int64       `gorm:"not null"`
	ShopperID  int64       `gorm:"not null;uniqueIndex:uk_coupons_seq,priority:2;index:ix_coupons_shopper,priority:1"`
	Seq        int64       `gorm:"not null;uniqueIndex:uk_coupons_seq,priority:3"`
	State      CouponState `gorm:"size:16;not null;index:ix_coupons_shopper,priority:2;index:ix_coupons_figures,priority:2"`
	OrderID    *int64      `gorm:"uniqueIndex:uk_coupons_order"` // of a locked or used coupon
	ExpiresAt  Time        `gorm:"not null;index:ix_coupons_figures,priority:3"`
	UsedAt     Time        `gorm:"not null"`
	GivenBack  int64       `gorm:"not null;index:ix_coupons_figures,priority:4"` // how often an order gave it back
	CreatedAt  Time        `gorm:"not null;autoCreateTime:false"`
	UpdatedAt  Time        `gorm:"not null;autoUpdateTime:false"`
}
