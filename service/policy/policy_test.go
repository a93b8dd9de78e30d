package policy

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout/stall"
)

var (
	platform = By{Actor: "admin:1"}
	shop3    = By{MerchantID: 3, Actor: "admin:7"}
)

const minute = int64(60_000)

type clock struct{ ms atomic.Int64 }

func (c *clock) now() model.Time { return model.Time(c.ms.Add(1)) } // every reading is a millisecond later

func started(t *testing.T, s *store.Store) *Policies {
	t.Helper()
	c := &clock{}
	c.ms.Store(1_700_000_000_000)
	p := New(s, c.now, slog.New(slog.DiscardHandler))
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func withMerchants(t *testing.T, s *store.Store) {
	t.Helper()
	for _, id := range []int64{3, 4} {
		if err := s.Read(t.Context()).Create(&model.Merchant{ID: id, Name: fmt.Sprint("m", id), Version: 1}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func create(t *testing.T, p *Policies, d Draft) model.TimeoutPolicy {
	t.Helper()
	row, err := p.Create(t.Context(), platform, d)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func pay(ms int64) Draft {
	return Draft{Stage: StagePay, DurationMS: ms, Enabled: true, RolloutPercent: 100}
}

func ptr[T any](v T) *T { return &v }

func TestMostSpecificEnabledPolicyWins(t *testing.T) {
	p := New(nil, func() model.Time { return 0 }, slog.New(slog.DiscardHandler))
	row := func(id, merchant int64, orderType, line string, ms int64, on bool) model.TimeoutPolicy {
		return model.TimeoutPolicy{ID: id, Stage: StagePay, MerchantID: merchant, OrderType: orderType, BizLine: line, DurationMS: ms, Enabled: on, RolloutPercent: 100, Version: 1}
	}
	p.apply([]model.TimeoutPolicy{
		row(1, 0, "", "", 1*minute, true),
		row(2, 0, "", "live", 2*minute, true),
		row(3, 0, "virtual", "", 3*minute, true),
		row(4, 3, "", "", 4*minute, true),
		row(5, 3, "virtual", "live", 5*minute, false), // off: the next less specific counts
		row(6, 3, "virtual", "", 6*minute, true),
		row(7, 4, "", "", 7*minute, true),
		row(8, 4, "", "", 8*minute, true), // as specific as 7 and newer
	}, nil)
	for _, c := range []struct {
		q    Query
		want int64
	}{
		{Query{MerchantID: 9, OrderType: "goods"}, 1},
		{Query{MerchantID: 9, OrderType: "goods", BizLine: "live"}, 2},
		{Query{MerchantID: 9, OrderType: "virtual", BizLine: "live"}, 3},
		{Query{MerchantID: 3, OrderType: "goods", BizLine: "live"}, 4},
		{Query{MerchantID: 3, OrderType: "virtual", BizLine: "live"}, 6},
		{Query{MerchantID: 4, OrderType: "virtual"}, 8},
	} {
		c.q.OrderNo = "1"
		want := Decision{Duration: time.Duration(c.want) * time.Minute, PolicyID: c.want, Version: 1}
		if got := p.Resolve(StagePay, c.q); got != want {
			t.Errorf("%+v: %+v, want %+v", c.q, got, want)
		}
	}
	p.apply(nil, []int64{8})
	if got := p.Resolve(StagePay, Query{MerchantID: 4}); got.PolicyID != 7 {
		t.Errorf("after its removal policy %d wins, want 7", got.PolicyID)
	}
}

func TestBuiltInPayDeadlineCannotBeOff(t *testing.T) {
	s := storetest.SQLite(t)
	p := started(t, s)
	builtIn := Decision{Duration: 30 * time.Minute}
	if got := p.Resolve(StagePay, Query{OrderNo: "1"}); got != builtIn {
		t.Errorf("without policies: %+v, want %+v", got, builtIn)
	}
	off := pay(minute)
	off.Enabled = false
	create(t, p, off)
	none := pay(minute)
	none.RolloutPercent = 0
	create(t, p, none)
	if got := p.Resolve(StagePay, Query{OrderNo: "1"}); got != builtIn {
		t.Errorf("with policies that are off: %+v, want %+v", got, builtIn)
	}
}

func TestRolloutIsAStableShareThatOnlyGrows(t *testing.T) {
	const orders = 20_000
	in := func(percent int) map[string]bool {
		m := map[string]bool{}
		for i := range orders {
			if no := fmt.Sprintf("20260131%012d", i); inShare(17, percent, no) {
				m[no] = true
			}
		}
		return m
	}
	ten, thirty := in(10), in(30)
	for share, m := range map[int]map[string]bool{10: ten, 30: thirty} {
		if n := len(m); n < orders*(share-1)/100 || n > orders*(share+1)/100 {
			t.Errorf("%d %% took %d of %d orders", share, n, orders)
		}
	}
	for no := range ten {
		if !thirty[no] {
			t.Fatalf("order %s is in 10 %% and not in 30 %%", no)
		}
	}
	if n := len(in(0)); n != 0 {
		t.Errorf("0 %% took %d orders", n)
	}
	if n := len(in(100)); n != orders {
		t.Errorf("100 %% took %d orders", n)
	}
	if reflect.DeepEqual(ten, func() map[string]bool {
		m := map[string]bool{}
		for i := range orders {
			if no := fmt.Sprintf("20260131%012d", i); inShare(18, 10, no) {
				m[no] = true
			}
		}
		return m
	}()) {
		t.Error("two policies pick the same orders")
	}
	// The hash is written down: another one would move orders between policies at an upgrade.
	if !inShare(1, 97, "202601310000000001") || inShare(1, 96, "202601310000000001") {
		t.Error("FNV-1a of policy 1 and order 202601310000000001 is not 96 modulo 100 any more")
	}
}

// Order A is placed under 60 minutes; the policy changes to 10; order B gets 10 and A keeps its own.
// Case T04.
func TestT04_ChangeOfAPolicyCountsForTheNextOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p, other := started(t, s), started(t, s)
		row := create(t, p, pay(60*minute))
		a := p.Resolve(StagePay, Query{OrderNo: "A"})
		changed, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: ptr(10 * minute), Version: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := p.Resolve(StagePay, Query{OrderNo: "B"})
		wantA := Decision{Duration: time.Hour, PolicyID: row.ID, Version: 1}
		wantB := Decision{Duration: 10 * time.Minute, PolicyID: row.ID, Version: 2}
		if a != wantA || b != wantB || changed.Version != 2 {
			t.Errorf("A %+v, B %+v; want %+v, %+v", a, b, wantA, wantB)
		}
		// The other replica reads it at its next look.
		if err := other.follower.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := other.Resolve(StagePay, Query{OrderNo: "B"}); got != wantB {
			t.Errorf("on the other replica B %+v, want %+v", got, wantB)
		}
	})
}

// A change made on one replica is live on another one within a second, without a restart. Of five changes the slowest is left
// out, for a machine that was busy with something else.
func TestAnotherReplicaFollowsWithinASecond(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p, other := started(t, s), started(t, s)
		row := create(t, p, pay(5*minute))
		watch := stall.Start()
		defer watch.Stop()
		var took []time.Duration
		for i := range int64(5) {
			changed, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: ptr((6 + i) * minute), Version: row.Version})
			if err != nil {
				t.Fatal(err)
			}
			row = changed
			began := time.Now()
			awaitVersion(t, other, row)
			took = append(took, time.Since(began)-watch.Between(began, time.Now()))
		}
		slices.Sort(took)
		if took[3] > time.Second {
			t.Errorf("seen after %v, want within a second", took)
		}
	})
}

