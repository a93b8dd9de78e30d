package router

import (
	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
)

// Operations has the operations of every noun. A nil field is not mounted, so that a test can serve one noun alone.
type Operations struct {
	ShopAccounts  *shop.Accounts
	ShopAddresses *shop.Addresses

	AdminAuth      *admin.Auth
	AdminAdmins    *admin.Admins
	AdminRoles     *admin.Roles
	AdminMerchants *admin.Merchants

	Files        *api.Files
	ShopCatalog  *shop.Catalog
	ShopCart     *shop.Carts
	ShopCoupons  *shop.Coupons
	ShopOrders   *shop.Orders
	ShopPayments *shop.Payments

	AdminCategories *admin.Categories
	AdminProducts   *admin.Products
	AdminSKUs       *admin.SKUs
	AdminCoupons    *admin.Coupons
	AdminFreight    *admin.Freight
	AdminCarriers   *admin.Carriers

	AdminOrders       *admin.Orders
	AdminOrderChanges *admin.OrderChanges
	AdminAnomalies    *admin.Anomalies
	AdminPolicies     *admin.Policies
	AdminMessages     *admin.Messages
	AdminTimeouts     *admin.Timeouts
	AdminReports      *admin.Reports

	Notify *Notify
}

// mount puts the tables of all nouns in place: one line a noun.
func (r *Router) mount() {
	s, a := r.group(shopPrefix), r.group(adminPrefix)
	mounted(s, shopAccounts, r.deps.ShopAccounts)
	mounted(s, shopAddresses, r.deps.ShopAddresses)
	mounted(a, adminAuth, r.deps.AdminAuth)
	mounted(a, adminAdmins, r.deps.AdminAdmins)
	mounted(a, adminRoles, r.deps.AdminRoles)
	mounted(a, adminMerchants, r.deps.AdminMerchants)

	mounted(s, shopCatalog, r.deps.ShopCatalog)
	mounted(s, shopFiles, r.deps.Files)
	mounted(r.group(""), pictures, r.deps.Files)
	mounted(s, shopCart, r.deps.ShopCart)
	mounted(s, shopCoupons, r.deps.ShopCoupons)
	mounted(s, shopOrders, r.deps.ShopOrders)
	mounted(s, shopPayments, r.deps.ShopPayments)

	mounted(a, adminCategories, r.deps.AdminCategories)
	mounted(a, adminProducts, r.deps.AdminProducts)
	mounted(a, adminSKUs, r.deps.AdminSKUs)
	mounted(a, adminFiles, r.deps.Files)
	mounted(a, adminCoupons, r.deps.AdminCoupons)
	mounted(a, adminFreight, r.deps.AdminFreight)
	mounted(a, adminCarriers, r.deps.AdminCarriers)
	mounted(a, adminOrders, r.deps.AdminOrders)
	mounted(a, adminOrderChanges, r.deps.AdminOrderChanges)
	mounted(a, adminAnomalies, r.deps.AdminAnomalies)
	mounted(a, adminPolicies, r.deps.AdminPolicies)
	mounted(a, adminMessages, r.deps.AdminMessages)
	mounted(a, adminTimeouts, r.deps.AdminTimeouts)
	mounted(a, adminReports, r.deps.AdminReports)

	r.mountNotify()
}

// mounted calls a table where its noun is there.
func mounted[T any](g *group, table func(*group, *T), ops *T) {
	if ops != nil {
		table(g, ops)
	}
}
