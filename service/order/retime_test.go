package order

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

var chief = policy.By{Actor: "admin:9"}

// stored has the pay deadlines of new orders follow policies that are stored, and the other stages the till's durations.
type stored struct {
	*policy.Policies
	rest Policies
}

func (p stored) Resolve(stage string, q policy.Query) policy.Decision {
	if stage == policy.StagePay {
		return p.Policies.Resolve(stage, q)
	}
	return p.rest.Resolve(stage, q)
}

// policies has the till decide by stored policies from now on.
func (tl *till) policies() *policy.Policies {
	tl.t.Helper()
	p := policy.New(tl.Store, tl.Now, slog.New(slog.DiscardHandler))
	if err := p.Start(tl.t.Context()); err != nil {
		tl.t.Fatal(err)
	}
	tl.t.Cleanup(p.Stop)
	tl.Policies = stored{p, tl.shop}
	return p
}

// policyOf makes a pay policy of so many minutes for a share of the orders.
func (tl *till) policyOf(p *policy.Policies, minutes int64, percent int) model.TimeoutPolicy {
	tl.t.Helper()
	tl.advance(time.Millisecond)
	row, err := p.Create(tl.t.Context(), chief, policy.Draft{Stage: policy.StagePay, DurationMS: minutes * 60_000, Enabled: true, RolloutPercent: percent})
	if err != nil {
		tl.t.Fatal(err)
	}
	return row
}

// retime moves the orders that wait as a job does, in small pages, and returns what came of them by code; "" are those that moved.
func (tl *till) retime(row model.TimeoutPolicy) map[fault.Code]int {
	tl.t.Helper()
	r, out := Retiming{row, chief.Actor, tl.Now()}, map[fault.Code]int{}
	for from := new(store.Cursor); from != nil; {
		page, next, err := tl.RetimePage(tl.t.Context(), r, *from, 5)
		if err != nil {
			tl.t.Error(err)
			return out
		}
		for _, o := range page {
			out[fault.CodeOf(tl.Retime(tl.t.Context(), o.ID, r, moved))]++
		}
		from = next
	}
	return out
}

func moved(*store.Tx, model.Time, model.Time) error { return nil }

func (tl *till) wantRetimed(row model.TimeoutPolicy, want map[fault.Code]int) {
	tl.t.Helper()
	if got := tl.retime(row); !maps.Equal(got, want) {
		tl.t.Errorf("what came of the orders is %v, want %v", got, want)
	}
}

// wantDeadline fails unless the order closes so long after it was placed, and the timeout module knows.
func (tl *till) wantDeadline(o *model.Order, after time.Duration) {
	tl.t.Helper()
	now := tl.reload(o)
	if now.PayDeadline != o.CreatedAt.Add(after) {
		tl.t.Errorf("order closes %v after its placing, want %v", now.PayDeadline.Sub(o.CreatedAt), after)
	}
	tl.wantScheduled(KindPay, o, now.PayDeadline)
}

// many places so many orders of something that there is enough of.
func (tl *till) many(n int) []*model.Order {
	sku := tl.shop.sku(product{price: 10, stock: 1000, virtual: true})
	orders := make([]*model.Order, n)
	for i := range orders {
		orders[i] = tl.order(sku, 1)
		tl.advance(time.Millisecond)
	}
	return orders
}

func TestRetimedDeadline(t *testing.T) {
	const placed, minute = model.Time(1_000_000_000), time.Minute
	for _, c := range []struct {
		name             string
		has, policy, age time.Duration
		want             time.Duration // from the placing; 0: it stays
	}{
		{"longer", 30 * minute, 60 * minute, 10 * minute, 60 * minute},
		{"shorter", 30 * minute, 20 * minute, 10 * minute, 20 * minute},
		{"the same", 30 * minute, 30 * minute, 10 * minute, 0},
		{"shorter than the order is old", 30 * minute, 5 * minute, 10 * minute, 11 * minute},
		{"shorter, into the last minute", 30 * minute, 20 * minute, 19*minute + 30*time.Second, 20*minute + 30*time.Second},
		{"in its last minute already", 30 * minute, 5 * minute, 29 * minute, 0},
		{"longer, in its last minute", 30 * minute, 31 * minute, 30*minute - time.Millisecond, 31 * minute},
	} {
		o := &model.Order{CreatedAt: placed, PayDeadline: placed.Add(c.has)}
		at, ok := retimed(o, c.policy, placed.Add(c.age.Truncate(time.Millisecond)))
		if ok != (c.want != 0) || ok && at != placed.Add(c.want) {
			t.Errorf("%s: %v after the placing (%v), want %v", c.name, at.Sub(placed), ok, c.want)
		}
	}
}

