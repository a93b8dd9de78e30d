package order

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

func TestPayAndSettle(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		p, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		if err != nil {
			t.Fatal(err)
		}
		var reply m
		if status := tl.control("POST", "/sandbox/pay", m{"request_payment": p, "notify": m{"times": 0}}, &reply); status != 200 {
			t.Fatalf("the phone refuses %+v: %v", p, reply)
		}
		if err := tl.callback(o.No + "-1"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "paid stock=9 coupon=used")
		a := tl.attempts(o)[0]
		if a.State != model.AttemptPaid || a.NextQueryAt != nil || a.TimeExpire.Std() != o.PayDeadline.Std().Truncate(time.Second) {
			t.Errorf("attempt %+v", a)
		}
		_, err = tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderAlreadyPaid)
		tl.audited()
	})
}

func TestT39_PayRefusesStrangersAndEndedOrders(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		stranger := tl.buyer()
		_, err := tl.Pay(t.Context(), stranger, o.No)
		tl.wantCode(err, fault.NotFoundError)
		_, err = tl.Verify(t.Context(), stranger, o.No)
		tl.wantCode(err, fault.NotFoundError)
		_, err = tl.Cancel(t.Context(), stranger, o.No)
		tl.wantCode(err, fault.NotFoundError)
		tl.toDeadline(o)
		_, err = tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderClosing)
		tl.tick()
		_, err = tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderClosed)
		if n := tl.line.calls("prepay"); n != 0 {
			t.Errorf("WeChat was called %d times", n)
		}
	})
}

func TestT43_DismissAndPayAgain(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		first := tl.open(o)
		tl.advance(10 * time.Second)
		if again := tl.open(o); again == first || len(tl.attempts(o)) != 1 {
			t.Errorf("prepay %s then %s on %d attempts, want a fresh one on the same", first, again, len(tl.attempts(o)))
		}
		if _, err := tl.Reprice(t.Context(), merchantID, o.No, "admin:1", Repricing{AdjustFen: -40, Version: tl.reload(o).Version}); err != nil {
			t.Fatal(err)
		}
		if got := tl.word(o.No + "-1").TradeState; got != wechat.TradeClosed {
			t.Errorf("the old number is %s at WeChat", got)
		}
		tl.phone(tl.open(o))
		if got := tl.word(o.No + "-2"); got.AmountTotal != 60 {
			t.Errorf("the new number asks for %d", got.AmountTotal)
		}
		if err := tl.callback(o.No + "-2"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "paid stock=9 coupon=used")
		tl.audited()
	})
}

// The parameters may change without the merchant: a new notify address, another openid.
func TestT43_ChangedParametersEndTheOldNumber(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.exec("UPDATE shoppers SET openid = ? WHERE id = ?", sandbox.OpenID(fmt.Sprintf("renamed-%d", buyers.Add(1))), o.ShopperID)
		tl.open(o)
		a := tl.attempts(o)
		if len(a) != 2 || a[0].State != model.AttemptClosed || a[1].State != model.AttemptOpen || tl.word(a[0].OutTradeNo).TradeState != wechat.TradeClosed {
			t.Errorf("attempts %+v", a)
		}
	})
}

func TestT47_TappedTwice(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		ids := make([]string, 2)
		together(2, func(i int) error {
			<-time.After(time.Duration(i) * 50 * time.Millisecond) // as fingers do; WeChat's clock is the real one
			ids[i] = tl.open(o)
			return nil
		})
		if n := len(tl.attempts(o)); n != 1 {
			t.Fatalf("%d attempts", n)
		}
		tl.phone(ids[0])
		if status := tl.control("POST", "/sandbox/pay", m{"prepay_id": ids[1], "notify": m{"times": 0}}, nil); status == 200 {
			t.Error("charged twice")
		}
	})
}

func TestPayInParallelMakesOneAttempt(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		together(10, func(int) error { tl.open(o); return nil })
		if n := len(tl.attempts(o)); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

// Case C14.
func TestC14_ClosedOrderIsNotOpenedAgain(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		if _, err := tl.Cancel(t.Context(), o.ShopperID, o.No); err != nil {
			t.Fatal(err)
		}
		n := tl.line.calls("prepay")
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderClosed)
		if tl.line.calls("prepay") != n {
			t.Error("WeChat was called")
		}
	})
}

