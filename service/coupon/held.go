package coupon

import (
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// heldLimit bounds what a quote looks at; no shopper holds so many live coupons.
const heldLimit = 500

// HeldCoupon is a coupon with the template it came from.
type HeldCoupon struct {
	Coupon   model.Coupon
	Template model.CouponTemplate
}

// Held returns the coupons that the shopper holds and has not used, those locked by an unpaid order among them, the latest
// end first. Some may be past their end: Evaluate says so.
func Held(db *gorm.DB, shopperID int64) ([]HeldCoupon, error) {
	var coupons []model.Coupon
	err := db.Where("shopper_id = ? AND state IN ?", shopperID, []model.CouponState{model.CouponAvailable, model.CouponLocked}).
		Order("expires_at DESC, id").Limit(heldLimit).Find(&coupons).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	return withTemplates(db, coupons)
}

func withTemplates(db *gorm.DB, coupons []model.Coupon) ([]HeldCoupon, error) {
	if len(coupons) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(coupons))
	for i, c := range coupons {
		ids[i] = c.TemplateID
	}
	var templates []model.CouponTemplate
	if err := db.Where("id IN ?", distinct(ids)).Find(&templates).Error; err != nil {
		return nil, store.Classify(err)
	}
	byID := make(map[int64]model.CouponTemplate, len(templates))
	for _, t := range templates {
		byID[t.ID] = t
	}
	held := make([]HeldCoupon, len(coupons))
	for i, c := range coupons {
		held[i] = HeldCoupon{Coupon: c, Template: byID[c.TemplateID]}
	}
	return held, nil
}
