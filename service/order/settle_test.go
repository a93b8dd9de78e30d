package order

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/wechat"
)

// Cases T33, N01.
func TestT33_N01_SameWordManyTimes(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		said := tl.word(o.No + "-1")
		first := 0
		for _, err := range together(100, func(int) error {
			got, err := tl.Settle(context.Background(), said)
			if got.First {
				tl.mu.Lock()
				first++
				tl.mu.Unlock()
			}
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		paidAt := tl.reload(o).PaidAt
		tl.advance(time.Second)
		if err := tl.callback(o.No + "-1"); err != nil {
			t.Error(err)
		}
		if now := tl.reload(o); first != 1 || now.PaidAt != paidAt || now.Version != 2 {
			t.Errorf("%d first, paid at %v then %v, version %d", first, paidAt, now.PaidAt, now.Version)
		}
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// Cases T31, N18.
func TestT31_N18_WordAgainAfterShippingAndRefund(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		shipped, refunded := tl.paid(), tl.paid()
		if _, err := tl.Ship(t.Context(), merchantID, shipped.No, "", "admin:1", Shipment{Parcels: []ShipmentParcel{{Delivery: model.DeliveryVirtual}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := tl.Refund(t.Context(), merchantID, refunded.No, "", RefundRequest{Reason: "缺货"}); err != nil {
			t.Fatal(err)
		}
		tl.refunded(refunded)
		for o, want := range map[*model.Order]string{shipped: "shipped stock=9 coupon=used", refunded: "closed/refunded stock=9 coupon=available"} {
			before := tl.reload(o).Version
			if err := tl.callback(o.No + "-1"); err != nil {
				t.Error(err)
			}
			tl.want(o, want)
			if now := tl.reload(o).Version; now != before {
				t.Errorf("version %d, was %d", now, before)
			}
		}
		if n := tl.number("SELECT COUNT(*) FROM anomalies"); n != 0 {
			t.Errorf("%d anomalies", n)
		}
		tl.audited()
	})
}

// Cases T40, T41.
func TestT40_T41_N03_N05_WordsThatDoNotFit(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		right := tl.word(o.No + "-1")
		for field, change := range map[string]func(*wechat.Transaction){
			"amount":   func(w *wechat.Transaction) { w.AmountTotal = 99 },
			"currency": func(w *wechat.Transaction) { w.Currency = "USD" },
			"appid":    func(w *wechat.Transaction) { w.AppID = "wxother" },
			"mchid":    func(w *wechat.Transaction) { w.MchID = "1900000002" },
		} {
			said := right
			change(&said)
			for range 2 {
				_, err := tl.Settle(t.Context(), said)
				var misfit *MisfitError
				if !errors.As(err, &misfit) || misfit.Field != field {
					t.Errorf("%s: %v", field, err)
				}
			}
			if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND ref = ? AND seen = 2 AND order_id = ? AND merchant_id = ?",
				payment.AnomalyMismatch+field, o.No+"-1", o.ID, merchantID); n != 1 {
				t.Errorf("%s: %d anomalies seen twice", field, n)
			}
		}
		tl.want(o, "pending_payment stock=9 coupon=locked")
		right.AmountTotal = 101
		if _, err := tl.Settle(t.Context(), right); err == nil {
			t.Error("101 fen settle")
		}
		tl.want(o, "pending_payment stock=9 coupon=locked")
		tl.audited()
	})
}

func TestN04_PayerPaysLessByWeChatsCoupon(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.settings(m{"payer_discount_fen": 20})
		o := tl.unpaid()
		tl.phone(tl.open(o))
		if err := tl.callback(o.No + "-1"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, paidOnce)
		if n := tl.number("SELECT COUNT(*) FROM payments WHERE order_id = ? AND amount_fen = 100 AND payer_fen = 80", o.ID); n != 1 {
			t.Error("payer_fen is not kept")
		}
		tl.audited()
	})
}

// A transaction settles one order, and a number is paid once.
func TestTransactionIDsDoNotWander(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		one, two := tl.paid(), tl.unpaid()
		tl.phone(tl.open(two))
		said := tl.word(two.No + "-1")
		own := said.TransactionID
		said.TransactionID = tl.word(one.No + "-1").TransactionID
		if _, err := tl.Settle(t.Context(), said); err == nil {
			t.Error("another order's transaction settles")
		}
		said.TransactionID = own
		if _, err := tl.Settle(t.Context(), said); err != nil {
			t.Error(err)
		}
		said.TransactionID = "another"
		if _, err := tl.Settle(t.Context(), said); err == nil {
			t.Error("a second transaction of one number is taken")
		}
		tl.want(two, "paid stock=8 coupon=used")
		tl.audited()
	})
}

