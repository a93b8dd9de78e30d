package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

const (
	closedByTimeout = "closed/timeout stock=10 coupon=available"
	closedByShopper = "closed/shopper stock=10 coupon=available"
	paidOnce        = "paid stock=9 coupon=used"
	closingWaits    = "pending_payment closing stock=9 coupon=locked"
)

// released fails unless the order's lines were given back exactly so many times.
func (tl *till) released(o *model.Order, want int64) {
	tl.t.Helper()
	if n := tl.number("SELECT COUNT(*) FROM stock_ledger WHERE order_id = ? AND kind = 'release'", o.ID); n != want {
		tl.t.Errorf("%d releases, want %d", n, want)
	}
}

// Case C11.
func TestC11_NeverPrepaidClosesWithoutWeChat(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.advance(o.PayDeadline.Sub(o.CreatedAt) - time.Millisecond)
		if n := tl.tick(); n != 0 {
			t.Fatalf("%d tasks are due early", n)
		}
		tl.advance(time.Millisecond)
		tl.tick()
		tl.want(o, closedByTimeout)
		if tl.line.calls("query")+tl.line.calls("close") != 0 {
			t.Error("WeChat was called")
		}
		tl.audited()
	})
}

// Case T09.
func TestT09_T10_OpenedAndDismissedThenTheDeadline(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		for range 3 {
			tl.open(o)
		}
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, closedByTimeout)
		a := tl.attempts(o)
		if len(a) != 1 || a[0].State != model.AttemptClosed || a[0].EndedAt != tl.reload(o).ClosedAt || a[0].NextQueryAt != nil {
			t.Errorf("attempts %+v", a)
		}
		if got := tl.word(a[0].OutTradeNo).TradeState; got != wechat.TradeClosed {
			t.Errorf("the number is %s at WeChat", got)
		}
		tl.audited()
	})
}

// Case T37.
func TestT37_DeadlineFindsThePayment(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		tl.toDeadline(o)
		tl.exec("UPDATE payment_attempts SET next_query_at = NULL") // the sweep is not there to help
		tl.tick()
		tl.want(o, paidOnce)
		tl.released(o, 0)
		tl.audited()
	})
}

// The shopper pays between WeChat's NOTPAY and our close call, which WeChat then refuses, in either of its spellings.
// Case C01.
func TestC01_C02_PaidBetweenQueryAndClose(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, spelling := range []string{"new", "old"} {
			tl.settings(m{"spelling": spelling})
			o := tl.unpaid()
			id := tl.open(o)
			stock := tl.stock(tl.sku)
			tl.line.onceBefore("close", func() { tl.phone(id) })
			tl.toDeadline(o)
			tl.tick()
			tl.want(o, fmt.Sprintf("paid stock=%d coupon=used", stock))
			if len(tl.refunds(o)) != 0 {
				t.Error("refunded")
			}
		}
		tl.audited()
	})
}

func TestC02_OrderPaidWith403(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		id := tl.open(o)
		tl.line.onceBefore("close", func() {
			tl.phone(id)
			tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1/close", "mode": "code", "status": 403, "code": "ORDERPAID"})
		})
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// Case C03.
func TestC03_HundredSweepsAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		due := *tl.reload(o).ClosingNextAt
		together(100, func(int) error { tl.run(KindClosing, o.ID, due); return nil })
		tl.want(o, closedByTimeout)
		tl.released(o, 1)
		tl.sound()
		tl.audited()
	})
}

// Case C05.
func TestC05_CloseFailsThreeTimes(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1/close", "mode": "status", "count": 3})
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		for range 3 {
			if got := tl.run(KindClosing, o.ID, *tl.reload(o).ClosingNextAt); got.String() != "again" {
				t.Fatalf("outcome %s", got)
			}
			tl.want(o, closingWaits)
			if note := tl.reload(o).ClosingNote; note != noteWeChat {
				t.Errorf("waits for %q", note)
			}
			tl.advance(time.Hour)
			tl.audited()
		}
		tl.tick()
		tl.want(o, closedByTimeout)
		tl.audited()
	})
}

