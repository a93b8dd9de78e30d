package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

var errUndo = errors.New("undo")

// undone runs fn in a transaction that is rolled back.
func undone(t *testing.T, s *store.Store, fn func(tx *store.Tx)) {
	t.Helper()
	err := s.Tx(t.Context(), func(tx *store.Tx) error { fn(tx); return errUndo })
	if !errors.Is(err, errUndo) {
		t.Fatal(err)
	}
}

func TestHealthyShopIsClean(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.Tx(t.Context(), func(tx *store.Tx) error { healthy(t, tx); return nil }); err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), s, Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK || len(r.Checks) != 12 {
			var text bytes.Buffer
			_ = r.WriteText(&text)
			t.Errorf("a healthy shop is broken:\n%s", text.String())
		}
		for i, c := range r.Checks {
			if c.ID != fmt.Sprintf("A%d", i+1) {
				t.Errorf("check %d is %s", i+1, c.ID)
			}
		}
	})
}

func TestEmptyShopIsClean(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if r, err := Run(t.Context(), s, Options{Now: now}); err != nil || !r.OK {
			t.Errorf("an empty shop: %+v, %v", r, err)
		}
	})
}

// damage is one way to break the shop.
type damage struct {
	check string // the invariant that must see it
	what  string
	sql   []string // {name} stands for an order's id
	ref   string   // what must be named
	only  bool     // no other invariant sees it
}

func TestEveryDamageIsSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.Tx(t.Context(), func(tx *store.Tx) error { healthy(t, tx); return nil }); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, d := range damages {
			undone(t, s, func(tx *store.Tx) {
				for _, sql := range d.sql {
					if n, err := tx.Affected(names.Replace(sql)); err != nil || n == 0 {
						t.Fatalf("%s: %s: %d rows, %v", d.what, sql, n, err)
					}
				}
				r, err := runAll(tx.DB, Options{Now: now})
				if err != nil {
					t.Fatalf("%s: %v", d.what, err)
				}
				d.compare(t, r, seen)
			})
		}
		for _, c := range checks() {
			for _, r := range c.rules {
				if !seen[c.id+r.broken] && r.broken != "transaction that settles two orders" { // has a test of its own
					t.Errorf("no damage was seen by %s, %s", c.id, r.broken)
				}
			}
		}
	})
}

func (d damage) compare(t *testing.T, r Report, seen map[string]bool) {
	t.Helper()
	ref := names.Replace(d.ref)
	var broken []string
	for _, c := range r.Checks {
		if c.Violations == 0 {
			continue
		}
		broken = append(broken, c.ID)
		if c.ID == d.check && !slices.Contains(c.Examples, ref) {
			t.Errorf("%s: %s names %v, want %s", d.what, c.ID, c.Examples, ref)
		}
		for _, f := range c.Findings {
			seen[c.ID+f.Broken] = true
		}
	}
	if r.OK || !slices.Contains(broken, d.check) || d.only && len(broken) > 1 {
		t.Errorf("%s: broken are %v, want %s", d.what, broken, d.check)
	}
}

var names = strings.NewReplacer(
	"{pending}", fmt.Sprint(pendingOrder), "{closing}", fmt.Sprint(closingOrder), "{paid}", fmt.Sprint(paidOrder),
	"{adjusted}", fmt.Sprint(adjustedOrder), "{cheap}", fmt.Sprint(cheapOrder), "{free}", fmt.Sprint(freeOrder),
	"{shipped}", fmt.Sprint(shippedOrder), "{completed}", fmt.Sprint(completedOrder), "{timedout}", fmt.Sprint(timedOutOrder),
	"{cancelled}", fmt.Sprint(cancelledOrder), "{refunded}", fmt.Sprint(refundedOrder), "{other}", fmt.Sprint(otherOrder),
	"{raised}", fmt.Sprint(raisedOrder), "{message}", fmt.Sprint(waitingMessage), "{now}", fmt.Sprint(int64(now)),
)

func sql(s ...string) []string { return s }

