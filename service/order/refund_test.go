package order

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
)

// three is a paid order of three pieces for 100 fen in all.
func (tl *till) three() (*model.Order, model.OrderLine) {
	tl.t.Helper()
	me := tl.buyer()
	tl.exec("UPDATE skus SET price_fen = 50 WHERE id = ?", tl.sku)
	o, err := tl.Place(tl.t.Context(), me, tl.basket(me, tl.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 50}), Item{SKUID: tl.sku, Quantity: 3}))
	if err != nil {
		tl.t.Fatal(err)
	}
	tl.phone(tl.open(o))
	if err := tl.callback(o.No + "-1"); err != nil {
		tl.t.Fatal(err)
	}
	l, err := lines(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil {
		tl.t.Fatal(err)
	}
	return tl.reload(o), l[0]
}

func (tl *till) refund(o *model.Order, parts ...RefundPart) *model.Refund {
	tl.t.Helper()
	r, err := tl.Refund(tl.t.Context(), merchantID, o.No, "", RefundRequest{Lines: parts, Reason: "缺货", Actor: "admin:1"})
	if err != nil {
		tl.t.Fatal(err)
	}
	return r
}

// lateMoney is a closed order for which money came all the same, and the refund of that, which is due.
func (tl *till) lateMoney() (*model.Order, *model.Refund) {
	tl.t.Helper()
	o := tl.unpaid()
	tl.open(o)
	tl.toDeadline(o)
	tl.tick()
	tl.paidLate(o.No + "-1")
	if err := tl.callback(o.No + "-1"); err != nil {
		tl.t.Fatal(err)
	}
	r := tl.refunds(o)[0]
	return o, &r
}

// openAnomaly says how often the open anomaly of the kind about the refund was met; 0 where there is none.
func (tl *till) openAnomaly(kind string, r *model.Refund) int64 {
	tl.t.Helper()
	return tl.number("SELECT COALESCE(SUM(seen), 0) FROM anomalies WHERE kind = ? AND refund_id = ? AND state = 'open'", kind, r.ID)
}

func (tl *till) refundNow(id int64) *model.Refund {
	tl.t.Helper()
	r, err := payment.RefundByID(tl.Store.Read(tl.t.Context()), id)
	if err != nil {
		tl.t.Fatal(err)
	}
	return r
}

// Case R08.
func TestR08_PartialRefundsAddUp(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		var amounts []model.Fen
		for i := range 3 {
			r := tl.refund(o, RefundPart{l.ID, 1})
			amounts = append(amounts, r.AmountFen)
			tl.refunded(o)
			if want := int64(7 + i + 1); tl.stock(tl.sku) != want {
				t.Errorf("stock %d, want %d", tl.stock(tl.sku), want)
			}
			if i < 2 && tl.couponState(o.CouponID) != model.CouponUsed {
				t.Error("the coupon came back early")
			}
			tl.audited()
		}
		if amounts[0] != 33 || amounts[1] != 33 || amounts[2] != 34 {
			t.Errorf("amounts %v", amounts)
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		if now := tl.reload(o); now.RefundedFen != 100 {
			t.Errorf("refunded %d", now.RefundedFen)
		}
	})
}

func TestR09_RefundsThatMakeNoSense(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		unpaid := tl.unpaid()
		o, l := tl.three()
		for _, c := range []struct {
			parts []RefundPart
			want  fault.Code
		}{
			{[]RefundPart{{l.ID, 0}}, fault.RefundTooMuch},
			{[]RefundPart{{l.ID, -1}}, fault.RefundTooMuch},
			{[]RefundPart{{l.ID, 4}}, fault.RefundTooMuch},
			{[]RefundPart{{l.ID, 1}, {l.ID, 1}}, fault.ValidationFailed},
			{[]RefundPart{{l.ID + 1000, 1}}, fault.ValidationFailed},
		} {
			_, err := tl.Refund(t.Context(), merchantID, o.No, "", RefundRequest{Lines: c.parts, Reason: "x"})
			tl.wantCode(err, c.want)
		}
		_, err := tl.Refund(t.Context(), merchantID+1, o.No, "", RefundRequest{Reason: "x"})
		tl.wantCode(err, fault.NotFoundError)
		_, err = tl.Refund(t.Context(), merchantID, unpaid.No, "", RefundRequest{Reason: "x"})
		tl.wantCode(err, fault.OrderNotPaid)
		if n := tl.number("SELECT COUNT(*) FROM refunds"); n != 0 || tl.line.calls("refund") != 0 {
			t.Errorf("%d refunds, %d calls", n, tl.line.calls("refund"))
		}
	})
}