// The callback comes while the close path holds the claim, before and after its close call.
// Case C07.
func TestC07_CallbackDuringTheClaim(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, op := range []string{"query", "close"} {
			o := tl.unpaid()
			id := tl.open(o)
			stock := tl.stock(tl.sku)
			tl.line.onceBefore(op, func() {
				tl.phone(id)
				if err := tl.callback(o.No + "-1"); err != nil {
					t.Error(err)
				}
			})
			tl.toDeadline(o)
			tl.tick()
			tl.want(o, fmt.Sprintf("paid stock=%d coupon=used", stock))
			tl.released(o, 0)
		}
		tl.audited()
	})
}

// WeChat closed the number, and yet says paid before we have written that it is closed.
// Case C07.
func TestC07_PaidBetweenCloseAndOurTransaction(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.line.onceAfter("close", func(err error) error {
			tl.paidLate(o.No + "-1")
			return errors.Join(err, tl.callback(o.No+"-1"))
		})
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, paidOnce)
		tl.released(o, 0)
		tl.audited()
	})
}

// Cases C08, T32, T38.
func TestC08_T32_T38_CallbackAfterTheClose(t *testing.T) {
	for name, sold := range map[string]bool{"with stock left": false, "sold out meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				o := tl.unpaid()
				tl.open(o)
				tl.toDeadline(o)
				tl.tick()
				if sold {
					other := tl.buyer()
					if _, err := tl.Place(t.Context(), other, tl.basket(other, 0, Item{SKUID: tl.sku, Quantity: 10})); err != nil {
						t.Fatal(err)
					}
				}
				stock := tl.stock(tl.sku)
				tl.advance(time.Minute)
				tl.paidLate(o.No + "-1")
				for range 2 {
					if err := tl.callback(o.No + "-1"); err != nil {
						t.Fatal(err)
					}
				}
				want := fmt.Sprintf("closed/timeout stock=%d coupon=available", stock)
				tl.want(o, want)
				tl.refunded(o)
				r := tl.refunds(o)
				if len(r) != 1 || r[0].AmountFen != 100 || r[0].OutRefundNo != "L"+o.No+"-1" || r[0].State != model.RefundSuccess {
					t.Errorf("refunds %+v", r)
				}
				if n := tl.number("SELECT COUNT(*) FROM payments WHERE order_id = ? AND settled = 0", o.ID); n != 1 {
					t.Errorf("%d payments", n)
				}
				if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND order_id = ? AND refund_id = ? AND merchant_id = ?", payment.AnomalyLate, o.ID, r[0].ID, merchantID); n != 1 {
					t.Errorf("%d anomalies", n)
				}
				tl.want(o, want)
				tl.audited()
			})
		})
	}
}

// The prepay's answer was lost: WeChat has the number, so it is closed there.
func TestC10_PrepayTimedOutButWeChatHasIt(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.silent("/v3/pay/transactions/jsapi", true)
		_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.WeChatUnavailable)
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, closedByTimeout)
		if got := tl.word(o.No + "-1").TradeState; got != wechat.TradeClosed {
			t.Errorf("the number is %s at WeChat", got)
		}
		tl.audited()
	})
}

// WeChat never got the prepay. Its 404 counts only after the call must have ended, with a close that agrees, and again later.
func TestC10_PrepayNeverReachedWeChat(t *testing.T) {
	for _, unknown := range []int{404, 204} {
		t.Run(fmt.Sprint(unknown), func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				tl.settings(m{"close_unknown": unknown})
				o := tl.unpaid()
				tl.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": "reset"})
				_, err := tl.Pay(t.Context(), o.ShopperID, o.No)
				tl.wantCode(err, fault.WeChatUnavailable)
				a := tl.attempts(o)[0]

				if v, err := tl.Cancel(t.Context(), o.ShopperID, o.No); err != nil || !v.Closing() {
					t.Fatalf("%+v, %v", v, err)
				}
				if next := *tl.reload(o).ClosingNextAt; next != a.CallUntil || tl.line.calls("close") != 0 {
					t.Fatalf("goes on at %v after %d close calls, want the end of the call %v", next, tl.line.calls("close"), a.CallUntil)
				}
				tl.clock.Store(int64(a.CallUntil))
				tl.tick()
				tl.want(o, closingWaits)
				missing := tl.attempts(o)[0].MissingAt
				if next := *tl.reload(o).ClosingNextAt; missing != tl.Now() || next != missing.Add(missingPause) {
					t.Fatalf("missing at %v, goes on at %v", missing, next)
				}
				tl.advance(missingPause - time.Millisecond)
				if got := tl.run(KindClosing, o.ID, *tl.reload(o).ClosingNextAt); got.String() != "reschedule" {
					t.Errorf("too early gives %s", got)
				}
				tl.want(o, closingWaits)
				tl.advance(time.Millisecond)
				tl.tick()
				tl.want(o, closedByShopper)
				tl.audited()
			})
		})
	}
}

