package reconcile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

func open(kind, ref string, bill, shop int) string {
	return fmt.Sprintf("%s %s %d %d open", kind, ref, bill, shop)
}

// Case B01.
func TestB01_EveryDifferenceIsFound(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.paid() // in both
		tl.refunded(true)
		_, differs := tl.paid()
		_, missing := tl.paid()
		unheard, unheardNo := tl.paidAtWeChat()
		refundDiffers, refundMissing, refundUnheard := tl.refunded(true), tl.refunded(true), tl.refunded(false)
		tl.settings(m{"bill_edits": []m{
			{"out_trade_no": differs.OutTradeNo, "set": m{"订单金额": "99.00"}},
			{"out_trade_no": missing.OutTradeNo, "drop": true},
			{"out_trade_no": "FOREIGN0001", "add": true},
			{"out_refund_no": refundDiffers.OutRefundNo, "set": m{"申请退款金额": "0.01"}},
			{"out_refund_no": refundMissing.OutRefundNo, "drop": true},
			{"out_refund_no": "FOREIGN-R1", "out_trade_no": "FOREIGN0001", "add": true},
		}})
		tl.until(tl.day)
		b := tl.reconcile()
		if b.State != model.BillCompared || b.Payments != 9-1 || b.PaymentFen != 6*200+9900+100 || b.Refunds != 4-1+1 || b.RefundFen != 2*200+1+100 {
			t.Errorf("%+v", b)
		}
		found, err := tl.client.Query(t.Context(), unheardNo)
		if err != nil {
			t.Fatal(err)
		}
		tl.wantDifferences(
			tl.day,
			open(payment.AnomalyBillPayment, differs.TransactionID, 9900, 200),
			open(payment.AnomalyUnbilledPayment, missing.TransactionID, 0, 200),
			open(payment.AnomalyUnknownPayment, "42000FOREIGN0001", 100, 0),
			fmt.Sprintf("%s %s 200 200", reconcile.FoundPayment, found.TransactionID),
			open(payment.AnomalyRefundMismatch, refundDiffers.OutRefundNo, 1, 200),
			open(payment.AnomalyUnbilledRefund, refundMissing.OutRefundNo, 0, 200),
			open(payment.AnomalyUnknownRefund, "FOREIGN-R1", 100, 0),
			fmt.Sprintf("%s %s 200 200", reconcile.FoundRefund, refundUnheard.OutRefundNo),
		)
		if n := tl.number("SELECT COUNT(*) FROM orders WHERE id = ? AND state = 'paid'", unheard.ID); n != 1 {
			t.Error("the payment that only the bill knew did not pay its order")
		}
		if n := tl.number("SELECT COUNT(*) FROM orders WHERE id = ? AND state = 'closed' AND close_reason = 'refunded'", refundUnheard.OrderID); n != 1 {
			t.Error("the refund that only the bill knew had no effect")
		}
		tl.audited()
	})
}

// Case B02.
func TestB02_NoTradeIsASuccess(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.until(tl.day)
		if b := tl.reconcile(); b.State != model.BillNone || b.Payments+b.Refunds+b.Differences != 0 || b.Error != "" || b.NextAt != nil {
			t.Errorf("%+v", b)
		}
	})
}

// WeChat does not sign that it has no bill of a day. Where the shop has money of the day it is asked again for a day, and what is
// missing by then is missing.
func TestNoTradeWhereTheShopHasSome(t *testing.T) {
	for name, have := range map[string]func(tl *till) (difference string){
		"a payment": func(tl *till) string {
			_, lost := tl.paid()
			return open(payment.AnomalyUnbilledPayment, lost.TransactionID, 0, 200)
		},
		"a refund": func(tl *till) string {
			lost := tl.refunded(true)
			tl.exec("UPDATE payments SET paid_at = ? WHERE id = ?", tl.noon().Add(-48*time.Hour), lost.PaymentID)
			return open(payment.AnomalyUnbilledRefund, lost.OutRefundNo, 0, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				lost := have(tl)
				tl.settings(m{"bill_state": "none"})
				tl.until(tl.day)
				again := tl.now().Add(30 * time.Minute)
				if b := tl.reconcile(); b.State != model.BillWaiting || b.NextAt == nil || *b.NextAt != again || !strings.Contains(b.Error, "no_bill") {
					t.Errorf("%+v", b)
				}
				tl.clock.Store(int64(tl.day.Ready().Add(24 * time.Hour)))
				tl.run()
				if b := tl.bill(tl.day); b.State != model.BillNone || b.NextAt != nil {
					t.Errorf("a day later: %+v", b)
				}
				tl.wantDifferences(tl.day, lost)
			})
		})
	}
}