// Case T63.
func TestT63_TwoAdminsClickAndTheReplyIsLost(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		made := 0
		for _, err := range together(8, func(int) error {
			_, err := tl.Refund(context.Background(), merchantID, o.No, "", RefundRequest{Reason: "缺货"})
			return err
		}) {
			if err == nil {
				made++
			} else {
				tl.wantCode(err, fault.RefundTooMuch)
			}
		}
		if made != 1 {
			t.Fatalf("%d refunds were made", made)
		}
		tl.silent("/v3/refund/domestic/refunds", true)
		tl.called()
		r := tl.refunds(o)[0]
		if r.State != model.RefundPending || r.Error == "" {
			t.Errorf("refund %+v", r)
		}
		tl.bankSays(r.OutRefundNo, "SUCCESS")
		tl.advance(time.Minute)
		tl.tick()
		if n := tl.line.calls("refund"); n != 1 {
			t.Errorf("%d refund calls", n)
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// Case R05.
func TestR05_CreateTimedOutAndWeChatHasNone(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.silent("/v3/refund/domestic/refunds", false)
		tl.called()
		if got := tl.refundNow(r.ID); got.State != model.RefundPending {
			t.Fatalf("refund %+v", got)
		}
		tl.advance(time.Minute)
		tl.tick()
		if got := tl.refundNow(r.ID); got.State != model.RefundProcessing || tl.line.calls("refund") != 2 || tl.line.calls("query refund") != 1 {
			t.Errorf("refund %+v after %d calls", got, tl.line.calls("refund"))
		}
		tl.refunded(o)
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// Case R06.
func TestR06_CreateTimedOutAndWeChatHasMadeIt(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.silent("/v3/refund/domestic/refunds", true)
		tl.called()
		if got := tl.refundNow(r.ID); got.State != model.RefundPending || got.Error == "" {
			t.Fatalf("refund %+v", got)
		}
		tl.bankSays(r.OutRefundNo, "SUCCESS")
		tl.advance(refundCall)
		tl.tick()
		if tl.line.calls("refund") != 1 || tl.line.calls("query refund") != 1 {
			t.Errorf("%d calls, %d queries", tl.line.calls("refund"), tl.line.calls("query refund"))
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// That WeChat refuses to say what became of a refund says nothing about the refund: were it given up, it would be made once more.
func TestARefusedQuestionIsNoRefusedRefund(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.silent("/v3/refund/domestic/refunds", true)
		tl.called()
		tl.fault(m{"path": "/v3/refund/domestic/refunds/" + r.OutRefundNo, "mode": "code", "code": "PARAM_ERROR"})
		tl.advance(refundCall)
		tl.tick()
		if got := tl.refundNow(r.ID); tl.line.calls("query refund") != 1 || got.State != model.RefundPending || got.NextAt == nil || *got.NextAt <= tl.Now() {
			t.Errorf("after %d questions: %+v", tl.line.calls("query refund"), got)
		}
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ?", payment.AnomalyRefundWaiting); n != 1 {
			t.Errorf("%d anomalies", n)
		}
		_, err := tl.Refund(t.Context(), merchantID, o.No, "", RefundRequest{Reason: "缺货"})
		tl.wantCode(err, fault.RefundTooMuch)
		tl.advance(11 * time.Minute)
		tl.tick()
		tl.refunded(o)
		tl.want(o, "closed/refunded stock=10 coupon=available")
		if n := tl.line.calls("refund"); n != 1 {
			t.Errorf("%d refund calls", n)
		}
		tl.audited()
	})
}

// A payment is locked before its refunds, also by the result of one: whoever takes turns on the payment meets no deadlock.
func TestResultLocksThePaymentFirst(t *testing.T) {
	tl := newTill(t, mysqlStore(t))
	o := tl.paid()
	r := tl.refund(o)
	failed, tries := make(chan error, 1), 0
	err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
		if tries++; tries > 1 {
			return nil // it was rolled back for a deadlock
		}
		if err := payment.Lock(tx, r.PaymentID); err != nil {
			return err
		}
		go func() {
			failed <- tl.RefundResult(context.Background(), wechat.Refund{
				OutRefundNo: r.OutRefundNo, Status: wechat.RefundClosed, AmountRefund: int64(r.AmountFen), AmountTotal: int64(r.TotalFen),
			})
		}()
		if err := storetest.LockWait(t.Context(), tl.Store); err != nil {
			return err
		}
		return tx.Exec("UPDATE refunds SET called_at = ? WHERE id = ?", tl.Now(), r.ID).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if got := tl.refundNow(r.ID); tries != 1 || got.State != model.RefundFailed {
		t.Errorf("%d tries, refund %+v", tries, got)
	}
	tl.audited()
}

// WeChat wants a minute between refunds of one payment: the second waits in its deadline, and no call is made before. That of
// another payment waits for nothing.
func TestRefundsOfOnePaymentKeepTheirDistance(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		first, second, third := tl.refund(o, RefundPart{l.ID, 1}), tl.refund(o, RefundPart{l.ID, 1}), tl.refund(o, RefundPart{l.ID, 1})
		for range 3 {
			tl.called()
		}
		if n := tl.line.calls("refund"); n != 1 {
			t.Fatalf("%d calls at once", n)
		}
		turn := tl.refundNow(first.ID).CalledAt.Add(refundPause)
		for _, r := range []*model.Refund{second, third} {
			if got := tl.refundNow(r.ID); got.NextAt == nil || *got.NextAt != turn || got.Calls != 0 || got.CalledAt != 0 {
				t.Errorf("refund %+v, want it to wait until %d", got, turn)
			}
		}
		tl.bankSays(first.OutRefundNo, "SUCCESS")
		tl.clock.Store(int64(turn) - 1)
		tl.called()
		if n := tl.line.calls("refund"); n != 1 {
			t.Errorf("%d calls a millisecond early", n)
		}
		tl.advance(time.Millisecond)
		// The two that wait are due at once, on two replicas.
		together(2, func(i int) error { tl.run(KindRefund, []int64{second.ID, third.ID}[i], turn); return nil })
		if n := tl.line.calls("refund"); n != 2 {
			t.Errorf("%d calls for the second's turn", n)
		}
		tl.exec("UPDATE skus SET price_fen = 150 WHERE id = ?", tl.sku)
		other := tl.paid()
		tl.refund(other)
		tl.called()
		if n := tl.line.calls("refund"); n != 3 {
			t.Errorf("%d calls with another payment's", n)
		}
		tl.refunded(other)
		tl.refunded(o)
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// A refund whose first call was lost is repeated under its number; where another's call came between, it keeps the distance too.
func TestRepeatedCallsKeepTheirDistance(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		first := tl.refund(o, RefundPart{l.ID, 1})
		tl.silent("/v3/refund/domestic/refunds", false)
		tl.called()
		second := tl.refund(o, RefundPart{l.ID, 1})
		tl.exec("UPDATE refunds SET next_at = ? WHERE id = ?", tl.Now().Add(time.Hour), first.ID)
		tl.advance(refundPause)
		tl.called()
		if n := tl.line.calls("refund"); n != 2 {
			t.Fatalf("%d calls", n)
		}
		called := tl.refundNow(second.ID).CalledAt
		tl.advance(time.Second)
		tl.exec("UPDATE refunds SET next_at = ? WHERE id = ?", tl.Now(), first.ID)
		tl.tick()
		if got := tl.refundNow(first.ID); tl.line.calls("refund") != 2 || *got.NextAt != called.Add(refundPause) {
			t.Errorf("%d calls, next at %d, want %d", tl.line.calls("refund"), *got.NextAt, called.Add(refundPause))
		}
		tl.refunded(o)
		tl.audited()
	})
}

// Cases R01, R02.
func TestR01_R02_SuccessIsNeverTakenBack(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.line.onceAfter("refund", func(err error) error { // the callback overtakes the reply
			tl.bankSays(r.OutRefundNo, "SUCCESS")
			got, e := tl.line.Client.QueryRefund(t.Context(), r.OutRefundNo)
			if e == nil {
				e = tl.RefundResult(t.Context(), got)
			}
			if e != nil {
				t.Error(e)
			}
			return err
		})
		tl.called()
		for _, late := range []wechat.RefundStatus{wechat.RefundProcessing, wechat.RefundClosed, wechat.RefundAbnormal} {
			if err := tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: late, AmountRefund: 100, AmountTotal: 100}); err != nil {
				t.Error(err)
			}
		}
		if got := tl.refundNow(r.ID); got.State != model.RefundSuccess || got.NextAt != nil {
			t.Errorf("refund %+v", got)
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

func TestR03_AbnormalThenSuccess(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.called()
		tl.bankSays(r.OutRefundNo, "ABNORMAL")
		tl.advance(time.Minute)
		tl.tick()
		if got := tl.refundNow(r.ID); got.State != model.RefundAbnormal || tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ?", payment.AnomalyRefundAbnormal) != 1 {
			t.Errorf("refund %+v", got)
		}
		tl.want(o, paidOnce)
		// The merchant chose another account, and WeChat pays out again.
		if err := tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: wechat.RefundProcessing, AmountRefund: 100, AmountTotal: 100}); err != nil {
			t.Fatal(err)
		}
		if got := tl.refundNow(r.ID); got.State != model.RefundAbnormal || got.Error == "" || *got.NextAt != payment.NextCall(tl.Now(), got.CalledAt) {
			t.Errorf("refund %+v, asked about next in %v", got, got.NextAt.Sub(tl.Now()))
		}
		tl.bankSays(r.OutRefundNo, "SUCCESS")
		if tl.openAnomaly(payment.AnomalyRefundAbnormal, r) != 1 {
			t.Error("the anomaly is not open")
		}
		tl.advance(abnormalPoll)
		tl.tick()
		tl.want(o, "closed/refunded stock=10 coupon=available")
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE refund_id = ? AND state = 'resolved' AND resolved_by = ?", r.ID, ActorWeChat); n != 1 {
			t.Errorf("%d anomalies are resolved", n)
		}
		tl.audited()
	})
}

