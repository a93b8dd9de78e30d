package content

import (
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// TestListsNameTheirIndexes asks for a page of every kind of list: the database refuses an index that it does not have.
func TestListsNameTheirIndexes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		svc := &Service{Deps: Deps{Store: s}}
		for _, scope := range []Scope{{MerchantID: 1}, {MerchantID: 1, Platform: true}} {
			f := Filter{Scope: scope, State: model.HoldHeld}
			if rows, next, err := svc.ListAfter(t.Context(), f, store.Cursor{At: 1, ID: 1}, 20); err != nil || len(rows) != 0 || next != nil {
				t.Errorf("%+v: %v, %v, %v", f, rows, next, err)
			}
		}
	})
}
