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
	"github.com/tidemall/tidemall/timeout"
)

const (
	// KindRetime stands for re-timings in the count of rows; it is no kind of deadline.
	KindRetime = "retime"
	// retimeGrace is the least that a shopper has left to pay when the deadline is moved.
	retimeGrace = time.Minute
)

// retiming is who moves deadlines, and the policy by which.
type retiming struct {
	decision policy.Decision
	actor    string
}

// retimed returns the deadline that the decision gives an order that waits: counted from its placing, as if the policy had been
// there, but never nearer than retimeGrace, and never brought forward into the time that is left of it. ok is false where it stays.
func retimed(o *model.Order, d policy.Decision, now model.Time) (at model.Time, ok bool) {
	nominal := o.CreatedAt.Add(d.Duration)
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

// retimeAttempted moves the deadline of an order for which WeChat was called: it knows the deadline, so the live attempt is ended
// there first. then runs in the transaction that moves it. changed is false where nothing is to be moved any more.
func (s *Service) retimeAttempted(ctx context.Context, id int64, by retiming, then func(tx *store.Tx) error) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimLife)
	defer cancel()
	err = s.changeUnpaid(ctx, unpaidChange{
		check: func(tx *store.Tx) (*model.Order, error) {
			o, err := s.lock(tx, id)
			if err != nil {
				return nil, err
			}
			now := s.Now()
			if err := retimable(o, now); err != nil {
				return nil, err
			}
			if _, ok := retimed(o, by.decision, now); !ok {
				return nil, errNotMoved
			}
			return o, nil
		},
		apply: func(tx *store.Tx, o *model.Order, token string) error {
			now := s.Now()
			if _, ok := retimed(o, by.decision, now); !ok { // its time came nearer while WeChat was asked
				return errNotMoved
			}
			if err := s.setDeadlines(tx, by, now, token, o); err != nil {
				return err
			}
			return then(tx)
		},
	})
	if errors.Is(err, errNotMoved) {
		return false, nil
	}
	return err == nil, err
}

// errNotMoved says that the order has, by now, the deadline that it should have, or a nearer one.
var errNotMoved = errors.New("order: the deadline stays")

// setDeadlines writes the deadlines of unpaid orders that the caller has locked and that retimed says are to move, with those of their reminders, and gives the claim
// with the token back. errMoved where an order is not what it was read as.
func (s *Service) setDeadlines(tx *store.Tx, by retiming, now model.Time, token string, orders ...*model.Order) error {
	due, remind := instants{}, instants{}
	for _, o := range orders {
		at, _ := retimed(o, by.decision, now)
		due[o.ID], remind[o.ID] = &at, s.remindAnew(o, at, now)
	}
	c := change{
		to: model.OrderPending, kind: KindRetime, actor: by.actor, at: now,
		reason: fmt.Sprintf("deadline moved by version %d of policy %d", by.decision.Version, by.decision.PolicyID),
		set: map[string]any{
			"pay_deadline": due, "remind_at": remind, "policy_id": by.decision.PolicyID, "policy_version": by.decision.Version,
		},
	}
	c.where, c.args = payDeadlines(orders)
	c.where += " AND closing_reason IS NULL"
	if token == "" {
		c.where += " AND claim_until <= ?"
		c.args = append(c.args, now)
	} else {
		c.where += " AND claim_token = ?"
		c.args = append(c.args, token)
		c.set["claim_token"], c.set["claim_until"] = "", 0
	}
	ok, err := s.transition(tx, c, orders...)
	if err == nil && !ok {
		err = errMoved
	}
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(tx.Statement.Context)
	tx.AfterCommit(func() {
		tasks := make([]timeout.Task, len(orders))
		for i, o := range orders {
			o.PayDeadline = *due[o.ID]
			tasks[i] = stageTask(KindPay, o.ID, o.PayDeadline)
		}
		s.schedule(ctx, tasks...)
	})
	return nil
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
