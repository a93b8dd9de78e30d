package order

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// claimLife is how long a claim keeps others out. It covers the three calls to WeChat that its holder may make.
	claimLife = 20 * time.Second
	// claimPatience is how long a person's request waits for somebody else's claim.
	claimPatience = 3 * time.Second
	claimPoll     = 50 * time.Millisecond
)

// claimedError says that somebody else has the order's claim until then.
type claimedError struct{ until model.Time }

func (e *claimedError) Error() string { return "order: claimed until " + e.until.String() }

// errMoved says that an order is not any more what it was read as; whoever changed it was first.
var errMoved = errors.New("order: changed by somebody else")

// free returns a claimedError while somebody has the claim of the order, which the caller has locked.
func free(o *model.Order, now model.Time) error {
	if o.ClaimToken != "" && o.ClaimUntil > now {
		return &claimedError{o.ClaimUntil}
	}
	return nil
}

// claim gives the order, which the caller has locked and found free, to the caller until claimLife is over. Claims do not
// raise the version.
func claim(tx *store.Tx, o *model.Order, now model.Time) (token string, err error) {
	token, until := newToken(), now.Add(claimLife)
	n, err := tx.Affected("UPDATE orders SET claim_token = ?, claim_until = ?, updated_at = ? WHERE id = ? AND state = ? AND claim_token = ?",
		token, until, now, o.ID, model.OrderPending, o.ClaimToken)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", errMoved
	}
	o.ClaimToken, o.ClaimUntil = token, until
	return token, nil
}

// underClaim has a change require the claim with the token, and give it back. One that ran out keeps nobody out: the order may be in
// payment again.
func (c *change) underClaim(token string) {
	c.where, c.args = c.where+" AND claim_token = ? AND claim_until > ?", append(c.args, token, c.at)
	c.set["claim_token"], c.set["claim_until"] = "", 0
}

// unclaim gives a claim back early. One that was lost meanwhile is left alone.
func (s *Service) unclaim(ctx context.Context, o *model.Order) {
	ctx = context.WithoutCancel(ctx)
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE orders SET claim_token = '', claim_until = 0, updated_at = ? WHERE id = ? AND claim_token = ?", s.Now(), o.ID, o.ClaimToken).Error
	})
	if err != nil {
		s.Log.WarnContext(ctx, "a claim could not be given back; it ends by itself", "order", o.ID, "error", err)
	}
}

// patiently repeats try while it meets somebody else's claim, for claimPatience. It then returns order_busy.
func patiently(ctx context.Context, try func() error) error {
	enough := time.NewTimer(claimPatience)
	defer enough.Stop()
	tick := time.NewTicker(claimPoll)
	defer tick.Stop()
	for {
		err := try()
		var claimed *claimedError
		if !errors.As(err, &claimed) {
			return err
		}
		select {
		case <-tick.C:
		case <-enough.C:
			return fault.Wrap(fault.OrderBusy, claimed).After(time.Second)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func newToken() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	return hex.EncodeToString(random[:])
}

// payable says why nothing can be paid for or changed about an order that is to be unpaid and not on its way to closed; nil
// if it can.
func payable(o *model.Order) error {
	switch {
	case o.State == model.OrderClosed:
		return fault.New(fault.OrderClosed)
	case o.State != model.OrderPending:
		return fault.New(fault.OrderAlreadyPaid)
	case o.ClosingReason != nil:
		return fault.New(fault.OrderClosing)
	}
	return nil
}
