package policy

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestRetimingIsAskedForOnceAtATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		withMerchants(t, s)
		p := started(t, s)
		global := create(t, p, pay(10*minute))
		off, none, remind := pay(minute), pay(minute), pay(minute)
		off.Enabled, none.RolloutPercent, remind.Stage = false, 0, StageRemind
		own := pay(minute)
		own.MerchantID = 4
		for _, c := range []struct {
			what string
			by   By
			id   int64
			want fault.Code
		}{
			{"one that is off", platform, create(t, p, off).ID, fault.StateConflict},
			{"one for no order", platform, create(t, p, none).ID, fault.StateConflict},
			{"one of another stage", platform, create(t, p, remind).ID, fault.StateConflict},
			{"none", platform, 4242, fault.NotFoundError},
			{"another merchant's", shop3, create(t, p, own).ID, fault.NotFoundError},
			{"everybody's, by a merchant", shop3, global.ID, fault.PermissionDenied},
		} {
			if _, err := p.Retime(t.Context(), c.by, c.id); !fault.Is(err, c.want) {
				t.Errorf("%s: %v, want %s", c.what, err, c.want)
			}
		}
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { _, errs[i] = p.Retime(t.Context(), platform, global.ID) })
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
		jobs, err := p.RetimeJobs(t.Context(), 3, global.ID)
		if begun != 1 || err != nil || len(jobs) != 1 || jobs[0].Version != 1 || jobs[0].State != model.RetimeRunning || jobs[0].Actor != platform.Actor {
			t.Errorf("%d begun, jobs %+v, %v", begun, jobs, err)
		}
		if err := p.CancelRetime(t.Context(), shop3, global.ID); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("cancelled by a merchant: %v", err)
		}
		if err := p.CancelRetime(t.Context(), platform, global.ID); err != nil {
			t.Error(err)
		}
		if err := p.CancelRetime(t.Context(), platform, global.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("cancelled twice: %v", err)
		}
		if _, err := p.Retime(t.Context(), platform, global.ID); err != nil {
			t.Errorf("after a cancelled one: %v", err)
		}
	})
}

// A job is one replica's at a time, and goes to another one when its lease has ended; the former one then cannot write any more.
func TestLeaseOfARetiming(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := started(t, s)
		row := create(t, p, pay(10*minute))
		if job, err := p.TakeRetime(t.Context(), "early"); err != nil || job != nil {
			t.Fatalf("taken %+v, %v", job, err)
		}
		if _, err := p.Retime(t.Context(), platform, row.ID); err != nil {
			t.Fatal(err)
		}
		taken := make([]*model.RetimeJob, 8)
		var wg sync.WaitGroup
		for i := range taken {
			wg.Go(func() {
				var err error
				if taken[i], err = p.TakeRetime(t.Context(), fmt.Sprint("replica-", i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var mine *model.RetimeJob
		for _, job := range taken {
			if job != nil && mine != nil {
				t.Fatal("two replicas have the job")
			}
			if job != nil {
				mine = job
			}
		}
		save := func(job *model.RetimeJob, step Progress) error {
			return s.Tx(t.Context(), func(tx *store.Tx) error { return p.SaveRetime(tx, job, step) })
		}
		stale := *mine
		if err := save(mine, Progress{Seen: 5, Changed: 3, Skipped: 1, Due: 77, ID: 9}); err != nil {
			t.Fatal(err)
		}
		if err := save(&stale, Progress{Seen: 5}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("a step that does not know of the former one: %v", err)
		}
		for range 3 { // also within one millisecond
			if err := save(mine, Progress{}); err != nil {
				t.Fatal(err)
			}
		}
		p.now = func() model.Time { return mine.LeaseUntil }
		other, err := p.TakeRetime(t.Context(), "other")
		if err != nil || other == nil || other.Seen != 5 || other.Changed != 3 || other.Skipped != 1 || other.CursorDue != 77 || other.CursorID != 9 {
			t.Fatalf("taken over %+v, %v", other, err)
		}
		if err := save(mine, Progress{Changed: 1}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the former holder writes: %v", err)
		}
		if err := p.ReleaseRetime(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if other, err = p.TakeRetime(t.Context(), "third"); err != nil || other == nil {
			t.Fatalf("a released job is taken as %+v, %v", other, err)
		}
		if err := save(other, Progress{End: model.RetimeDone}); err != nil || other.EndedAt == 0 {
			t.Errorf("ended %+v, %v", other, err)
		}
		p.now = func() model.Time { return mine.LeaseUntil.Add(time.Hour) }
		if job, err := p.TakeRetime(t.Context(), "late"); err != nil || job != nil {
			t.Errorf("an ended job is taken: %+v, %v", job, err)
		}
	})
}
