package coupon_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const (
	start model.Time = 1_800_000_000_000
	day              = 24 * time.Hour
)

// shop is a coupon service with a clock that stands still until a test moves it.
type shop struct {
	*coupon.Service
	store *store.Store
	clock atomic.Int64
}

func newShop(s *store.Store) *shop {
	h := &shop{store: s}
	h.clock.Store(int64(start))
	h.Service = coupon.New(s, h.now)
	return h
}

func (h *shop) now() model.Time         { return model.Time(h.clock.Load()) }
func (h *shop) advance(d time.Duration) { h.clock.Add(d.Milliseconds()) }
func (h *shop) exec(t *testing.T, q string, args ...any) {
	t.Helper()
	if err := h.store.Read(t.Context()).Exec(q, args...).Error; err != nil {
		t.Fatal(err)
	}
}

func input(change func(*coupon.TemplateInput)) coupon.TemplateInput {
	in := coupon.TemplateInput{
		Name: "满减", Kind: model.CouponAmount, AmountFen: 1000, Scope: model.ScopeAll, Total: 100, PerShopper: 1,
		StartsAt: start, EndsAt: start.Add(30 * day),
	}
	if change != nil {
		change(&in)
	}
	return in
}

func (h *shop) create(t *testing.T, change func(*coupon.TemplateInput)) model.CouponTemplate {
	t.Helper()
	tpl, err := h.Create(t.Context(), 1, input(change))
	if err != nil {
		t.Fatal(err)
	}
	return tpl.CouponTemplate
}

func (h *shop) claim(t *testing.T, shopperID, templateID int64) model.Coupon {
	t.Helper()
	held, err := h.Claim(t.Context(), shopperID, templateID)
	if err != nil {
		t.Fatal(err)
	}
	return held.Coupon
}

// checkInvariants is A4, and that the template's count is the number of coupons there are.
func (h *shop) checkInvariants(t *testing.T) {
	t.Helper()
	var broken []int64
	err := h.store.Read(t.Context()).Raw(`SELECT t.id FROM coupon_templates t WHERE t.issued > t.total
		OR t.issued <> (SELECT COUNT(*) FROM coupons c WHERE c.template_id = t.id)
		OR EXISTS (SELECT 1 FROM coupons c WHERE c.template_id = t.id GROUP BY c.shopper_id HAVING COUNT(*) > t.per_shopper OR MAX(c.seq) <> COUNT(*))
		OR EXISTS (SELECT 1 FROM coupons c WHERE c.template_id = t.id AND (c.state IN ('locked', 'used')) <> (c.order_id IS NOT NULL))`).Scan(&broken).Error
	if err != nil || len(broken) > 0 {
		t.Errorf("templates with a broken count: %v (%v)", broken, err)
	}
}

// Case T56.
func TestT56_RushOfClaims(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, nil)
		var claimed, soldOut, limit atomic.Int64
		var wg sync.WaitGroup
		gate := make(chan struct{})
		claim := func(shopper int64) {
			<-gate
			switch _, err := h.Claim(context.WithoutCancel(t.Context()), shopper, tpl.ID); fault.CodeOf(err) {
			case "":
				claimed.Add(1)
			case fault.CouponSoldOut:
				soldOut.Add(1)
			case fault.CouponLimit:
				limit.Add(1)
			default:
				t.Error(err)
			}
		}
		for shopper := int64(1); shopper <= 500; shopper++ {
			wg.Go(func() { claim(shopper) })
			if shopper%5 == 0 {
				wg.Go(func() { claim(shopper) })
			}
		}
		close(gate)
		wg.Wait()
		if claimed.Load() != 100 || claimed.Load()+soldOut.Load()+limit.Load() != 600 {
			t.Errorf("claimed %d, sold out %d, limit %d; want 100 of 600", claimed.Load(), soldOut.Load(), limit.Load())
		}
		got, err := h.Template(t.Context(), 1, tpl.ID)
		if err != nil || got.Issued != 100 {
			t.Errorf("issued = %d (%v), want 100", got.Issued, err)
		}
		h.checkInvariants(t)
	})
}