// Case T05: only on request do orders that wait get another deadline; and then all of the policy's, with events and messages.
func TestT05_RetimingMovesWaitingOrders(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		orders := tl.many(12) // two full pages and a part
		gone := tl.unpaid()
		if _, err := tl.Cancel(t.Context(), gone.ShopperID, gone.No); err != nil {
			t.Fatal(err)
		}
		row := tl.policyOf(p, 60, 100)
		for _, o := range orders {
			tl.wantDeadline(o, 30*time.Minute)
		}
		tl.wantRetimed(row, map[fault.Code]int{"": 12})
		for _, o := range orders {
			tl.wantDeadline(o, time.Hour)
			now := tl.reload(o)
			if now.PolicyID != row.ID || now.PolicyVersion != 1 || now.Version != 2 || *now.RemindAt != now.PayDeadline.Add(-10*time.Minute) {
				t.Errorf("order %+v", now)
			}
			tl.wantScheduled(KindRemind, o, *now.RemindAt)
			if n := tl.number("SELECT COUNT(*) FROM order_events WHERE order_id = ? AND version = 2 AND actor = 'admin:9' AND to_state = 'pending_payment'", o.ID); n != 1 || tl.messages(TopicChanged, o) != 1 {
				t.Errorf("%d events, %d messages", n, tl.messages(TopicChanged, o))
			}
		}
		// Again: there is nothing to do.
		tl.wantRetimed(row, map[fault.Code]int{})
		// The old deadline comes: nothing closes before the new one.
		for _, o := range orders {
			tl.clock.Store(int64(o.PayDeadline))
			tl.wantOutcome(tl.run(KindPay, o.ID, o.PayDeadline), "reschedule")
		}
		tl.clock.Store(int64(tl.reload(orders[11]).PayDeadline))
		tl.tick()
		for _, o := range orders {
			if now := tl.reload(o); now.State != model.OrderClosed || now.RemindAt != nil {
				t.Errorf("order %+v", now)
			}
		}
		if got := tl.counts[KindRetime]; got != [2]int64{12, 12} {
			t.Errorf("rows %v", got)
		}
		tl.audited()
	})
}

// Only the share of orders that the policy is rolled out to is moved, and only those that no more specific policy has.
func TestRetimingKeepsToTheShareAndTheScope(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		orders := tl.many(20)
		row := tl.policyOf(p, 10, 40)
		var want []string
		for _, o := range orders {
			if p.Resolve(policy.StagePay, policy.Query{MerchantID: o.MerchantID, OrderType: o.OrderType, OrderNo: o.No}).PolicyID == row.ID {
				want = append(want, o.No)
			}
		}
		tl.wantRetimed(row, map[fault.Code]int{"": len(want)})
		var got []string
		for _, o := range orders {
			if tl.reload(o).PayDeadline == o.CreatedAt.Add(10*time.Minute) {
				got = append(got, o.No)
			} else {
				tl.wantDeadline(o, 30*time.Minute)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("moved are %v, want %v", got, want)
		}
		own := policy.Draft{Stage: policy.StagePay, MerchantID: merchantID, DurationMS: 3_600_000, Enabled: true, RolloutPercent: 100}
		if _, err := p.Create(t.Context(), chief, own); err != nil {
			t.Fatal(err)
		}
		all := tl.policyOf(p, 20, 100) // less specific than the merchant's
		tl.wantRetimed(all, map[fault.Code]int{})
		tl.audited()
	})
}

// WeChat knows the deadline of an attempted order: the number is ended there before the deadline moves, and the next payment
// has another number with the new deadline.
func TestRetimingEndsTheAttemptFirst(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		o := tl.unpaid()
		tl.open(o)
		row := tl.policyOf(p, 60, 100)
		tl.wantRetimed(row, map[fault.Code]int{"": 1})
		tl.wantDeadline(o, time.Hour)
		if got := tl.word(o.No + "-1").TradeState; got != "CLOSED" {
			t.Errorf("the number is %s at WeChat", got)
		}
		now := tl.reload(o)
		if now.ClaimToken != "" || now.ClaimUntil != 0 {
			t.Error("the claim stayed")
		}
		tl.open(o)
		if a := tl.attempts(o); len(a) != 2 || a[1].TimeExpire != model.At(now.PayDeadline.Std().Truncate(time.Second)) {
			t.Errorf("attempts %+v", a)
		}
		tl.phone(tl.open(o))
		if err := tl.callback(o.No + "-2"); err != nil {
			t.Fatal(err)
		}
		tl.want(o, paidOnce)
		tl.audited()
	})
}