// A refund that ended waits for nothing: of its anomalies only the one of its end is open.
func TestFailedRefundWaitsNoMore(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.settings(m{"refund_balance_fen": 10})
		tl.called()
		for i, word := range []wechat.RefundStatus{wechat.RefundAbnormal, wechat.RefundClosed} {
			if tl.openAnomaly(payment.AnomalyRefundWaiting, r) != 1 || tl.openAnomaly(payment.AnomalyRefundAbnormal, r) != int64(i) {
				t.Errorf("before WeChat says %s not all that waits is open", word)
			}
			if err := tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: word, AmountRefund: 100, AmountTotal: 100}); err != nil {
				t.Fatal(err)
			}
		}
		for kind, want := range map[string]int64{payment.AnomalyRefundFailed: 1, payment.AnomalyRefundWaiting: 0, payment.AnomalyRefundAbnormal: 0} {
			if n := tl.openAnomaly(kind, r); n != want {
				t.Errorf("%s is open %d times, want %d", kind, n, want)
			}
		}
		tl.audited()
	})
}

func TestR10_T62_NotEnoughKeepsTheNumber(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.settings(m{"refund_balance_fen": 10})
		tl.called()
		for range 3 {
			if got := tl.refundNow(r.ID); got.State != model.RefundPending || got.NextAt == nil || *got.NextAt <= tl.Now() {
				t.Fatalf("refund %+v", got)
			}
			tl.advance(15 * time.Minute)
			tl.tick()
		}
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND refund_id = ? AND seen = 4", payment.AnomalyRefundWaiting, r.ID); n != 1 {
			t.Errorf("%d anomalies seen four times", n)
		}
		tl.settings(m{"refund_balance_fen": 1000})
		tl.advance(15 * time.Minute)
		tl.tick()
		tl.refunded(o)
		if got := tl.refundNow(r.ID); got.OutRefundNo != r.OutRefundNo {
			t.Errorf("another number %s", got.OutRefundNo)
		}
		if tl.openAnomaly(payment.AnomalyRefundWaiting, r) != 0 {
			t.Error("the anomaly is open")
		}
		tl.audited()
	})
}

