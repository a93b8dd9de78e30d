package policy

import (
	"testing"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestWhoMayRetimeByAPolicy(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		withMerchants(t, s)
		p := started(t, s)
		global := create(t, p, pay(10*minute))
		off, none, remind, own := pay(minute), pay(minute), pay(minute), pay(minute)
		off.Enabled, none.RolloutPercent, remind.Stage, own.MerchantID = false, 0, StageRemind, 4
		for _, c := range []struct {
			what string
			by   By
			id   int64
			want fault.Code
		}{
			{"everybody's, by the platform", platform, global.ID, ""},
			{"one that is off", platform, create(t, p, off).ID, fault.StateConflict},
			{"one for no order", platform, create(t, p, none).ID, fault.StateConflict},
			{"one of another stage", platform, create(t, p, remind).ID, fault.StateConflict},
			{"none", platform, 4242, fault.NotFoundError},
			{"another merchant's", shop3, create(t, p, own).ID, fault.NotFoundError},
			{"everybody's, by a merchant", shop3, global.ID, fault.PermissionDenied},
		} {
			err := s.Tx(t.Context(), func(tx *store.Tx) error {
				row, err := p.Lock(tx, c.by, c.id)
				if err != nil {
					return err
				}
				return Retimable(row)
			})
			if fault.CodeOf(err) != c.want {
				t.Errorf("%s: %v, want %s", c.what, err, c.want)
			}
		}
	})
}

func TestPresent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := started(t, s)
		row := create(t, p, pay(10*minute))
		version := func() int64 {
			t.Helper()
			got, err := p.Present(t.Context(), row.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got.Version
		}
		if v := version(); v != 1 {
			t.Errorf("version %d of a new policy", v)
		}
		ms := 20 * minute
		if _, err := p.Update(t.Context(), platform, row.ID, Change{DurationMS: &ms, Version: 1}); err != nil {
			t.Fatal(err)
		}
		if v := version(); v != 2 {
			t.Errorf("version %d of a changed policy", v)
		}
		if err := p.Remove(t.Context(), platform, row.ID, 2); err != nil {
			t.Fatal(err)
		}
		if v := version(); v != 0 {
			t.Errorf("version %d of a removed policy", v)
		}
	})
}