func TestT51_LimitOfOneShopperInParallel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 3 })
		results := make(chan error, 40)
		for range cap(results) {
			go func() {
				_, err := h.Claim(context.WithoutCancel(t.Context()), 7, tpl.ID)
				results <- err
			}()
		}
		got := 0
		for range cap(results) {
			if err := <-results; err == nil {
				got++
			} else if !fault.Is(err, fault.CouponLimit) {
				t.Error(err)
			}
		}
		if got != 3 {
			t.Errorf("claimed %d, want the limit of 3", got)
		}
		h.checkInvariants(t)
	})
}

// One coupon and two orders that want it at once: one gets it.
func TestT51_OneCouponTwoOrders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		c := h.claim(t, 7, h.create(t, nil).ID)
		results := make(chan error, 20)
		for order := range int64(cap(results)) {
			go func() {
				results <- h.store.Tx(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
					return lock(tx, c.ID, 7, order+1, h.now())
				})
			}()
		}
		locked := 0
		for range cap(results) {
			if err := <-results; err == nil {
				locked++
			} else if !fault.Is(err, fault.CouponUnusable) {
				t.Error(err)
			}
		}
		if locked != 1 {
			t.Errorf("%d orders hold the coupon, want 1", locked)
		}
		h.checkInvariants(t)
	})
}

func (h *shop) tx(t *testing.T, fn func(tx *store.Tx) error) error {
	t.Helper()
	return h.store.Tx(t.Context(), fn)
}

func (h *shop) row(t *testing.T, id int64) model.Coupon {
	t.Helper()
	var c model.Coupon
	if err := h.store.Read(t.Context()).Take(&c, id).Error; err != nil {
		t.Fatal(err)
	}
	return c
}

func TestT50_LockRefusesWhatIsNotTheShoppersToUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 5 })
		mine, used, old := h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID)
		lock := func(id, shopper, order int64) error {
			return h.tx(t, func(tx *store.Tx) error { return lock(tx, id, shopper, order, h.now()) })
		}
		if err := lock(used.ID, 7, 1); err != nil {
			t.Fatal(err)
		}
		if err := h.tx(t, func(tx *store.Tx) error { return coupon.Use(tx, []int64{used.ID}, h.now()) }); err != nil {
			t.Fatal(err)
		}
		h.exec(t, "UPDATE coupons SET expires_at = ? WHERE id = ?", h.now(), old.ID)
		for name, err := range map[string]error{
			"another shopper's": lock(mine.ID, 8, 2),
			"used":              lock(used.ID, 7, 2),
			"at its end":        lock(old.ID, 7, 2),
			"unknown":           lock(999, 7, 2),
		} {
			if !fault.Is(err, fault.CouponUnusable) {
				t.Errorf("%s: %v, want coupon_unusable", name, err)
			}
		}
		if c := h.row(t, mine.ID); c.State != model.CouponAvailable || c.OrderID != nil {
			t.Errorf("the refused coupon became %+v", c)
		}
		if c := h.row(t, used.ID); c.State != model.CouponUsed || c.UsedAt != h.now() || c.OrderID == nil || *c.OrderID != 1 {
			t.Errorf("the used coupon is %+v", c)
		}
		h.checkInvariants(t)
	})
}

