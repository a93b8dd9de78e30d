package coupon

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Mine lists the shopper's coupons in the state, the newest first, with their number; the empty state means all. An available
// coupon past its end counts, and reads, as expired.
func (s *Service) Mine(ctx context.Context, shopperID int64, state model.CouponState, page store.Page) ([]HeldCoupon, int64, error) {
	db, now := s.store.Read(ctx), s.now()
	var total int64
	if err := ofShopper(db, shopperID, state, now).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var coupons []model.Coupon
	err := ofShopper(db, shopperID, state, now).Order("id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&coupons).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	for i, c := range coupons {
		if c.State == model.CouponAvailable && c.ExpiresAt <= now {
			coupons[i].State = model.CouponExpired
		}
	}
	held, err := withTemplates(db, coupons)
	return held, total, err
}

func ofShopper(db *gorm.DB, shopperID int64, state model.CouponState, now model.Time) *gorm.DB {
	q := db.Model(&model.Coupon{}).Where("shopper_id = ?", shopperID)
	switch state {
	case "":
		return q
	case model.CouponAvailable:
		return q.Where("state = ? AND expires_at > ?", state, now)
	case model.CouponExpired:
		return q.Where("(state = ? OR (state = ? AND expires_at <= ?))", state, model.CouponAvailable, now)
	}
	return q.Where("state = ?", state)
}