// A lone unsigned 404 for a number whose prepay WeChat answered proves nothing.
func TestStoredPrepayMakes404NoAnswer(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1", "mode": "code", "status": 404, "code": "ORDER_NOT_EXIST", "count": 3})
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		for range 3 {
			if got := tl.run(KindClosing, o.ID, *tl.reload(o).ClosingNextAt); got.String() != "again" {
				t.Fatalf("outcome %s", got)
			}
			tl.advance(time.Minute)
			tl.want(o, closingWaits)
		}
		tl.tick()
		tl.want(o, closedByTimeout)
	})
}

// Case C13.
func TestC13_CancelAndSweepAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, attempted := range []bool{false, true} {
			o := tl.unpaid()
			if attempted {
				tl.open(o)
			}
			tl.toDeadline(o)
			together(2, func(i int) error {
				if i == 0 {
					v, err := tl.Cancel(context.Background(), o.ShopperID, o.No)
					if err != nil || v.State != model.OrderClosed {
						t.Errorf("cancel gives %+v, %v", v, err)
					}
					return err
				}
				tl.tick()
				return nil
			})
			if now := tl.reload(o); now.State != model.OrderClosed {
				t.Errorf("order is %s", now.State)
			}
			tl.released(o, 1)
		}
		tl.sound()
		tl.audited()
	})
}

// Everything that can close an order, a hundred times at once.
// Case T03.
func TestT03_EveryWayToCloseAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, attempted := range []bool{false, true} {
			o := tl.unpaid()
			if attempted {
				tl.open(o)
			}
			tl.toDeadline(o)
			together(100, func(i int) error {
				switch i % 4 {
				case 0:
					tl.run(KindPay, o.ID, o.PayDeadline)
				case 1:
					tl.tick()
				case 2:
					_, err := tl.Cancel(context.Background(), o.ShopperID, o.No)
					return err
				default:
					_, err := tl.Close(context.Background(), merchantID, o.No, "admin:1")
					return err
				}
				return nil
			})
			if now := tl.reload(o); now.State != model.OrderClosed || now.ClosingReason != nil {
				t.Errorf("order is %s, %+v", now.State, now.ClosingReason)
			}
			tl.released(o, 1)
			if got := tl.couponState(o.CouponID); got != model.CouponAvailable {
				t.Errorf("coupon is %s", got)
			}
			if n := tl.number("SELECT COUNT(*) FROM order_events WHERE order_id = ? AND to_state = 'closed'", o.ID); n != 1 {
				t.Errorf("closed %d times", n)
			}
		}
		tl.sound()
		tl.audited()
	})
}

// Cancel has marked the order and asked WeChat; then the payment commits; then cancel writes.
// Case T45.
func TestT45_PaymentCommitsDuringCancel(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.line.onceAfter("close", func(err error) error {
			tl.paidLate(o.No + "-1")
			return errors.Join(err, tl.callback(o.No+"-1"))
		})
		_, err := tl.Cancel(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderAlreadyPaid)
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// Case T48.
func TestT48_CouponComesBackOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		for range 2 {
			if _, err := tl.Cancel(t.Context(), o.ShopperID, o.No); err != nil {
				t.Fatal(err)
			}
			tl.toDeadline(o)
			tl.tick()
		}
		tl.want(o, closedByShopper)
		again, err := tl.Place(t.Context(), o.ShopperID, tl.basket(o.ShopperID, o.CouponID, Item{SKUID: tl.sku, Quantity: 1}))
		if err != nil {
			t.Fatal(err)
		}
		tl.run(KindPay, o.ID, o.PayDeadline) // the old order's task must not touch the coupon that another order holds now
		tl.want(again, "pending_payment stock=9 coupon=locked")
		tl.audited()
	})
}