// Nor does it take back what a bill said that was signed for.
func TestNoTradeAfterABill(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, tx := tl.paid()
		tl.exec("UPDATE payments SET paid_at = ? WHERE transaction_id = ?", tl.noon().Add(-48*time.Hour), tx.TransactionID) // only the bill has it
		tl.until(tl.day)
		tl.reconcile()
		for range 2 {
			tl.settings(m{"bill_state": "none"})
			if b := tl.reconcile(); b.State != model.BillWaiting || b.NextAt == nil || !strings.Contains(b.Error, "a bill of the day already") {
				t.Errorf("%+v", b)
			}
			tl.settings(m{"bill_state": ""})
			tl.clock.Add(int64(48 * time.Hour / time.Millisecond))
			tl.run()
			if b := tl.bill(tl.day); b.State != model.BillCompared || b.Payments != 1 {
				t.Errorf("%+v", b)
			}
		}
	})
}

// Case B05.
func TestB05_RunAgainDoublesNothing(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, differs := tl.paid()
		_, missing := tl.paid()
		tl.refunded(true)
		tl.settings(m{"bill_edits": []m{
			{"out_trade_no": differs.OutTradeNo, "set": m{"订单金额": "99.00"}}, {"out_trade_no": missing.OutTradeNo, "drop": true}, {"out_trade_no": "FOREIGN0001", "add": true},
		}})
		tl.until(tl.day)
		first := tl.reconcile()
		want := tl.differences(tl.day)
		if len(want) != 3 {
			t.Fatal(want)
		}
		// One is resolved by a person, and stays so.
		id := tl.number("SELECT id FROM anomalies WHERE kind = ?", payment.AnomalyBillPayment)
		if _, err := tl.orders.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID}, id, "asked WeChat", "admin:1"); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if strings.HasPrefix(want[i], payment.AnomalyBillPayment) {
				want[i] = strings.Replace(want[i], " open", " resolved", 1)
			}
		}
		again := tl.reconcile()
		tl.wantDifferences(tl.day, want...)
		for what, n := range map[string]int64{
			"anomalies": tl.number("SELECT COUNT(*) FROM anomalies") - 3,
			"rows":      tl.number("SELECT COUNT(*) FROM bill_rows") - 2 - 1 - 1, // two payments, one foreign, one refund
			"payments":  again.Payments - first.Payments,
			"runs":      again.Run - first.Run - 1,
			"former":    tl.number("SELECT COUNT(*) FROM bill_rows WHERE run <> ?", again.Run),
		} {
			if n != 0 {
				t.Errorf("%s: %+d", what, n)
			}
		}
		tl.audited()
	})
}

// What a later bill clears up is resolved by itself, with a note, and is open again where a bill after that has it. What WeChat takes
// out of a bill goes from the rows.
func TestACorrectedBillClearsUp(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, differs := tl.paid()
		_, missing := tl.paid()
		gone := tl.refunded(true)
		wrong := []m{
			{"out_trade_no": differs.OutTradeNo, "set": m{"订单金额": "99.00"}},
			{"out_trade_no": missing.OutTradeNo, "drop": true},
			{"out_refund_no": gone.OutRefundNo, "drop": true},
			{"out_trade_no": "FOREIGN0001", "add": true},
		}
		tl.settings(m{"bill_edits": wrong})
		tl.until(tl.day)
		tl.reconcile()
		want := tl.differences(tl.day)
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE state = 'open'"); n != 4 {
			t.Fatal(n)
		}
		tl.settings(m{"bill_edits": []m{}})
		tl.reconcile()
		tl.wantDifferences(tl.day)
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE state = 'resolved' AND resolved_by = ? AND note LIKE ?", payment.ActorBill, "%"+tl.day.String()); n != 3 {
			t.Errorf("%d anomalies were cleared up", n)
		}
		if n := tl.number("SELECT COUNT(*) FROM bill_rows WHERE out_trade_no = 'FOREIGN0001'"); n != 0 {
			t.Error("a row that the bill has no more is still there")
		}
		tl.settings(m{"bill_edits": wrong})
		tl.reconcile()
		tl.wantDifferences(tl.day, want...)
	})
}

