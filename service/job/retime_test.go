package job

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

// platform is an admin of the platform who has named no merchant.
func (sh *shop) platform() Caller {
	by := sh.boss()
	by.MerchantID, by.Platform = merchantID, true
	return by
}

// policyOf makes a pay policy of an hour, of a merchant or, by 0, of everybody.
func (sh *shop) policyOf(merchant int64) model.TimeoutPolicy {
	sh.Helper()
	d := policy.Draft{Stage: policy.StagePay, MerchantID: merchant, DurationMS: time.Hour.Milliseconds(), Enabled: true, RolloutPercent: 100}
	row, err := sh.policies.Create(sh.Context(), policy.By{Actor: "admin:1"}, d)
	if err != nil {
		sh.Fatal(err)
	}
	return row
}

// waiting starts the policies, makes n orders that wait half an hour from their placing, and returns their numbers.
func (sh *shop) waiting(n int) []string {
	sh.Helper()
	if err := sh.policies.Start(sh.Context()); err != nil {
		sh.Fatal(err)
	}
	sh.Cleanup(sh.policies.Stop)
	nos := sh.orders(n, model.OrderPending)
	sh.exec("UPDATE orders SET pay_deadline = created_at + ?", (30 * time.Minute).Milliseconds())
	return nos
}

func (sh *shop) exec(query string, args ...any) {
	sh.Helper()
	if err := sh.Store.Read(sh.Context()).Exec(query, args...).Error; err != nil {
		sh.Fatal(err)
	}
}

func (sh *shop) retime(row model.TimeoutPolicy) model.Job {
	sh.Helper()
	j, err := sh.Retime(sh.Context(), sh.boss(), row.ID)
	if err != nil {
		sh.Fatal(err)
	}
	return j
}

func (sh *shop) turn(r *Runner) {
	sh.Helper()
	if err := r.turn(true); err != nil {
		sh.Fatal(err)
	}
}

// wantMoved checks that so many orders wait for an hour, each moved once and with its result.
func (sh *shop) wantMoved(j model.Job, n int64) {
	sh.Helper()
	const hour = "pay_deadline = created_at + 3600000"
	for what, query := range map[string]string{
		"orders wait for an hour":     "SELECT COUNT(*) FROM orders WHERE " + hour,
		"changes of orders":           "SELECT COUNT(*) FROM order_events WHERE actor = 'admin:1'",
		"messages":                    "SELECT COUNT(*) FROM messages WHERE topic = 'order.changed'",
		"orders have one such result": "SELECT COUNT(*) FROM (SELECT subject FROM job_rows WHERE outcome = 'retimed' GROUP BY subject HAVING COUNT(*) = 1) AS r",
	} {
		if got := sh.number(query); got != n {
			sh.Errorf("job %d: %d %s, want %d", j.ID, got, what, n)
		}
	}
}

