package main

import (
	"fmt"
	"testing"
	"time"
)

// TestT36_CallbackLost pays without a callback: the shopper's verify settles at once, and without it the query sweep.
// Case T36.
func TestT36_CallbackLost(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		g, ann := s.sell(50, time.Hour), s.shopper("ann")
		verified, swept := ann.buy(g.sku, 1), ann.buy(g.sku, 1)
		s.confirm(ann.pay(verified.No), 0)
		s.confirm(ann.pay(swept.No), 0)
		paidAt := time.Now()
		if got := as[order](ann, ann.call(200, "POST", "/api/v1/orders/"+verified.No+"/verify", nil)); got.Status != "paid" {
			t.Errorf("after verify: %s, want paid", got.Status)
		}
		ann.await(swept.No, "paid", 15*time.Second)
		t.Logf("the query sweep settled after %v", time.Since(paidAt))
		g.wantStock(48)
		s.audit()
	})
}

// TestT37_T10_AtTheDeadline pays without a callback and lets the deadline come: the close path finds the payment.
// T10 beside it: paying was opened three times and dismissed, so the order closes.
// Case T37.
func TestT37_T10_AtTheDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		g, ann := s.sell(50, time.Hour), s.shopper("ann")
		paid, dismissed := ann.buy(g.sku, 1), ann.buy(g.sku, 1)
		pay := ann.pay(paid.No)
		for range 3 {
			ann.pay(dismissed.No)
		}
		if attempts := g.order(dismissed.No).Attempts; len(attempts) != 1 {
			t.Errorf("T10: %d attempts, want one number used again", len(attempts))
		}
		// Nobody but who closes it asks WeChat about it.
		change(t, s.books(), "UPDATE payment_attempts SET next_query_at = next_query_at + 3600000")
		s.confirm(pay, 0)
		s.fallDue(soon, paid.No, dismissed.No)
		ann.awaitClosedOnTime(dismissed.No, lag)
		ann.await(paid.No, "paid", lag)
		g.wantEvents(paid.No, "pending_payment", "paid")
		g.wantStock(49)
		wechat := as[struct {
			TradeState string `json:"trade_state"`
		}](s.wechat(), s.wechat().call(200, "GET", "/sandbox/transactions/"+g.order(dismissed.No).Attempts[0].OutTradeNo, nil))
		if wechat.TradeState != "CLOSED" {
			t.Errorf("T10: WeChat still says %s of the closed order's number", wechat.TradeState)
		}
		s.audit()
	})
}

// TestT32_T38_PaidAfterTheClose closes an order that was opened for payment and then delivers the payment's callback, with stock
// left and without. Either way the order stays closed, the money goes back once, and the merchant sees both.
// Cases T32, T38.
func TestT32_T38_PaidAfterTheClose(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		g, ann, bob := s.sell(1, time.Hour), s.shopper("ann"), s.shopper("bob")
		for _, left := range []bool{true, false} {
			o := ann.buy(g.sku, 1)
			ann.pay(o.No)
			no := ann.order(o.No).OutTradeNo
			s.fallDue(soon, o.No)
			ann.awaitClosedOnTime(o.No, lag)
			want := int64(1)
			if !left {
				bob.buy(g.sku, 1)
				want = 0
			}
			s.callBack(no, 3)
			g.awaitRefund(o.No)
			got := g.order(o.No)
			if got.Status != "closed" || len(got.Payments) != 1 || got.Payments[0].Settled || len(got.Refunds) != 1 || got.Refunds[0].AmountFen != 9900 {
				t.Errorf("stock left %v: %+v, want it closed with one unsettled payment and one refund of 9900", left, got)
			}
			g.wantStock(want)
			refunds := as[listOf[struct {
				Status string `json:"status"`
			}]](s.wechat(), s.wechat().call(200, "GET", "/sandbox/refunds?out_trade_no="+no, nil)).List
			if len(refunds) != 1 {
				t.Errorf("WeChat made %d refunds, want 1", len(refunds))
			}
		}
		anomalies := as[listOf[struct {
			Kind     string `json:"kind"`
			RefundID int64  `json:"refund_id"`
		}]](g.admin, g.admin.call(200, "GET", "/api/admin/v1/anomalies", nil)).List
		if len(anomalies) != 2 || anomalies[0].RefundID == 0 || anomalies[1].RefundID == 0 {
			t.Errorf("the merchant sees %+v, want two late payments with their refunds", anomalies)
		}
		s.audit()
	})
}

