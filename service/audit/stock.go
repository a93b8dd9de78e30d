package audit

func stockEqualsLedger() check {
	return check{"A1", "stock is never below zero and equals the sum of its ledger", []rule{
		{
			broken: "SKU with stock below zero", walks: "skus",
			sql: "SELECT id AS ref FROM skus WHERE id BETWEEN @lo AND @hi AND stock < 0",
		},
		{broken: "SKU whose stock is not the sum of its ledger", walks: "skus", sql: `
			SELECT k.id AS ref FROM skus k WHERE k.id BETWEEN @lo AND @hi
			AND k.stock <> COALESCE((SELECT SUM(g.delta) FROM stock_ledger g WHERE g.sku_id = k.id), 0)`},
		{broken: "SKU with more than one initial entry", walks: "skus", sql: `
			SELECT k.id AS ref FROM skus k WHERE k.id BETWEEN @lo AND @hi
			AND (SELECT COUNT(*) FROM stock_ledger g WHERE g.sku_id = k.id AND g.kind = 'initial') > 1`},
		{broken: "ledger entry of a SKU that does not exist", walks: "stock_ledger", sql: `
			SELECT g.id AS ref FROM stock_ledger g WHERE g.id BETWEEN @lo AND @hi
			AND NOT EXISTS (SELECT 1 FROM skus k WHERE k.id = g.sku_id)`},
	}}
}

// entries is a line's ledger entries of a kind.
const entries = "(SELECT COUNT(*) FROM stock_ledger g WHERE g.line_id = l.id AND g.kind = "

const linesOf = `SELECT o.no AS ref FROM orders o JOIN order_lines l ON l.order_id = o.id WHERE o.id BETWEEN @lo AND @hi AND `

const (
	closedUnpaid   = "(o.state = 'closed' AND o.close_reason IN ('timeout', 'shopper', 'merchant'))"
	closedRefunded = "(o.state = 'closed' AND o.close_reason = 'refunded')"
	returned       = "COALESCE((SELECT SUM(g.delta) FROM stock_ledger g WHERE g.line_id = l.id AND g.kind = 'return'), 0)"
)

func linesMoveStockOnce() check {
	return check{"A2", "every order line reserves its stock once, and gives it back exactly as its order's fate says", []rule{
		{
			broken: "order with a line that has not exactly one reserve entry", walks: "orders",
			sql: linesOf + entries + "'reserve') <> 1",
		},
		{
			broken: "order with a reserve entry that is not its line's full quantity", walks: "orders",
			sql: linesOf + entries + "'reserve' AND NOT (g.delta = -l.quantity AND g.sku_id = l.sku_id AND g.order_id = l.order_id)) > 0",
		},
		{
			broken: "order closed unpaid with a line that was not released exactly once", walks: "orders",
			sql: linesOf + closedUnpaid + " AND " + entries + "'release') <> 1",
		},
		{
			broken: "order with a release entry that is not its line's full quantity", walks: "orders",
			sql: linesOf + entries + "'release' AND NOT (g.delta = l.quantity AND g.sku_id = l.sku_id AND g.order_id = l.order_id)) > 0",
		},
		{
			broken: "order closed unpaid with a return", walks: "orders",
			sql: linesOf + closedUnpaid + " AND " + entries + "'return') > 0",
		},
		{
			broken: "order that is not closed unpaid with a release", walks: "orders",
			sql: linesOf + "NOT " + closedUnpaid + " AND " + entries + "'release') > 0",
		},
		{
			broken: "order with more returned than refunded", walks: "orders",
			sql: linesOf + returned + " > l.refunded_quantity",
		},
		{
			broken: "order closed as refunded with less returned than refunded", walks: "orders",
			sql: linesOf + closedRefunded + " AND " + returned + " <> l.refunded_quantity",
		},
		{
			broken: "order with a return that is not part of a succeeded refund of its line", walks: "orders",
			sql: linesOf + entries + `'return' AND NOT (g.delta > 0 AND g.sku_id = l.sku_id AND g.order_id = l.order_id AND EXISTS (
				SELECT 1 FROM refunds r JOIN refund_lines rl ON rl.refund_id = r.id
				WHERE r.id = g.refund_id AND r.state = 'success' AND rl.line_id = l.id AND rl.quantity >= g.delta))) > 0`,
		},
		// Pieces that were refunded before they were shipped never leave the shelf, so all of them come back to stock.
		{
			broken: "order with a line that was shipped, or not shipped and refunded, more often than bought", walks: "orders",
			sql: linesOf + "(l.shipped_quantity + l.dropped_quantity > l.quantity OR l.dropped_quantity > l.refunded_quantity OR l.dropped_quantity < 0)",
		},
		{
			broken: "order with less returned than was refunded without being shipped", walks: "orders",
			sql: linesOf + returned + " < l.dropped_quantity",
		},
		{
			broken: "after-sale whose goods are for sale again and not returned to stock, or the reverse", walks: "aftersales",
			sql: `SELECT a.id AS ref FROM aftersales a JOIN aftersale_lines al ON al.aftersale_id = a.id WHERE a.id BETWEEN @lo AND @hi
				AND a.type = 'return_refund' AND a.state = 'refunded' AND COALESCE((
					SELECT SUM(g.delta) FROM stock_ledger g WHERE g.line_id = al.line_id AND g.kind = 'return' AND g.refund_id = a.refund_id), 0)
				<> CASE WHEN a.restock = 1 THEN al.quantity ELSE 0 END`,
		},
		{broken: "ledger entry of a line that does not exist", walks: "stock_ledger", sql: `
			SELECT g.id AS ref FROM stock_ledger g WHERE g.id BETWEEN @lo AND @hi AND g.kind IN ('reserve', 'release', 'return')
			AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.id = g.line_id)`},
		{broken: "order whose state and close reason contradict each other", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi
			AND ((o.state = 'closed') <> (o.close_reason <> '') OR o.close_reason NOT IN ('', 'timeout', 'shopper', 'merchant', 'refunded'))`},
	}}
}