func TestPaymentOfAnUnknownNumberIsAnAnomaly(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, err := tl.Settle(t.Context(), wechat.Transaction{OutTradeNo: "T20260101AAAAAAAAAAAA-1", TransactionID: "42", TradeState: wechat.TradeSuccess, AmountTotal: 5})
		tl.wantCode(err, fault.NotFoundError)
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND ref = '42' AND merchant_id = 0", payment.AnomalyUnknownPayment); n != 1 {
			t.Errorf("%d anomalies", n)
		}
	})
}

// The old number of a re-priced order is paid all the same: the money goes back, the order stays to be paid at its new price.
func TestPaymentOfAnOldPriceIsRefunded(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		if _, err := tl.Reprice(t.Context(), merchantID, o.No, "admin:1", Repricing{AdjustFen: 11, Version: 1}); err != nil {
			t.Fatal(err)
		}
		tl.paidLate(o.No + "-1")
		if err := tl.callback(o.No + "-1"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "pending_payment stock=9 coupon=locked")
		tl.phone(tl.open(o))
		if err := tl.callback(o.No + "-2"); err != nil {
			t.Fatal(err)
		}
		tl.refunded(o)
		tl.want(o, paidOnce)
		if r := tl.refunds(o); len(r) != 1 || r[0].Kind != model.RefundLate || r[0].AmountFen != 100 {
			t.Errorf("refunds %+v", r)
		}
		tl.audited()
	})
}

// Two numbers of one order, both paid: one pays the order, the other goes back; a live one is ended when the order is paid.
func TestSecondPaymentOfAnOrderIsRefunded(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		if err := tl.line.Client.Close(t.Context(), o.No+"-1"); err != nil {
			t.Fatal(err)
		}
		tl.phone(tl.open(o))
		tl.paidLate(o.No + "-1")
		for _, no := range []string{"-2", "-1"} {
			if err := tl.callback(o.No + no); err != nil {
				t.Fatal(err)
			}
		}
		tl.refunded(o)
		tl.want(o, paidOnce)
		if r := tl.refunds(o); len(r) != 1 || r[0].OutRefundNo != "L"+o.No+"-1" {
			t.Errorf("refunds %+v", r)
		}
		tl.audited()
	})
}

func TestLiveAttemptBesideThePaidOneIsEnded(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.exec("UPDATE payment_attempts SET state = 'closed' WHERE order_id = ?", o.ID)
		tl.open(o)
		tl.exec("UPDATE payment_attempts SET state = 'open' WHERE order_id = ?", o.ID)
		tl.paidLate(o.No + "-2")
		if err := tl.callback(o.No + "-2"); err != nil {
			t.Fatal(err)
		}
		tl.tick()
		if a := tl.attempts(o); a[0].State != model.AttemptClosed || a[1].State != model.AttemptPaid || tl.word(o.No+"-1").TradeState != wechat.TradeClosed {
			t.Errorf("attempts %+v %+v", a[0], a[1])
		}
		tl.audited()
	})
}

// WeChat shows a refund that is not ours: the order is paid, the merchant is told, and shipping waits.
func TestForeignRefundHoldsShipping(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		said := tl.word(o.No + "-1")
		if _, err := tl.line.Client.Refund(t.Context(), wechat.RefundRequest{TransactionID: said.TransactionID, OutRefundNo: "console-" + o.No, RefundFen: 10, TotalFen: 100}); err != nil {
			t.Fatal(err)
		}
		tl.toDeadline(o)
		tl.exec("UPDATE payment_attempts SET next_query_at = NULL")
		tl.tick()
		tl.want(o, paidOnce)
		ship := Shipment{Parcels: []ShipmentParcel{{Delivery: model.DeliveryVirtual}}}
		_, err := tl.Ship(t.Context(), merchantID, o.No, "", "admin:1", ship)
		tl.wantCode(err, fault.RefundOpen)
		id := tl.number("SELECT id FROM anomalies WHERE kind = ? AND order_id = ?", payment.AnomalyForeignRefund, o.ID)
		if _, err := tl.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID}, id, "agreed by phone", "admin:1"); err != nil {
			t.Fatal(err)
		}
		if _, err := tl.Ship(t.Context(), merchantID, o.No, "", "admin:1", ship); err != nil {
			t.Error(err)
		}
		tl.audited()
	})
}