func TestC15_SecondPrepayKeepsTheNumber(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		first, second := tl.open(o), tl.open(o)
		if a := tl.attempts(o); first == second || len(a) != 1 || a[0].PrepayID != second {
			t.Errorf("%s then %s, attempts %+v", first, second, a)
		}
	})
}

// WeChat has closed the number by itself: the shopper gets a new one, once.
func TestPayOpensANewNumberWhenWeChatClosedTheOld(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		if err := tl.line.Client.Close(t.Context(), o.No+"-1"); err != nil {
			t.Fatal(err)
		}
		tl.open(o)
		if a := tl.attempts(o); len(a) != 2 || a[0].State != model.AttemptClosed || a[1].State != model.AttemptOpen {
			t.Errorf("attempts %+v", a)
		}
	})
}

// WeChat answers ORDERPAID: the callback was lost, and the shopper taps pay again.
func TestPaySettlesWhatWeChatSaysIsPaid(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderAlreadyPaid)
		tl.want(o, "paid stock=9 coupon=used")
		tl.audited()
	})
}

func TestPaySilentWeChatReleasesNothing(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		for _, mode := range []string{"timeout", "reset", "html", "empty", "timeout_after"} {
			if tl.line.waits(patient); strings.HasPrefix(mode, "timeout") {
				tl.line.waits(impatient)
			}
			tl.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": mode})
			_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
			tl.wantCode(err, fault.WeChatUnavailable)
			tl.control("DELETE", "/sandbox/faults", nil, nil) // a call that was given up may not have met it
		}
		tl.line.waits(patient)
		tl.want(o, "pending_payment stock=9 coupon=locked")
		tl.phone(tl.open(o))
		if n := len(tl.attempts(o)); n != 1 {
			t.Errorf("%d attempts, want the same number repeated", n)
		}
	})
}

// The claim of a change of price that is under way is waited for, but not for ever.
func TestPayWaitsForAClaim(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.exec("UPDATE orders SET claim_token = 'x', claim_until = ? WHERE id = ?", tl.Now().Add(time.Minute), o.ID)
		start := time.Now()
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderBusy)
		if waited := time.Since(start); waited < claimPatience || waited > claimPatience+10*time.Second {
			t.Errorf("waited %v", waited)
		}
		_, err = tl.Cancel(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderBusy)
		tl.advance(time.Minute)
		tl.open(o)
	})
}

// Case T36.
func TestT36_VerifyFindsThePayment(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		v, err := tl.Verify(t.Context(), o.ShopperID, o.No)
		if err != nil || v.State != model.OrderPending {
			t.Fatalf("%+v, %v", v, err)
		}
		id := tl.open(o)
		if v, err = tl.Verify(t.Context(), o.ShopperID, o.No); err != nil || v.State != model.OrderPending {
			t.Fatalf("%+v, %v", v, err)
		}
		tl.phone(id)
		if v, err = tl.Verify(t.Context(), o.ShopperID, o.No); err != nil || v.State != model.OrderPaid {
			t.Fatalf("%+v, %v", v, err)
		}
		other := tl.unpaid()
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + other.No + "-1", "mode": "status"})
		tl.open(other)
		_, err = tl.Verify(t.Context(), other.ShopperID, other.No)
		tl.wantCode(err, fault.WeChatUnavailable)
		tl.audited()
	})
}

// Case T36.
func TestT36_QuerySweepFindsThePayment(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		if n := tl.tick(); n != 0 {
			t.Fatalf("%d tasks are due at once", n)
		}
		tl.advance(5 * time.Second)
		tl.tick()
		tl.want(o, "paid stock=9 coupon=used")
		tl.audited()
	})
}

func TestQueriesFollowWeChatsAdvice(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		prepaid := tl.attempts(o)[0].PrepayAt
		for _, want := range []time.Duration{5 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute} {
			a := tl.attempts(o)[0]
			if a.NextQueryAt == nil || *a.NextQueryAt != prepaid.Add(want) {
				t.Fatalf("next query at %v, want %v after the prepay", a.NextQueryAt, want)
			}
			tl.clock.Store(int64(*a.NextQueryAt))
			if got := tl.run(KindQuery, a.ID, *a.NextQueryAt).String(); got != "reschedule" {
				t.Fatalf("outcome %s", got)
			}
		}
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1", "mode": "status"})
		a := tl.attempts(o)[0]
		if got := tl.run(KindQuery, a.ID, *a.NextQueryAt).String(); got != "again" {
			t.Errorf("a silent WeChat gives %s", got)
		}
		if got := tl.run(KindQuery, a.ID, *a.NextQueryAt).String(); got != "done" || tl.attempts(o)[0].NextQueryAt != nil {
			t.Errorf("the last query gives %s, next %v", got, tl.attempts(o)[0].NextQueryAt)
		}
	})
}