// callBack has WeChat call back about a number as paid, so many times.
func (s *shop) callBack(outTradeNo string, times int) {
	s.t.Helper()
	got := as[struct {
		Responses []struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
		} `json:"responses"`
	}](s.wechat(), s.wechat().call(200, "POST", "/sandbox/notify", map[string]any{"to": "pay", "out_trade_no": outTradeNo, "tamper": "none", "times": times}))
	for _, r := range got.Responses {
		if r.Status/100 != 2 {
			s.t.Errorf("the callback was answered with %d %s", r.Status, r.Body)
		}
	}
	if len(got.Responses) != times {
		s.t.Errorf("%d callbacks were made, want %d", len(got.Responses), times)
	}
}

// awaitRefund waits until an order's one refund is done.
func (g *goods) awaitRefund(no string) {
	g.admin.t.Helper()
	eventually(g.admin.t, 20*time.Second, "the refund of "+no+" is done", func() (bool, string) {
		refunds := g.order(no).Refunds
		return len(refunds) == 1 && refunds[0].Status == "success", fmt.Sprintf("%+v", refunds)
	})
}

// TestWeChatIsDown takes WeChat away: nothing but what needs it stops, and nothing is given back that WeChat may still be paid for.
func TestWeChatIsDown(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		g, ann := s.sell(50, time.Hour), s.shopper("ann")
		opened := ann.buy(g.sku, 1)
		ann.pay(opened.No)
		s.fault("/v3/", "reset", nil)
		unopened := ann.buy(g.sku, 1)
		down := ann.refused(503, "wechat_unavailable", "POST", "/api/v1/orders/"+unopened.No+"/pay", nil)
		if down.header.Get("Retry-After") == "" {
			t.Errorf("503 without Retry-After: %s", down.text)
		}
		ann.refused(503, "wechat_unavailable", "POST", "/api/v1/orders/"+opened.No+"/verify", nil)
		s.fault("/sns/", "html", nil)
		s.shopper("").refused(503, "wechat_unavailable", "POST", "/api/v1/auth/login", map[string]any{"code": "demo-new"})

		canceled := ann.buy(g.sku, 1)
		ann.refused(503, "wechat_unavailable", "POST", "/api/v1/orders/"+canceled.No+"/pay", nil)
		if got := as[order](ann, ann.call(200, "POST", "/api/v1/orders/"+canceled.No+"/cancel", nil)); got.Status != "pending_payment" || !got.Closing {
			t.Errorf("canceled while WeChat is silent: %s, closing %v", got.Status, got.Closing)
		}
		s.fallDue(soon, opened.No, unopened.No)
		eventually(t, soon+lag, "both orders are closing", func() (bool, string) {
			a, b := ann.order(opened.No), ann.order(unopened.No)
			return a.Closing && b.Closing, fmt.Sprintf("%s %v, %s %v", a.Status, a.Closing, b.Status, b.Closing)
		})
		g.toPay(2 * time.Second)
		never := ann.buy(g.sku, 1) // never opened at WeChat, so it closes without it
		ann.awaitClosedOnTime(never.No, lag)
		for _, no := range []string{opened.No, unopened.No, canceled.No} {
			if o := ann.order(no); o.Status != "pending_payment" || !o.Closing {
				t.Errorf("while WeChat is silent order %s is %s, closing %v", no, o.Status, o.Closing)
			}
			got := as[struct {
				WaitsFor string `json:"closing_waits_for"`
			}](g.admin, g.admin.call(200, "GET", "/api/admin/v1/orders/"+no, nil))
			if got.WaitsFor != "wechat" {
				t.Errorf("the merchant reads that order %s waits for %q", no, got.WaitsFor)
			}
		}
		g.wantStock(47)
		s.audit()
		s.noFaults()
		for _, no := range []string{opened.No, unopened.No, canceled.No} {
			ann.await(no, "closed", 60*time.Second)
			g.wantEvents(no, "pending_payment", "closed")
		}
		g.wantStock(50)
		s.audit()
	})
}