func TestCouponThatExpiredMeanwhileComesBackExpired(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.exec("UPDATE coupons SET expires_at = ? WHERE id = ?", o.PayDeadline-1, o.CouponID)
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, "closed/timeout stock=10 coupon=expired")
	})
}

func TestMerchantClosesAnUnpaidOrder(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		_, err := tl.Close(t.Context(), merchantID+1, o.No, "admin:1")
		tl.wantCode(err, fault.NotFoundError)
		if _, err := tl.Close(t.Context(), merchantID, o.No, "admin:1"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "closed/merchant stock=10 coupon=available")
		paid := tl.paid()
		_, err = tl.Close(t.Context(), merchantID, paid.No, "admin:1")
		tl.wantCode(err, fault.OrderAlreadyPaid)
		tl.audited()
	})
}

// While WeChat is silent a cancel answers closing, nothing can be paid or changed, and nothing is given back.
func TestCancelWhileWeChatIsSilent(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1", "mode": "reset"})
		v, err := tl.Cancel(t.Context(), o.ShopperID, o.No)
		if err != nil || !v.Closing() || v.State != model.OrderPending {
			t.Fatalf("%+v, %v", v, err)
		}
		_, err = tl.Pay(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderClosing)
		_, err = tl.Reprice(t.Context(), merchantID, o.No, "admin:1", Repricing{AdjustFen: -1, Version: o.Version})
		tl.wantCode(err, fault.OrderClosing)
		tl.want(o, closingWaits)
		tasks := tl.scheduled()
		if last := tasks[len(tasks)-1]; last.Kind != KindClosing || last.Due != int64(*tl.reload(o).ClosingNextAt) {
			t.Errorf("scheduled %+v", last)
		}
		tl.advance(time.Second)
		tl.tick()
		tl.want(o, closedByShopper)
		if n := tl.number("SELECT COUNT(*) FROM order_events WHERE order_id = ? AND to_state = 'closed' AND actor = ? AND reason = 'shopper'", o.ID, ActorShopper(o.ShopperID)); n != 1 {
			t.Errorf("%d events name the shopper, whose cancel the task finished", n)
		}
		tl.audited()
	})
}

// A process that was killed between its claim and step 3 leaves a closing order; the task goes on when the claim ends.
func TestKilledCloserIsTakenOver(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		if _, _, err := tl.claimClosing(t.Context(), o.ID, closing{reason: model.CloseTimeout, due: tl.Now()}); err != nil {
			t.Fatal(err)
		}
		if n := len(tl.due(KindClosing)); n != 0 {
			t.Fatalf("%d tasks are due during the claim", n)
		}
		tl.advance(claimLife)
		tl.tick()
		tl.want(o, closedByTimeout)
		tl.audited()
	})
}

// A closer whose claim was taken over because it was too slow must not write.
func TestSlowCloserLosesItsClaim(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		tl.line.onceBefore("close", func() {
			tl.exec("UPDATE orders SET claim_token = 'another' WHERE id = ?", o.ID)
		})
		tl.run(KindClosing, o.ID, *tl.reload(o).ClosingNextAt)
		tl.want(o, closingWaits)
		tl.advance(claimLife)
		tl.tick()
		tl.want(o, closedByTimeout)
		tl.released(o, 1)
	})
}

