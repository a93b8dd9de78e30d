package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// KindRetime stands for re-timings in the count of rows; it is no kind of deadline.
	KindRetime = "retime"
	// RetimeLimit is how long Retime may take.
	RetimeLimit = claimLife
	// retimeGrace is the least that a shopper has left to pay when the deadline is moved.
	retimeGrace = time.Minute
)

// Retiming is by which version of a policy the orders that wait get other deadlines, and who asked for that when.
type Retiming struct {
	Policy  model.TimeoutPolicy
	Actor   string
	AskedAt model.Time
}

func (r Retiming) duration() time.Duration {
	return time.Duration(r.Policy.DurationMS) * time.Millisecond
}

// retimed returns the deadline that a duration gives an order that waits: counted from its placing, as if the policy had been
// there, but never nearer than retimeGrace, and never brought forward into the time that is left of it. ok is false where it stays.
func retimed(o *model.Order, d time.Duration, now model.Time) (at model.Time, ok bool) {
	nominal := o.CreatedAt.Add(d)
	at = max(nominal, now.Add(retimeGrace))
	if nominal < o.PayDeadline {
		return at, at < o.PayDeadline
	}
	return at, nominal > o.PayDeadline
}

// retimable says why the deadline of an order cannot be moved now; nil if it can.
func retimable(o *model.Order, now model.Time) error {
	if err := payable(o); err != nil {
		return err
	}
	if o.PayDeadline <= now {
		return fault.New(fault.OrderClosing)
	}
	return nil
}

// Retime moves the deadline of an order that waits. WeChat knows the deadline of a live payment attempt, which is therefore ended
// there first; one that turns out paid is settled. then runs in the transaction that moves the deadline, after it was moved, and can
// undo that. Fails with order_closed, order_already_paid, order_closing, order_busy, wechat_unavailable, wechat_refused, and with
// state_conflict where the deadline stays.
func (s *Service) Retime(ctx context.Context, id int64, r Retiming, then func(tx *store.Tx, from, to model.Time) error) error {
	work, cancel := context.WithTimeout(ctx, RetimeLimit)
	defer cancel()
	err := s.changeUnpaid(work, unpaidChange{
		check: func(tx *store.Tx) (*model.Order, error) {
			o, err := s.lock(tx, id)
			if err == nil {
				_, err = moveTo(o, r, s.Now())
			}
			return o, err
		},
		apply: func(tx *store.Tx, o *model.Order, token string) error {
			now, from := s.Now(), o.PayDeadline
			to, err := moveTo(o, r, now) // its time came nearer while WeChat was asked
			if err != nil {
				return err
			}
			if err := s.setDeadline(tx, o, to, r, now, token); err != nil {
				return err
			}
			return then(tx, from, to)
		},
	})
	var claimed *claimedError
	switch {
	case errors.As(err, &claimed), errors.Is(err, errMoved):
		return fault.Wrap(fault.OrderBusy, err)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // WeChat took the time
		return unanswered(err)
	}
	return err
}

// moveTo returns the deadline that the order gets, or why it keeps its own.
func moveTo(o *model.Order, r Retiming, now model.Time) (model.Time, error) {
	if err := retimable(o, now); err != nil {
		return 0, err
	}
	at, ok := retimed(o, r.duration(), now)
	if !ok {
		return 0, fault.New(fault.StateConflict).Say("付款截止时间无需改动", "The deadline stays as it is")
	}
	return at, nil
}

// setDeadline writes the deadline of an unpaid order that the caller has locked, with that of its reminder, and gives the claim with
// the token back.
func (s *Service) setDeadline(tx *store.Tx, o *model.Order, to model.Time, r Retiming, now model.Time, token string) error {
	c := change{
		to: model.OrderPending, kind: KindRetime, actor: r.Actor, at: now,
		reason: fmt.Sprintf("deadline moved by version %d of policy %d", r.Policy.Version, r.Policy.ID),
		where:  "pay_deadline = ? AND closing_reason IS NULL", args: []any{o.PayDeadline},
		set: map[string]any{
			"pay_deadline": to, "remind_at": instants{o.ID: s.remindAnew(o, to, now)}, "policy_id": r.Policy.ID, "policy_version": r.Policy.Version,
		},
	}
	if token == "" {
		c.where, c.args = c.where+" AND claim_until <= ?", append(c.args, now)
	} else {
		c.underClaim(token)
	}
	ok, err := s.transition(tx, c, o)
	if err == nil && !ok {
		err = errMoved
	}
	if err == nil {
		ctx := context.WithoutCancel(tx.Statement.Context)
		tx.AfterCommit(func() { s.schedule(ctx, stageTask(KindPay, o.ID, to)) })
	}
	return err
}

// remindAnew returns when the shopper of an order whose deadline moves is reminded; nil for never, and where it was done already.
// A reminder that should have come by now, as the deadline comes nearer, is due at once.
func (s *Service) remindAnew(o *model.Order, at, now model.Time) *model.Time {
	d := s.decide(policy.StageRemind, o)
	if o.RemindAt == nil && d.Before(o.PayDeadline, o.CreatedAt) != nil {
		return nil
	}
	due := d.Before(at, o.CreatedAt)
	if due != nil && *due < now {
		return &now
	}
	return due
}
