package aftersale

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// Withdraw takes the shopper's request back, as long as nothing was sent or refunded. One that is withdrawn is returned as it is;
// state_conflict in any other state.
func (s *Service) Withdraw(ctx context.Context, shopperID, id int64) (*View, error) {
	err := s.change(ctx, whose{shopperID: shopperID}, id, func(tx *store.Tx, o *model.Order, a *model.Aftersale) error {
		if a.State == model.AftersaleWithdrawn {
			return nil
		}
		if !model.AftersaleTransitions.Allowed(a.State, model.AftersaleWithdrawn) {
			return wrongState(a)
		}
		return must(s.orders.ChangeAftersale(tx, o, a, model.AftersaleWithdrawn, order.ActorShopper(shopperID)))
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, shopperID, id)
}
