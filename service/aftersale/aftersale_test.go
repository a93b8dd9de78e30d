package aftersale

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
)

// The money of unshipped goods goes back, by the simulated WeChat, with freight, coupon and stock.
func TestMoneyBackBeforeShipping(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paidForReal(50, 8, good{2, 75})
		v := d.ask(o, model.AftersaleRefundOnly, 2)
		if v.State != model.AftersaleRequested || v.AmountFen != 108 || v.OrderNo != o.No || len(v.Lines) != 1 || v.Lines[0].Asked != 2 || v.Version != 1 {
			t.Errorf("asked for: %+v", v)
		}
		shown, err := d.orders.Get(t.Context(), o.ShopperID, o.No)
		d.must(err)
		if len(shown.Aftersales) != 1 || shown.Refundable(shown.Lines[0]) != 0 || slices.Contains(shown.ShopperActions(), "aftersale") {
			t.Errorf("the order shows %+v, actions %v", shown.Aftersales, shown.ShopperActions())
		}
		d.wantCode(d.ship(o), fault.RefundOpen)
		v = d.does("approve", v, model.AftersaleRefunding)
		if v.Refund == nil || v.Refund.AmountFen != 108 || v.Refund.FreightFen != 8 || v.AnsweredBy != "admin:3" || v.AnswerDeadline != nil {
			t.Errorf("approved: %+v, refund %+v", v.Aftersale, v.Refund)
		}
		d.audited()
		d.called()
		storetest.Await(t, 20*time.Second, "the money", func() bool {
			d.advance(time.Minute)
			d.run(order.KindRefund)
			return d.fresh(v).State == model.AftersaleRefunded
		})
		if now := d.reload(o); now.State != model.OrderClosed || now.CloseReason != model.CloseRefunded || now.RefundedFen != 108 {
			t.Errorf("order %s/%s, %d refunded", now.State, now.CloseReason, now.RefundedFen)
		}
		if n := d.number("SELECT COUNT(*) FROM coupons WHERE id = ? AND state = 'available'", o.CouponID); n != 1 || d.stock(o)[0] != 10 {
			t.Errorf("stock %v, coupon back %d", d.stock(o), n)
		}
		if got := d.topics(v); got != "requested refunding refunded" {
			t.Errorf("messages: %s", got)
		}
		d.audited()
	})
}

// Goods that were shipped go back: the refund is made when they arrive, their stock rises when the money is back.
func TestGoodsAndMoneyBack(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(50, 8, good{3, 50})
		d.must(d.ship(o))
		v := d.does("approve", d.ask(o, model.AftersaleReturn, 2), model.AftersaleApproved)
		if v.Answer != "approve" || v.Refund != nil {
			t.Errorf("approved: %+v", v)
		}
		d.wantCode(second(d.SendBack(t.Context(), o.ShopperID, v.ID, Parcel{Carrier: "PIGEON", TrackingNo: " "})), fault.ValidationFailed)
		v = d.does("return", v, model.AftersaleReturning)
		if again := d.does("return", v, model.AftersaleReturning); again.Version != v.Version {
			t.Error("the same parcel again is a change")
		}
		v, err := d.SendBack(t.Context(), o.ShopperID, v.ID, Parcel{Carrier: "SF", TrackingNo: "SF1"})
		d.must(err)
		if v.Carrier != "SF" || v.TrackingNo != "SF1" {
			t.Errorf("corrected: %+v", v.Aftersale)
		}
		d.wantCode(second(d.answers("withdraw", v)), fault.StateConflict)
		v = d.does("receive", v, model.AftersaleRefunding)
		if v.AmountFen != 66 || d.stock(o)[0] != 7 {
			t.Errorf("%d fen, stock %v before the money is back", v.AmountFen, d.stock(o))
		}
		v = d.wechatSays(v, wechat.RefundSuccess)
		if v.State != model.AftersaleRefunded || d.stock(o)[0] != 9 || d.reload(o).State != model.OrderShipped {
			t.Errorf("%s, stock %v, order %s", v.State, d.stock(o), d.reload(o).State)
		}
		d.audited()
		// The last piece is not good enough to be sold again. Freight stays: the goods went out.
		last := d.does("return", d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved), model.AftersaleReturning)
		last, err = d.Receive(t.Context(), merchantID, last.ID, false, Answer{Version: last.Version, Actor: "admin:3"})
		d.must(err)
		last = d.wechatSays(last, wechat.RefundSuccess)
		if last.AmountFen != 34 || d.stock(o)[0] != 9 || d.reload(o).RefundedFen != 100 || d.number("SELECT COUNT(*) FROM coupons WHERE id = ? AND state = 'available'", o.CouponID) != 1 {
			t.Errorf("%d fen, stock %v, order %+v", last.AmountFen, d.stock(o), d.reload(o))
		}
		if got := d.topics(v); got != "requested approved returning"+" returning refunding refunded" {
			t.Errorf("messages: %s", got)
		}
		d.audited()
	})
}