// What turns out paid is settled and keeps its deadline; a silent WeChat and somebody else's claim leave the order as it is.
func TestRetimingSkipsWhatItCannotMove(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		tl.exec("UPDATE skus SET price_fen = 150 WHERE id = ?", tl.sku)
		paid, between, silent, busy := tl.unpaid(), tl.unpaid(), tl.unpaid(), tl.unpaid()
		tl.phone(tl.open(paid))
		id := tl.open(between)
		tl.open(silent)
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + silent.No + "-1", "mode": "status", "count": 9})
		err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
			o, err := tl.lock(tx, busy.ID)
			if err == nil {
				_, err = claim(tx, o, tl.Now())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tl.line.onceBefore("close", func() { tl.phone(id) }) // of the second, after WeChat said that it is not paid
		row := tl.policyOf(p, 60, 100)
		tl.wantRetimed(row, map[fault.Code]int{fault.OrderAlreadyPaid: 2, fault.WeChatUnavailable: 1, fault.OrderBusy: 1})
		for _, o := range []*model.Order{paid, between, silent, busy} {
			now := tl.reload(o)
			if now.PayDeadline != o.PayDeadline || now.ClaimToken != "" && o != busy {
				t.Errorf("order %+v", now)
			}
			if want := o == paid || o == between; want != (now.State == model.OrderPaid) {
				t.Errorf("order is %s", now.State)
			}
		}
		// Later, on request, those that can be are moved.
		tl.control("DELETE", "/sandbox/faults", nil, nil)
		tl.advance(claimLife)
		tl.wantRetimed(row, map[fault.Code]int{"": 2})
		tl.wantDeadline(silent, time.Hour)
		tl.wantDeadline(busy, time.Hour)
		tl.audited()
	})
}

// What the transaction that moves a deadline does beside may fail: then nothing was moved, and the claim is given back.
func TestRetimingIsUndoneWithItsResult(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		waits, asked := tl.unpaid(), tl.unpaid()
		tl.open(asked)
		row := tl.policyOf(p, 60, 100)
		r, lost := Retiming{row, chief.Actor, tl.Now()}, errors.New("lost")
		for _, o := range []*model.Order{waits, asked} {
			var from, to model.Time
			err := tl.Retime(t.Context(), o.ID, r, func(_ *store.Tx, was, is model.Time) error {
				from, to = was, is
				return lost
			})
			if !errors.Is(err, lost) || from != o.PayDeadline || to != o.CreatedAt.Add(time.Hour) {
				t.Errorf("moved from %v to %v: %v", from, to, err)
			}
			if now := tl.reload(o); now.PayDeadline != o.PayDeadline || now.Version != 1 || now.ClaimToken != "" {
				t.Errorf("order %+v", now)
			}
		}
		tl.wantRetimed(row, map[fault.Code]int{"": 2})
		tl.wantDeadline(waits, time.Hour)
		tl.wantDeadline(asked, time.Hour)
		tl.audited()
	})
}

// Orders that were placed after the re-timing was asked for are left, and a policy that was changed re-times nothing.
func TestRetimingIsOfItsTimeAndVersion(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		orders := tl.many(3)
		row := tl.policyOf(p, 60, 100)
		r := Retiming{row, chief.Actor, tl.Now()}
		tl.advance(followMargin + time.Millisecond)
		tl.Policies = tl.shop // places as before
		tl.many(2)
		tl.Policies = stored{p, tl.shop}
		page, next, err := tl.RetimePage(t.Context(), r, store.Cursor{}, 5)
		if err != nil || len(page) != 3 || next != nil {
			t.Errorf("%d orders and %v behind them (%v), want the 3 that were there", len(page), next, err)
		}
		ms := int64(1_200_000)
		if _, err := p.Update(t.Context(), chief, row.ID, policy.Change{DurationMS: &ms, Version: 1}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := tl.RetimePage(t.Context(), r, store.Cursor{}, 5); !fault.Is(err, fault.StaleVersion) {
			t.Errorf("by a former version: %v", err)
		}
		for _, o := range orders {
			tl.wantDeadline(o, 30*time.Minute)
		}
	})
}

// Deadlines fire, shoppers cancel, and orders are re-timed in the middle of it, by two at once. Nothing is lost and nothing
// happens twice.
func TestRetimingInTheMiddleOfEverything(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		orders := tl.many(24)
		row := tl.policyOf(p, 60, 100)
		tl.clock.Store(int64(orders[7].PayDeadline)) // the first eight are due
		var tasks []timeout.Task
		for _, o := range orders {
			tasks = append(tasks, stageTask(KindPay, o.ID, o.PayDeadline))
		}
		errs := together(6, func(i int) error {
			switch i {
			case 0, 1:
				tl.retime(row)
				return nil
			case 2, 3:
				tl.closeDue(t.Context(), tasks[:8])
				return nil
			}
			for _, o := range orders[8+4*(i-4) : 12+4*(i-4)] {
				_, _ = tl.Cancel(t.Context(), o.ShopperID, o.No)
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		tl.closeDue(t.Context(), tasks[:8])
		for i, o := range orders {
			now := tl.reload(o)
			if i < 16 && now.State != model.OrderClosed {
				t.Errorf("order %d is %s", i, now.State)
			}
			if i >= 16 && now.PayDeadline != o.CreatedAt.Add(time.Hour) {
				t.Errorf("order %d closes %v after its placing", i, now.PayDeadline.Sub(o.CreatedAt))
			}
		}
		for _, o := range orders[16:] {
			if n := tl.messages(TopicChanged, o); n != 1 {
				t.Errorf("%d changes of an order", n)
			}
		}
		tl.sound()
		tl.audited()
	})
}
