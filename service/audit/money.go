package audit

// sums joins each order with the sums of its lines.
const sums = `FROM orders o LEFT JOIN (
		SELECT order_id, SUM(price_fen * quantity) AS goods, SUM(discount_fen) AS discount, SUM(adjustment_fen) AS adjustment
		FROM order_lines WHERE order_id BETWEEN @lo AND @hi GROUP BY order_id
	) s ON s.order_id = o.id WHERE o.id BETWEEN @lo AND @hi AND `

const (
	// weight is what of the goods a line's share of an adjustment is in proportion to; net is what is paid for it.
	weight = "(l.price_fen * l.quantity - l.discount_fen)"
	net    = "(l.price_fen * l.quantity - l.discount_fen + l.adjustment_fen)"
	// onLines is the part of the adjustment that belongs to lines: a negative one takes them to 0, then freight.
	onLines = `CASE WHEN o.adjustment_fen >= o.discount_fen - o.goods_fen THEN o.adjustment_fen ELSE o.discount_fen - o.goods_fen END`
)

func amountsAddUp() check {
	return check{"A5", "payable = goods − discount + freight + adjustment, and the lines' shares add up to the fen", []rule{
		{broken: "order whose amounts do not add up, or are below zero", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi
			AND (o.payable_fen <> o.goods_fen - o.discount_fen + o.freight_fen + o.adjustment_fen OR o.payable_fen < 0
				OR o.goods_fen < 0 OR o.discount_fen < 0 OR o.discount_fen > o.goods_fen OR o.freight_fen < 0)`},
		{
			broken: "order whose goods are not the sum of its lines", walks: "orders",
			sql: "SELECT o.no AS ref " + sums + "(s.goods IS NULL OR s.goods <> o.goods_fen)",
		},
		{
			broken: "order whose discount is not the sum of its lines' shares", walks: "orders",
			sql: "SELECT o.no AS ref " + sums + "s.discount <> o.discount_fen",
		},
		{
			broken: "order whose adjustment is not the sum of its lines' shares and the freight's", walks: "orders",
			sql: "SELECT o.no AS ref " + sums + "s.adjustment <> " + onLines,
		},
		{
			broken: "order with a line whose quantity, price, discount or rest is out of range", walks: "orders",
			sql: linesOf + "(l.quantity < 1 OR l.price_fen < 0 OR l.discount_fen < 0 OR " + weight + " < 0 OR " + net + " < 0)",
		},
		// By the largest remainder a share differs from the exact one by less than a fen. The quotient is compared with a little
		// more, because SQLite divides in floating point.
		{
			broken: "order with a line whose share of the adjustment is not in proportion", walks: "orders",
			sql: linesOf + "o.goods_fen > o.discount_fen AND ABS(l.adjustment_fen - 1.0 * (" + onLines + ") * " + weight +
				" / (o.goods_fen - o.discount_fen)) > 1.001",
		},
		{
			broken: "order with a fully refunded line of which another amount was refunded than was paid for it", walks: "orders",
			sql: linesOf + "l.refunded_quantity = l.quantity AND l.refunded_fen <> " + net,
		},
		{broken: "line of an order that does not exist", walks: "order_lines", sql: `
			SELECT l.id AS ref FROM order_lines l WHERE l.id BETWEEN @lo AND @hi
			AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = l.order_id)`},
	}}
}

func paidOnce() check {
	const (
		settled = "(SELECT COUNT(*) FROM payments p WHERE p.settled_order = o.id AND p.settled = 1 AND p.order_id = o.id"
		paid    = "(o.state IN ('paid', 'shipped', 'completed') OR (o.state = 'closed' AND o.close_reason = 'refunded'))"
		order   = "SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi AND "
	)
	return check{"A6", "a paid order has exactly one settled payment, equal to what was payable; a free or unpaid one has none", []rule{
		{
			broken: "paid order without exactly one settled payment of its payable", walks: "orders",
			sql: order + paid + " AND o.payable_fen > 0 AND (" + settled + ") <> 1 OR " + settled + " AND p.amount_fen = o.payable_fen) <> 1)",
		},
		{
			broken: "order with nothing to pay and a settled payment", walks: "orders",
			sql: order + "o.payable_fen = 0 AND " + settled + ") > 0",
		},
		{
			broken: "unpaid order with a settled payment", walks: "orders",
			sql: order + "NOT " + paid + " AND " + settled + ") > 0",
		},
		{broken: "payment that contradicts itself about being settled", walks: "payments", sql: `
			SELECT p.transaction_id AS ref FROM payments p WHERE p.id BETWEEN @lo AND @hi
			AND (p.settled = 1) <> (p.settled_order IS NOT NULL AND p.settled_order = p.order_id)`},
		{broken: "transaction that settles two orders", walks: "payments", sql: `
			SELECT p.transaction_id AS ref FROM payments p
			JOIN payments q ON q.transaction_id = p.transaction_id AND q.id < p.id AND q.settled = 1
			WHERE p.id BETWEEN @lo AND @hi AND p.settled = 1`},
		{broken: "payment of an order that does not exist", walks: "payments", sql: `
			SELECT p.transaction_id AS ref FROM payments p WHERE p.id BETWEEN @lo AND @hi
			AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = p.order_id)`},
	}}
}

func refundsWithinPayments() check {
	const (
		counted  = "COALESCE((SELECT SUM(r.amount_fen) FROM refunds r WHERE r.payment_id = p.id AND r.state <> 'failed'), 0)"
		payments = "SELECT p.transaction_id AS ref FROM payments p WHERE p.id BETWEEN @lo AND @hi AND "
		// byLine joins each line with what its refunds give back.
		byLine = `SELECT o.no AS ref FROM orders o JOIN order_lines l ON l.order_id = o.id LEFT JOIN (
				SELECT rl.line_id,
					SUM(CASE WHEN r.state <> 'failed' THEN rl.amount_fen ELSE 0 END) AS counted_fen,
					SUM(CASE WHEN r.state <> 'failed' THEN rl.quantity ELSE 0 END) AS counted,
					SUM(CASE WHEN r.state = 'success' THEN rl.amount_fen ELSE 0 END) AS done_fen,
					SUM(CASE WHEN r.state = 'success' THEN rl.quantity ELSE 0 END) AS done
				FROM refunds r JOIN refund_lines rl ON rl.refund_id = r.id WHERE r.order_id BETWEEN @lo AND @hi GROUP BY rl.line_id
			) s ON s.line_id = l.id WHERE o.id BETWEEN @lo AND @hi AND `
		refunds = "SELECT r.out_refund_no AS ref FROM refunds r WHERE r.id BETWEEN @lo AND @hi AND "
		inLines = "(SELECT COALESCE(SUM(rl.amount_fen), 0) FROM refund_lines rl WHERE rl.refund_id = r.id)"

		sales = "SELECT a.id AS ref FROM aftersales a WHERE a.id BETWEEN @lo AND @hi AND "
		// waiting is what open after-sales ask for of a line whose refund is not made yet.
		waiting = `COALESCE((SELECT SUM(al.quantity) FROM aftersales a JOIN aftersale_lines al ON al.aftersale_id = a.id
			WHERE a.order_id = o.id AND al.line_id = l.id AND a.state IN ('requested', 'approved', 'returning')), 0)`
	)
	return check{"A7", "refunds never exceed the payment, in total and by line", []rule{
		{broken: "payment with more refunded than was paid", walks: "payments", sql: payments + counted + " > p.amount_fen"},
		{broken: "payment that counts other refunds than there are", walks: "payments", sql: payments + "p.refunded_fen <> " + counted},
		{
			broken: "order with a line of which more is refunded than was paid or bought", walks: "orders",
			sql: byLine + "(s.counted_fen > " + net + " OR s.counted > l.quantity)",
		},
		{
			broken: "order with a line that counts other refunds than there are", walks: "orders",
			sql: byLine + `(l.refunding_quantity <> COALESCE(s.counted, 0) OR l.refunded_quantity <> COALESCE(s.done, 0)
				OR l.refunded_fen <> COALESCE(s.done_fen, 0))`,
		},
		{broken: "order that counts other refunds than succeeded", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi AND o.refunded_fen <> COALESCE((
				SELECT SUM(r.amount_fen) FROM refunds r JOIN payments p ON p.id = r.payment_id
				WHERE r.order_id = o.id AND r.state = 'success' AND p.settled = 1), 0)`},
		{broken: "order with more freight refunded than was paid", walks: "orders", sql: `
			SELECT o.no AS ref ` + sums + `(SELECT SUM(r.freight_fen) FROM refunds r WHERE r.order_id = o.id AND r.kind <> 'late' AND r.state <> 'failed')
				> o.freight_fen + o.adjustment_fen - s.adjustment`},
		{
			broken: "refund whose amount is not that of its lines and its freight", walks: "refunds",
			sql: refunds + "(r.amount_fen < 0 OR r.freight_fen < 0 OR r.kind <> 'late' AND r.amount_fen <> r.freight_fen + " + inLines + ")",
		},
		// A refund of an order that was free has no payment and gives back goods only.
		{broken: "refund without its payment", walks: "refunds", sql: refunds + `NOT (r.payment_id = 0 AND r.amount_fen = 0) AND NOT EXISTS (
			SELECT 1 FROM payments p WHERE p.id = r.payment_id AND p.order_id = r.order_id AND p.amount_fen = r.total_fen
			AND (r.kind = 'late') = (p.settled = 0))`},
		{broken: "refund with a line of another order", walks: "refunds", sql: refunds + `EXISTS (
			SELECT 1 FROM refund_lines rl LEFT JOIN order_lines l ON l.id = rl.line_id AND l.order_id = r.order_id
			WHERE rl.refund_id = r.id AND l.id IS NULL)`},
		{
			broken: "order with a line of which refunds and open after-sales take more than was bought", walks: "orders",
			sql: linesOf + "l.refunding_quantity + " + waiting + " > l.quantity",
		},
		{broken: "after-sale without the refund that its state says", walks: "aftersales", sql: sales + `a.state IN ('refunding', 'refunded') AND NOT EXISTS (
			SELECT 1 FROM refunds r WHERE r.id = a.refund_id AND r.aftersale_id = a.id AND r.order_id = a.order_id AND r.kind = 'aftersale'
			AND r.amount_fen = a.amount_fen AND r.state <> 'failed' AND (r.state = 'success') = (a.state = 'refunded'))`},
		{
			broken: "after-sale that is not refunded and names a refund", walks: "aftersales",
			sql: sales + "a.state NOT IN ('refunding', 'refunded') AND a.refund_id <> 0",
		},
		{broken: "after-sale whose lines are not those of its refund, or that has none", walks: "aftersales", sql: sales + `(
			NOT EXISTS (SELECT 1 FROM aftersale_lines al WHERE al.aftersale_id = a.id AND al.quantity > 0)
			OR a.refund_id <> 0 AND (
				EXISTS (SELECT 1 FROM aftersale_lines al WHERE al.aftersale_id = a.id AND NOT EXISTS (
					SELECT 1 FROM refund_lines rl WHERE rl.refund_id = a.refund_id AND rl.line_id = al.line_id AND rl.quantity = al.quantity))
				OR (SELECT COUNT(*) FROM aftersale_lines al WHERE al.aftersale_id = a.id)
					<> (SELECT COUNT(*) FROM refund_lines rl WHERE rl.refund_id = a.refund_id)))`},
		{broken: "refund of an after-sale that does not know it", walks: "refunds", sql: refunds + `r.aftersale_id <> 0 AND r.state <> 'failed' AND NOT EXISTS (
			SELECT 1 FROM aftersales a WHERE a.id = r.aftersale_id AND a.refund_id = r.id)`},
	}}
}

func strayPaymentsGoBack() check {
	return check{"A11", "every confirmed payment that does not pay its order is refunded in full, or an anomaly tells of it", []rule{
		{broken: "payment that neither pays its order nor goes back, and of which no anomaly tells", walks: "payments", sql: `
			SELECT p.transaction_id AS ref FROM payments p WHERE p.id BETWEEN @lo AND @hi AND p.settled = 0
			AND p.amount_fen <> COALESCE((SELECT SUM(r.amount_fen) FROM refunds r WHERE r.payment_id = p.id AND r.state <> 'failed'), 0)
			AND NOT EXISTS (SELECT 1 FROM anomalies a WHERE a.order_id = p.order_id AND a.payment_id = p.id
				AND (a.state = 'open' OR (a.state = 'resolved' AND a.note <> '')))`},
	}}
}