// Case T48.
func TestT48_CouponIsReturnedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper, in.ValidDays = 5, 1 })
		locked, used, ended := h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID)
		h.exec(t, "UPDATE coupons SET expires_at = ? WHERE id = ?", h.now()+1000, ended.ID)
		if err := h.tx(t, func(tx *store.Tx) error {
			for i, c := range []model.Coupon{locked, used, ended} {
				if err := lock(tx, c.ID, 7, int64(i)+1, h.now()); err != nil {
					return err
				}
			}
			return coupon.Use(tx, []int64{used.ID, 0}, h.now())
		}); err != nil {
			t.Fatal(err)
		}
		h.checkInvariants(t)
		h.advance(time.Second)
		back := func() error {
			// As a batch of closed orders hands them over: in no order, with orders that had none.
			return h.tx(t, func(tx *store.Tx) error {
				return coupon.Return(tx, []int64{ended.ID, 0, locked.ID, used.ID}, h.now())
			})
		}
		if err := back(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			id   int64
			want model.CouponState
		}{{locked.ID, model.CouponAvailable}, {used.ID, model.CouponAvailable}, {ended.ID, model.CouponExpired}} {
			if got := h.row(t, c.id); got.State != c.want || got.OrderID != nil || got.UsedAt != 0 {
				t.Errorf("coupon is %+v, want %s and free", got, c.want)
			}
		}
		if err := back(); err == nil {
			t.Error("a second return of the same coupons passes")
		}
		h.checkInvariants(t)
		// What was returned can be used again.
		if err := h.tx(t, func(tx *store.Tx) error { return lock(tx, locked.ID, 7, 9, h.now()) }); err != nil {
			t.Error(err)
		}
	})
}

func TestUseAndReturnOfNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		if err := h.tx(t, func(tx *store.Tx) error {
			if err := coupon.Use(tx, []int64{0}, h.now()); err != nil {
				return err
			}
			return coupon.Return(tx, nil, h.now())
		}); err != nil {
			t.Error(err)
		}
		c := h.claim(t, 7, h.create(t, nil).ID)
		if err := h.tx(t, func(tx *store.Tx) error { return coupon.Use(tx, []int64{c.ID}, h.now()) }); err == nil {
			t.Error("a coupon that no order holds was used")
		}
	})
}

func TestClaimSetsTheEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		for days, want := range map[int]model.Time{0: start.Add(30 * day), 7: start.Add(7 * day), 60: start.Add(30 * day)} {
			c := h.claim(t, 7, h.create(t, func(in *coupon.TemplateInput) { in.ValidDays = days }).ID)
			if c.ExpiresAt != want || c.MerchantID != 1 || c.Seq != 1 || c.CreatedAt != start {
				t.Errorf("%d days: got %+v, want an end of %s", days, c, want)
			}
		}
	})
}

func TestClaimRefuses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		once := h.create(t, func(in *coupon.TemplateInput) { in.Total = 2 })
		h.claim(t, 7, once.ID)
		soldOut := h.create(t, func(in *coupon.TemplateInput) { in.Total = 1 })
		h.claim(t, 8, soldOut.ID)
		later := h.create(t, func(in *coupon.TemplateInput) { in.StartsAt = start + 1 })
		over := h.create(t, func(in *coupon.TemplateInput) { in.StartsAt, in.EndsAt = start-1, start })
		h.exec(t, "INSERT INTO merchants (id, name, disabled, version, created_at, updated_at) VALUES (2, 'off', 1, 1, 1, 1)")
		closed, err := h.Create(t.Context(), 2, input(nil))
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			id   int64
			want fault.Code
		}{
			"a second one":          {once.ID, fault.CouponLimit},
			"none left":             {soldOut.ID, fault.CouponSoldOut},
			"before its start":      {later.ID, fault.CouponNotOpen},
			"at its end":            {over.ID, fault.CouponNotOpen},
			"unknown":               {999, fault.NotFoundError},
			"a disabled merchant's": {closed.ID, fault.NotFoundError},
		} {
			if _, err := h.Claim(t.Context(), 7, c.id); !fault.Is(err, c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
		h.checkInvariants(t)
	})
}

