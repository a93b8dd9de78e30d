package audit

func couponsFollowOrders() check {
	const orderOf = "LEFT JOIN orders o ON o.id = c.order_id AND o.coupon_id = c.id AND o.shopper_id = c.shopper_id "
	return check{"A3", "a locked coupon has a pending order, a used one a paid order, and no coupon two orders", []rule{
		{broken: "locked coupon without a pending order", walks: "coupons", sql: `
			SELECT c.id AS ref FROM coupons c ` + orderOf + `WHERE c.id BETWEEN @lo AND @hi
			AND c.state = 'locked' AND (o.id IS NULL OR o.state <> 'pending_payment')`},
		{broken: "used coupon without a paid, shipped or completed order", walks: "coupons", sql: `
			SELECT c.id AS ref FROM coupons c ` + orderOf + `WHERE c.id BETWEEN @lo AND @hi
			AND c.state = 'used' AND (o.id IS NULL OR o.state NOT IN ('paid', 'shipped', 'completed'))`},
		{broken: "used coupon of an order of which every piece was refunded", walks: "coupons", sql: `
			SELECT c.id AS ref FROM coupons c ` + orderOf + `WHERE c.id BETWEEN @lo AND @hi
			AND c.state = 'used' AND o.id IS NOT NULL AND NOT EXISTS (
				SELECT 1 FROM order_lines l WHERE l.order_id = o.id AND l.refunded_quantity < l.quantity)`},
		{broken: "coupon that is free or expired and still names an order", walks: "coupons", sql: `
			SELECT c.id AS ref FROM coupons c WHERE c.id BETWEEN @lo AND @hi
			AND (c.state NOT IN ('locked', 'used') AND c.order_id IS NOT NULL)`},
		// An order of which every piece was refunded gave its coupon back, whatever its state.
		{broken: "order whose coupon is not held for it", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o
			LEFT JOIN coupons c ON c.id = o.coupon_id AND c.order_id = o.id AND c.shopper_id = o.shopper_id
			WHERE o.id BETWEEN @lo AND @hi AND o.coupon_id <> 0 AND o.state <> 'closed'
			AND EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = o.id AND l.refunded_quantity < l.quantity)
			AND (c.id IS NULL OR c.state <> CASE WHEN o.state = 'pending_payment' THEN 'locked' ELSE 'used' END)`},
	}}
}

func couponsWithinLimits() check {
	const held = "(SELECT COUNT(*) FROM coupons c WHERE c.template_id = t.id)"
	return check{"A4", "no template has issued more coupons than its total, nor any shopper more than its limit", []rule{
		{
			broken: "template with more coupons than its total", walks: "coupon_templates",
			sql: "SELECT t.id AS ref FROM coupon_templates t WHERE t.id BETWEEN @lo AND @hi AND (t.issued > t.total OR " + held + " > t.total)",
		},
		{
			broken: "template that counts other coupons than there are", walks: "coupon_templates",
			sql: "SELECT t.id AS ref FROM coupon_templates t WHERE t.id BETWEEN @lo AND @hi AND t.issued <> " + held,
		},
		{broken: "template of which a shopper holds more than the limit", walks: "coupon_templates", sql: `
			SELECT t.id AS ref FROM coupon_templates t WHERE t.id BETWEEN @lo AND @hi AND EXISTS (
				SELECT 1 FROM coupons c WHERE c.template_id = t.id GROUP BY c.shopper_id HAVING COUNT(*) > t.per_shopper)`},
		{broken: "coupon of a template that does not exist", walks: "coupons", sql: `
			SELECT c.id AS ref FROM coupons c WHERE c.id BETWEEN @lo AND @hi
			AND NOT EXISTS (SELECT 1 FROM coupon_templates t WHERE t.id = c.template_id)`},
	}}
}
