package policy

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestTrialOfAPolicy(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		withMerchants(t, s)
		p := started(t, s)
		all := create(t, p, pay(10*minute))
		line := pay(2 * minute)
		line.BizLine = "live"
		live := create(t, p, line)
		draft := pay(minute)
		draft.MerchantID, draft.RolloutPercent = 3, 12
		trial, err := p.Try(t.Context(), shop3, 0, draft, Change{})
		if err != nil {
			t.Fatal(err)
		}
		for q, want := range map[Query]int{{MerchantID: 3}: 12, {MerchantID: 3, BizLine: "live"}: 12, {MerchantID: 4}: 0} {
			if got := trial.Share(q); got != want {
				t.Errorf("%+v: %d %%, want %d", q, got, want)
			}
		}
		tier := func(id, minutes int64, percent float64) Tier {
			return Tier{ID: id, Draft: id == 0, Duration: time.Duration(minutes) * time.Minute, Percent: percent}
		}
		want := []Effect{
			{model.OrderTypeGoods, "", []Tier{tier(all.ID, 10, 100)}, []Tier{tier(0, 1, 12), tier(all.ID, 10, 88)}},
			{model.OrderTypeGoods, "live", []Tier{tier(live.ID, 2, 100)}, []Tier{tier(0, 1, 12), tier(live.ID, 2, 88)}},
		}
		if got := trial.Effects(3); len(got) != 4 || !reflect.DeepEqual(got[:2], want) {
			t.Errorf("effects\n%+v, want\n%+v", got, want)
		}
		if d := p.Resolve(StagePay, Query{MerchantID: 3, OrderNo: "1"}); d.PolicyID != all.ID {
			t.Errorf("a trial decides: %+v", d)
		}

		// Of one that is stored the share is known by the orders' numbers, also of a change that is not stored.
		change, err := p.Try(t.Context(), platform, all.ID, Draft{}, Change{RolloutPercent: ptr(30), DurationMS: ptr(5 * minute)})
		if err != nil || !change.Stored || change.Decision() != (Decision{5 * time.Minute, all.ID, 1}) {
			t.Fatalf("%+v, %v", change, err)
		}
		for i := range 200 {
			no := fmt.Sprint("T", i)
			want := 0
			if inShare(all.ID, 30, no) {
				want = 100
			}
			if got := change.Share(Query{OrderNo: no}); got != want {
				t.Errorf("%s: %d %%, want %d", no, got, want)
			}
		}
		built := Tier{Duration: 30 * time.Minute, Percent: 70}
		if got := change.Effects(4)[0].After; !reflect.DeepEqual(got, []Tier{{all.ID, true, 5 * time.Minute, 30}, built}) {
			t.Errorf("after the change %+v", got)
		}
	})
}

func TestTrialsThatAreRefused(t *testing.T) {
	s := storetest.SQLite(t)
	withMerchants(t, s)
	p := started(t, s)
	own := pay(minute)
	own.MerchantID = 4
	theirs, everybodys := create(t, p, own), create(t, p, pay(minute))
	for _, c := range []struct {
		what  string
		by    By
		id    int64
		draft Draft
		c     Change
		want  fault.Code
	}{
		{"another merchant's", shop3, theirs.ID, Draft{}, Change{}, fault.NotFoundError},
		{"none", platform, 4242, Draft{}, Change{}, fault.NotFoundError},
		{"a new one for everybody, by a merchant", shop3, 0, pay(minute), Change{}, fault.PermissionDenied},
		{"no stage", platform, 0, Draft{}, Change{}, fault.ValidationFailed},
		{"a change out of range", platform, theirs.ID, Draft{}, Change{DurationMS: ptr(int64(1))}, fault.ValidationFailed},
	} {
		if _, err := p.Try(t.Context(), c.by, c.id, c.draft, c.c); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
	if _, err := p.Try(t.Context(), shop3, everybodys.ID, Draft{}, Change{}); err != nil {
		t.Errorf("everybody's, seen by a merchant: %v", err)
	}
}