// Around midnight a payment may be in the neighbour's bill: nobody is told of it before that was looked into.
func TestMidnight(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		at := func(d time.Duration) string {
			_, tx := tl.paid()
			tl.exec("UPDATE payments SET paid_at = ? WHERE transaction_id = ?", tl.day.Start().Add(d), tx.TransactionID)
			return tx.TransactionID
		}
		before, early := at(-time.Minute), at(time.Minute) // both are in the bill of the day
		late := at(24*time.Hour - time.Minute)
		tl.settings(m{"bill_edits": []m{{"out_trade_no": tl.tradeNo(late), "drop": true}}})
		tl.until(tl.day.Add(-1))
		tl.clock.Add(int64(24 * time.Hour / time.Millisecond))
		for _, day := range []reconcile.Day{tl.day.Add(-1), tl.day} {
			if _, err := tl.bills.Run(t.Context(), day); err != nil {
				t.Fatal(err)
			}
			tl.run()
			tl.wantDifferences(day)
		}
		_ = before
		_ = early
		// The bill of the next day does not have the late one either.
		tl.until(tl.day.Add(1))
		tl.run()
		tl.wantDifferences(tl.day.Add(1), open(payment.AnomalyUnbilledPayment, late, 0, 200))
		// Both bills are here now, and it is missing in one day's, not in two.
		tl.reconcile()
		tl.wantDifferences(tl.day)
		tl.wantDifferences(tl.day.Add(1), open(payment.AnomalyUnbilledPayment, late, 0, 200))
	})
}

// What was paid just before midnight is not missed while the bill of its own day is not here. Once that comes, it is.
func TestMidnightAfterADayThatIsNotReconciled(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, there := tl.paid()
		_, missing := tl.paid()
		tl.exec("UPDATE payments SET paid_at = ?", tl.day.Add(1).Start().Add(-time.Minute))
		tl.settings(m{"bill_state": "creating", "bill_edits": []m{{"out_trade_no": missing.OutTradeNo, "drop": true}}})
		tl.until(tl.day)
		if b := tl.reconcile(); b.State != model.BillWaiting {
			t.Fatalf("%+v", b)
		}
		tl.settings(m{"bill_state": ""})
		tl.exec("UPDATE bills SET next_at = ? WHERE id = ?", tl.day.Add(3).Start(), tl.day) // it goes on being made
		tl.until(tl.day.Add(1))
		tl.run()
		if b := tl.bill(tl.day.Add(1)); b.State != model.BillNone {
			t.Errorf("%+v", b)
		}
		tl.wantDifferences(tl.day.Add(1))
		tl.reconcile()
		tl.wantDifferences(tl.day, open(payment.AnomalyUnbilledPayment, missing.TransactionID, 0, 200))
		if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE ref = ?", there.TransactionID); n != 0 {
			t.Error("what is in its day's bill was missed")
		}
	})
}

func (tl *till) tradeNo(transactionID string) (no string) {
	if err := tl.store.Read(tl.Context()).Raw("SELECT out_trade_no FROM payments WHERE transaction_id = ?", transactionID).Scan(&no).Error; err != nil {
		tl.Fatal(err)
	}
	return no
}