func TestOffers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		long := h.create(t, func(in *coupon.TemplateInput) { in.EndsAt = start.Add(40 * day) })
		h.create(t, func(in *coupon.TemplateInput) { in.StartsAt = start + 1 })
		h.create(t, func(in *coupon.TemplateInput) { in.StartsAt, in.EndsAt = start-1, start })
		h.claim(t, 8, h.create(t, func(in *coupon.TemplateInput) { in.Total = 1 }).ID)
		short := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 2 })
		h.claim(t, 7, long.ID)
		h.claim(t, 7, short.ID)

		offers, total, err := h.Offers(t.Context(), 0, 7, store.Page{Number: 1, Limit: 20})
		if err != nil || total != 2 || len(offers) != 2 {
			t.Fatalf("%d offers of %d (%v), want 2", len(offers), total, err)
		}
		if o := offers[0]; o.Template.ID != short.ID || o.Left() != 99 || o.Claimed != 1 || !o.Claimable() {
			t.Errorf("first offer is %+v", o)
		}
		if o := offers[1]; o.Template.ID != long.ID || o.Claimed != 1 || o.Claimable() {
			t.Errorf("second offer is %+v", o)
		}
		if offers, total, err = h.Offers(t.Context(), 2, 0, store.Page{Number: 1, Limit: 20}); err != nil || total != 0 || len(offers) != 0 {
			t.Errorf("another merchant has %d offers (%v)", total, err)
		}
		if offers, total, err = h.Offers(t.Context(), 1, 0, store.Page{Number: 2, Limit: 1}); err != nil || total != 2 || len(offers) != 1 ||
			offers[0].Template.ID != long.ID || !offers[0].Claimable() {
			t.Errorf("second page for nobody in particular: %+v of %d (%v)", offers, total, err)
		}
	})
}

func TestMine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 9 })
		free, locked, used, ended, past := h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID), h.claim(t, 7, tpl.ID)
		h.claim(t, 8, tpl.ID)
		if err := h.tx(t, func(tx *store.Tx) error {
			for i, c := range []model.Coupon{locked, used} {
				if err := lock(tx, c.ID, 7, int64(i)+1, h.now()); err != nil {
					return err
				}
			}
			return coupon.Use(tx, []int64{used.ID}, h.now())
		}); err != nil {
			t.Fatal(err)
		}
		h.exec(t, "UPDATE coupons SET state = 'expired' WHERE id = ?", ended.ID)
		h.exec(t, "UPDATE coupons SET expires_at = ? WHERE id = ?", h.now(), past.ID)
		for state, want := range map[model.CouponState][]int64{
			"":                    {past.ID, ended.ID, used.ID, locked.ID, free.ID},
			model.CouponAvailable: {free.ID},
			model.CouponLocked:    {locked.ID},
			model.CouponUsed:      {used.ID},
			model.CouponExpired:   {past.ID, ended.ID},
		} {
			held, total, err := h.Mine(t.Context(), 7, state, store.Page{Number: 1, Limit: 20})
			var ids []int64
			for _, c := range held {
				ids = append(ids, c.Coupon.ID)
				if state != "" && c.Coupon.State != state || c.Template.ID != tpl.ID || c.Coupon.ShopperID != 7 {
					t.Errorf("%q lists %+v", state, c)
				}
			}
			if diff := cmp.Diff(want, ids); diff != "" || err != nil || total != int64(len(want)) {
				t.Errorf("%q: %s, total %d, %v", state, diff, total, err)
			}
		}
		held, err := coupon.Held(s.Read(t.Context()), 7)
		var ids []int64
		for _, c := range held {
			ids = append(ids, c.Coupon.ID)
		}
		slices.Sort(ids)
		if diff := cmp.Diff([]int64{free.ID, locked.ID, past.ID}, ids); diff != "" || err != nil {
			t.Errorf("held: %s (%v)", diff, err)
		}
	})
}