func TestR11_R13_WordsOfRefundsThatDoNotFit(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		if err := tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: wechat.RefundSuccess, AmountRefund: 99, AmountTotal: 100}); !isMisfit(err) {
			t.Errorf("99 fen: %v", err)
		}
		if got := tl.refundNow(r.ID); got.State != model.RefundPending {
			t.Errorf("refund %+v", got)
		}
		tl.wantCode(tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: "strange", Status: wechat.RefundSuccess, AmountRefund: 1, AmountTotal: 1}), fault.NotFoundError)
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind IN (?, ?)", payment.AnomalyRefundMismatch, payment.AnomalyUnknownRefund); n != 2 {
			t.Errorf("%d anomalies", n)
		}
	})
}

func TestR12_R15_WeChatsLimits(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		tl.refund(o, RefundPart{l.ID, 1})
		paidAt := tl.Now()
		tl.exec("UPDATE payments SET paid_at = ? WHERE order_id = ?", paidAt.Add(-366*24*time.Hour), o.ID)
		_, err := tl.Refund(t.Context(), merchantID, o.No, "", RefundRequest{Reason: "x"})
		tl.wantCode(err, fault.RefundTooOld)
		tl.exec("UPDATE payments SET paid_at = ? WHERE order_id = ?", paidAt, o.ID)
		p := tl.number("SELECT payment_id FROM refunds WHERE order_id = ?", o.ID)
		for i := range payment.MaxRefunds - 1 {
			tl.insert(&model.Refund{ID: 10_000 + int64(i), OrderID: o.ID, PaymentID: p, MerchantID: merchantID, OutRefundNo: "R" + o.No + "-x" + string(rune('A'+i)), State: model.RefundSuccess})
		}
		_, err = tl.Refund(t.Context(), merchantID, o.No, "", RefundRequest{Reason: "x"})
		tl.wantCode(err, fault.RefundTooMany)
	})
}