func TestNewAttemptsDescriptionFitsWeChat(t *testing.T) {
	long := ""
	for range 60 {
		long += "茶"
	}
	for _, goods := range [][]model.OrderLine{{{Name: long}}, {{Name: long}, {Name: "b"}}, {{Name: "tea"}}} {
		got := description(goods)
		if len(got) > wechat.MaxDescription || got == "" {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
	if got := description([]model.OrderLine{{Name: "茶"}, {Name: "杯"}}); got != "茶 等2种商品" {
		t.Error(got)
	}
}

func TestReplyThatComesAfterThePaymentChangesNothing(t *testing.T) { // N02
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.line.onceAfter("prepay", func(err error) error {
			tl.paidLate(o.No + "-1")
			if e := tl.callback(o.No + "-1"); e != nil {
				t.Error(e)
			}
			return err
		})
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderAlreadyPaid)
		tl.want(o, "paid stock=9 coupon=used")
		if a := tl.attempts(o)[0]; a.State != model.AttemptPaid || a.PrepayID != "" || a.NextQueryAt != nil {
			t.Errorf("attempt %+v", a)
		}
		if rows, _ := payment.RefundsOf(tl.Store.Read(t.Context()), o.ID); len(rows) != 0 {
			t.Errorf("refunds %+v", rows)
		}
		tl.audited()
	})
}

// Somebody used our number with other parameters: it is closed at WeChat and the shopper gets the next one, never a refusal.
func TestT43_NumberUsedWithOtherParameters(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		_, err := tl.line.Client.Prepay(t.Context(), wechat.PrepayRequest{OutTradeNo: o.No + "-1", Description: "x", AmountFen: 1, OpenID: sandbox.OpenID("else")})
		if err != nil {
			t.Fatal(err)
		}
		tl.phone(tl.open(o))
		if a := tl.attempts(o); len(a) != 2 || a[0].State != model.AttemptClosed || tl.word(a[0].OutTradeNo).TradeState != wechat.TradeClosed {
			t.Errorf("attempts %+v", a)
		}
		if err := tl.callback(o.No + "-2"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// The deadline comes while the prepay is under way: nobody can pay afterwards, and the order closes.
func TestDeadlineDuringThePrepay(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for name, meanwhile := range map[string]func(o *model.Order){
			"marked before WeChat has the number": func(o *model.Order) { tl.tick() },
			"cancelled":                           func(o *model.Order) { _, _ = tl.Cancel(t.Context(), o.ShopperID, o.No) },
		} {
			o := tl.unpaid()
			tl.line.onceBefore("prepay", func() {
				tl.toDeadline(o)
				meanwhile(o)
				if got := tl.reload(o); got.State != model.OrderPending || got.ClosingReason == nil {
					t.Errorf("%s: the order is %s, %v", name, got.State, got.ClosingReason)
				}
			})
			_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
			tl.wantCode(err, fault.OrderClosing)
			if got := tl.word(o.No + "-1").TradeState; got != wechat.TradeClosed {
				t.Errorf("%s: the number is %s at WeChat", name, got)
			}
			tl.advance(time.Minute)
			tl.tick()
			if got := tl.reload(o).State; got != model.OrderClosed {
				t.Errorf("%s: the order is %s", name, got)
			}
			tl.released(o, 1)
		}
		tl.audited()
	})
}

// The order closed while the prepay's answer was on its way, by WeChat's word that it had no such number.
func TestClosedBeforeThePrepaysAnswer(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.line.onceBefore("prepay", func() {
			for range 4 {
				tl.advance(time.Hour)
				tl.tick()
			}
			tl.want(o, closedByTimeout)
		})
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderClosed)
		if got := tl.word(o.No + "-1").TradeState; got != wechat.TradeClosed {
			t.Errorf("the number is %s at WeChat", got)
		}
		tl.audited()
	})
}
