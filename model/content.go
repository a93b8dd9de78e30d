package model

// HoldKind says what is held back.
type HoldKind string

// What shoppers write or show. RefID is the shopper's id for a nickname and an avatar, the order's for a remark, else the review's.
const (
	HoldNickname HoldKind = "nickname"
	HoldAvatar   HoldKind = "avatar" // the text is its key in the file store
	HoldRemark   HoldKind = "remark"
	HoldReview   HoldKind = "review"
	HoldPicture  HoldKind = "picture" // of a review; the text is its key in the file store
)

// Pictured reports whether what is held is a picture, which WeChat judges by a push.
func (k HoldKind) Pictured() bool { return k == HoldAvatar || k == HoldPicture }

// HoldReason says why it is held.
type HoldReason string

// Reasons of holds.
const (
	HoldWaiting  HoldReason = "waiting"  // WeChat looks at a picture and has not said yet
	HoldDoubtful HoldReason = "doubtful" // WeChat wants a person to look at it
	HoldFailed   HoldReason = "failed"   // WeChat could not be asked, or did not answer
)

// ContentHold is what a shopper wrote or showed that nobody else sees until WeChat or a person has passed it.
type ContentHold struct {
	ID         int64      `gorm:"primaryKey"`
	Kind       HoldKind   `gorm:"size:16;not null;index:ix_content_holds_ref,priority:1"`
	RefID      int64      `gorm:"not null;index:ix_content_holds_ref,priority:2"`
	MerchantID int64      `gorm:"not null;index:ix_content_holds_merchant,priority:1"` // 0: the platform's, as nicknames are
	ShopperID  int64      `gorm:"not null"`
	OrderNo    string     `gorm:"size:32;not null"` // empty for a nickname
	Text       string     `gorm:"size:600;not null"`
	Reason     HoldReason `gorm:"size:16;not null"`
	Label      int        `gorm:"not null"` // WeChat's, 0 where it said nothing
	State      HoldState  `gorm:"size:16;not null;index:ix_content_holds_ref,priority:3;index:ix_content_holds_merchant,priority:2"`
	// NextAt is when WeChat is asked again, or given up; nil where only a person is waited for.
	NextAt    *Time  `gorm:"index:ix_content_holds_next"`
	Attempts  int    `gorm:"not null"`
	TraceID   string `gorm:"size:128;not null"` // of a picture that WeChat looks at
	DecidedBy string `gorm:"size:64;not null"`  // "wechat", "admin:3"
	DecidedAt Time   `gorm:"not null"`
	Version   int64  `gorm:"not null"`
	CreatedAt Time   `gorm:"not null;autoCreateTime:false;index:ix_content_holds_merchant,priority:3"`
}

// MediaCheck joins a picture with WeChat's verdict on it, whichever of the two is known first: the push may overtake the answer
// that tells the trace id.
type MediaCheck struct {
	TraceID   string `gorm:"primaryKey;size:128;not null"`
	HoldID    int64  `gorm:"not null"`         // 0 while only the verdict is known
	Suggest   string `gorm:"size:16;not null"` // WeChat's, or "failed"; empty while there is none
	Label     int    `gorm:"not null"`
	CreatedAt Time   `gorm:"not null;autoCreateTime:false;index:ix_media_checks_created"`
}