var damages = []damage{
	{"A1", "stock below zero", sql("UPDATE skus SET stock = -1 WHERE id = 1"), "1", true},
	{"A1", "stock changed without an entry", sql("UPDATE skus SET stock = stock + 1 WHERE id = 2"), "2", true},
	{"A1", "entry without a change of stock", sql("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, refund_id, reason, actor, created_at) VALUES (1, 1, 'adjust', 5, 0, 0, '', '', 0)"), "1", true},
	{"A1", "ledger lost", sql("DELETE FROM stock_ledger WHERE sku_id = 3 AND kind = 'initial'"), "3", true},
	{"A1", "two initial entries", sql("UPDATE stock_ledger SET kind = 'initial' WHERE sku_id = 3 AND kind = 'adjust'"), "3", true},
	{"A1", "SKU deleted by hand", sql("DELETE FROM skus WHERE id = 3"), "5", false},

	{"A2", "no reserve entry", sql("DELETE FROM stock_ledger WHERE line_id = {paid}1 AND kind = 'reserve'", "UPDATE skus SET stock = stock + 2 WHERE id = 1"), "T{paid}", true},
	{"A2", "two reserve entries", sql("UPDATE stock_ledger SET kind = 'reserve', refund_id = 1 WHERE line_id = {timedout}1 AND kind = 'release'"), "T{timedout}", true},
	{"A2", "half reserved", sql("UPDATE stock_ledger SET delta = -1 WHERE line_id = {paid}1", "UPDATE skus SET stock = stock + 1 WHERE id = 1"), "T{paid}", true},
	{"A2", "another SKU reserved", sql("UPDATE stock_ledger SET sku_id = 2 WHERE line_id = {paid}1", "UPDATE skus SET stock = stock + 2 WHERE id = 1", "UPDATE skus SET stock = stock - 2 WHERE id = 2"), "T{paid}", true},
	{"A2", "closed and not released", sql("DELETE FROM stock_ledger WHERE line_id = {timedout}2 AND kind = 'release'", "UPDATE skus SET stock = stock - 1 WHERE id = 2"), "T{timedout}", true},
	{"A2", "half released", sql("UPDATE stock_ledger SET delta = 1 WHERE line_id = {timedout}1 AND kind = 'release'", "UPDATE skus SET stock = stock - 1 WHERE id = 1"), "T{timedout}", true},
	{"A2", "released twice", sql("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, line_id, refund_id, reason, actor, created_at) VALUES (1, 1, 'release', 2, {cancelled}, {cancelled}1, 1, '', '', 0)", "UPDATE skus SET stock = stock + 2 WHERE id = 1"), "T{cancelled}", true},
	{"A2", "released and returned", sql("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, line_id, refund_id, reason, actor, created_at) VALUES (1, 1, 'return', 2, {cancelled}, {cancelled}1, 1, '', '', 0)", "UPDATE skus SET stock = stock + 2 WHERE id = 1"), "T{cancelled}", true},
	{"A2", "paid and released", sql("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, line_id, refund_id, reason, actor, created_at) VALUES (1, 1, 'release', 2, {paid}, {paid}1, 0, '', '', 0)", "UPDATE skus SET stock = stock + 2 WHERE id = 1"), "T{paid}", true},
	{"A2", "more returned than refunded", sql("UPDATE stock_ledger SET delta = 2 WHERE line_id = {shipped}1 AND kind = 'return'", "UPDATE skus SET stock = stock + 1 WHERE id = 1"), "T{shipped}", true},
	{"A2", "closed as refunded and not returned", sql("DELETE FROM stock_ledger WHERE line_id = {refunded}1 AND kind = 'return'", "UPDATE skus SET stock = stock - 2 WHERE id = 1"), "T{refunded}", true},
	{"A2", "returned before the refund succeeded", sql("UPDATE refunds SET state = 'processing' WHERE id = {shipped}1"), "T{shipped}", false},
	{"A2", "a piece shipped and dropped", sql("UPDATE order_lines SET dropped_quantity = 1 WHERE id = {shipped}1"), "T{shipped}", true},
	{"A2", "dropped and not returned", sql("UPDATE order_lines SET dropped_quantity = 1, shipped_quantity = 1 WHERE id = {raised}1", "DELETE FROM stock_ledger WHERE line_id = {raised}1 AND kind = 'return'", "UPDATE skus SET stock = stock - 2 WHERE id = 1"), "T{raised}", true},
	{"A2", "goods of an after-sale kept", sql("UPDATE aftersales SET restock = 0 WHERE id = 1"), "1", true},
	{"A2", "entry of a line that is gone", sql("DELETE FROM order_lines WHERE id = {pending}1"), "7", false},
	{"A2", "closed for no reason", sql("UPDATE orders SET close_reason = '' WHERE id = {timedout}"), "T{timedout}", false},
	{"A2", "open with a reason", sql("UPDATE orders SET close_reason = 'timeout' WHERE id = {pending}"), "T{pending}", true},

	{"A3", "locked for a paid order", sql("UPDATE coupons SET state = 'locked' WHERE id = 2"), "2", true},
	{"A3", "locked for no order", sql("UPDATE coupons SET order_id = NULL WHERE id = 1"), "1", true},
	{"A3", "locked for an order that does not know it", sql("UPDATE coupons SET order_id = {closing} WHERE id = 1"), "T{pending}", true},
	{"A3", "used for a pending order", sql("UPDATE coupons SET state = 'used' WHERE id = 1"), "1", true},
	{"A3", "used for a closed order", sql("UPDATE coupons SET state = 'used', order_id = {timedout} WHERE id = 3"), "3", true},
	{"A3", "another shopper's", sql("UPDATE coupons SET shopper_id = 6 WHERE id = 2"), "2", true},
	{"A3", "given back with its order", sql("UPDATE coupons SET order_id = {timedout} WHERE id = 3"), "3", true},
	{"A3", "given back while its order is paid", sql("UPDATE coupons SET state = 'available', order_id = NULL WHERE id = 2"), "T{paid}", true},
	{"A3", "kept though everything was refunded", sql("UPDATE coupons SET state = 'used', order_id = {raised} WHERE id = 5"), "5", true},
	{"A3", "given back though a piece is left", sql("UPDATE order_lines SET refunded_quantity = 1 WHERE id = {raised}1"), "T{raised}", false},
	{"A3", "used by two orders", sql("UPDATE orders SET coupon_id = 2 WHERE id = {completed}"), "T{completed}", true},

	{"A4", "more than the total", sql("UPDATE coupon_templates SET total = 3 WHERE id = 1"), "1", true},
	{"A4", "more than the total, uncounted", sql("UPDATE coupon_templates SET total = 3, issued = 3 WHERE id = 1"), "1", true},
	{"A4", "counted twice", sql("UPDATE coupon_templates SET issued = issued + 1 WHERE id = 1"), "1", true},
	{"A4", "beyond a shopper's limit", sql("UPDATE coupon_templates SET per_shopper = 3 WHERE id = 1"), "1", true},
	{"A4", "coupon of no template", sql("UPDATE coupons SET template_id = 99 WHERE id = 3", "UPDATE coupon_templates SET issued = issued - 1 WHERE id = 1"), "3", true},

	{"A5", "payable raised", sql("UPDATE orders SET payable_fen = payable_fen + 1 WHERE id = {pending}"), "T{pending}", true},
	{"A5", "payable below zero", sql("UPDATE orders SET adjustment_fen = -2000, payable_fen = -200 WHERE id = {closing}", "UPDATE order_lines SET adjustment_fen = -price_fen * quantity WHERE order_id = {closing}"), "T{closing}", true},
	{"A5", "goods are not the lines", sql("UPDATE orders SET goods_fen = goods_fen + 1, freight_fen = freight_fen - 1 WHERE id = {closing}"), "T{closing}", true},
	{"A5", "an order without lines", sql("DELETE FROM stock_ledger WHERE order_id = {closing}", "DELETE FROM order_lines WHERE order_id = {closing}", "UPDATE skus SET stock = stock + 2 WHERE id = 1", "UPDATE skus SET stock = stock + 1 WHERE id = 2"), "T{closing}", true},
	{"A5", "a fen of the discount lost", sql("UPDATE order_lines SET discount_fen = 59 WHERE id = {pending}1"), "T{pending}", true},
	{"A5", "a fen of the adjustment lost", sql("UPDATE order_lines SET adjustment_fen = adjustment_fen + 1 WHERE id = {adjusted}1"), "T{adjusted}", true},
	{"A5", "the freight's part is on a line", sql("UPDATE order_lines SET adjustment_fen = adjustment_fen - 100 WHERE id = {cheap}1"), "T{cheap}", true},
	{"A5", "freight taken before lines", sql("UPDATE order_lines SET adjustment_fen = adjustment_fen + 100 WHERE id = {cheap}1"), "T{cheap}", true},
	{"A5", "one line bears everything", sql("UPDATE order_lines SET adjustment_fen = 0 WHERE id = {adjusted}1", "UPDATE order_lines SET adjustment_fen = -700 WHERE id = {adjusted}2"), "T{adjusted}", true},
	{"A5", "a line below zero", sql("UPDATE order_lines SET discount_fen = 700 WHERE id = {pending}1", "UPDATE order_lines SET discount_fen = -540 WHERE id = {pending}2"), "T{pending}", true},
	{"A5", "refunded without the adjustment", sql("UPDATE order_lines SET refunded_fen = 600 WHERE id = {raised}1"), "T{raised}", false},
	{"A5", "a line of no order", sql("UPDATE order_lines SET order_id = 99 WHERE id = {paid}2"), "{paid}2", false},

	{"A6", "paid without a payment", sql("DELETE FROM payments WHERE order_id = {completed}"), "T{completed}", true},
	{"A6", "paid with too little", sql("UPDATE payments SET amount_fen = amount_fen - 1 WHERE order_id = {completed}"), "T{completed}", true},
	{"A6", "free and paid", sql("UPDATE payments SET order_id = {free}, settled_order = {free} WHERE order_id = {completed}"), "T{free}", true},
	{"A6", "settled and not marked", sql("UPDATE payments SET settled = 0 WHERE order_id = {completed}"), "tx{completed}", false},
	{"A6", "settles another order", sql("UPDATE payments SET settled_order = 99 WHERE order_id = {completed}"), "tx{completed}", true},
	{"A6", "a closed order is settled", sql("UPDATE payments SET settled = 1, settled_order = order_id WHERE order_id = {timedout}"), "T{timedout}", false},
	{"A6", "payment of no order", sql("UPDATE payments SET order_id = 99, settled_order = 99 WHERE order_id = {completed}"), "tx{completed}", true},

	{"A7", "refunded more than was paid", sql("UPDATE refunds SET amount_fen = amount_fen + 1 WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = refunded_fen + 1 WHERE id = {timedout}"), "tx{timedout}", false},
	{"A7", "refund not counted", sql("UPDATE payments SET refunded_fen = 0 WHERE id = {shipped}"), "tx{shipped}", true},
	{"A7", "a failed refund still counted", sql("UPDATE refunds SET state = 'failed' WHERE id = {timedout}9"), "tx{timedout}", true},
	{"A7", "line refunded beyond its price", sql("UPDATE refund_lines SET amount_fen = 601 WHERE line_id = {shipped}1", "UPDATE refunds SET amount_fen = 601 WHERE id = {shipped}1", "UPDATE payments SET refunded_fen = 601 WHERE id = {shipped}", "UPDATE orders SET refunded_fen = 601 WHERE id = {shipped}", "UPDATE order_lines SET refunded_fen = 601 WHERE id = {shipped}1"), "T{shipped}", true},
	{"A7", "more pieces refunded than bought", sql("UPDATE refund_lines SET quantity = 3 WHERE line_id = {shipped}1", "UPDATE order_lines SET refunded_quantity = 3, refunding_quantity = 3 WHERE id = {shipped}1"), "T{shipped}", true},
	{"A7", "open refund not counted on its line", sql("UPDATE order_lines SET refunding_quantity = 0 WHERE id = {shipped}1"), "T{shipped}", true},
	{"A7", "order counts another sum", sql("UPDATE orders SET refunded_fen = refunded_fen - 1 WHERE id = {shipped}"), "T{shipped}", true},
	{"A7", "freight refunded that was not paid", sql("UPDATE refunds SET freight_fen = 201, amount_fen = amount_fen + 1 WHERE id = {refunded}1"), "T{refunded}", true},
	{"A7", "amount is not its lines", sql("UPDATE refund_lines SET amount_fen = amount_fen - 1 WHERE line_id = {refunded}2"), "R{refunded}2", true},
	{"A7", "refund of less than nothing", sql("UPDATE refunds SET amount_fen = -1 WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = -1 WHERE id = {timedout}"), "LN{timedout}", true},
	{"A7", "refund of no payment", sql("UPDATE refunds SET payment_id = 0 WHERE id = {shipped}1", "UPDATE payments SET refunded_fen = 0 WHERE id = {shipped}", "UPDATE orders SET refunded_fen = 0 WHERE id = {shipped}"), "R{shipped}1", true},
	{"A7", "refund of another order's payment", sql("UPDATE refunds SET payment_id = {completed} WHERE id = {shipped}1"), "R{shipped}1", true},
	{"A7", "refund of another order's line", sql("UPDATE refund_lines SET line_id = {completed}1 WHERE line_id = {shipped}1"), "R{shipped}1", false},

	{"A8", "past its deadline", sql("UPDATE orders SET pay_deadline = {now} - 60001 WHERE id = {pending}"), "T{pending}", true},
	{"A8", "closing, and nobody goes on", sql("UPDATE orders SET closing_note = '', closing_next_at = {now} - 60001 WHERE id = {closing}"), "T{closing}", true},
	{"A8", "closing for ever", sql("UPDATE orders SET closing_note = '', closing_next_at = NULL WHERE id = {closing}"), "T{closing}", true},

	{"A8", "paid, and to be reminded to pay", sql("UPDATE orders SET remind_at = {now} WHERE id = {paid}"), "T{paid}", true},
	{"A8", "shipped, and to be shipped", sql("UPDATE orders SET ship_due_at = {now} WHERE id = {shipped}"), "T{shipped}", true},
	{"A8", "completed, and overdue", sql("UPDATE orders SET ship_overdue_at = {now} WHERE id = {completed}"), "T{completed}", true},
	{"A8", "closed, and to be confirmed", sql("UPDATE orders SET confirm_due_at = {now} WHERE id = {refunded}"), "T{refunded}", true},

	{"A9", "an event lost", sql("DELETE FROM order_events WHERE order_id = {completed} AND version = 2"), "T{completed}", true},
	{"A9", "all events lost", sql("DELETE FROM order_events WHERE order_id = {pending}"), "T{pending}", true},
	{"A9", "an event too many", sql("UPDATE orders SET version = 3 WHERE id = {completed}"), "T{completed}", true},
	{"A9", "state changed by hand", sql("UPDATE orders SET state = 'paid' WHERE id = {completed}"), "T{completed}", true},
	{"A9", "events that do not follow", sql("UPDATE order_events SET from_state = 'paid' WHERE order_id = {completed} AND version = 4"), "T{completed}", true},
	{"A9", "completed before it was shipped", sql("UPDATE order_events SET to_state = 'completed' WHERE order_id = {completed} AND version = 3", "UPDATE order_events SET from_state = 'completed' WHERE order_id = {completed} AND version = 4"), "T{completed}", true},

	{"A10", "a message lost", sql("DELETE FROM messages WHERE msg_key = 'order:{completed}' AND seq = 3"), "T{completed}", true},
	{"A10", "refund's message lost", sql("DELETE FROM messages WHERE msg_key = 'refund:{shipped}1' AND seq = 1"), "R{shipped}1", true},
	{"A10", "success's message lost", sql("DELETE FROM messages WHERE msg_key = 'refund:{shipped}1' AND seq = 3"), "R{shipped}1", true},
	{"A10", "late payment's message lost", sql("DELETE FROM messages WHERE msg_key = 'payment:{timedout}'"), "tx{timedout}", true},
	{"A10", "parcel that nobody uploads", sql("UPDATE parcels SET state = 'waiting' WHERE order_id = {shipped}"), "{shipped}", true},
	{"A10", "parcel without an upload", sql("UPDATE parcels SET state = 'waiting' WHERE order_id = {shipped}", "DELETE FROM shipping_uploads WHERE id = {shipped}"), "{shipped}", true},
	{"A10", "nobody takes a message", sql("UPDATE messages SET msg_key = 'z', due_at = {now} - 300001 WHERE msg_key = 'x'"), "{message}", true},
	{"A10", "put off for ever", sql("UPDATE messages SET due_at = {now} + 300001 WHERE msg_key = 'x'"), "{message}", true},

	{"A10", "after-sale without its message", sql("DELETE FROM messages WHERE msg_key = 'aftersale:2'"), "2", true},

	{"A7", "asked for more than was bought", sql("UPDATE aftersale_lines SET quantity = 2 WHERE aftersale_id = 2"), "T{shipped}", true},
	{"A7", "after-sale of another amount", sql("UPDATE aftersales SET amount_fen = 299 WHERE id = 1"), "1", true},
	{"A7", "refunding, though its refund has succeeded", sql("UPDATE aftersales SET state = 'refunding' WHERE id = 1"), "1", true},
	{"A7", "refunded without a refund", sql("UPDATE aftersales SET state = 'refunded' WHERE id = 2"), "2", false},
	{"A7", "waiting, and refunded", sql("UPDATE aftersales SET state = 'requested' WHERE id = 1"), "1", false},
	{"A7", "after-sale of another quantity than its refund", sql("UPDATE aftersale_lines SET quantity = 2 WHERE aftersale_id = 1"), "1", false},
	{"A7", "after-sale without lines", sql("DELETE FROM aftersale_lines WHERE aftersale_id = 2"), "2", true},
	{"A7", "refund of an after-sale that names another", sql("UPDATE refunds SET aftersale_id = 2 WHERE id = {shipped}1"), "R{shipped}1", true},

	{"A11", "late payment kept", sql("DELETE FROM anomalies WHERE order_id = {timedout}", "DELETE FROM refunds WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = 0 WHERE id = {timedout}"), "tx{timedout}", true},
	{"A11", "refunded in part only", sql("DELETE FROM anomalies WHERE order_id = {timedout}", "UPDATE refunds SET amount_fen = 1000 WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = 1000 WHERE id = {timedout}"), "tx{timedout}", true},
	{"A11", "anomaly put away without a note", sql("UPDATE anomalies SET state = 'resolved', note = '' WHERE order_id = {timedout}", "UPDATE refunds SET state = 'failed' WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = 0 WHERE id = {timedout}"), "tx{timedout}", true},

	{"A12", "line", sql("UPDATE order_lines SET merchant_id = 2 WHERE id = {paid}1"), "T{paid}", true},
	{"A12", "attempt", sql("UPDATE payment_attempts SET merchant_id = 2 WHERE order_id = {paid}"), "T{paid}", true},
	{"A12", "payment", sql("UPDATE payments SET merchant_id = 2 WHERE order_id = {paid}"), "T{paid}", true},
	{"A12", "refund", sql("UPDATE refunds SET merchant_id = 2 WHERE order_id = {shipped}"), "T{shipped}", true},
	{"A12", "parcel", sql("UPDATE parcels SET merchant_id = 2 WHERE order_id = {shipped}"), "T{shipped}", true},
	{"A12", "shipping upload", sql("UPDATE shipping_uploads SET merchant_id = 2 WHERE id = {shipped}"), "{shipped}", true},
	{"A12", "after-sale", sql("UPDATE aftersales SET merchant_id = 2 WHERE order_id = {shipped}"), "T{shipped}", true},
	{"A12", "anomaly", sql("UPDATE anomalies SET merchant_id = 2 WHERE order_id = {timedout}"), "T{timedout}", true},
	{"A12", "subscribe message", sql("INSERT INTO subscribe_messages (event, notice_key, shopper_id, merchant_id, order_id, refund_id, state, calls, code, error, created_at, sent_at) VALUES ('e', 'e:1', 1, 2, {paid}, 0, 'sent', 1, '', '', 1, 1)"), "T{paid}", true},
	{"A12", "subscribe message's refund", sql("INSERT INTO subscribe_messages (id, event, notice_key, shopper_id, merchant_id, order_id, refund_id, state, calls, code, error, created_at, sent_at) SELECT 7, 'e', 'e:1', 1, 1, {shipped}, MIN(id), 'sent', 1, '', '', 1, 1 FROM refunds WHERE order_id = {shipped}", "UPDATE refunds SET merchant_id = 2 WHERE order_id = {shipped}"), "7", false},
	{"A12", "ledger", sql("UPDATE stock_ledger SET merchant_id = 2 WHERE id = 1"), "1", true},
	{"A12", "ledger of an order", sql("UPDATE stock_ledger SET merchant_id = 2 WHERE id = 7"), "7", true},
	{"A12", "SKU", sql("UPDATE skus SET merchant_id = 2 WHERE id = 1"), "1", true},
	{"A12", "product", sql("UPDATE products SET merchant_id = 1 WHERE id = 3"), "3", true},
	{"A12", "line's product", sql("UPDATE order_lines SET product_id = 3 WHERE id = {paid}1"), "{paid}1", true},
	{"A12", "line's SKU", sql("UPDATE order_lines SET sku_id = 3 WHERE id = {paid}1"), "{paid}1", false},
	{"A12", "category", sql("UPDATE products SET category_id = 3 WHERE id = 1"), "1", true},
	{"A12", "category's parent", sql("UPDATE categories SET parent_id = 3 WHERE id = 2"), "2", true},
	{"A12", "coupon", sql("UPDATE coupons SET merchant_id = 2 WHERE id = 2"), "2", true},
	{"A12", "order's coupon", sql("UPDATE orders SET coupon_id = 2 WHERE id = {other}"), "{other}", false},
	{"A12", "order's policy", sql("UPDATE orders SET policy_id = 3 WHERE id = {paid}"), "{paid}", true},
	{"A12", "role", sql("UPDATE admins SET role_id = 2 WHERE id = 1"), "1", true},
	{"A12", "after-sale of a refund", sql("UPDATE aftersales SET merchant_id = 2 WHERE id = 1"), "{shipped}1", true},
	{"A12", "review", sql("UPDATE reviews SET order_id = {other} WHERE id = 1"), "1", true},
	{"A12", "review's product", sql("UPDATE reviews SET product_id = 3 WHERE id = 1"), "1", true},
	{"A12", "rating", sql("UPDATE product_ratings SET merchant_id = 2 WHERE product_id = 2"), "2", true},
	{"A12", "held remark", sql("UPDATE content_holds SET ref_id = {other} WHERE id = 1"), "1", true},
	{"A12", "held review", sql("UPDATE content_holds SET merchant_id = 2 WHERE id = 2"), "2", true},
	{"A12", "message", sql("UPDATE messages SET merchant_id = 2 WHERE msg_key = 'order:{paid}'"), "T{paid}", true},
	{"A12", "parcel's line", sql("UPDATE parcel_lines SET line_id = {other}1 WHERE parcel_id = {shipped} AND line_id = {shipped}1"), "{shipped}", true},
	{"A12", "after-sale's line", sql("UPDATE aftersale_lines SET line_id = {other}1 WHERE aftersale_id = 2"), "2", true},
	{"A12", "template's categories", sql("UPDATE coupon_templates SET scope_ids = '[2,3]' WHERE id = 2"), "2", true},
	{"A12", "template's products", sql("UPDATE coupon_templates SET scope_ids = '[1]' WHERE id = 3"), "3", true},
}