func second[T any](_ T, err error) error { return err }

// A piece that is sent back is not one of those that are still to be shipped.
func TestReturnLeavesTheRestToShip(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{4, 50})
		l := d.lines(o)[0].ID
		d.must(d.ship(o, order.RefundPart{LineID: l, Quantity: 2}))
		d.wantCode(second(d.tryAsk(o, model.AftersaleReturn, 3)), fault.RefundTooMuch)
		back := d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved)
		money := d.ask(o, model.AftersaleRefundOnly, 1)
		d.wantCode(d.ship(o, order.RefundPart{LineID: l, Quantity: 1}), fault.RefundOpen)
		money = d.wechatSays(d.does("approve", money, model.AftersaleRefunding), wechat.RefundSuccess)
		if money.State != model.AftersaleRefunded || d.stock(o)[0] != 7 {
			t.Errorf("%s, stock %v", money.State, d.stock(o))
		}
		d.wantCode(second(d.tryAsk(o, model.AftersaleReturn, 2)), fault.RefundTooMuch)
		back = d.wechatSays(d.does("receive", back, model.AftersaleRefunding), wechat.RefundSuccess) // brought in person
		if back.State != model.AftersaleRefunded || d.stock(o)[0] != 8 {
			t.Errorf("%s, stock %v", back.State, d.stock(o))
		}
		d.audited()
		d.wantCode(d.ship(o, order.RefundPart{LineID: l, Quantity: 2}), fault.ValidationFailed)
		d.must(d.ship(o, order.RefundPart{LineID: l, Quantity: 1}))
		if now := d.reload(o); now.State != model.OrderShipped {
			t.Errorf("order is %s", now.State)
		}
		d.audited()
	})
}

// Open after-sales and refunds together never ask for more than was bought.
func TestPiecesAreAskedForOnce(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 8, good{3, 50}, good{1, 30})
		l := d.lines(o)
		d.ask(o, model.AftersaleRefundOnly, 2)
		d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, 2)), fault.RefundTooMuch)
		merchants := func(parts ...order.RefundPart) (*model.Refund, error) {
			return d.orders.Refund(t.Context(), merchantID, o.No, "", order.RefundRequest{Lines: parts, Reason: "缺货"})
		}
		d.wantCode(second(merchants(order.RefundPart{LineID: l[0].ID, Quantity: 2})), fault.RefundTooMuch)
		rest, err := merchants() // everything that nobody asks for
		d.must(err)
		if rest.AmountFen != 80 {
			t.Errorf("the rest is %d fen", rest.AmountFen)
		}
		d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, 1)), fault.RefundTooMuch)
		d.wantCode(second(merchants()), fault.RefundTooMuch)
		d.audited()
	})
}