// What WeChat says is paid but does not fit leaves the order to a person; afterwards it closes.
func TestMisfitFoundWhileClosingWaitsForAPerson(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.phone(tl.open(o))
		tl.exec("UPDATE payment_attempts SET amount_fen = 99, next_query_at = NULL WHERE order_id = ?", o.ID)
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, closingWaits)
		if now := tl.reload(o); now.ClosingNextAt != nil || now.ClosingNote != notePerson {
			t.Errorf("waits for %q until %v", now.ClosingNote, now.ClosingNextAt)
		}
		tl.advance(time.Hour)
		tl.audited()
		list, n, err := payment.Anomalies{Store: tl.Store}.List(t.Context(), payment.AnomalyFilter{MerchantID: merchantID, State: model.AnomalyOpen}, store.Page{Number: 1, Limit: 20})
		if err != nil || n != 1 || list[0].Kind != payment.AnomalyMismatch+"amount" || list[0].OrderID != o.ID {
			t.Fatalf("anomalies %+v, %v", list, err)
		}
		_, err = tl.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID + 1}, list[0].ID, "x", "admin:1")
		tl.wantCode(err, fault.NotFoundError)
		tl.exec("UPDATE payment_attempts SET amount_fen = 100 WHERE order_id = ?", o.ID)
		if _, err := tl.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID}, list[0].ID, "corrected", "admin:1"); err != nil {
			t.Fatal(err)
		}
		_, err = tl.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID}, list[0].ID, "again", "admin:1")
		tl.wantCode(err, fault.StateConflict)
		tl.tick()
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// What a person has resolved is no question any more: money that does not fit, and still does not when the closing goes on, or did
// not when the shop heard of it before the deadline, ends its number, and the order closes and gives everything back.
func TestResolvedMisfitLetsTheOrderClose(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		resolve := func(o *model.Order) {
			t.Helper()
			filter := payment.AnomalyFilter{MerchantID: merchantID, State: model.AnomalyOpen}
			list, n, err := payment.Anomalies{Store: tl.Store}.List(t.Context(), filter, store.Page{Number: 1, Limit: 20})
			if err != nil || n != 1 || list[0].OrderID != o.ID {
				t.Fatalf("anomalies %+v, %v", list, err)
			}
			if _, err := tl.ResolveAnomaly(t.Context(), payment.AnomalyFilter{MerchantID: merchantID}, list[0].ID, "paid back by hand", "admin:1"); err != nil {
				t.Fatal(err)
			}
		}
		for _, before := range []bool{false, true} {
			o := tl.unpaid()
			tl.phone(tl.open(o))
			tl.exec("UPDATE payment_attempts SET amount_fen = 99 WHERE order_id = ?", o.ID)
			if before { // the query sweep hears of it
				tl.advance(6 * time.Second)
				tl.tick()
				resolve(o)
			}
			tl.toDeadline(o)
			tl.tick()
			if !before {
				tl.want(o, closingWaits)
				resolve(o)
			}
			for range 3 {
				tl.tick()
			}
			now := tl.reload(o)
			if now.State != model.OrderClosed || now.CloseReason != model.CloseTimeout || tl.number("SELECT COUNT(*) FROM payments WHERE order_id = ?", o.ID) != 0 {
				t.Errorf("resolved before the deadline %v: the order is %s, closing %v", before, now.State, now.ClosingReason)
			}
		}
		tl.audited()
	})
}

