package audit

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
)

func merchantsApart() check {
	// ofOrder finds rows of a table that belong to an order of another merchant, or to none.
	ofOrder := func(what, table string) rule {
		return rule{broken: "order with " + what + " of another merchant", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN ` + table + ` t ON t.order_id = o.id
			WHERE o.id BETWEEN @lo AND @hi AND t.merchant_id <> o.merchant_id`}
	}
	// pointing finds rows of a table whose column names a row of another merchant. Rows that may belong to all have merchant 0.
	pointing := func(broken, table, column, target, also string) rule {
		return rule{broken: broken, walks: table, sql: `
			SELECT t.id AS ref FROM ` + table + ` t JOIN ` + target + ` u ON u.id = t.` + column + `
			WHERE t.id BETWEEN @lo AND @hi AND t.merchant_id <> u.merchant_id` + also}
	}
	return check{"A12", "no row of one merchant points at a row of another", []rule{
		ofOrder("a line", "order_lines"), ofOrder("a payment attempt", "payment_attempts"), ofOrder("a payment", "payments"),
		ofOrder("a refund", "refunds"), ofOrder("a parcel", "parcels"), ofOrder("an after-sale", "aftersales"),
		ofOrder("an anomaly", "anomalies"), ofOrder("a subscribe message", "subscribe_messages"),
		pointing("shipping upload of another merchant's order", "shipping_uploads", "id", "orders", ""),
		pointing("ledger entry of another merchant's order", "stock_ledger", "order_id", "orders", ""),
		pointing("ledger entry of another merchant's SKU", "stock_ledger", "sku_id", "skus", ""),
		pointing("order line of another merchant's SKU", "order_lines", "sku_id", "skus", ""),
		pointing("order line of another merchant's product", "order_lines", "product_id", "products", ""),
		pointing("SKU of another merchant's product", "skus", "product_id", "products", ""),
		pointing("product in another merchant's category", "products", "category_id", "categories", ""),
		pointing("category below another merchant's", "categories", "parent_id", "categories", ""),
		pointing("coupon of another merchant's template", "coupons", "template_id", "coupon_templates", ""),
		pointing("order with another merchant's coupon", "orders", "coupon_id", "coupons", ""),
		pointing("order under another merchant's timeout policy", "orders", "policy_id", "timeout_policies", " AND u.merchant_id <> 0"),
		pointing("admin with another merchant's role", "admins", "role_id", "roles", " AND u.merchant_id <> 0"),
		pointing("refund of another merchant's payment", "refunds", "payment_id", "payments", ""),
		pointing("refund of another merchant's after-sale", "refunds", "aftersale_id", "aftersales", ""),
		pointing("subscribe message about another merchant's refund", "subscribe_messages", "refund_id", "refunds", ""),
		pointing("after-sale with another merchant's refund", "aftersales", "refund_id", "refunds", ""),
		pointing("review of another merchant's order", "reviews", "order_id", "orders", ""),
		pointing("review of another merchant's product", "reviews", "product_id", "products", ""),
		{broken: "product with a rating of another merchant", walks: "products", sql: `
			SELECT p.id AS ref FROM products p JOIN product_ratings r ON r.product_id = p.id
			WHERE p.id BETWEEN @lo AND @hi AND r.merchant_id <> p.merchant_id`},
		pointing("held remark of another merchant's order", "content_holds", "ref_id", "orders", " AND t.kind = 'remark'"),
		pointing("held part of another merchant's review", "content_holds", "ref_id", "reviews", " AND t.kind IN ('review', 'picture')"),
		{broken: "order with a message of another merchant", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN messages m ON m.msg_key = CONCAT('order:', o.id)
			WHERE o.id BETWEEN @lo AND @hi AND m.merchant_id <> o.merchant_id`},
		{broken: "parcel with a line of another order", walks: "parcels", sql: `
			SELECT p.id AS ref FROM parcels p JOIN parcel_lines pl ON pl.parcel_id = p.id
			LEFT JOIN order_lines l ON l.id = pl.line_id AND l.order_id = p.order_id
			WHERE p.id BETWEEN @lo AND @hi AND l.id IS NULL`},
		{broken: "after-sale with a line of another order", walks: "aftersales", sql: `
			SELECT a.id AS ref FROM aftersales a JOIN aftersale_lines al ON al.aftersale_id = a.id
			LEFT JOIN order_lines l ON l.id = al.line_id AND l.order_id = a.order_id
			WHERE a.id BETWEEN @lo AND @hi AND l.id IS NULL`},
		{broken: "coupon template whose scope names another merchant's category or product", find: foreignScopes},
	}}
}

// foreignScopes reads the scopes of templates: they are lists in JSON, which the databases take apart in different ways.
func foreignScopes(db *gorm.DB, found func(ref string)) error {
	var batch []model.CouponTemplate
	targets := map[model.CouponScope]string{model.ScopeCategory: "categories", model.ScopeProduct: "products"}
	return db.Where("scope <> ?", model.ScopeAll).FindInBatches(&batch, 200, func(*gorm.DB, int) error {
		for _, t := range batch {
			if len(t.ScopeIDs) == 0 {
				continue
			}
			var foreign int64
			err := db.Raw("SELECT COUNT(*) FROM "+targets[t.Scope]+" WHERE id IN ? AND merchant_id <> ?", t.ScopeIDs, t.MerchantID).Scan(&foreign).Error
			if err != nil {
				return err
			}
			if foreign > 0 {
				found(fmt.Sprint(t.ID))
			}
		}
		return nil
	}).Error
}
