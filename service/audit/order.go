package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
)

func deadlinesKept() check {
	return check{"A8", "no unpaid order is past its deadline, unless its closing waits for WeChat, and none waits for a stage that is over", []rule{
		{broken: "unpaid order past its deadline", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi
			AND o.state = 'pending_payment' AND o.pay_deadline < @overdue AND o.closing_reason IS NULL`},
		// A closing that waits says what for; one under way has its next step ahead.
		{broken: "closing order that waits for nothing and was left alone", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi
			AND o.state = 'pending_payment' AND o.pay_deadline < @overdue AND o.closing_reason IS NOT NULL AND o.closing_note = ''
			AND (o.closing_next_at IS NULL OR o.closing_next_at < @overdue)`},
		{broken: "order that waits for the deadline of a stage that it is not in", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o WHERE o.id BETWEEN @lo AND @hi AND (
				o.state <> 'pending_payment' AND o.remind_at IS NOT NULL
				OR o.state <> 'paid' AND (o.ship_due_at IS NOT NULL OR o.ship_overdue_at IS NOT NULL)
				OR o.state <> 'shipped' AND o.confirm_due_at IS NOT NULL)`},
	}}
}

func versionsHaveEvents() check {
	return check{"A9", "every version of an order has its event, and the newest says the order's state", []rule{
		{broken: "order with a version that has no event, or an event too many", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o LEFT JOIN (
				SELECT order_id, COUNT(*) AS n, MIN(version) AS lo, MAX(version) AS hi
				FROM order_events WHERE order_id BETWEEN @lo AND @hi GROUP BY order_id
			) e ON e.order_id = o.id
			WHERE o.id BETWEEN @lo AND @hi AND (e.n IS NULL OR e.n <> o.version OR e.lo <> 1 OR e.hi <> o.version)`},
		{broken: "order in another state than its newest event says", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN order_events e ON e.order_id = o.id AND e.version = o.version
			WHERE o.id BETWEEN @lo AND @hi AND e.to_state <> o.state`},
		{broken: "order whose events do not follow from one another", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN order_events e ON e.order_id = o.id
			LEFT JOIN order_events b ON b.order_id = e.order_id AND b.version = e.version - 1
			WHERE o.id BETWEEN @lo AND @hi AND e.from_state <> COALESCE(b.to_state, '')`},
		{broken: "order with a change of state that is not allowed", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN order_events e ON e.order_id = o.id
			WHERE o.id BETWEEN @lo AND @hi AND NOT (` + allowedChanges() + ")"},
	}}
}

// allowedChanges is the table of transitions as a condition on an event. The first event makes an order pending, and a change
// of price keeps its state.
func allowedChanges() string {
	terms := []string{"(e.from_state = '' AND e.to_state = 'pending_payment')", "e.from_state = e.to_state"}
	for _, from := range slices.Sorted(maps.Keys(model.OrderTransitions)) {
		for _, to := range model.OrderTransitions[from] {
			terms = append(terms, fmt.Sprintf("(e.from_state = '%s' AND e.to_state = '%s')", from, to))
		}
	}
	return strings.Join(terms, " OR ")
}

func changesHaveMessages() check {
	const message = "NOT EXISTS (SELECT 1 FROM messages m WHERE "
	const earlier = "(SELECT 1 FROM messages d WHERE d.msg_key = m.msg_key AND d.seq < m.seq AND d.state IN "
	return check{"A10", "every change that promised a message has it, and no message is stuck", []rule{
		{broken: "order with a change that has no message", walks: "orders", sql: `
			SELECT o.no AS ref FROM orders o JOIN order_events e ON e.order_id = o.id
			WHERE o.id BETWEEN @lo AND @hi AND e.created_at >= @since AND ` + message + "m.msg_key = CONCAT('order:', o.id) AND m.seq = e.version)"},
		{broken: "refund without the message of its creation", walks: "refunds", sql: `
			SELECT r.out_refund_no AS ref FROM refunds r WHERE r.id BETWEEN @lo AND @hi AND r.created_at >= @since AND ` +
			message + "m.msg_key = CONCAT('refund:', r.id) AND m.seq = 1 AND m.topic = 'refund.created')"},
		{broken: "succeeded refund without its message", walks: "refunds", sql: `
			SELECT r.out_refund_no AS ref FROM refunds r WHERE r.id BETWEEN @lo AND @hi AND r.state = 'success' AND r.ended_at >= @since AND ` +
			message + "m.msg_key = CONCAT('refund:', r.id) AND m.seq = r.version AND m.topic = 'refund.succeeded')"},
		{broken: "after-sale without the message of its newest change", walks: "aftersales", sql: `
			SELECT a.id AS ref FROM aftersales a WHERE a.id BETWEEN @lo AND @hi AND a.updated_at >= @since AND ` +
			message + "m.msg_key = CONCAT('aftersale:', a.id) AND m.seq = a.version)"},
		{broken: "payment that came too late without its message", walks: "payments", sql: `
			SELECT p.transaction_id AS ref FROM payments p WHERE p.id BETWEEN @lo AND @hi AND p.settled = 0 AND p.created_at >= @since AND ` +
			message + "m.msg_key = CONCAT('payment:', p.id) AND m.topic = 'payment.late')"},
		{broken: "parcel that waits for an upload which is not to come", walks: "parcels", sql: `
			SELECT p.id AS ref FROM parcels p LEFT JOIN shipping_uploads u ON u.id = p.order_id
			WHERE p.id BETWEEN @lo AND @hi AND p.state = 'waiting' AND (u.id IS NULL OR u.state <> 'waiting')`},
		{broken: "message that is due and that nobody takes", walks: "messages", sql: `
			SELECT m.id AS ref FROM messages m WHERE m.id BETWEEN @lo AND @hi
			AND m.state = 'pending' AND m.due_at < @due AND m.lease_until < @due AND NOT EXISTS ` + earlier + "('dead'))"},
		{broken: "message that was put off behind one that is gone", walks: "messages", sql: `
			SELECT m.id AS ref FROM messages m WHERE m.id BETWEEN @lo AND @hi
			AND m.state = 'pending' AND m.due_at > @far AND NOT EXISTS ` + earlier + "('pending', 'dead'))"},
	}}
}
