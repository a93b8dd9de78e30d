package model

// Review is what a shopper says of a line that was received.
type Review struct {
	ID         int64 `gorm:"primaryKey"`
	MerchantID int64 `gorm:"not null;index:ix_reviews_merchant,priority:1;index:ix_reviews_merchant_state,priority:1;index:ix_reviews_unanswered,priority:1"`
	OrderID    int64 `gorm:"not null"` // 0 where no order is behind it, as in the demo shop
	// LineID is the reviewed line, which has one review at most; nil where no order is behind it.
	LineID     *int64            `gorm:"uniqueIndex:uk_reviews_line"`
	ProductID  int64             `gorm:"not null;index:ix_reviews_product,priority:1;index:ix_reviews_rating,priority:1;index:ix_reviews_pictured,priority:1"`
	ShopperID  int64             `gorm:"not null;index:ix_reviews_shopper,priority:1"`
	Specs      map[string]string `gorm:"type:text;serializer:json;not null"`
	Rating     int               `gorm:"not null;index:ix_reviews_rating,priority:3"` // 1 to 5
	Content    string            `gorm:"size:500;not null"`
	Pictures   []Image           `gorm:"type:text;serializer:json;not null"`
	Pictured   bool              `gorm:"not null;index:ix_reviews_pictured,priority:3"` // has pictures
	State      ReviewState       `gorm:"size:16;not null;index:ix_reviews_product,priority:2;index:ix_reviews_rating,priority:2;index:ix_reviews_pictured,priority:2;index:ix_reviews_merchant_state,priority:2"`
	Answer     string            `gorm:"size:500;not null"`                               // the merchant's
	AnsweredAt Time              `gorm:"not null;index:ix_reviews_unanswered,priority:2"` // 0 = not yet
	AnsweredBy string            `gorm:"size:64;not null"`                                // "admin:3"
	Version    int64             `gorm:"not null"`
	CreatedAt  Time              `gorm:"not null;autoCreateTime:false;index:ix_reviews_merchant,priority:2;index:ix_reviews_merchant_state,priority:3;index:ix_reviews_unanswered,priority:3;index:ix_reviews_product,priority:3;index:ix_reviews_rating,priority:4;index:ix_reviews_pictured,priority:4;index:ix_reviews_shopper,priority:2"`
	UpdatedAt  Time              `gorm:"not null;autoUpdateTime:false"`
}

// ProductRating counts a product's visible reviews; it changes in the transaction in which one becomes visible or is hidden.
type ProductRating struct {
	ProductID  int64 `gorm:"primaryKey;autoIncrement:false"`
	MerchantID int64 `gorm:"not null"`
	Stars1     int64 `gorm:"column:stars_1;not null"`
	Stars2     int64 `gorm:"column:stars_2;not null"`
	Stars3     int64 `gorm:"column:stars_3;not null"`
	Stars4     int64 `gorm:"column:stars_4;not null"`
	Stars5     int64 `gorm:"column:stars_5;not null"`
	Pictured   int64 `gorm:"not null"` // of all, those with pictures
}
