package router

// Operations has the operations of every noun. A nil field is not mounted, so that a test can serve one noun alone.
type Operations struct{}

// mount puts the tables of all nouns in place: one line a noun, such as
//
//	mounted(shop, shopCoupons, r.deps.ShopCoupons)
func (r *Router) mount() {}

// mounted calls a table where its noun is there.
func mounted[T any](g *group, table func(*group, *T), ops *T) {
	if ops != nil {
		table(g, ops)
	}
}
