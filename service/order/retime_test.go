package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

var chief = policy.By{Actor: "admin:9"}

// retimer makes one replica's policies and retimer, small pages and no pauses. It is not running: tests call work.
func (tl *till) retimer() *Retimer {
	tl.t.Helper()
	p := policy.New(tl.Store, tl.Now, slog.New(slog.DiscardHandler))
	if err := p.Start(tl.t.Context()); err != nil {
		tl.t.Fatal(err)
	}
	tl.t.Cleanup(p.Stop)
	r := NewRetimer(tl.Service, p)
	r.pageRows, r.pagePause, r.attemptPause = 5, 0, 0
	return r
}

// policyOf makes a pay policy of so many minutes for a share of the orders.
func (tl *till) policyOf(r *Retimer, minutes int64, percent int) model.TimeoutPolicy {
	tl.t.Helper()
	tl.advance(time.Millisecond)
	row, err := r.policies.Create(tl.t.Context(), chief, policy.Draft{Stage: policy.StagePay, DurationMS: minutes * 60_000, Enabled: true, RolloutPercent: percent})
	if err != nil {
		tl.t.Fatal(err)
	}
	return row
}

// retime asks for a re-timing and has it done, and returns the job as it ended.
func (tl *till) retime(r *Retimer, row model.TimeoutPolicy) model.RetimeJob {
	tl.t.Helper()
	if _, err := r.policies.Retime(tl.t.Context(), chief, row.ID); err != nil {
		tl.t.Fatal(err)
	}
	if err := r.work(tl.t.Context()); err != nil {
		tl.t.Fatal(err)
	}
	return tl.job(r, row)
}

func (tl *till) job(r *Retimer, row model.TimeoutPolicy) model.RetimeJob {
	tl.t.Helper()
	jobs, err := r.policies.RetimeJobs(tl.t.Context(), 0, row.ID)
	if err != nil || len(jobs) == 0 {
		tl.t.Fatal(jobs, err)
	}
	return jobs[0]
}

func (tl *till) wantJob(j model.RetimeJob, state model.RetimeState, seen, changed, skipped int64) {
	tl.t.Helper()
	if j.State != state || j.Seen != seen || j.Changed != changed || j.Skipped != skipped {
		tl.t.Errorf("job is %s (%s): %d seen, %d changed, %d skipped; want %s: %d, %d, %d", j.State, j.Error, j.Seen, j.Changed, j.Skipped, state, seen, changed, skipped)
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
		at, ok := retimed(o, policy.Decision{Duration: c.policy}, placed.Add(c.age.Truncate(time.Millisecond)))
		if ok != (c.want != 0) || ok && at != placed.Add(c.want) {
			t.Errorf("%s: %v after the placing (%v), want %v", c.name, at.Sub(placed), ok, c.want)
		}
	}
}

// Case T05: only on request do orders that wait get another deadline; and then all of the policy's, with events and messages.
func TestT05_RetimingMovesWaitingOrders(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		r := tl.retimer()
		orders := tl.many(12) // two full pages and a part
		gone := tl.unpaid()
		if _, err := tl.Cancel(t.Context(), gone.ShopperID, gone.No); err != nil {
			t.Fatal(err)
		}
		row := tl.policyOf(r, 60, 100)
		for _, o := range orders {
			tl.wantDeadline(o, 30*time.Minute)
		}
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 12, 12, 0)
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
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 0, 0, 0)
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
		r := tl.retimer()
		orders := tl.many(20)
		row := tl.policyOf(r, 10, 40)
		var want []string
		for _, o := range orders {
			if r.policies.Resolve(policy.StagePay, policy.Query{MerchantID: o.MerchantID, OrderType: o.OrderType, OrderNo: o.No}).PolicyID == row.ID {
				want = append(want, o.No)
			}
		}
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 20, int64(len(want)), 0)
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
		if _, err := r.policies.Create(t.Context(), chief, own); err != nil {
			t.Fatal(err)
		}
		all := tl.policyOf(r, 20, 100) // less specific than the merchant's
		tl.wantJob(tl.retime(r, all), model.RetimeDone, 20, 0, 0)
		tl.audited()
	})
}

// WeChat knows the deadline of an attempted order: the number is ended there before the deadline moves, and the next payment
// has another number with the new deadline.
func TestRetimingEndsTheAttemptFirst(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.retimer()
		o := tl.unpaid()
		tl.open(o)
		row := tl.policyOf(r, 60, 100)
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 1, 1, 0)
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
		r := tl.retimer()
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
		row := tl.policyOf(r, 60, 100)
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 4, 0, 4)
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
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 2, 2, 0)
		tl.wantDeadline(silent, time.Hour)
		tl.wantDeadline(busy, time.Hour)
		tl.audited()
	})
}