// The days follow each other by themselves, from the first payment on, and after an outage of days one after another.
func TestDaysFollowEachOther(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		_, tx := tl.paid()
		first := tl.day.Add(-20)
		tl.exec("UPDATE payments SET paid_at = ? WHERE transaction_id = ?", first.Start().Add(12*time.Hour), tx.TransactionID)
		for range 2 {
			if err := tl.bills.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := tl.number("SELECT COUNT(*) FROM bills"); n != 1 {
			t.Fatalf("%d rows", n)
		}
		tl.clock.Store(int64(tl.day.Ready() - 3_600_000))
		took := 0
		for ; tl.number("SELECT COUNT(*) FROM bills WHERE id = ?", tl.day) == 0; took++ {
			if took > 40 {
				t.Fatal("the days do not end")
			}
			tl.run()
			tl.clock.Add(int64(10 * time.Second / time.Millisecond)) // the pace
			if calls := tl.calls(); calls > took+1 {
				t.Fatalf("%d bills were asked for in %d paces", calls, took+1)
			}
		}
		if n := tl.number("SELECT COUNT(*) FROM bills WHERE state IN ('none', 'compared')"); n != 20 {
			t.Errorf("%d days were reconciled, want 20", n)
		}
		if b := tl.bill(tl.day); b.State != model.BillWaiting || *b.NextAt != tl.day.Ready() {
			t.Errorf("today: %+v", b)
		}
		tl.wantDifferences(first, open(payment.AnomalyUnbilledPayment, tx.TransactionID, 0, 200))
	})
}

// A person may run a day that is not over. It is reconciled again at its hour, whatever came of that, and the days go on after it.
func TestADayThatIsRunBeforeItsHour(t *testing.T) {
	for name, set := range map[string]m{"a bill": {}, "none yet": {"bill_state": "none"}} {
		t.Run(name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				tl.clock.Store(int64(tl.noon()))
				if err := tl.bills.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				tl.settings(set)
				b := tl.reconcile()
				if b.NextAt == nil || *b.NextAt != tl.day.Ready() {
					t.Fatalf("run early: %+v", b)
				}
				tl.settings(m{"bill_state": ""})
				tl.paid()
				tl.until(tl.day)
				tl.run()
				if b := tl.bill(tl.day); b.State != model.BillCompared || b.Payments != 1 || b.NextAt != nil {
					t.Errorf("at its hour: %+v", b)
				}
				tl.wantDifferences(tl.day)
				for _, next := range []reconcile.Day{tl.day.Add(1), tl.day.Add(2)} {
					if b := tl.bill(next); b.State != model.BillWaiting || b.NextAt == nil || *b.NextAt != next.Ready() {
						t.Errorf("%s: %+v", next, b)
					}
					tl.until(next)
					tl.run()
				}
			})
		})
	}
}

func (tl *till) calls() int {
	tl.Helper()
	var reply struct{ List []any }
	tl.control("GET", "/sandbox/calls?path=/v3/bill/tradebill", nil, &reply)
	return len(reply.List)
}

// A shop that stood still for longer than WeChat keeps bills begins anew with the oldest that it keeps.
func TestDaysThatWeChatDoesNotKeep(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		old := tl.day.Add(-200)
		tl.insert(&model.Bill{ID: int64(old), State: model.BillWaiting, NextAt: new(old.Ready()), Version: 1})
		if err := tl.bills.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		due := tl.bill(old)
		tl.handle(tl.bills, old, *due.NextAt)
		if b := tl.bill(old); b.State != model.BillFailed || b.NextAt != nil || !strings.Contains(b.Error, "three months") {
			t.Errorf("%+v", b)
		}
		if n := tl.number("SELECT COUNT(*) FROM bills"); n != 2 || tl.calls() != 0 {
			t.Errorf("%d rows, %d calls", n, tl.calls())
		}
		for _, day := range []reconcile.Day{old, tl.day.Add(1)} {
			if _, err := tl.bills.Run(t.Context(), day); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("%s: %v", day, err)
			}
		}
	})
}

