package coupon

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// claimAttempts bounds the repeats after two claims of one shopper chose the same number.
const claimAttempts = 5

// Claim gives the shopper one coupon of the template. Errors: not_found, coupon_not_open, coupon_sold_out, and coupon_limit
// where the shopper has had as many as it may. However many claim at once, no more than the template's total are given out and
// none of them to a shopper beyond its limit.
func (s *Service) Claim(ctx context.Context, shopperID, templateID int64) (HeldCoupon, error) {
	// Most of a rush is refused here, without waiting for the template's row.
	t, claimed, err := claimState(s.store.Read(ctx), shopperID, templateID)
	if err == nil {
		err = refusal(t, claimed, s.now())
	}
	if err != nil {
		return HeldCoupon{}, err
	}
	var held HeldCoupon
	for range claimAttempts {
		err = s.store.Tx(ctx, func(tx *store.Tx) (err error) {
			held, err = claim(tx, shopperID, templateID, s.now())
			return err
		})
		if !store.IsDuplicate(err) {
			break
		}
	}
	return held, err
}

func claim(tx *store.Tx, shopperID, templateID int64, now model.Time) (HeldCoupon, error) {
	n, err := tx.Affected(`UPDATE coupon_templates SET issued = issued + 1
		WHERE id = ? AND issued < total AND starts_at <= ? AND ends_at > ? AND stopped_at = 0`, templateID, now, now)
	if err != nil {
		return HeldCoupon{}, err
	}
	t, claimed, err := claimState(tx.DB, shopperID, templateID)
	if err != nil {
		return HeldCoupon{}, err
	}
	if n == 0 {
		if err := refusal(t, claimed, now); err != nil {
			return HeldCoupon{}, err
		}
		return HeldCoupon{}, fault.New(fault.CouponSoldOut) // more were made available in between
	}
	if claimed >= t.PerShopper {
		return HeldCoupon{}, fault.New(fault.CouponLimit)
	}
	c := model.Coupon{
		TemplateID: t.ID, MerchantID: t.MerchantID, ShopperID: shopperID, Seq: claimed + 1, State: model.CouponAvailable,
		ExpiresAt: expiry(t, now), CreatedAt: now, UpdatedAt: now,
	}
	if err := tx.Create(&c).Error; err != nil {
		return HeldCoupon{}, err
	}
	return HeldCoupon{Coupon: c, Template: t}, nil
}

// claimState reads the template of a merchant that is not disabled, and how many of it the shopper has claimed.
func claimState(db *gorm.DB, shopperID, templateID int64) (t model.CouponTemplate, claimed int64, err error) {
	err = db.Where("id = ?", templateID).Where(openMerchant).Take(&t).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return t, 0, fault.New(fault.NotFoundError)
	}
	if err == nil {
		err = db.Model(&model.Coupon{}).Where("template_id = ? AND shopper_id = ?", templateID, shopperID).Count(&claimed).Error
	}
	return t, claimed, store.Classify(err)
}

// openMerchant leaves out what disabled merchants issued.
const openMerchant = "merchant_id NOT IN (SELECT id FROM merchants WHERE disabled)"

func refusal(t model.CouponTemplate, claimed int64, now model.Time) error {
	switch {
	case t.State(now) != model.TemplateRunning:
		return fault.New(fault.CouponNotOpen)
	case claimed >= t.PerShopper:
		return fault.New(fault.CouponLimit)
	case t.Issued >= t.Total:
		return fault.New(fault.CouponSoldOut)
	}
	return nil
}

// expiry is when a coupon claimed at that time ends: with its template, or valid_days of 24 hours after the claim if sooner.
func expiry(t model.CouponTemplate, claimed model.Time) model.Time {
	if t.ValidDays == 0 {
		return t.EndsAt
	}
	return min(t.EndsAt, claimed.Add(time.Duration(t.ValidDays)*24*time.Hour))
}
