package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
)

// Operations has the operations of every noun. A nil field is not mounted, so that a test can serve one noun alone.
type Operations struct {
	ShopCart    *shop.Carts
	ShopCoupons *shop.Coupons

	AdminCoupons  *admin.Coupons
	AdminFreight  *admin.Freight
	AdminCarriers *admin.Carriers
}

// mount puts the tables of all nouns in place: one line a noun.
func (r *Router) mount() {
	s, a := r.group(shopPrefix), r.group(adminPrefix)
	mounted(s, shopCart, r.deps.ShopCart)
	mounted(s, shopCoupons, r.deps.ShopCoupons)

	mounted(a, adminCoupons, r.deps.AdminCoupons)
	mounted(a, adminFreight, r.deps.AdminFreight)
	mounted(a, adminCarriers, r.deps.AdminCarriers)
}

// mounted calls a table where its noun is there.
func mounted[T any](g *group, table func(*group, *T), ops *T) {
	if ops != nil {
		table(g, ops)
	}
}
