package order

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Confirm records that the shopper has the goods: shipped becomes completed. An order that is completed is returned as it is;
// any other state is order_state.
func (s *Service) Confirm(ctx context.Context, shopperID int64, no string) (*View, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, err
	}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error { return s.Complete(tx, o.ID, ActorShopper(shopperID), "confirmed") })
	if err != nil {
		return nil, err
	}
	return s.byIDView(ctx, o.ID)
}

// Complete makes a shipped order completed, in the caller's transaction, whoever says so: the shopper, or WeChat. An order that
// is completed stays as it is; any other state is order_state.
func (s *Service) Complete(tx *store.Tx, id int64, actor, reason string) error {
	o, err := s.lock(tx, id)
	if err != nil {
		return err
	}
	switch o.State {
	case model.OrderCompleted:
		return nil
	case model.OrderShipped:
	default:
		return fault.New(fault.OrderState)
	}
	now := s.Now()
	ok, err := s.transition(tx, change{to: model.OrderCompleted, actor: actor, reason: reason, at: now, set: map[string]any{"completed_at": now}}, o)
	if err == nil && !ok {
		err = fmt.Errorf("completing order %d: %w", id, errMoved)
	}
	return err
}
