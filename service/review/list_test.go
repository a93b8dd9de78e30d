package review

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
		for _, f := range []Filter{
			{ShopperID: 1},
			{ShopperID: 1, State: model.ReviewVisible},
			{ProductID: 1},
			{ProductID: 1, State: model.ReviewVisible},
			{ProductID: 1, State: model.ReviewVisible, Rating: 5},
			{ProductID: 1, State: model.ReviewVisible, Pictured: true},
			{MerchantID: 1},
			{MerchantID: 1, State: model.ReviewVisible},
			{MerchantID: 1, Unanswered: true},
			{MerchantID: 1, Answered: true, Rating: 1, Pictured: true},
			{MerchantID: 1, ProductID: 1},
		} {
			if rows, next, err := svc.ListAfter(t.Context(), f, store.Cursor{At: 1, ID: 1}, 20); err != nil || len(rows) != 0 || next != nil {
				t.Errorf("%+v: %v, %v, %v", f, rows, next, err)
			}
		}
	})
}