func fields(err error) []string {
	var names []string
	if e, ok := err.(*fault.Error); ok { //nolint:errorlint // services return it unwrapped
		for _, f := range e.Fields {
			names = append(names, fmt.Sprintf("%s %s", f.Field, f.Code))
		}
	}
	return names
}

func TestTemplateIsValidated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		h.exec(t, `INSERT INTO categories (id, merchant_id, parent_id, name, sort, version, created_at, changed_at, deleted_at)
			VALUES (5, 1, 0, 'a', 0, 1, 1, 1, 0), (6, 1, 0, 'b', 0, 1, 1, 1, 9), (7, 2, 0, 'c', 0, 1, 1, 1, 0)`)
		for name, c := range map[string]struct {
			change func(*coupon.TemplateInput)
			want   []string
		}{
			"right":                  {nil, nil},
			"right, of a category":   {func(in *coupon.TemplateInput) { in.Scope, in.ScopeIDs = model.ScopeCategory, []int64{5} }, nil},
			"blank name":             {func(in *coupon.TemplateInput) { in.Name = " " }, []string{"name wrong_length"}},
			"unknown kind and scope": {func(in *coupon.TemplateInput) { in.Kind, in.Scope = "x", "y" }, []string{"kind not_a_choice", "scope not_a_choice"}},
			"amount without amount":  {func(in *coupon.TemplateInput) { in.AmountFen = 0 }, []string{"amount_fen out_of_range"}},
			"amount with percent":    {func(in *coupon.TemplateInput) { in.PercentOff = 5 }, []string{"percent_off out_of_range"}},
			"percent of 100": {
				func(in *coupon.TemplateInput) { in.Kind, in.AmountFen, in.PercentOff = model.CouponPercent, 0, 100 },
				[]string{"percent_off out_of_range"},
			},
			"free shipping with numbers": {
				func(in *coupon.TemplateInput) { in.Kind, in.MaxDiscountFen = model.CouponFreeShipping, 5 },
				[]string{"amount_fen out_of_range", "max_discount_fen out_of_range"},
			},
			"negative threshold": {func(in *coupon.TemplateInput) { in.ThresholdFen = -1 }, []string{"threshold_fen out_of_range"}},
			"nothing to claim": {
				func(in *coupon.TemplateInput) { in.Total, in.PerShopper, in.ValidDays = 0, 0, -1 },
				[]string{"total out_of_range", "per_shopper out_of_range", "valid_days out_of_range"},
			},
			"ends before it starts": {func(in *coupon.TemplateInput) { in.EndsAt = in.StartsAt }, []string{"ends_at out_of_range"}},
			"ids for everything":    {func(in *coupon.TemplateInput) { in.ScopeIDs = []int64{5} }, []string{"scope_ids wrong_length"}},
			"no ids":                {func(in *coupon.TemplateInput) { in.Scope = model.ScopeProduct }, []string{"scope_ids wrong_length"}},
			"ids that are not there": {
				func(in *coupon.TemplateInput) { in.Scope, in.ScopeIDs = model.ScopeCategory, []int64{5, 6, 7, 5} },
				[]string{"scope_ids[1] gone", "scope_ids[2] gone", "scope_ids[3] duplicate"},
			},
		} {
			_, err := h.Create(t.Context(), 1, input(c.change))
			if diff := cmp.Diff(c.want, fields(err)); diff != "" || (err != nil) != (c.want != nil) {
				t.Errorf("%s: %v %s", name, err, diff)
			}
		}
		if _, total, err := h.Templates(t.Context(), coupon.TemplateFilter{MerchantID: 1}, store.Page{Number: 1, Limit: 20}); err != nil || total != 2 {
			t.Errorf("%d templates are stored (%v), want the 2 right ones", total, err)
		}
		scoped, err := h.Create(t.Context(), 1, input(func(in *coupon.TemplateInput) { in.Scope, in.ScopeIDs = model.ScopeCategory, []int64{5} }))
		if diff := cmp.Diff([]coupon.Named{{ID: 5, Name: "a"}}, scoped.Scoped); diff != "" || err != nil {
			t.Errorf("what it is for: %s (%v)", diff, err)
		}
	})
}