func TestWhatCannotBeAskedFor(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		unpaid := d.bought(0, 0, good{1, 50})
		d.wantCode(second(d.tryAsk(unpaid, model.AftersaleRefundOnly, 1)), fault.OrderNotPaid)
		_, err := d.orders.Cancel(t.Context(), unpaid.ShopperID, unpaid.No)
		d.must(err)
		d.wantCode(second(d.tryAsk(unpaid, model.AftersaleRefundOnly, 1)), fault.OrderClosed)

		o := d.paid(0, 0, good{2, 50})
		l := d.lines(o)[0].ID
		ask := func(shopperID int64, parts ...order.RefundPart) error {
			return second(d.Ask(t.Context(), shopperID, o.No, "", Request{Type: model.AftersaleRefundOnly, Lines: parts, Reason: "x"}))
		}
		d.wantCode(ask(o.ShopperID+1000, order.RefundPart{LineID: l, Quantity: 1}), fault.NotFoundError)
		d.wantCode(ask(o.ShopperID), fault.ValidationFailed)
		d.wantCode(ask(o.ShopperID, order.RefundPart{LineID: l, Quantity: 1}, order.RefundPart{LineID: l, Quantity: 1}), fault.ValidationFailed)
		d.wantCode(ask(o.ShopperID, order.RefundPart{LineID: l + 1000, Quantity: 1}), fault.ValidationFailed)
		d.wantCode(second(d.tryAsk(o, model.AftersaleReturn, 1)), fault.RefundTooMuch) // nothing was shipped
		for _, n := range []int64{0, -1, 3} {                                          // R09
			d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, n)), fault.RefundTooMuch)
		}

		d.must(d.ship(o))
		_, err = d.orders.Confirm(t.Context(), o.ShopperID, o.No)
		d.must(err)
		d.advance(15*24*time.Hour - time.Millisecond)
		early := d.ask(o, model.AftersaleReturn, 1)
		d.does("withdraw", early, model.AftersaleWithdrawn)
		d.advance(time.Millisecond)
		d.wantCode(second(d.tryAsk(o, model.AftersaleReturn, 1)), fault.AftersaleExpired)
		shown, err := d.orders.Get(t.Context(), o.ShopperID, o.No)
		d.must(err)
		if slices.Contains(shown.ShopperActions(), "aftersale") {
			t.Error("the action is there past its time")
		}
		if n := d.number("SELECT COUNT(*) FROM aftersales"); n != 1 {
			t.Errorf("%d after-sales", n)
		}
		d.audited()
	})
}

// Cases R12, R15. WeChat's limits are kept when the shopper asks, before anybody waits for an answer.
func TestR12_R15_LimitsOfWeChat(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{2, 50})
		open := d.ask(o, model.AftersaleRefundOnly, 1)
		d.exec("UPDATE payments SET paid_at = ? WHERE order_id = ?", d.time().Add(-366*24*time.Hour), o.ID)
		d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, 1)), fault.RefundTooOld)
		d.wantCode(second(d.answers("approve", open)), fault.RefundTooOld)
		d.exec("UPDATE payments SET paid_at = ? WHERE order_id = ?", d.time(), o.ID)
		p := d.number("SELECT id FROM payments WHERE order_id = ?", o.ID)
		for i := range payment.MaxRefunds {
			d.insert(&model.Refund{ID: 10_000 + int64(i), OrderID: o.ID, PaymentID: p, MerchantID: merchantID, OutRefundNo: fmt.Sprintf("R%s-x%d", o.No, i), State: model.RefundSuccess})
		}
		d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, 1)), fault.RefundTooMany)
		d.wantCode(second(d.answers("approve", open)), fault.RefundTooMany)
		if now := d.fresh(open); now.State != model.AftersaleRequested || now.Version != 1 {
			t.Errorf("%+v", now.Aftersale)
		}
		d.exec("DELETE FROM refunds WHERE id >= 10000")
		for range maxPerOrder - 1 {
			d.does("withdraw", d.ask(o, model.AftersaleRefundOnly, 1), model.AftersaleWithdrawn)
		}
		d.wantCode(second(d.tryAsk(o, model.AftersaleRefundOnly, 1)), fault.AftersaleLimit)
	})
}

// A refund that fails for good leaves the after-sale to the merchant again, so that no money is stuck.
func TestFailedRefundComesBackToTheMerchant(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{2, 50})
		v := d.wechatSays(d.does("approve", d.ask(o, model.AftersaleRefundOnly, 1), model.AftersaleRefunding), wechat.RefundClosed)
		if v.State != model.AftersaleRequested || v.RefundID != 0 || v.AnswerDeadline == nil || *v.AnswerDeadline != d.time().Add(d.answer) {
			t.Errorf("after the failure: %+v", v.Aftersale)
		}
		if n := d.number("SELECT COUNT(*) FROM anomalies WHERE kind = ?", payment.AnomalyRefundFailed); n != 1 {
			t.Errorf("%d anomalies", n)
		}
		d.audited()
		first := d.number("SELECT id FROM refunds WHERE aftersale_id = ?", v.ID)
		v = d.does("approve", v, model.AftersaleRefunding)
		if v.RefundID == first || v.AmountFen != 50 {
			t.Errorf("again: %+v", v.Aftersale)
		}
		v = d.wechatSays(v, wechat.RefundSuccess)
		if v.State != model.AftersaleRefunded || d.topics(v) != "requested refunding refund_failed refunding refunded" {
			t.Errorf("%s by %s", v.State, d.topics(v))
		}

		d.must(d.ship(o))
		back := d.does("return", d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved), model.AftersaleReturning)
		back = d.wechatSays(d.does("receive", back, model.AftersaleRefunding), wechat.RefundClosed)
		if back.State != model.AftersaleReturning || d.stock(o)[0] != 9 {
			t.Errorf("%s, stock %v", back.State, d.stock(o))
		}
		d.audited()
		back = d.does("reject", back, model.AftersaleRejected)
		if back.Answer != "reject" || d.lines(o)[0].RefundingQuantity != 1 {
			t.Errorf("%+v", back.Aftersale)
		}
		d.ask(o, model.AftersaleReturn, 1) // what was rejected may be asked for again
		d.audited()
	})
}