// A late payment's refund that WeChat refuses keeps its number and is called for again: nobody could make another one.
func TestRefusedRefundOfALatePaymentIsTriedAgain(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, r := tl.lateMoney()
		tl.fault(m{"path": "/v3/refund/domestic/refunds", "mode": "code", "status": 403, "code": "USER_ACCOUNT_ABNORMAL", "count": 2})
		tl.called()
		for met := range int64(2) {
			if got := tl.refundNow(r.ID); got.State != model.RefundPending || got.NextAt == nil || *got.NextAt != tl.Now().Add(abnormalPoll) || got.Error == "" {
				t.Fatalf("refund %+v", got)
			}
			if n := tl.openAnomaly(payment.AnomalyRefundWaiting, r); n != met+1 {
				t.Errorf("the anomaly was met %d times, want %d", n, met+1)
			}
			if n := tl.number("SELECT refunded_fen FROM payments WHERE id = ?", r.PaymentID); n != 100 {
				t.Errorf("%d fen of the payment are refunded", n)
			}
			tl.audited()
			tl.advance(abnormalPoll)
			tl.tick()
		}
		tl.refunded(o)
		if got := tl.refunds(o); len(got) != 1 || got[0].OutRefundNo != r.OutRefundNo || tl.openAnomaly(payment.AnomalyRefundWaiting, r) != 0 {
			t.Errorf("refunds %+v", got)
		}
		tl.audited()
	})
}

// A word of a refund that does not fit is asked about slowly, until a person has looked at it.
func TestMisfitOfARefundIsAskedAboutSlowly(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.called()
		tl.exec("UPDATE refunds SET amount_fen = 99 WHERE id = ?", r.ID)
		for met := range int64(3) {
			tl.clock.Store(int64(*tl.refundNow(r.ID).NextAt))
			tl.tick()
			if got := tl.refundNow(r.ID); got.State != model.RefundProcessing || *got.NextAt != tl.Now().Add(abnormalPoll) || got.Error == "" {
				t.Errorf("refund %+v", got)
			}
			if n := tl.openAnomaly(payment.AnomalyRefundMismatch, r); n != met+1 {
				t.Errorf("the anomaly was met %d times, want %d", n, met+1)
			}
		}
	})
}

