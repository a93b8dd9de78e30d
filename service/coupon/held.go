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

// HeldOne reads one of the shopper's coupons, in any state, with its template, by one query: it is on the road of every order. It
// returns nil where id is 0 or the shopper has no such coupon.
func HeldOne(db *gorm.DB, shopperID, id int64) ([]HeldCoupon, error) {
	if id == 0 {
		return nil, nil
	}
	var rows []struct {
		Coupon   model.Coupon         `gorm:"embedded;embeddedPrefix:c_"`
		Template model.CouponTemplate `gorm:"embedded;embeddedPrefix:t_"`
	}
	err := db.Raw(`SELECT c.id AS c_id, c.template_id AS c_template_id, c.merchant_id AS c_merchant_id, c.shopper_id AS c_shopper_id,
			c.seq AS c_seq, c.state AS c_state, c.order_id AS c_order_id, c.expires_at AS c_expires_at, c.used_at AS c_used_at,
			t.id AS t_id, t.merchant_id AS t_merchant_id, t.name AS t_name, t.kind AS t_kind, t.amount_fen AS t_amount_fen,
			t.percent_off AS t_percent_off, t.max_discount_fen AS t_max_discount_fen, t.threshold_fen AS t_threshold_fen,
			t.scope AS t_scope, t.scope_ids AS t_scope_ids, t.starts_at AS t_starts_at, t.ends_at AS t_ends_at
		FROM coupons c JOIN coupon_templates t ON t.id = c.template_id WHERE c.id = ? AND c.shopper_id = ?`, id, shopperID).Scan(&rows).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	held := make([]HeldCoupon, len(rows))
	for i, r := range rows {
		held[i] = HeldCoupon{Coupon: r.Coupon, Template: r.Template}
	}
	return held, nil
}
