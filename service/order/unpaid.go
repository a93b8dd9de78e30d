package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// unpaidChange is a change of what an unpaid order is paid by: its price, or its deadline. WeChat has been told of both.
type unpaidChange struct {
	// check reads the order under its lock and says whether it can be changed as asked.
	check func(tx *store.Tx) (*model.Order, error)
	// apply changes it, and gives the claim with the token back; the token is empty where none was needed.
	apply func(tx *store.Tx, o *model.Order, token string) error
	// claim runs the transaction that may meet somebody else's claim; nil returns the *claimedError at once.
	claim func(try func() error) error
}

// changeUnpaid makes the change at once where WeChat cannot be paid for the order at the moment. Otherwise it takes the order's
// claim, so that nothing is paid meanwhile, has the live attempts ended at WeChat, and makes the change then; if one of them turns
// out paid it is settled and the change is refused.
func (s *Service) changeUnpaid(ctx context.Context, c unpaidChange) error {
	var claimed *model.Order
	var live []*model.PaymentAttempt
	try := func() error {
		return s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
			claimed, live, err = s.claimUnpaid(tx, c)
			return err
		})
	}
	if c.claim == nil {
		c.claim = func(try func() error) error { return try() }
	}
	if err := c.claim(try); err != nil || claimed == nil {
		return err
	}
	failpoint.Hit("change.claimed")
	err := s.endStale(ctx, live)
	failpoint.Hit("change.ended")
	if err == nil {
		err = s.Store.Tx(ctx, func(tx *store.Tx) error {
			o, err := c.check(tx)
			if err != nil {
				return err
			}
			if o.ClaimToken != claimed.ClaimToken {
				return fault.New(fault.OrderBusy)
			}
			return c.apply(tx, o, o.ClaimToken)
		})
	}
	if err != nil {
		s.unclaim(ctx, claimed)
	}
	return err
}

// claimUnpaid makes the change, or claims the order and returns it with the attempts that must be ended first.
func (s *Service) claimUnpaid(tx *store.Tx, c unpaidChange) (*model.Order, []*model.PaymentAttempt, error) {
	o, err := c.check(tx)
	if err != nil {
		return nil, nil, err
	}
	now := s.Now()
	if err := free(o, now); err != nil {
		return nil, nil, err
	}
	live, err := payment.LiveAttempts(tx.DB, o.ID)
	if err != nil {
		return nil, nil, err
	}
	if len(live) == 0 {
		return nil, nil, c.apply(tx, o, "")
	}
	if _, err := claim(tx, o, now); err != nil {
		return nil, nil, err
	}
	for _, a := range live {
		if a.State == model.AttemptClosing {
			continue
		}
		if _, err := payment.MoveAttempt(tx, a, model.AttemptClosing, now); err != nil {
			return nil, nil, err
		}
	}
	return o, live, nil
}