// A refund that WeChat refuses for good can be asked for again; what it had taken is free.
func TestRefusedRefundFreesWhatItTook(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		first := tl.refund(o, RefundPart{l.ID, 2})
		tl.fault(m{"path": "/v3/refund/domestic/refunds", "mode": "code", "status": 403, "code": "USER_ACCOUNT_ABNORMAL"})
		tl.called()
		if got := tl.refundNow(first.ID); got.State != model.RefundFailed || tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ?", payment.AnomalyRefundFailed) != 1 {
			t.Errorf("refund %+v", got)
		}
		tl.audited()
		second := tl.refund(o)
		tl.advance(refundPause)
		tl.called()
		tl.bankSays(second.OutRefundNo, "CLOSED")
		tl.advance(time.Hour)
		tl.tick()
		third := tl.refund(o)
		tl.called()
		tl.bankSays(third.OutRefundNo, "SUCCESS")
		tl.advance(time.Hour)
		tl.tick()
		if third.AmountFen != 100 {
			t.Errorf("amount %d", third.AmountFen)
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// Credentials that WeChat does not take say nothing about the refund: it waits, visibly, and goes through once they are mended.
func TestRefundOutlivesWrongCredentials(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.fault(m{"path": "/v3/refund/domestic/refunds", "mode": "code", "status": 401, "code": "SIGN_ERROR"})
		tl.called()
		if got := tl.refundNow(r.ID); got.State != model.RefundPending || got.NextAt == nil {
			t.Errorf("refund %+v", got)
		}
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND refund_id = ?", payment.AnomalyRefundWaiting, r.ID); n != 1 {
			t.Errorf("%d anomalies", n)
		}
		tl.advance(15 * time.Minute)
		tl.tick()
		tl.refunded(o)
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// A refund that was given up and is paid back after all is somebody's to look at: its lines may have been refunded again.
func TestGivenUpRefundThatSucceedsIsAnAnomaly(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		r := tl.refund(o)
		tl.fault(m{"path": "/v3/refund/domestic/refunds", "mode": "code", "status": 403, "code": "USER_ACCOUNT_ABNORMAL"})
		tl.called()
		if err := tl.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: wechat.RefundSuccess, AmountRefund: 100, AmountTotal: 100}); err != nil {
			t.Fatal(err)
		}
		if got := tl.refundNow(r.ID); got.State != model.RefundFailed {
			t.Errorf("refund %+v", got)
		}
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND refund_id = ?", payment.AnomalyRefundMismatch, r.ID); n != 1 {
			t.Errorf("%d anomalies", n)
		}
		tl.want(o, paidOnce)
	})
}

func TestRefundKeyIsReplayed(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		req := RefundRequest{Lines: []RefundPart{{l.ID, 1}}, Reason: "缺货"}
		ids := map[int64]bool{}
		for range 3 {
			r, err := tl.Refund(t.Context(), merchantID, o.No, "refund-key-1", req)
			if err != nil {
				t.Fatal(err)
			}
			ids[r.ID] = true
		}
		if len(ids) != 1 || tl.number("SELECT COUNT(*) FROM refunds") != 1 {
			t.Errorf("refunds %v", ids)
		}
		req.Reason = "other"
		_, err := tl.Refund(t.Context(), merchantID, o.No, "refund-key-1", req)
		tl.wantCode(err, fault.IdempotencyKeyReused)
	})
}

// Freight goes back with the last piece of an order of which nothing was shipped, and stays once something was.
func TestFreightIsRefundedWithEverything(t *testing.T) {
	goods := []model.OrderLine{{ID: 1, Quantity: 2, PriceFen: 50, DiscountFen: 1}, {ID: 2, Quantity: 1, PriceFen: 30, AdjustmentFen: -30}}
	o := &model.Order{PayableFen: 99 + 0 + 8}
	for name, c := range map[string]struct {
		shipped, refunding int64
		want               []RefundPart
		amount, freight    model.Fen
	}{
		"everything":             {0, 0, nil, 107, 8},
		"one piece":              {0, 0, []RefundPart{{1, 1}}, 49, 0},
		"the rest":               {0, 1, nil, 58, 8},
		"the free line":          {0, 0, []RefundPart{{2, 1}}, 0, 0},
		"everything, one is out": {1, 0, nil, 99, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lines := append([]model.OrderLine(nil), goods...)
			lines[0].ShippedQuantity, lines[0].RefundingQuantity = c.shipped, c.refunding
			taken := map[int64]model.Fen{1: model.PartOf(99, 0, c.refunding, 2)}
			var r model.Refund
			if _, err := refundLines(o, dues{goods: lines, taken: taken}, nil, c.want, &r); err != nil {
				t.Fatal(err)
			}
			if r.AmountFen != c.amount || r.FreightFen != c.freight {
				t.Errorf("amount %d with freight %d", r.AmountFen, r.FreightFen)
			}
		})
	}
}