func TestRetimingSaysWhatBecameOfEachOrder(t *testing.T) {
	eachShop(t, func(sh *shop) {
		sh.clock.Store(time.Date(2027, 1, 2, 12, 0, 0, 0, sh.Zone).UnixMilli())
		nos := sh.waiting(6)
		row := sh.policyOf(merchantID)
		sh.exec("UPDATE orders SET claim_token = 'x', claim_until = ? WHERE no = ?", sh.now().Add(time.Minute), nos[2])
		sh.exec("UPDATE orders SET created_at = created_at + 10000 WHERE no = ?", nos[5]) // placed after the job was made
		j := sh.retime(row)
		r := sh.hand()
		sh.turn(r)
		sh.want(j.ID, model.JobRunning, 5, 1, 0)
		sh.exec("UPDATE orders SET state = 'closed', close_reason = 'shopper' WHERE no = ?", nos[4])
		sh.finish(r)
		sh.want(j.ID, model.JobDone, 5, 5, 2)
		if got, want := sh.outcomes(j.ID), map[string]int{"retimed": 3, "order_busy": 1, "order_closed": 1}; !maps.Equal(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		sh.wantMoved(j, 3)
		rows, _, err := sh.Rows(t.Context(), sh.boss(), j.ID, model.JobRowOK, store.Page{Number: 1, Limit: 1})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if got := rows[0]; got.Subject != nos[0] || got.Line != 1 || got.TextZH != "付款截止 2027-01-02 12:30:00 → 13:00:00" ||
			got.TextEN != "Deadline 2027-01-02 12:30:00 → 13:00:00" {
			t.Errorf("the first result is %+v", got)
		}
		// Again, later: only the one that could not be moved then.
		sh.clock.Add(time.Minute.Milliseconds())
		again := sh.retime(row)
		sh.exec("UPDATE orders SET created_at = created_at + 60000 WHERE no = ?", nos[5])
		sh.finish(sh.hand())
		sh.want(again.ID, model.JobDone, 1, 1, 0)
		sh.wantMoved(again, 4)
	})
}

// A kill before or after any commit moves no order twice and leaves none out.
func TestRetimingKilledBetweenStatements(t *testing.T) {
	eachShop(t, func(sh *shop) {
		const n = 5
		sh.waiting(n)
		j := sh.retime(sh.policyOf(merchantID))
		for life := range int64(n - 1) {
			r := sh.hand()
			r.crash = func(st *step) bool { return st.line == life+2 } // the second step of each life is lost with its effect
			sh.turn(r)
			sh.turn(r)
			sh.want(j.ID, model.JobRunning, n, life+1, 0)
			sh.wantMoved(j, life+1)
			sh.clock.Add(leaseFor.Milliseconds() + 1)
		}
		sh.finish(sh.hand())
		sh.want(j.ID, model.JobDone, n, n, 0)
		sh.wantMoved(j, n)
	})
}

// A replica that was too slow moves nothing any more.
func TestTwoReplicasOnOneRetiming(t *testing.T) {
	eachShop(t, func(sh *shop) {
		sh.waiting(4)
		j := sh.retime(sh.policyOf(merchantID))
		slow, quick := sh.hand(), sh.hand()
		sh.turn(slow)
		sh.clock.Add(leaseFor.Milliseconds() + 1)
		sh.turn(quick)
		sh.turn(slow)
		if len(slow.active) != 0 {
			t.Error("the slow replica still works on it")
		}
		sh.want(j.ID, model.JobRunning, 4, 2, 0)
		sh.finish(quick)
		sh.want(j.ID, model.JobDone, 4, 4, 0)
		sh.wantMoved(j, 4)
	})
}

// An order whose payment was begun has WeChat asked, which may take longer than a step else does: the lease lasts as long.
func TestRetimingHoldsItsLeaseWhileWeChatIsAsked(t *testing.T) {
	eachShop(t, func(sh *shop) {
		nos := sh.waiting(2)
		sh.exec("UPDATE orders SET first_attempt_at = created_at WHERE no = ?", nos[1])
		j := sh.retime(sh.policyOf(merchantID))
		lease := func() (left time.Duration) {
			r := sh.hand()
			taken, err := r.take(t.Context())
			if err != nil || taken == nil {
				t.Fatal(taken, err)
			}
			w, err := r.beginRetime(t.Context(), taken)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.next(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			now := sh.now()
			left = model.Time(sh.number("SELECT lease_until FROM jobs WHERE id = ?", j.ID)).Sub(now)
			sh.clock.Add(time.Minute.Milliseconds())
			return left
		}
		if left := lease(); left >= order.RetimeLimit {
			t.Errorf("the lease lasts %v for an order that nobody began to pay", left)
		}
		r := sh.hand()
		sh.turn(r)
		sh.clock.Add(time.Minute.Milliseconds())
		if left := lease(); left <= order.RetimeLimit {
			t.Errorf("the lease lasts %v, and asking WeChat may take %v", left, order.RetimeLimit)
		}
	})
}

// A policy that is changed meanwhile ends the job; what it moved stays.
func TestRetimingFailsWithItsVersion(t *testing.T) {
	eachShop(t, func(sh *shop) {
		sh.waiting(3)
		row := sh.policyOf(merchantID)
		j := sh.retime(row)
		r := sh.hand()
		sh.turn(r)
		ms := int64(1_200_000)
		if _, err := sh.policies.Update(t.Context(), policy.By{Actor: "admin:1"}, row.ID, policy.Change{DurationMS: &ms, Version: 1}); err != nil {
			t.Fatal(err)
		}
		sh.finish(r)
		sh.want(j.ID, model.JobFailed, 3, 1, 0)
		sh.wantMoved(j, 1)
		got, err := sh.Get(t.Context(), sh.boss(), j.ID)
		if err != nil || got.Error != string(fault.StaleVersion) {
			t.Errorf("the job is %+v (%v)", got, err)
		}
		next := sh.retime(row) // by the version that is there now
		sh.finish(sh.hand())
		sh.want(next.ID, model.JobDone, 3, 3, 0)
	})
}

func TestOneRetimingByAPolicyAtATime(t *testing.T) {
	eachShop(t, func(sh *shop) {
		sh.waiting(3)
		row := sh.policyOf(merchantID)
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = sh.Retime(t.Context(), sh.boss(), row.ID) })
		}
		wg.Wait()
		begun := 0
		for _, err := range errs {
			if err == nil {
				begun++
			} else if !fault.Is(err, fault.StateConflict) {
				t.Error(err)
			}
		}
		jobs, err := sh.Retimings(t.Context(), sh.boss(), row.ID)
		if err != nil || begun != 1 || len(jobs) != 1 || jobs[0].PolicyVersion != 1 {
			t.Fatalf("%d begun, %+v (%v)", begun, jobs, err)
		}
		r := sh.hand()
		sh.turn(r)
		if err := sh.CancelRetime(t.Context(), sh.boss(), row.ID); err != nil {
			t.Fatal(err)
		}
		sh.finish(r)
		sh.want(jobs[0].ID, model.JobCancelled, 3, 1, 0)
		sh.wantMoved(jobs[0], 1)
		if err := sh.CancelRetime(t.Context(), sh.boss(), row.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("cancelled twice: %v", err)
		}
		sh.clock.Add(1)
		next := sh.retime(row)
		if jobs, err = sh.Retimings(t.Context(), sh.boss(), row.ID); err != nil || len(jobs) != 2 || jobs[0].ID != next.ID {
			t.Errorf("listed %+v (%v), want the newest first", jobs, err)
		}
	})
}