func TestTemplateUpdate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, func(in *coupon.TemplateInput) { in.PerShopper = 3 })
		h.claim(t, 7, tpl.ID)
		h.claim(t, 7, tpl.ID)
		h.claim(t, 8, tpl.ID)
		update := func(merchant, version int64, change func(*coupon.TemplateInput)) (coupon.TemplateView, error) {
			return h.Update(t.Context(), merchant, tpl.ID, version, input(change))
		}
		for name, c := range map[string]struct {
			merchant, version int64
			change            func(*coupon.TemplateInput)
			want              fault.Code
			field             string
		}{
			"another merchant's":    {2, 1, nil, fault.NotFoundError, ""},
			"stale":                 {1, 2, nil, fault.StaleVersion, ""},
			"total below issued":    {1, 1, func(in *coupon.TemplateInput) { in.Total, in.PerShopper = 2, 3 }, fault.TotalBelowIssued, "total out_of_range"},
			"limit below a claimer": {1, 1, func(in *coupon.TemplateInput) { in.PerShopper = 1 }, fault.TotalBelowIssued, "per_shopper out_of_range"},
			"wrong":                 {1, 1, func(in *coupon.TemplateInput) { in.Name = "" }, fault.ValidationFailed, "name wrong_length"},
		} {
			_, err := update(c.merchant, c.version, c.change)
			if !fault.Is(err, c.want) || (c.field != "" && !slices.Equal(fields(err), []string{c.field})) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
		if got, err := h.Template(t.Context(), 1, tpl.ID); err != nil || got.Version != 1 || got.Total != 100 {
			t.Errorf("a refused change left %+v (%v)", got, err)
		}
		h.advance(time.Minute)
		got, err := update(1, 1, func(in *coupon.TemplateInput) {
			in.Total, in.PerShopper, in.Kind, in.AmountFen, in.PercentOff = 3, 2, model.CouponPercent, 0, 20
		})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := h.Template(t.Context(), 1, tpl.ID)
		if diff := cmp.Diff(got, stored); diff != "" || err != nil {
			t.Errorf("the reply and what is stored differ: %s (%v)", diff, err)
		}
		if stored.Version != 2 || stored.Issued != 3 || stored.AmountFen != 0 || stored.PercentOff != 20 || stored.CreatedAt != start || stored.UpdatedAt != h.now() {
			t.Errorf("stored %+v", stored)
		}
		if _, err := h.Claim(t.Context(), 9, tpl.ID); !fault.Is(err, fault.CouponSoldOut) {
			t.Errorf("claim after the total was lowered to what is issued: %v", err)
		}
		h.checkInvariants(t)
	})
}

// Claims and a merchant who lowers the total meet: whoever is first, no more are issued than the total says.
func TestTotalLoweredDuringClaims(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(s)
		tpl := h.create(t, nil)
		var wg sync.WaitGroup
		for shopper := int64(1); shopper <= 60; shopper++ {
			wg.Go(func() {
				if _, err := h.Claim(context.WithoutCancel(t.Context()), shopper, tpl.ID); err != nil && !fault.Is(err, fault.CouponSoldOut) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			_, err := h.Update(context.WithoutCancel(t.Context()), 1, tpl.ID, 1, input(func(in *coupon.TemplateInput) { in.Total = 30 }))
			if err != nil && !fault.Is(err, fault.TotalBelowIssued) {
				t.Error(err)
			}
		})
		wg.Wait()
		h.checkInvariants(t)
	})
}

// lock sends a lock alone.
func lock(tx *store.Tx, couponID, shopperID, orderID int64, now model.Time) error {
	var b store.Batch
	coupon.Lock(&b, couponID, shopperID, orderID, now)
	return tx.Send(&b)
}