// However refunds are cut, and whichever of them fail, they add up to what was paid and never exceed a line.
func TestRefundsAddUpProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "lines")
		goods := make([]model.OrderLine, n)
		o := &model.Order{FreightFen: model.Fen(rapid.Int64Range(0, 20).Draw(t, "freight"))}
		var nets model.Fen
		for i := range goods {
			l := &goods[i]
			l.ID, l.Quantity, l.PriceFen = int64(i+1), rapid.Int64Range(1, 5).Draw(t, "quantity"), model.Fen(rapid.Int64Range(0, 50).Draw(t, "price"))
			l.DiscountFen = model.Fen(rapid.Int64Range(0, int64(l.PriceFen)*l.Quantity).Draw(t, "discount"))
			nets += net(*l)
		}
		adjust := model.Fen(rapid.Int64Range(-int64(nets+o.FreightFen), 100).Draw(t, "adjust"))
		var sum model.Fen
		for i, share := range adjustmentShares(goods, adjust) {
			goods[i].AdjustmentFen = share
			sum += share
			if net(goods[i]) < 0 {
				t.Fatalf("line %d costs %d", i, net(goods[i]))
			}
		}
		if want := max(adjust, -nets); sum != want {
			t.Fatalf("shares add up to %d, want %d", sum, want)
		}
		o.PayableFen = nets + o.FreightFen + adjust
		taken, done := map[int64]model.Fen{}, model.Fen(0)
		d := dues{goods: goods, taken: taken}
		count := func(r model.Refund, parts []model.RefundLine, by int64) {
			done += r.AmountFen * model.Fen(by)
			d.freight += r.FreightFen * model.Fen(by)
			for _, p := range parts {
				goods[p.LineID-1].RefundingQuantity += p.Quantity * by
				taken[p.LineID] += p.AmountFen * model.Fen(by)
			}
		}
		var fails []func()
		for range 40 {
			if len(fails) > 0 && rapid.Bool().Draw(t, "one fails") {
				i := rapid.IntRange(0, len(fails)-1).Draw(t, "which")
				fails[i]()
				fails = append(fails[:i], fails[i+1:]...)
			}
			var want []RefundPart
			for _, l := range goods {
				if left := l.Quantity - l.RefundingQuantity; left > 0 && rapid.Bool().Draw(t, "take") {
					want = append(want, RefundPart{l.ID, rapid.Int64Range(1, left).Draw(t, "pieces")})
				}
			}
			if len(want) == 0 {
				continue
			}
			var r model.Refund
			parts, err := refundLines(o, d, nil, want, &r)
			if err != nil {
				t.Fatal(err)
			}
			count(r, parts, 1)
			if rapid.IntRange(0, 3).Draw(t, "is to fail") == 0 {
				fails = append(fails, func() { count(r, parts, -1) })
			}
			if done > o.PayableFen {
				t.Fatalf("refunded %d of %d", done, o.PayableFen)
			}
			for _, p := range parts {
				if p.AmountFen < 0 || taken[p.LineID] > net(goods[p.LineID-1]) {
					t.Fatalf("line %d: %d of %d", p.LineID, taken[p.LineID], net(goods[p.LineID-1]))
				}
			}
		}
		var r model.Refund
		if _, err := refundLines(o, d, nil, nil, &r); err == nil {
			done += r.AmountFen
		}
		if done != o.PayableFen {
			t.Fatalf("refunded %d of %d", done, o.PayableFen)
		}
	})
}