// A transaction that settles two orders needs the unique key gone, which in MySQL ends the transaction; the rule is plain SQL.
func TestTransactionThatSettlesTwoOrders(t *testing.T) {
	s := storetest.SQLite(t)
	undone(t, s, func(tx *store.Tx) {
		healthy(t, tx).exec("DROP INDEX uk_payments_transaction")
		if err := tx.Exec(names.Replace("UPDATE payments SET transaction_id = 'tx{paid}' WHERE order_id = {completed}")).Error; err != nil {
			t.Fatal(err)
		}
		r, err := runAll(tx.DB, Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Checks[5]; c.ID != "A6" || c.Violations != 1 || c.Findings[0].Broken != "transaction that settles two orders" {
			t.Errorf("A6 found %+v", c)
		}
	})
}

// What is right, and near to what is wrong, must not be reported.
func TestWhatIsAllowedIsNotReported(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.Tx(t.Context(), func(tx *store.Tx) error { healthy(t, tx); return nil }); err != nil {
			t.Fatal(err)
		}
		for what, statements := range map[string][]string{
			"a minute past the deadline":             sql("UPDATE orders SET pay_deadline = {now} - 60000 WHERE id = {pending}"),
			"closing, and waiting for a person":      sql("UPDATE orders SET closing_note = 'person', closing_next_at = NULL WHERE id = {closing}"),
			"closing, with the next step just ahead": sql("UPDATE orders SET closing_note = '', closing_next_at = {now} WHERE id = {closing}"),
			"messages past their retention": sql("UPDATE order_events SET created_at = {now} - 604800000 WHERE order_id = {completed}",
				"DELETE FROM messages WHERE msg_key = 'order:{completed}'"),
			"a failed refund, resolved with a note": sql("UPDATE refunds SET state = 'failed' WHERE id = {timedout}9", "UPDATE payments SET refunded_fen = 0 WHERE id = {timedout}",
				"UPDATE anomalies SET state = 'resolved', note = 'paid back in cash' WHERE order_id = {timedout}"),
			"goods that did not come back": sql("DELETE FROM stock_ledger WHERE line_id = {shipped}1 AND kind = 'return'", "UPDATE skus SET stock = stock - 1 WHERE id = 1",
				"UPDATE aftersales SET restock = 0 WHERE id = 1"),
			"a message in somebody's hands": sql("UPDATE messages SET due_at = {now} + 30000, lease_until = {now} + 30000, lease_token = 'a' WHERE msg_key = 'x'"),
		} {
			undone(t, s, func(tx *store.Tx) {
				for _, q := range statements {
					if n, err := tx.Affected(names.Replace(q)); err != nil || n == 0 {
						t.Fatalf("%s: %s: %d rows, %v", what, q, n, err)
					}
				}
				r, err := runAll(tx.DB, Options{Now: now})
				if err != nil {
					t.Fatal(err)
				}
				if !r.OK {
					var text bytes.Buffer
					_ = r.WriteText(&text)
					t.Errorf("%s:\n%s", what, text.String())
				}
			})
		}
	})
}