func TestBatchClosesManyAndTellsThemApart(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		sku := tl.shop.sku(product{price: 10, stock: 1000, virtual: true})
		var tasks []timeout.Task
		orders := map[string]*model.Order{}
		place := func(name string) *model.Order {
			me := tl.buyer()
			o, err := tl.Place(t.Context(), me, tl.basket(me, 0, Item{SKUID: sku, Quantity: 2}))
			if err != nil {
				t.Fatal(err)
			}
			orders[name] = o
			tasks = append(tasks, timeout.Task{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)})
			return o
		}
		for i := range 30 {
			place(fmt.Sprint("plain", i))
		}
		tl.open(place("attempted"))
		tl.exec("UPDATE orders SET pay_deadline = pay_deadline + 60000 WHERE id = ?", place("later").ID)
		if _, err := tl.Cancel(t.Context(), place("cancelled").ShopperID, orders["cancelled"].No); err != nil {
			t.Fatal(err)
		}
		claimed := place("claimed")
		tl.toDeadline(claimed)
		tl.exec("UPDATE orders SET claim_token = 'x', claim_until = ? WHERE id = ?", tl.Now().Add(time.Second), claimed.ID)
		tasks = append(tasks, timeout.Task{Kind: KindPay, Key: "999999999", Due: 1}, timeout.Task{Kind: KindPay, Key: "nonsense", Due: 1})
		outcomes := tl.closeDue(t.Context(), tasks)
		got := map[string]int{}
		for i, o := range outcomes {
			if i < 30 && o.String() != "done" {
				t.Errorf("task %d: %s", i, o)
			}
			got[o.String()]++
		}
		// done: 30 plain, attempted, cancelled, unknown; reschedule: later, claimed; failed: nonsense
		if got["done"] != 33 || got["reschedule"] != 2 || got["failed"] != 1 {
			t.Errorf("outcomes %v", got)
		}
		if stock := tl.stock(sku); stock != 1000-3*2 {
			t.Errorf("stock %d, want three orders of two still out", stock)
		}
		for name, o := range orders {
			state, want := tl.reload(o).State, model.OrderClosed
			if slices.Contains([]string{"attempted", "later", "claimed"}, name) {
				want = model.OrderPending
			}
			if state != want {
				t.Errorf("%s is %s", name, state)
			}
		}
		if now := tl.reload(orders["attempted"]); now.ClosingReason == nil || *now.ClosingReason != model.CloseTimeout || now.ClosingNextAt == nil {
			t.Errorf("attempted: %+v", now)
		}
		tl.tick()
		if got := tl.reload(orders["attempted"]).State; got != model.OrderClosed {
			t.Errorf("attempted is %s", got)
		}
		tl.sound()
		tl.audited()
	})
}

// An order whose row somebody has locked is tried again; the others close without it.
func TestBatchPassesOverLockedRows(t *testing.T) {
	tl := newTill(t, mysqlStore(t))
	one, two := tl.unpaid(), tl.unpaid()
	tl.toDeadline(two)
	err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
		if _, err := tl.lock(tx, one.ID); err != nil {
			return err
		}
		out := tl.closeDue(context.Background(), []timeout.Task{
			{Kind: KindPay, Key: fmt.Sprint(one.ID), Due: int64(one.PayDeadline)}, {Kind: KindPay, Key: fmt.Sprint(two.ID), Due: int64(two.PayDeadline)},
		})
		if got := fmt.Sprint(out[0], out[1]); got != "again done" {
			t.Errorf("outcomes %s", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tl.want(two, "closed/timeout stock=9 coupon=available")
}

// Case T06.
func TestT06_OnePoisonedOrderFailsAlone(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		bad, good := tl.unpaid(), tl.unpaid()
		tl.exec("UPDATE order_lines SET sku_id = 424242 WHERE order_id = ?", bad.ID) // its release fails for ever
		tl.toDeadline(good)
		both := []timeout.Task{{Kind: KindPay, Key: fmt.Sprint(bad.ID), Due: int64(bad.PayDeadline)}, {Kind: KindPay, Key: fmt.Sprint(good.ID), Due: int64(good.PayDeadline)}}
		for _, o := range tl.closeDue(t.Context(), both) {
			if o.String() != "failed" || !strings.Contains(o.Err().Error(), "SKU") {
				t.Errorf("outcome %s: %v", o, o.Err())
			}
		}
		if got := tl.closeDue(t.Context(), both[1:])[0]; got.String() != "done" { // the timeout module halves the batch
			t.Errorf("outcome %s", got)
		}
		tl.want(good, "closed/timeout stock=9 coupon=available")
		if got := tl.reload(bad).State; got != model.OrderPending {
			t.Errorf("the bad one is %s", got)
		}
	})
}

// Two replicas get the same batch.
func TestBatchesThatMeetCloseOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		sku := tl.shop.sku(product{price: 10, stock: 100, virtual: true})
		var tasks []timeout.Task
		for range 20 {
			o := tl.order(sku, 1)
			tasks = append(tasks, timeout.Task{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)})
			tl.toDeadline(o)
		}
		together(8, func(i int) error {
			mine := slices.Clone(tasks)
			if i%2 == 1 {
				slices.Reverse(mine)
			}
			tl.closeDue(context.Background(), mine)
			return nil
		})
		tl.closeDue(t.Context(), tasks)
		if stock := tl.stock(sku); stock != 100 {
			t.Errorf("stock %d", stock)
		}
		tl.sound()
		tl.audited()
	})
}
