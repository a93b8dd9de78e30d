package coupon_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// Every coupon that was issued is counted once, where it stands now.
func TestFiguresFollowTheCoupons(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper, in.ValidDays = 9, 1 })
		other := h.create(t, nil)
		h.claim(t, 8, other.ID)
		var mine []model.Coupon
		for range 5 {
			mine = append(mine, h.claim(t, 7, tpl.ID))
		}
		figures := func() coupon.Figures {
			t.Helper()
			views, total, err := h.Templates(t.Context(), coupon.TemplateFilter{MerchantID: 1}, store.Page{Number: 1, Limit: 20})
			if err != nil || total != 2 || views[0].ID != other.ID || views[0].Figures != (coupon.Figures{Available: 1}) {
				t.Errorf("%+v, %d, %v", views, total, err)
			}
			one, err := h.Template(t.Context(), 1, tpl.ID)
			if diff := cmp.Diff(views[1], one); diff != "" || err != nil {
				t.Errorf("the list and the template differ: %s (%v)", diff, err)
			}
			return one.Figures
		}
		changed := func(fn func(tx *store.Tx) error, want coupon.Figures) {
			t.Helper()
			if err := h.tx(t, fn); err != nil {
				t.Fatal(err)
			}
			if got := figures(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		changed(func(*store.Tx) error { return nil }, coupon.Figures{Available: 5})
		changed(func(tx *store.Tx) error {
			for i, c := range mine[:3] {
				if err := lock(tx, c.ID, 7, int64(i)+1, h.now()); err != nil {
					return err
				}
			}
			return nil
		}, coupon.Figures{Available: 2, Locked: 3})
		changed(func(tx *store.Tx) error { return coupon.Use(tx, []int64{mine[0].ID, mine[1].ID}, h.now()) }, coupon.Figures{Available: 2, Locked: 1, Used: 2})
		changed(func(tx *store.Tx) error { return coupon.Return(tx, []int64{mine[0].ID, mine[2].ID}, h.now()) },
			coupon.Figures{Available: 4, Used: 1, GivenBack: 2})
		changed(func(tx *store.Tx) error { return lock(tx, mine[2].ID, 7, 9, h.now()) }, coupon.Figures{Available: 3, Locked: 1, Used: 1, GivenBack: 2})
		h.advance(day) // nothing marks those that nobody used
		if got, want := figures(), (coupon.Figures{Expired: 3, Locked: 1, Used: 1, GivenBack: 2}); got != want {
			t.Errorf("after their end: %+v, want %+v", got, want)
		}
		changed(func(tx *store.Tx) error { return coupon.Return(tx, []int64{mine[2].ID}, h.now()) }, coupon.Figures{Expired: 4, Used: 1, GivenBack: 3})
	})
}

// A template is in one state at a time, and the filter and the template agree on which.
func TestTemplatesByState(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		ids := map[model.TemplateState]int64{}
		ids[model.TemplateRunning] = h.create(t, nil).ID
		ids[model.TemplateUpcoming] = h.create(t, func(in *coupon.TemplateInput) { in.StartsAt = start.Add(time.Hour) }).ID
		stopped := h.create(t, nil)
		ids[model.TemplateStopped] = stopped.ID
		h.exec(t, "UPDATE coupon_templates SET stopped_at = 1 WHERE id = ?", stopped.ID)
		ids[model.TemplateEnded] = h.create(t, func(in *coupon.TemplateInput) { in.StartsAt, in.EndsAt = start-2, start }).ID
		h.exec(t, "UPDATE coupon_templates SET stopped_at = 1 WHERE id = ?", ids[model.TemplateEnded])
		for state, id := range ids {
			views, total, err := h.Templates(t.Context(), coupon.TemplateFilter{MerchantID: 1, State: state}, store.Page{Number: 1, Limit: 20})
			if err != nil || total != 1 || len(views) != 1 || views[0].ID != id || views[0].Status != state {
				t.Errorf("%s lists %+v, %d, %v", state, views, total, err)
			}
		}
	})
}

// Nobody claims of a stopped template, and what is held of it goes on being used.
func TestStopAndResume(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 2 })
		held := h.claim(t, 7, tpl.ID)
		if _, err := h.Stop(t.Context(), 2, tpl.ID, 1); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant: %v", err)
		}
		if _, err := h.Stop(t.Context(), 1, tpl.ID, 2); !fault.Is(err, fault.StaleVersion) {
			t.Errorf("stale: %v", err)
		}
		got, err := h.Stop(t.Context(), 1, tpl.ID, 1)
		if err != nil || got.Status != model.TemplateStopped || got.StoppedAt != h.now() || got.Version != 2 {
			t.Fatalf("stopped: %+v, %v", got, err)
		}
		if again, err := h.Stop(t.Context(), 1, tpl.ID, 2); err != nil || again.Version != 2 {
			t.Errorf("stopping again: %+v, %v", again, err)
		}
		offered := func() bool {
			offers, _, err := h.Offers(t.Context(), 1, 7, store.Page{Number: 1, Limit: 20})
			if err != nil {
				t.Error(err)
			}
			return slices.ContainsFunc(offers, func(o coupon.Offer) bool { return o.Template.ID == tpl.ID })
		}
		if _, err := h.Claim(t.Context(), 8, tpl.ID); !fault.Is(err, fault.CouponNotOpen) || offered() {
			t.Errorf("claimed while stopped: %v, offered %v", err, offered())
		}
		if err := h.tx(t, func(tx *store.Tx) error { return lock(tx, held.ID, 7, 1, h.now()) }); err != nil {
			t.Errorf("using one that is held: %v", err)
		}
		changed, err := h.Update(t.Context(), 1, tpl.ID, 2, input(func(in *coupon.TemplateInput) { in.PerShopper, in.Name = 2, "新" }))
		if err != nil || changed.Status != model.TemplateStopped {
			t.Errorf("a change: %+v, %v", changed, err)
		}
		if got, err := h.Resume(t.Context(), 1, tpl.ID, 3); err != nil || got.Status != model.TemplateRunning || got.StoppedAt != 0 || !offered() {
			t.Errorf("resumed: %+v, %v", got, err)
		}
		h.claim(t, 8, tpl.ID)
		h.advance(30 * day)
		if _, err := h.Stop(t.Context(), 1, tpl.ID, 4); !fault.Is(err, fault.StateConflict) {
			t.Errorf("stopping what has ended: %v", err)
		}
		h.checkInvariants(t)
	})
}

func TestStopAndResumeAreInTheChangeLog(t *testing.T) {
	s := storetest.SQLite(t)
	h := newShop(s)
	tpl := h.create(t, nil)
	version := tpl.Version
	for _, c := range []struct {
		action  string
		do      func(context.Context, int64, int64, int64) (coupon.TemplateView, error)
		entries int64
	}{
		{"stop", h.Stop, 1},
		{"stop", h.Stop, 1}, // again: nothing to change
		{"resume", h.Resume, 2},
	} {
		call := &changelog.Call{Action: c.action, AdminID: 3, MerchantID: 1, Now: h.now}
		got, err := c.do(changelog.Begin(t.Context(), call), 1, tpl.ID, version)
		if err != nil {
			t.Fatal(err)
		}
		version = got.Version
		var entries int64
		if err := s.Read(t.Context()).Model(&model.AdminChange{}).Where("kind = 'coupon_template' AND ref = ?", tpl.ID).Count(&entries).Error; err != nil {
			t.Fatal(err)
		}
		if entries != c.entries || !call.Recorded() {
			t.Errorf("after %s: %d entries, want %d; recorded %t", c.action, entries, c.entries, call.Recorded())
		}
	}
}