// While WeChat makes the bill, is silent or refuses, the day waits, says why, and is asked for again in time.
func TestBillsThatAreNotThere(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.paid()
		tl.until(tl.day)
		for _, c := range []struct {
			name  string
			fault m
			set   m
			state model.BillState
			wait  time.Duration
		}{
			{"creating", nil, m{"bill_state": "creating"}, model.BillWaiting, 30 * time.Minute},
			{"silent", m{"path": "/v3/bill/tradebill", "mode": "status", "status": 500}, nil, model.BillWaiting, time.Minute},
			{"wrong hash", nil, m{"bill_hash": "wrong"}, model.BillWaiting, time.Minute},
			{"too often", m{"path": "/v3/bill/tradebill", "mode": "code", "code": "RATELIMIT_EXCEEDED"}, nil, model.BillWaiting, time.Minute},
			{"no right", m{"path": "/v3/bill/tradebill", "mode": "code", "code": "NO_AUTH"}, nil, model.BillWaiting, time.Hour},
			{"refused", m{"path": "/v3/bill/tradebill", "mode": "code", "code": "PARAM_ERROR"}, nil, model.BillFailed, 0},
			{"unreadable", nil, m{"bill_edits": []m{{"out_trade_no": "FOREIGN0001", "add": true, "set": m{"订单金额": "1,0"}}}}, model.BillFailed, 0},
		} {
			tl.settings(m{"bill_state": "", "bill_hash": "unpacked", "bill_edits": []m{}})
			if c.set != nil {
				tl.settings(c.set)
			}
			if c.fault != nil {
				tl.control("POST", "/sandbox/faults", c.fault, nil)
			}
			b := tl.reconcile()
			if b.State != c.state || b.Error == "" {
				t.Errorf("%s: %+v", c.name, b)
			}
			if c.wait == 0 != (b.NextAt == nil) || c.wait != 0 && *b.NextAt != tl.now().Add(c.wait) {
				t.Errorf("%s: next at %v", c.name, b.NextAt)
			}
			wantOpen := int64(0)
			if c.state == model.BillFailed {
				wantOpen = 1
			}
			if n := tl.number("SELECT COUNT(*) FROM anomalies"); n != wantOpen {
				t.Errorf("%s: %d anomalies, want %d", c.name, n, wantOpen)
			}
		}
		// A day that failed for good is the platform's anomaly, one however often it fails, until the day is reconciled.
		const failed = "SELECT COUNT(*) FROM anomalies WHERE kind = ? AND ref = ? AND merchant_id = 0 AND seen = 2 AND state = ?"
		if n := tl.number(failed, payment.AnomalyBillFailed, tl.day.String(), model.AnomalyOpen); n != 1 {
			t.Errorf("%d anomalies of the day", n)
		}
		tl.settings(m{"bill_edits": []m{}})
		if b := tl.reconcile(); b.State != model.BillCompared || b.Error != "" {
			t.Errorf("%+v", b)
		}
		if n := tl.number(failed, payment.AnomalyBillFailed, tl.day.String(), model.AnomalyResolved); n != 1 {
			t.Errorf("%d resolved anomalies of the day", n)
		}
	})
}

// A bill that WeChat owes for a day is an anomaly of the platform, while it is asked for again, and until it comes.
func TestABillThatDoesNotCome(t *testing.T) {
	for name, fail := range map[string]func(tl *till){
		"wrong hash": func(tl *till) { tl.settings(m{"bill_hash": "wrong"}) },
		"no right": func(tl *till) {
			tl.control("POST", "/sandbox/faults", m{"path": "/v3/bill/tradebill", "mode": "code", "code": "NO_AUTH"}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				tl.paid()
				for _, c := range []struct {
					late      time.Duration
					anomalies int64
				}{{24*time.Hour - time.Millisecond, 0}, {24 * time.Hour, 1}} {
					tl.clock.Store(int64(tl.day.Ready().Add(c.late)))
					fail(tl)
					if b := tl.reconcile(); b.State != model.BillWaiting || b.NextAt == nil {
						t.Errorf("%+v", b)
					}
					if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND ref = ? AND merchant_id = 0 AND state = 'open' AND detail LIKE '%asked for again%'",
						payment.AnomalyBillFailed, tl.day.String()); n != c.anomalies {
						t.Errorf("%v after its hour: %d anomalies, want %d", c.late, n, c.anomalies)
					}
				}
				tl.settings(m{"bill_hash": "unpacked"})
				tl.clock.Store(int64(*tl.bill(tl.day).NextAt))
				tl.run()
				if b := tl.bill(tl.day); b.State != model.BillCompared || tl.number("SELECT COUNT(*) FROM anomalies WHERE state = 'open'") != 0 {
					t.Errorf("the bill came: %+v", b)
				}
			})
		})
	}
}

// Two replicas that take the same day up at once, and a third with an old task: one of them does it.
func TestOneReplicaTakesADay(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.paid()
		tl.until(tl.day)
		if _, err := tl.bills.Run(t.Context(), tl.day); err != nil {
			t.Fatal(err)
		}
		due := *tl.bill(tl.day).NextAt
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if o := tl.handle(tl.replica(tl.client), tl.day, due); o.Err() != nil {
					t.Error(o.Err())
				}
			})
		}
		all.Wait()
		if tl.calls() != 1 {
			t.Errorf("the bill was fetched %d times", tl.calls())
		}
		if b := tl.bill(tl.day); b.State != model.BillCompared || b.Calls != 1 {
			t.Errorf("%+v", b)
		}
	})
}

