package router

import (
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/fault"
)

func shopCoupons(g *group, c *shop.Coupons) {
	route(g, "GET", "/coupons", visitor, c.Offers, doc{Summary: "List coupons that can be claimed now"})
	route(g, "POST", "/coupons/{id}/claim", shopper, c.Claim, doc{
		Summary: "Claim a coupon", Codes: []fault.Code{fault.CouponSoldOut, fault.CouponLimit, fault.CouponNotOpen},
	})
	route(g, "GET", "/my/coupons", shopper, c.Mine, doc{
		Summary: "List one's coupons", Description: "Newest first. An available coupon past its end counts as expired.",
	})
}
