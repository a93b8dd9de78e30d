package job

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// retimePage is at how many waiting orders a re-timing looks at once.
	retimePage = 500
	// shownRetimings is how many re-timings of a policy are listed.
	shownRetimings = 50
)

// asChanger is the caller as one who changes policies.
func (c Caller) asChanger() policy.By {
	if c.Platform {
		return policy.By{Actor: c.Actor}
	}
	return policy.By{MerchantID: c.MerchantID, Actor: c.Actor}
}

// Retime makes a job that gives the orders that wait the deadlines that the present version of a policy says. It is the policy's
// merchant's. Fails with not_found, with permission_denied for another's policy, and with state_conflict for a policy by which none can be
// re-timed, while a former re-timing by it has not ended, and where MaxOpen jobs have not.
func (s *Service) Retime(ctx context.Context, by Caller, policyID int64) (j model.Job, err error) {
	if err := by.allowed(model.JobRetime); err != nil {
		return j, err
	}
	if err := s.Policies.Visible(ctx, by.asChanger().MerchantID, policyID); err != nil { // a stranger takes not even a number
		return j, err
	}
	id, err := s.Store.NextIDs(ctx, "jobs", 1)
	if err != nil {
		return j, err
	}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		row, err := s.Policies.Lock(tx, by.asChanger(), policyID)
		if err != nil {
			return err
		}
		if err := policy.Retimable(row); err != nil {
			return err
		}
		open, err := retiming(tx, policyID)
		if err != nil {
			return err
		}
		if open != nil {
			return fault.New(fault.StateConflict).Say("该策略的重算正在进行", "Orders are being re-timed by this policy already")
		}
		j = model.Job{ID: id, Kind: model.JobRetime, MerchantID: row.MerchantID, PolicyID: row.ID, PolicyVersion: row.Version}
		return s.addIn(tx, by, &j)
	})
	return j, err
}

// CancelRetime ends the re-timing by a policy that has not ended; what it changed stays. It fails as Retime, and with state_conflict where
// there is none.
func (s *Service) CancelRetime(ctx context.Context, by Caller, policyID int64) error {
	if err := by.allowed(model.JobRetime); err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		if _, err := s.Policies.Lock(tx, by.asChanger(), policyID); err != nil {
			return err
		}
		open, err := retiming(tx, policyID)
		if err != nil {
			return err
		}
		if open == nil {
			return fault.New(fault.StateConflict).Say("该策略没有进行中的重算", "No orders are being re-timed by this policy")
		}
		return s.cancelIn(tx, *open)
	})
}

// retiming returns the re-timing by a policy, which the caller has locked, that has not ended; nil if there is none.
func retiming(tx *store.Tx, policyID int64) (*model.Job, error) {
	var open []model.Job
	err := tx.Where("policy_id = ? AND kind = ? AND state IN ?", policyID, model.JobRetime, model.JobsOpen).Limit(1).Find(&open).Error
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return &open[0], nil
}

// Retimings returns the newest re-timings by a policy that the caller may look at, newest first. It fails with not_found.
func (s *Service) Retimings(ctx context.Context, by Caller, policyID int64) ([]model.Job, error) {
	merchantID := by.MerchantID
	if by.Platform {
		merchantID = by.Named
	}
	if err := s.Policies.Visible(ctx, merchantID, policyID); err != nil {
		return nil, err
	}
	q := s.Store.Read(ctx).Where("policy_id = ? AND kind = ?", policyID, model.JobRetime)
	if !by.Platform {
		q = q.Where("merchant_id = ?", by.MerchantID)
	}
	var jobs []model.Job
	err := q.Order("created_at DESC, id DESC").Limit(shownRetimings).Find(&jobs).Error
	return jobs, store.Classify(err)
}

// retimeWork re-times orders, one a step.
type retimeWork struct {
	*Runner

	by   order.Retiming
	page []*model.Order // whose deadlines are to be moved next
	rest *store.Cursor  // where the page behind it begins; nil behind the last one
}

func (r *Runner) beginRetime(ctx context.Context, j *model.Job) (work, error) {
	w := &retimeWork{Runner: r, rest: &store.Cursor{At: j.CursorAt, ID: j.CursorID}}
	row, err := w.present(ctx, j)
	if err != nil {
		return nil, err
	}
	w.by = order.Retiming{Policy: row, Actor: j.Actor, AskedAt: j.CreatedAt}
	total := j.Done
	for from := w.rest; from != nil; {
		var page []*model.Order
		if page, from, err = w.read(ctx, j, *from); err != nil {
			return nil, err
		}
		total += int64(len(page))
	}
	return w, r.count(ctx, j, total)
}

// present returns the policy, or fails with stale_version where it was changed since the job was made.
func (w *retimeWork) present(ctx context.Context, j *model.Job) (model.TimeoutPolicy, error) {
	row, err := w.Policies.Present(ctx, j.PolicyID)
	if err == nil && row.Version != j.PolicyVersion {
		err = fault.New(fault.StaleVersion)
	}
	return row, err
}

func (w *retimeWork) read(ctx context.Context, j *model.Job, from store.Cursor) ([]*model.Order, *store.Cursor, error) {
	if err := w.renew(ctx, j, w.lease); err != nil { // there may be many pages without an order that moves
		return nil, nil, err
	}
	if err := w.Policies.Refresh(ctx); err != nil {
		return nil, nil, err
	}
	return w.Orders.RetimePage(ctx, w.by, from, retimePage)
}

func (w *retimeWork) next(ctx context.Context, j *model.Job) (*step, error) {
	for len(w.page) == 0 {
		if w.rest == nil {
			return nil, w.count(ctx, j, j.Done) // some may have been paid since they were counted
		}
		var err error
		if w.page, w.rest, err = w.read(ctx, j, *w.rest); err != nil {
			return nil, err
		}
	}
	if _, err := w.present(ctx, j); err != nil {
		return nil, err
	}
	o := w.page[0]
	w.page = w.page[1:]
	if o.FirstAttemptAt != nil { // WeChat will be asked
		if err := w.renew(ctx, j, order.RetimeLimit+w.lease); err != nil {
			return nil, err
		}
	}
	return w.move(o, j.Step+1), nil
}

// move makes the step of an order. The service moves the deadline in a transaction behind its calls to WeChat.
func (w *retimeWork) move(o *model.Order, row int64) *step {
	var from, to model.Time
	return &step{
		line: row, subject: o.No, rows: 1, cursor: store.Cursor{At: o.PayDeadline, ID: o.ID},
		within: func(ctx context.Context, write func(tx *store.Tx) error) error {
			return w.Orders.Retime(ctx, o.ID, w.by, func(tx *store.Tx, was, is model.Time) error {
				from, to = was, is
				return write(tx)
			})
		},
		effect: func(*store.Tx) (outcome, error) {
			was, is := w.time(from), w.time(to)
			if day, ofDay, _ := strings.Cut(is, " "); strings.HasPrefix(was, day) {
				is = ofDay
			}
			return outcome{code: "retimed", zh: "付款截止 " + was + " → " + is, en: "Deadline " + was + " → " + is}, nil
		},
	}
}