// awaitVersion returns when the replica decides by this version of the policy.
func awaitVersion(t *testing.T, p *Policies, row model.TimeoutPolicy) {
	t.Helper()
	storetest.Await(t, 10*time.Second, fmt.Sprintf("version %d on the other replica", row.Version), func() bool {
		d := p.Resolve(row.Stage, Query{})
		return d.PolicyID == row.ID && d.Version == row.Version
	})
}

// Case T05.
func TestT05_WaitingOrdersKeepTheirDeadline(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := started(t, s)
		row := create(t, p, pay(60*minute))
		d := p.Resolve(StagePay, Query{OrderNo: "A"})
		deadline := model.Time(1_700_000_000_000).Add(d.Duration)
		order := model.Order{ID: 1, No: "A", MerchantID: 3, State: model.OrderPending, PolicyID: d.PolicyID, PolicyVersion: d.Version, PayDeadline: deadline, Version: 1}
		if err := s.Read(t.Context()).Create(&order).Error; err != nil {
			t.Fatal(err)
		}
		if _, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: ptr(minute), Enabled: ptr(false), Version: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Rollback(t.Context(), platform, row.ID, 2, 0); err != nil {
			t.Fatal(err)
		}
		if err := p.Remove(t.Context(), platform, row.ID, 3); err != nil {
			t.Fatal(err)
		}
		var got model.Order
		if err := s.Read(t.Context()).Take(&got).Error; err != nil || got.PayDeadline != deadline || got.PolicyVersion != 1 {
			t.Errorf("the order's deadline is %v of version %d (%v), want %v of version 1", got.PayDeadline, got.PolicyVersion, err, deadline)
		}
	})
}