// Freight is given back once, also where a refund fails after that of the rest, which took the freight, was made.
func TestFreightIsRefundedOnce(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 8, good{1, 50}, good{1, 30})
		v := d.does("approve", d.ask(o, model.AftersaleRefundOnly, 1), model.AftersaleRefunding)
		rest, err := d.orders.Refund(t.Context(), merchantID, o.No, "", order.RefundRequest{Reason: "缺货", Actor: "admin:3"})
		d.must(err)
		if rest.AmountFen != 38 || rest.FreightFen != 8 {
			t.Errorf("the rest: %+v", rest)
		}
		v = d.wechatSays(v, wechat.RefundClosed)
		d.audited()
		v = d.does("approve", v, model.AftersaleRefunding)
		if v.AmountFen != 50 {
			t.Errorf("again: %+v", v.Aftersale)
		}
		d.wechatSays(v, wechat.RefundSuccess)
		d.must(d.orders.RefundResult(t.Context(), wechat.Refund{
			OutRefundNo: rest.OutRefundNo, Status: wechat.RefundSuccess, AmountRefund: int64(rest.AmountFen), AmountTotal: int64(rest.TotalFen),
		}))
		if now := d.reload(o); now.State != model.OrderClosed || now.RefundedFen != 88 {
			t.Errorf("order %s, %d refunded", now.State, now.RefundedFen)
		}
		d.audited()
	})
}

// What cost nothing is refunded at once; goods come back all the same.
func TestFreeGoods(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(100, 0, good{2, 50})
		if o.PayableFen != 0 || o.State != model.OrderPaid {
			t.Fatalf("order %+v", o)
		}
		d.must(d.ship(o, order.RefundPart{LineID: d.lines(o)[0].ID, Quantity: 1}))
		d.does("receive", d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved), model.AftersaleRefunded)
		v := d.does("approve", d.ask(o, model.AftersaleRefundOnly, 1), model.AftersaleRefunded)
		if d.stock(o)[0] != 10 || d.topics(v) != "requested refunding refunded" || d.number("SELECT COUNT(*) FROM coupons WHERE state = 'available'") != 1 {
			t.Errorf("stock %v, %s", d.stock(o), d.topics(v))
		}
		d.audited()
	})
}

