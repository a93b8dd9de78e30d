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
	AdminSessions  *admin.Sessions
	AdminTOTP      *admin.TOTP
	AdminPanel     *admin.Panel
	AdminAdmins    *admin.Admins
	AdminRoles     *admin.Roles
	AdminMerchants *admin.Merchants

	Files        *api.Files
	ShopCatalog  *shop.Catalog
	ShopCart     *shop.Carts
	ShopCoupons  *shop.Coupons
	ShopOrders   *shop.Orders
	ShopPayments *shop.Payments
	ShopNotices  *shop.Notices
	ShopReviews  *shop.Reviews
	ShopShops    *shop.Shops

	ShopAftersales *shop.Aftersales

	AdminCategories *admin.Categories
	AdminProducts   *admin.Products
	AdminSKUs       *admin.SKUs
	AdminCoupons    *admin.Coupons
	AdminFreight    *admin.Freight
	AdminCarriers   *admin.Carriers

	AdminOrders       *admin.Orders
	AdminOrderChanges *admin.OrderChanges
	AdminUploads      *admin.Uploads
	AdminAftersales   *admin.Aftersales
	AdminAnomalies    *admin.Anomalies
	AdminLatePayments *admin.LatePayments
	AdminCallbacks    *admin.Callbacks
	AdminContentHolds *admin.ContentHolds
	AdminReviews      *admin.Reviews
	AdminBills        *admin.Bills
	AdminPolicies     *admin.Policies
	AdminMessages     *admin.Messages
	AdminTimeouts     *admin.Timeouts
	AdminReports      *admin.Reports
	AdminNotices      *admin.Notices
	AdminJobs         *admin.Jobs
	AdminSettings     *admin.ShopSettings
	AdminChanges      *admin.Changes

	Notify *Notify
}

// mount puts the tables of all nouns in place: one line a noun.
func (r *Router) mount() {
	s, a := r.group(shopPrefix), r.group(adminPrefix)
	mounted(s, shopAccounts, r.deps.ShopAccounts)
	mounted(s, shopAddresses, r.deps.ShopAddresses)
	mounted(a, adminAuth, r.deps.AdminAuth)
	mounted(a, adminSessions, r.deps.AdminSessions)
	mounted(a, adminTOTP, r.deps.AdminTOTP)
	mounted(a, adminPanel, r.deps.AdminPanel)
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
	mounted(s, shopNotices, r.deps.ShopNotices)
	mounted(s, shopReviews, r.deps.ShopReviews)
	mounted(s, shopShops, r.deps.ShopShops)
	mounted(s, shopAftersales, r.deps.ShopAftersales)
	mounted(s, shopCarriers, r.deps.AdminCarriers)

	mounted(a, adminCategories, r.deps.AdminCategories)
	mounted(a, adminProducts, r.deps.AdminProducts)
	mounted(a, adminSKUs, r.deps.AdminSKUs)
	mounted(a, adminFiles, r.deps.Files)
	mounted(a, adminCoupons, r.deps.AdminCoupons)
	mounted(a, adminFreight, r.deps.AdminFreight)
	mounted(a, adminCarriers, r.deps.AdminCarriers)
	mounted(a, adminOrders, r.deps.AdminOrders)
	mounted(a, adminOrderChanges, r.deps.AdminOrderChanges)
	mounted(a, adminUploads, r.deps.AdminUploads)
	mounted(a, adminAftersales, r.deps.AdminAftersales)
	mounted(a, adminAnomalies, r.deps.AdminAnomalies)
	mounted(a, adminLatePayments, r.deps.AdminLatePayments)
	mounted(a, adminCallbacks, r.deps.AdminCallbacks)
	mounted(a, adminContentHolds, r.deps.AdminContentHolds)
	mounted(a, adminReviews, r.deps.AdminReviews)
	mounted(a, adminBills, r.deps.AdminBills)
	mounted(a, adminPolicies, r.deps.AdminPolicies)
	mounted(a, adminMessages, r.deps.AdminMessages)
	mounted(a, adminTimeouts, r.deps.AdminTimeouts)
	mounted(a, adminReports, r.deps.AdminReports)
	mounted(a, adminNotices, r.deps.AdminNotices)
	mounted(a, adminJobs, r.deps.AdminJobs)
	mounted(a, adminSettings, r.deps.AdminSettings)
	mounted(a, adminChanges, r.deps.AdminChanges)

	r.mountNotify()
}

// mounted calls a table where its noun is there.
func mounted[T any](g *group, table func(*group, *T), ops *T) {
	if ops != nil {
		table(g, ops)
	}
}
