package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

var couponExample = admin.CouponBody{
	Name: "满 100 减 10", Kind: model.CouponAmount, AmountFen: 1000, ThresholdFen: 10_000, Scope: model.ScopeAll, Total: 1000, PerShopper: 1,
	StartsAt: 1767225600000, EndsAt: 1798761600000, ValidDays: 30,
}

func adminCoupons(g *group, c *admin.Coupons) {
	route(g, "GET", "/coupons", merchant(account.CouponRead), c.List, doc{Summary: "List coupon templates", Description: "Newest first."})
	route(g, "GET", "/coupons/{id}", merchant(account.CouponRead), c.Get, doc{Summary: "Get a coupon template"})
	route(g, "POST", "/coupons", merchant(account.CouponWrite), c.Create, doc{
		Summary: "Make a coupon template", Status: 201, Example: couponExample,
	})
	route(g, "PUT", "/coupons/{id}", merchant(account.CouponWrite), c.Update, doc{
		Summary:     "Change a coupon template",
		Description: "Coupons that shoppers hold change with it, but keep their end. total may not go below what is issued, per_shopper not below what one shopper has.",
		Codes:       []fault.Code{fault.StaleVersion, fault.TotalBelowIssued},
		Example:     admin.CouponUpdateBody{CouponBody: couponExample, Version: 1},
	})
	codes := []fault.Code{fault.StaleVersion, fault.StateConflict}
	route(g, "POST", "/coupons/{id}/stop", merchant(account.CouponWrite), c.Stop, doc{
		Summary: "Stop a coupon template", Description: "Nobody may claim it any more; what shoppers hold of it stays as it is.",
		Codes: codes, Example: admin.VersionBody{Version: 1},
	})
	route(g, "POST", "/coupons/{id}/resume", merchant(account.CouponWrite), c.Resume, doc{
		Summary: "Issue a stopped coupon template again", Codes: codes, Example: admin.VersionBody{Version: 1},
	})
}