// A re-timing by everybody's policy is the platform's, one by a merchant's that merchant's.
func TestWhoseARetimingIs(t *testing.T) {
	eachShop(t, func(sh *shop) {
		sh.waiting(1)
		all, own := sh.policyOf(0), sh.policyOf(2)
		platform, boss, other := sh.platform(), sh.boss(), sh.boss()
		other.MerchantID = 2
		named := platform
		named.Named = merchantID
		if _, err := sh.Retime(t.Context(), sh.by(account.TimeoutRead), all.ID); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("without the permission: %v", err)
		}
		if _, err := sh.Retime(t.Context(), boss, all.ID); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("everybody's, by a merchant: %v", err)
		}
		if err := sh.CancelRetime(t.Context(), boss, own.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("cancelling another's: %v", err)
		}
		everybodys, err := sh.Retime(t.Context(), platform, all.ID)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := sh.Retime(t.Context(), platform, own.ID)
		if err != nil || everybodys.MerchantID != 0 || theirs.MerchantID != 2 {
			t.Fatalf("%+v, %+v (%v)", everybodys, theirs, err)
		}
		for _, c := range []struct {
			name                  string
			by                    Caller
			seesAll, seesOwn      bool
			listed, ofAll, ofOwns int
		}{
			{"the platform", platform, true, true, 1, 1, 1},
			{"the platform for another merchant", named, true, false, 1, 1, -1},
			{"the merchant", other, false, true, 1, 0, 1},
			{"another merchant", boss, false, false, 0, 0, -1},
		} {
			for id, sees := range map[int64]bool{everybodys.ID: c.seesAll, theirs.ID: c.seesOwn} {
				if _, err := sh.Get(t.Context(), c.by, id); (err == nil) != sees || !sees && !fault.Is(err, fault.NotFoundError) {
					t.Errorf("%s: job %d: %v", c.name, id, err)
				}
			}
			if _, n, err := sh.List(t.Context(), c.by, Filter{Kind: model.JobRetime}, store.Page{Number: 1, Limit: 10}); err != nil || n != int64(c.listed) {
				t.Errorf("%s: %d jobs are listed (%v), want %d", c.name, n, err, c.listed)
			}
			for id, want := range map[int64]int{all.ID: c.ofAll, own.ID: c.ofOwns} {
				jobs, err := sh.Retimings(t.Context(), c.by, id)
				if want < 0 && !fault.Is(err, fault.NotFoundError) || want >= 0 && (err != nil || len(jobs) != want) {
					t.Errorf("%s: by policy %d: %d jobs (%v), want %d", c.name, id, len(jobs), err, want)
				}
			}
		}
	})
}