// Case T16.
func TestT16_DurationInTheWrongUnitIsRefused(t *testing.T) {
	s := storetest.SQLite(t)
	p := started(t, s)
	row := create(t, p, pay(minute))
	for name, ms := range map[string]int64{
		"30, meant as minutes":                 30,
		"900, meant as seconds":                900,
		"0":                                    0,
		"-1":                                   -1,
		"30 minutes in nanoseconds":            int64(30 * time.Minute),
		"a millisecond too long":               30*24*3600*1000 + 1,
		"a millisecond too short":              999,
		"an overflow of milliseconds to nanos": 1 << 62,
	} {
		if _, err := p.Create(t.Context(), platform, pay(ms)); !out(err, "duration_ms") {
			t.Errorf("create with %s: %v, want duration_ms out of range", name, err)
		}
		if _, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: &ms, Version: 1}); !out(err, "duration_ms") {
			t.Errorf("update with %s: %v, want duration_ms out of range", name, err)
		}
	}
	for _, ms := range []int64{1000, 30 * 24 * 3600 * 1000} {
		create(t, p, pay(ms))
	}
	// Every field that holds a duration names its unit.
	for _, typ := range []reflect.Type{reflect.TypeFor[Draft](), reflect.TypeFor[Change](), reflect.TypeFor[model.TimeoutPolicy](), reflect.TypeFor[model.TimeoutPolicyVersion]()} {
		for f := range typ.Fields() {
			if strings.Contains(f.Name, "Duration") && !strings.HasSuffix(f.Name, "MS") {
				t.Errorf("%s.%s does not name its unit", typ, f.Name)
			}
		}
	}
}

func out(err error, field string) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == fault.ValidationFailed && len(e.Fields) == 1 && e.Fields[0].Field == field
}

func TestInputIsChecked(t *testing.T) {
	s := storetest.SQLite(t)
	p := started(t, s)
	for field, change := range map[string]func(*Draft){
		"stage":           func(d *Draft) { d.Stage = "payment" },
		"rollout_percent": func(d *Draft) { d.RolloutPercent = 101 },
		"order_type":      func(d *Draft) { d.OrderType = "GOODS" },
		"biz_line":        func(d *Draft) { d.BizLine = "直播" },
		"merchant_id":     func(d *Draft) { d.MerchantID = 99 },
	} {
		d := pay(minute)
		change(&d)
		if _, err := p.Create(t.Context(), platform, d); !out(err, field) {
			t.Errorf("%s: %v, want a problem with it", field, err)
		}
	}
	if rows, total, err := p.List(t.Context(), 0, store.Page{Number: 1, Limit: 20}); err != nil || total != 0 || len(rows) != 0 {
		t.Errorf("%d policies were stored (%v)", total, err)
	}
}

func TestWhatAPolicyAppliesToNeverChanges(t *testing.T) {
	s := storetest.SQLite(t)
	p := started(t, s)
	row := create(t, p, pay(minute))
	for field, c := range map[string]Change{
		"stage": {Stage: ptr("ship")}, "merchant_id": {MerchantID: ptr(int64(3))}, "order_type": {OrderType: ptr("goods")}, "biz_line": {BizLine: ptr("live")},
	} {
		c.Version, c.DurationMS = 1, ptr(2*minute)
		if _, err := p.Update(t.Context(), platform, row.ID, c); !out(err, field) {
			t.Errorf("%s: %v, want a problem with it", field, err)
		}
	}
	same := Change{Stage: ptr(StagePay), MerchantID: ptr(int64(0)), OrderType: ptr(""), BizLine: ptr(""), DurationMS: ptr(2 * minute), Version: 1}
	if row, err := p.Update(t.Context(), platform, row.ID, same); err != nil || row.DurationMS != 2*minute {
		t.Errorf("the same scope: %+v, %v", row, err)
	}
}

