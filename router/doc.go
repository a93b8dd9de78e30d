// Package router is the HTTP surface: the engine with its middleware, and the route tables. A table is a file per noun, such as
// shop_catalog.go or admin_coupon.go; each line shows the method, the path, who may call it, the permission and the codes of the
// errors it may answer with. The OpenAPI document is made from the tables, and tests walk them: what is not in a table does not
// exist, and what is in one cannot be forgotten by the tests of tokens, permissions and ownership.
//
// # How to add an operation
//
// Write it in package api/shop or api/admin, on the struct of its noun, whose fields are the narrow interfaces it needs:
//
//	type Coupons struct{ Service couponService }
//
//	type CouponClaimInput struct{ api.IDPath }
//
//	func (c *Coupons) Claim(ctx context.Context, in *CouponClaimInput) (*api.Reply[Coupon], error) {
//		held, err := c.Service.Claim(ctx, api.Shopper(ctx), in.ID)
//		if err != nil {
//			return nil, err // a *fault.Error; anything else is answered as internal_error and its text only logged
//		}
//		return api.Body(couponOf(held)), nil
//	}
//
// Inputs and outputs are huma's: fields with path, query or header tags, and a field Body. Name the types of bodies; a type's name
// in the document gets its package in front (ShopCoupon, AdminCoupon). Every integer has a minimum and a maximum, every string a
// maxLength, optional fields `json:",omitempty"`. Lists are api.List with api.PageInput, long ones api.Deep with api.DeepInput.
// Outputs are never gorm models. An operation without a reply returns (*api.Empty)(nil), nil and answers 204.
//
// Then give the noun a field in Operations and a line in mount (operations.go), and write its table:
//
//	func shopCoupons(g *group, c *shop.Coupons) {
//		route(g, "POST", "/coupons/{id}/claim", shopper, c.Claim, doc{
//			Summary: "Claim a coupon", Codes: []fault.Code{fault.CouponSoldOut, fault.CouponLimit, fault.CouponNotOpen}})
//	}
//
// Who may call is one of anyone, visitor (a shopper if logged in), shopper, merchant(permission) — an admin, for the merchant
// api.Admin(ctx).MerchantID, which is never 0 there —, staff(permission) — an admin, for the platform perhaps without a
// merchant — and platform(permission). Codes that follow from the input, the body, the token and the limits are added by route.
//
// An operation with a path parameter and a body needs doc.Example, a body that is valid in form: the document shows it, and the
// test of strangers' ids sends it.
package router