// stopper hands bills on and ends the context of whoever reads them, as a replica that is killed there would end.
type stopper struct {
	reconcile.WeChat
	after func()
}

func (s stopper) TradeBill(ctx context.Context, day time.Time, kind wechat.BillType) (*wechat.Bill, error) {
	b, err := s.WeChat.TradeBill(ctx, day, kind)
	s.after()
	return b, err
}

// A day that was taken over while it was under way is left alone by whoever had it.
func TestADayThatIsTakenOver(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.paid()
		tl.until(tl.day)
		if _, err := tl.bills.Run(t.Context(), tl.day); err != nil {
			t.Fatal(err)
		}
		due := *tl.bill(tl.day).NextAt
		slow := tl.replica(stopper{tl.client, func() {
			tl.clock.Add(int64(time.Minute / time.Millisecond)) // the lease ends
			tl.run()
			tl.clock.Add(1)
		}})
		if o := tl.handle(slow, tl.day, due); o.Err() != nil || o.String() != "done" {
			t.Errorf("%v, %v", o, o.Err())
		}
		if b := tl.bill(tl.day); b.State != model.BillCompared || b.Run != 1 {
			t.Errorf("%+v", b)
		}
	})
}

// A person may run a day again while it is under way, any number of times.
func TestRunIsIdempotent(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.until(tl.day)
		for range 3 {
			b, err := tl.bills.Run(t.Context(), tl.day)
			if err != nil || b.State != model.BillWaiting || *b.NextAt != tl.now() {
				t.Fatalf("%+v, %v", b, err)
			}
		}
		for _, state := range []model.BillState{model.BillImporting, model.BillComparing} {
			tl.exec("UPDATE bills SET state = ?, next_at = 5", state)
			if b, err := tl.bills.Run(t.Context(), tl.day); err != nil || b.State != state || *b.NextAt != 5 {
				t.Errorf("%+v, %v", b, err)
			}
		}
		if _, _, _, err := tl.bills.Get(t.Context(), tl.day.Add(-30), store.Page{Number: 1, Limit: 1}); !fault.Is(err, fault.NotFoundError) {
			t.Error(err)
		}
	})
}

// A day that cannot be written stays the task that it was, whose failures are counted.
func TestFailedDayIsTheSameTask(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.paid()
		tl.until(tl.day)
		b, err := tl.bills.Run(t.Context(), tl.day)
		if err != nil {
			t.Fatal(err)
		}
		tl.exec("ALTER TABLE bill_rows RENAME TO lost")
		for range 2 {
			if out := tl.handle(tl.bills, tl.day, *b.NextAt); out.String() != "failed" {
				t.Errorf("%s, %v", out, out.Err())
			}
		}
		tl.exec("ALTER TABLE lost RENAME TO bill_rows")
		if now := tl.bill(tl.day); now.NextAt == nil || *now.NextAt != *b.NextAt || now.Calls != b.Calls+2 {
			t.Errorf("%+v", now)
		}
		tl.run()
		tl.wantDifferences(tl.day)
	})
}

// A refund that the shop has given up and WeChat has made is for a person; its end is not taken back.
func TestARefundThatFailedHereAndWasMadeThere(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.refunded(false)
		err := tl.orders.RefundResult(t.Context(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: wechat.RefundClosed, AmountRefund: int64(r.AmountFen), AmountTotal: int64(r.TotalFen)})
		if err != nil {
			t.Fatal(err)
		}
		made := tl.refunded(true)
		tl.settings(m{"bill_edits": []m{{"out_refund_no": made.OutRefundNo, "set": m{"退款状态": "FAIL"}}}})
		tl.until(tl.day)
		tl.reconcile()
		tl.wantDifferences(tl.day, open(payment.AnomalyBillRefund, r.OutRefundNo, 200, 0), open(payment.AnomalyBillRefund, made.OutRefundNo, 0, 200))
	})
}

var _ reconcile.Misfit = (*order.MisfitError)(nil)