func TestVersionsAndRollback(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := started(t, s)
		row := create(t, p, pay(60*minute))
		if _, err := p.Rollback(t.Context(), platform, row.ID, 0, 0); !fault.Is(err, fault.StateConflict) {
			t.Errorf("rollback of the first version: %v, want state_conflict", err)
		}
		if _, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: ptr(10 * minute), RolloutPercent: ptr(50), Version: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: ptr(20 * minute), Version: 1}); !fault.Is(err, fault.StaleVersion) {
			t.Errorf("update of version 1 again: %v, want stale_version", err)
		}
		if _, err := p.Rollback(t.Context(), platform, row.ID, 1, 0); !fault.Is(err, fault.StaleVersion) {
			t.Errorf("rollback with the old version: %v, want stale_version", err)
		}
		back, err := p.Rollback(t.Context(), By{Actor: "admin:2"}, row.ID, 2, 0)
		if err != nil || back.Version != 3 || back.DurationMS != 60*minute || back.RolloutPercent != 100 {
			t.Fatalf("rollback: %+v (%v), want the values of version 1 as version 3", back, err)
		}
		if got := p.Resolve(StagePay, Query{OrderNo: "1"}); got.Version != 3 || got.Duration != time.Hour {
			t.Errorf("live is %+v, want version 3", got)
		}
		to, err := p.Rollback(t.Context(), platform, row.ID, 3, 2)
		if err != nil || to.Version != 4 || to.DurationMS != 10*minute || to.RolloutPercent != 50 {
			t.Errorf("rollback to version 2: %+v (%v)", to, err)
		}
		versions, err := p.Versions(t.Context(), 0, row.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range versions {
			got = append(got, fmt.Sprintf("%d %d %d %s %s %d", v.Version, v.DurationMS, v.RolloutPercent, v.Actor, v.Action, v.FromVersion))
		}
		want := []string{
			"4 600000 50 admin:1 rollback 2", "3 3600000 100 admin:2 rollback 1", "2 600000 50 admin:1 update 0", "1 3600000 100 admin:1 create 0",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("versions %q, want %q", got, want)
		}
		if err := p.Remove(t.Context(), platform, row.ID, 4); err != nil {
			t.Fatal(err)
		}
		if got := p.Resolve(StagePay, Query{}); got.PolicyID != 0 {
			t.Errorf("a removed policy still counts: %+v", got)
		}
		if err := p.Remove(t.Context(), platform, row.ID, 5); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("second removal: %v, want not_found", err)
		}
		if last, err := p.Versions(t.Context(), 0, row.ID); err != nil || len(last) != 5 || last[0].Action != model.PolicyRemoved || last[0].Enabled {
			t.Errorf("versions of a removed policy %+v (%v), want the removal as the fifth", last, err)
		}
	})
}

func TestMerchantChangesItsOwnPoliciesOnly(t *testing.T) {
	s := storetest.SQLite(t)
	withMerchants(t, s)
	p := started(t, s)
	global := create(t, p, pay(60*minute))
	d := pay(5 * minute)
	d.MerchantID = 4
	foreign := create(t, p, d)
	if _, err := p.Create(t.Context(), shop3, pay(minute)); !fault.Is(err, fault.PermissionDenied) {
		t.Errorf("a merchant's policy for all: %v, want permission_denied", err)
	}
	d.MerchantID = 3
	own, err := p.Create(t.Context(), shop3, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   int64
		want fault.Code
	}{{global.ID, fault.PermissionDenied}, {foreign.ID, fault.NotFoundError}, {own.ID, ""}} {
		if _, err := p.Update(t.Context(), shop3, c.id, Change{DurationMS: ptr(2 * minute), Version: 1}); fault.CodeOf(err) != c.want {
			t.Errorf("policy %d: %v, want %q", c.id, err, c.want)
		}
	}
	rows, total, err := p.List(t.Context(), 3, store.Page{Number: 1, Limit: 20})
	if err != nil || total != 2 || rows[0].ID != own.ID || rows[1].ID != global.ID {
		t.Errorf("merchant 3 is shown %+v of %d (%v), want its own and the global one", rows, total, err)
	}
	if _, err := p.Versions(t.Context(), 3, foreign.ID); !fault.Is(err, fault.NotFoundError) {
		t.Errorf("another's versions: %v, want not_found", err)
	}
	if _, total, err := p.List(t.Context(), 0, store.Page{Number: 1, Limit: 20}); err != nil || total != 3 {
		t.Errorf("the platform is shown %d (%v), want 3", total, err)
	}
}