// A replica is killed between two pages, between an attempted order and its page, and before it has done anything; another one goes
// on. Every order is moved once, and the counts add up.
func TestRetimingGoesOnAfterAKill(t *testing.T) {
	for _, orders := range []int{0, 1, 6} {
		t.Run(fmt.Sprint(orders, " orders before"), func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				killed, other := tl.retimer(), tl.retimer()
				all := tl.many(11)
				asked := []*model.Order{tl.unpaid(), tl.unpaid()}
				for _, o := range asked {
					tl.open(o)
				}
				all = append(all, asked...)
				row := tl.policyOf(killed, 60, 100)
				if _, err := killed.policies.Retime(t.Context(), chief, row.ID); err != nil {
					t.Fatal(err)
				}
				job, err := killed.policies.TakeRetime(t.Context(), "killed")
				if err != nil || job == nil {
					t.Fatal(job, err)
				}
				tl.killAfter(killed, job, orders)

				if err := other.work(t.Context()); err != nil || tl.job(other, row).State != model.RetimeRunning {
					t.Fatalf("before the lease ends: %+v, %v", tl.job(other, row), err)
				}
				tl.advance(policy.JobLease + time.Second)
				if err := other.work(t.Context()); err != nil {
					t.Fatal(err)
				}
				tl.wantJob(tl.job(other, row), model.RetimeDone, 13, 13, 0)
				for _, o := range all {
					tl.wantDeadline(o, time.Hour)
					if n := tl.messages(TopicChanged, o); n != 1 {
						t.Errorf("%d changes", n)
					}
				}
				tl.audited()
			})
		})
	}
}

// killAfter lets the retimer work on the job until so many orders were changed, and stops it as a kill would: its lease stays.
func (tl *till) killAfter(r *Retimer, job *model.RetimeJob, orders int) {
	tl.t.Helper()
	ctx, kill := context.WithCancel(tl.t.Context())
	defer kill()
	row, err := r.policies.Present(ctx, job.PolicyID)
	if err != nil {
		tl.t.Fatal(err)
	}
	by := retiming{policy.Decision{Duration: time.Duration(row.DurationMS) * time.Millisecond, PolicyID: row.ID, Version: row.Version}, job.Actor}
	for job.Changed < int64(orders) {
		p, err := r.plan(ctx, job, row)
		if err != nil {
			tl.t.Fatal(err)
		}
		if orders == 1 { // an attempted one, and not its page
			p.attempted = append(p.attempted, p.free[0])
			r.attemptPause = time.Hour
			tl.killWhen(kill, job.ID, 1)
		}
		if err := r.oneByOne(ctx, job, by, p); err != nil && !errors.Is(err, context.Canceled) {
			tl.t.Fatal(err)
		}
	}
}

// killWhen calls kill once the job has changed so many orders.
func (tl *till) killWhen(kill func(), jobID, changed int64) {
	go func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
			var n int64
			err := tl.Store.Read(context.Background()).Raw("SELECT changed FROM retime_jobs WHERE id = ?", jobID).Scan(&n).Error
			if err != nil || n >= changed {
				tick.Stop()
				kill()
				return
			}
		}
	}()
}

// The policy is changed, or the job cancelled, while orders are re-timed: the job ends and says so.
func TestRetimingEndsWithItsVersion(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.retimer()
		orders := tl.many(7)
		row := tl.policyOf(r, 60, 100)
		take := func() *model.RetimeJob {
			if _, err := r.policies.Retime(t.Context(), chief, row.ID); err != nil {
				t.Fatal(err)
			}
			job, err := r.policies.TakeRetime(t.Context(), "mine")
			if err != nil || job == nil {
				t.Fatal(job, err)
			}
			return job
		}
		job, ms := take(), int64(1_200_000)
		if _, err := r.policies.Update(t.Context(), chief, row.ID, policy.Change{DurationMS: &ms, Version: 1}); err != nil {
			t.Fatal(err)
		}
		if err := r.do(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		tl.wantJob(tl.job(r, row), model.RetimeCancelled, 0, 0, 0)
		job = take()
		if err := r.policies.CancelRetime(t.Context(), chief, row.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.do(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		tl.wantJob(tl.job(r, row), model.RetimeCancelled, 0, 0, 0)
		for _, o := range orders {
			tl.wantDeadline(o, 30*time.Minute)
		}
		tl.wantJob(tl.retime(r, row), model.RetimeDone, 7, 7, 0)
		for _, o := range orders {
			tl.wantDeadline(o, 20*time.Minute)
		}
		tl.audited()
	})
}

// Two replicas run, deadlines fire, shoppers pay and cancel, and a job re-times in the middle of it. Nothing is lost and nothing
// happens twice.
func TestRetimingInTheMiddleOfEverything(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		one, two := tl.retimer(), tl.retimer()
		orders := tl.many(24)
		row := tl.policyOf(one, 60, 100)
		tl.clock.Store(int64(orders[7].PayDeadline)) // the first eight are due
		if _, err := one.policies.Retime(t.Context(), chief, row.ID); err != nil {
			t.Fatal(err)
		}
		var tasks []timeout.Task
		for _, o := range orders {
			tasks = append(tasks, stageTask(KindPay, o.ID, o.PayDeadline))
		}
		errs := together(6, func(i int) error {
			switch i {
			case 0:
				return one.work(t.Context())
			case 1:
				return two.work(t.Context())
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
		if j := tl.job(one, row); j.State != model.RetimeDone || j.Changed < 8 {
			t.Errorf("job %+v", j)
		}
		tl.sound()
		tl.audited()
	})
}

// A running retimer finds a job by itself and stops when it is told to.
func TestRetimerRuns(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.retimer()
		r.lookEvery = 10 * time.Millisecond
		orders := tl.many(7)
		row := tl.policyOf(r, 60, 100)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.policies.Retime(t.Context(), chief, row.ID); err != nil {
			t.Fatal(err)
		}
		late := time.After(20 * time.Second)
		for tick := time.NewTicker(5 * time.Millisecond); tl.job(r, row).State == model.RetimeRunning; {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("not done: %+v", tl.job(r, row))
			}
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		tl.wantJob(tl.job(r, row), model.RetimeDone, 7, 7, 0)
		tl.wantDeadline(orders[6], time.Hour)
	})
}
