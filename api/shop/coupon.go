package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/store"
)

// Coupons has the shopper's operations on coupons.
type Coupons struct {
	Service interface {
		Offers(ctx context.Context, merchantID, shopperID int64, page store.Page) ([]coupon.Offer, int64, error)
		Claim(ctx context.Context, shopperID, templateID int64) (coupon.HeldCoupon, error)
		Mine(ctx context.Context, shopperID int64, state model.CouponState, page store.Page) ([]coupon.HeldCoupon, int64, error)
	}
}

// CouponTerms is what a coupon does.
type CouponTerms struct {
	MerchantID     int64             `json:"merchant_id"`
	Name           string            `json:"name"`
	Kind           model.CouponKind  `json:"kind" enum:"amount,percent,free_shipping" doc:"Takes an amount or a percentage off the goods, or the freight"`
	AmountFen      model.Fen         `json:"amount_fen,omitempty" doc:"Kind amount: what it takes off, at most the goods"`
	PercentOff     int               `json:"percent_off,omitempty" doc:"Kind percent: 15 takes 15 % off"`
	MaxDiscountFen model.Fen         `json:"max_discount_fen,omitempty" doc:"Kind percent: the most that it takes off; absent means no limit"`
	ThresholdFen   model.Fen         `json:"threshold_fen" doc:"What the goods it applies to must cost together"`
	Scope          model.CouponScope `json:"scope" enum:"all,category,product" doc:"Which goods it applies to"`
	ScopeIDs       []int64           `json:"scope_ids,omitempty" doc:"Of the categories (with those below them) or products"`
}

func termsOf(t model.CouponTemplate) CouponTerms {
	return CouponTerms{
		MerchantID: t.MerchantID, Name: t.Name, Kind: t.Kind, AmountFen: t.AmountFen, PercentOff: t.PercentOff, MaxDiscountFen: t.MaxDiscountFen,
		ThresholdFen: t.ThresholdFen, Scope: t.Scope, ScopeIDs: t.ScopeIDs,
	}
}

// CouponOffer is a coupon that can be claimed now.
type CouponOffer struct {
	ID int64 `json:"id" doc:"Of the template; claim with it"`
	CouponTerms
	Total      int64      `json:"total" doc:"How many there are for everybody"`
	Left       int64      `json:"left" doc:"How many of them are left"`
	PerShopper int64      `json:"per_shopper" doc:"How many one shopper may claim"`
	StartsAt   model.Time `json:"starts_at" format:"date-time"`
	EndsAt     model.Time `json:"ends_at" format:"date-time"`
	ValidDays  int        `json:"valid_days,omitempty" doc:"Days of 24 hours after the claim; absent means until ends_at"`
	Claimed    int64      `json:"claimed" doc:"How many the shopper who asks has claimed; 0 for visitors"`
	Claimable  bool       `json:"claimable" doc:"Whether the shopper who asks may claim one more"`
}

// Coupon is held by the shopper.
type Coupon struct {
	ID         int64             `json:"id" doc:"Use it with this as my_coupon_id"`
	TemplateID int64             `json:"template_id"`
	Status     model.CouponState `json:"status" enum:"available,locked,used,expired" doc:"locked: an unpaid order holds it"`
	CouponTerms
	StartsAt  model.Time `json:"starts_at" format:"date-time" doc:"When it can be used from"`
	ExpiresAt model.Time `json:"expires_at" format:"date-time" doc:"When it cannot be used any more"`
	ClaimedAt model.Time `json:"claimed_at" format:"date-time"`
	UsedAt    model.Time `json:"used_at,omitempty" format:"date-time"`
}

func couponOf(h coupon.HeldCoupon) Coupon {
	c := h.Coupon
	return Coupon{
		ID: c.ID, TemplateID: c.TemplateID, Status: c.State, CouponTerms: termsOf(h.Template), StartsAt: h.Template.StartsAt,
		ExpiresAt: c.ExpiresAt, ClaimedAt: c.CreatedAt, UsedAt: c.UsedAt,
	}
}

// CouponOffersInput asks for a page of what can be claimed.
type CouponOffersInput struct {
	api.PageInput
	MerchantID int64 `query:"merchant_id" minimum:"1" maximum:"9007199254740991" doc:"Only coupons of this merchant"`
}

// Offers lists the coupons that can be claimed now.
func (c *Coupons) Offers(ctx context.Context, in *CouponOffersInput) (*api.Reply[api.List[CouponOffer]], error) {
	offers, total, err := c.Service.Offers(ctx, in.MerchantID, api.Shopper(ctx), in.Numbered())
	if err != nil {
		return nil, err
	}
	list := make([]CouponOffer, len(offers))
	for i, o := range offers {
		t := o.Template
		list[i] = CouponOffer{
			ID: t.ID, CouponTerms: termsOf(t), Total: t.Total, Left: o.Left(), PerShopper: t.PerShopper,
			StartsAt: t.StartsAt, EndsAt: t.EndsAt, ValidDays: t.ValidDays, Claimed: o.Claimed, Claimable: o.Claimable(),
		}
	}
	return api.NewList(list, total, in.PageInput), nil
}

// CouponClaimInput names a template.
type CouponClaimInput struct{ api.IDPath }

// Claim gives the shopper one coupon of a template.
func (c *Coupons) Claim(ctx context.Context, in *CouponClaimInput) (*api.Reply[Coupon], error) {
	held, err := c.Service.Claim(ctx, api.Shopper(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(couponOf(held)), nil
}

// CouponMineInput asks for a page of the shopper's coupons.
type CouponMineInput struct {
	api.PageInput
	Status model.CouponState `query:"status" enum:"available,locked,used,expired" doc:"Only coupons that stand here"`
}

// Mine lists the shopper's coupons, the newest first.
func (c *Coupons) Mine(ctx context.Context, in *CouponMineInput) (*api.Reply[api.List[Coupon]], error) {
	held, total, err := c.Service.Mine(ctx, api.Shopper(ctx), in.Status, in.Numbered())
	if err != nil {
		return nil, err
	}
	list := make([]Coupon, len(held))
	for i, h := range held {
		list[i] = couponOf(h)
	}
	return api.NewList(list, total, in.PageInput), nil
}