func TestIDsWithWideGapsAreAllLookedAt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		undone(t, s, func(tx *store.Tx) {
			ids := []int64{1, spanIDs, spanIDs + 1, 3 * spanIDs, 1 << 52, 1<<53 - 1}
			var want []string
			for _, id := range ids {
				want = append(want, fmt.Sprint(id))
				sku := model.SKU{ID: id, ProductID: id, MerchantID: 1, SpecKey: "-", Stock: -1}
				if err := errors.Join(tx.Create(&sku).Error, tx.Create(&model.LedgerEntry{ID: id, MerchantID: 1, SKUID: id, Kind: model.LedgerAdjust, Delta: -1}).Error); err != nil {
					t.Fatal(err)
				}
			}
			r, err := runAll(tx.DB, Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			if c := r.Checks[0]; c.Violations != int64(len(ids)) || !slices.Equal(c.Examples, want) {
				t.Errorf("found %d: %v, want %v", c.Violations, c.Examples, want)
			}
		})
	})
}

func TestReportsOfABrokenShop(t *testing.T) {
	s := storetest.SQLite(t)
	undone(t, s, func(tx *store.Tx) {
		for id := range int64(12) {
			if err := tx.Create(&model.SKU{ID: id + 1, ProductID: id + 1, MerchantID: 1, SpecKey: "-", Stock: -1}).Error; err != nil {
				t.Fatal(err)
			}
		}
		r, err := runAll(tx.DB, Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		var text, js bytes.Buffer
		if err := errors.Join(r.WriteText(&text), r.WriteJSON(&js)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"A1 ", "BROKEN, 24", "12 × SKU with stock below zero: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …", "A12", ": ok", "1 of 12 invariants are broken."} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the text lacks %q:\n%s", want, text.String())
			}
		}
		var got struct {
			OK     *bool `json:"ok"`
			Checks []struct {
				ID, Name   string
				Violations int
				Examples   []string
			}
		}
		if err := json.Unmarshal(js.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.OK == nil || *got.OK || len(got.Checks) != 12 || got.Checks[0].Violations != 24 || len(got.Checks[0].Examples) != maxExamples || got.Checks[1].Examples == nil {
			t.Errorf("JSON is %s", js.String())
		}
	})
}