func TestAnswerDeadlines(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{3, 50})
		d.must(d.ship(o))
		v := d.ask(o, model.AftersaleReturn, 1)
		if v.AnswerDeadline == nil || *v.AnswerDeadline != v.CreatedAt.Add(d.answer) {
			t.Fatalf("due %v", v.AnswerDeadline)
		}
		overdue := func() int64 {
			_, n, err := d.List(t.Context(), Filter{MerchantID: merchantID, Overdue: true}, store.Page{Number: 1, Limit: 10})
			d.must(err)
			return n
		}
		d.clock.Store(int64(*v.AnswerDeadline) - 1)
		if d.run(order.KindAftersale) != 0 || overdue() != 0 {
			t.Error("overdue early")
		}
		d.advance(time.Millisecond)
		if d.run(order.KindAftersale) != 1 || overdue() != 1 {
			t.Error("not overdue in time")
		}
		d.wantCode(second(d.answers("approve", v)), fault.StaleVersion) // it was marked meanwhile
		v = d.does("approve", d.fresh(v), model.AftersaleApproved)
		if v.AnswerDeadline != nil || v.AnswerOverdueAt != nil || overdue() != 0 {
			t.Errorf("answered: %+v", v.Aftersale)
		}
		v = d.does("return", v, model.AftersaleReturning)
		want := d.time().Add(7*24*time.Hour + d.answer)
		if v.AnswerDeadline == nil || *v.AnswerDeadline != want {
			t.Fatalf("due %v, want %v", v.AnswerDeadline, want)
		}
		d.mu.Lock()
		last := d.tasks[len(d.tasks)-1]
		d.mu.Unlock()
		if last.Kind != order.KindAftersale || last.Key != fmt.Sprint(v.ID) || last.Due != int64(want) {
			t.Errorf("scheduled: %+v", last)
		}
		d.clock.Store(int64(want))
		d.run(order.KindAftersale)
		v = d.does("receive", d.fresh(v), model.AftersaleRefunding)
		if d.topics(v) != "requested answer_overdue approved returning answer_overdue refunding" || overdue() != 0 {
			t.Errorf("messages: %s", d.topics(v))
		}
		d.answer = 0 // a policy of 0 is a stage without a deadline
		if v := d.ask(o, model.AftersaleReturn, 1); v.AnswerDeadline != nil {
			t.Errorf("due %v", *v.AnswerDeadline)
		}
		d.audited()
	})
}

func TestOneKeyOneAftersale(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{3, 50})
		req := Request{Type: model.AftersaleRefundOnly, Reason: "x", Lines: []order.RefundPart{{LineID: d.lines(o)[0].ID, Quantity: 1}}}
		for _, err := range together(6, func(int) error { return second(d.Ask(context.Background(), o.ShopperID, o.No, "after-key-1", req)) }) {
			d.must(err)
		}
		if n := d.number("SELECT COUNT(*) FROM aftersales"); n != 1 {
			t.Errorf("%d after-sales", n)
		}
		req.Reason = "y"
		d.wantCode(second(d.Ask(t.Context(), o.ShopperID, o.No, "after-key-1", req)), fault.IdempotencyKeyReused)
	})
}

func TestListsAreOnesOwn(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o, other := d.paid(0, 0, good{5, 50}), d.paid(0, 0, good{1, 50})
		var made []*View
		for range 5 {
			made = append(made, d.ask(o, model.AftersaleRefundOnly, 1))
			d.advance(time.Second)
		}
		d.ask(other, model.AftersaleRefundOnly, 1)
		d.does("reject", made[0], model.AftersaleRejected)
		mine := Filter{ShopperID: o.ShopperID}
		rows, n, err := d.List(t.Context(), mine, store.Page{Number: 2, Limit: 2})
		d.must(err)
		if n != 5 || len(rows) != 2 || rows[0].ID != made[2].ID || rows[0].OrderNo != o.No || len(rows[0].Lines) != 1 {
			t.Errorf("page 2 of %d: %+v", n, rows)
		}
		var seen []int64
		after := store.Cursor{}
		for {
			rows, next, err := d.ListAfter(t.Context(), mine, after, 2)
			d.must(err)
			for _, r := range rows {
				seen = append(seen, r.ID)
			}
			if next == nil {
				break
			}
			after = *next
		}
		if want := []int64{made[4].ID, made[3].ID, made[2].ID, made[1].ID, made[0].ID}; !slices.Equal(seen, want) {
			t.Errorf("by cursor %v, want %v", seen, want)
		}
		if _, n, err := d.List(t.Context(), Filter{MerchantID: merchantID, State: model.AftersaleRequested}, store.Page{Number: 1, Limit: 2}); err != nil || n != 5 {
			t.Errorf("the merchant has %d: %v", n, err)
		}
		d.wantCode(second(d.Get(t.Context(), other.ShopperID, made[0].ID)), fault.NotFoundError)
		d.wantCode(second(d.GetForMerchant(t.Context(), merchantID+1, made[0].ID)), fault.NotFoundError)
		for _, verb := range []func() error{
			func() error { return second(d.Withdraw(t.Context(), other.ShopperID, made[1].ID)) },
			func() error { return second(d.Approve(t.Context(), merchantID+1, made[1].ID, nil, Answer{Version: 1})) },
		} {
			d.wantCode(verb(), fault.NotFoundError)
		}
	})
}
