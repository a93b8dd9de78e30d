package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// due takes a day further by one step.
func (s *Service) due(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	b, err := s.byID(ctx, id)
	switch {
	case err != nil:
		return deadline.Failed(err)
	case b == nil || b.NextAt == nil:
		return timeout.Done()
	case *b.NextAt > due:
		return timeout.Reschedule(int64(*b.NextAt))
	}
	claim := deadline.Claim{Table: "bills", Column: "next_at", ID: id, Due: *b.NextAt}
	if err := s.claim(ctx, b); err != nil {
		return s.outcome(ctx, b, err)
	}
	claim.Until = *b.NextAt
	return claim.Ended(ctx, s.Store, s.outcome(ctx, b, s.step(ctx, b)))
}

// claim takes the day for one step and makes the row of the day after. One that ended before its hour begins anew. b is then as it
// is stored.
func (s *Service) claim(ctx context.Context, b *model.Bill) error {
	now, state := s.Now(), b.State
	until := now.Add(lease)
	if ended(b) {
		state = model.BillWaiting
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE bills SET state = ?, ended_at = 0, calls = calls + 1, version = version + 1, next_at = ?, updated_at = ? WHERE id = ? AND version = ? AND next_at = ?",
			state, until, now, b.ID, b.Version, *b.NextAt)
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		if err := s.following(ctx, tx, Day(b.ID)); err != nil {
			return err
		}
		tx.AfterCommit(func() { b.State, b.EndedAt, b.Version, b.NextAt, b.Calls = state, 0, b.Version+1, &until, b.Calls+1 })
		return nil
	})
}

// step does as much as the time allows. errMoved: somebody else goes on; an *wechat.Error: WeChat did not give the bill.
func (s *Service) step(ctx context.Context, b *model.Bill) error {
	soft, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	more := func() bool { return soft.Err() == nil }
	if Day(b.ID) < oldest(s.Now()) && b.State != model.BillComparing {
		return s.fail(ctx, b, "WeChat keeps bills for three months, and this one is older")
	}
	if b.State != model.BillComparing {
		if whole, err := s.fetch(ctx, b, more); err != nil || !whole {
			return err
		}
	}
	return s.compare(ctx, b, more)
}

// outcome says when the day is taken up again, and records why it did not get further.
func (s *Service) outcome(ctx context.Context, b *model.Bill, err error) timeout.Outcome {
	var refused *wechat.Error
	switch {
	case errors.As(err, &refused):
		return s.refused(ctx, b, refused)
	case errors.Is(err, errMoved):
		return s.moved(ctx, b.ID)
	case err != nil:
		return deadline.Failed(err)
	case b.NextAt == nil:
		return timeout.Done()
	case ended(b):
		return timeout.Reschedule(int64(*b.NextAt))
	}
	now := s.Now()
	if err := s.change(ctx, b, map[string]any{"next_at": now}); err != nil {
		return deadline.Failed(err)
	}
	return timeout.Reschedule(int64(now))
}

// moved reads what became of a day that somebody else has taken over.
func (s *Service) moved(ctx context.Context, id int64) timeout.Outcome {
	b, err := s.byID(ctx, id)
	switch {
	case err != nil:
		return deadline.Failed(err)
	case b == nil || b.NextAt == nil:
		return timeout.Done()
	}
	return timeout.Reschedule(int64(*b.NextAt))
}

// retryAfter is the pause after so many calls without a certain answer.
var retryAfter = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// refused decides what follows when WeChat did not give the bill, or gave one that cannot be read.
func (s *Service) refused(ctx context.Context, b *model.Bill, why *wechat.Error) timeout.Outcome {
	wait := 30 * time.Minute
	switch why.Kind {
	case wechat.KindBusy:
		wait = creatingRetry
	case wechat.KindUnknown, wechat.KindUnavailable, wechat.KindFrequency:
		if b.Calls <= len(retryAfter) {
			wait = retryAfter[b.Calls-1]
		}
	case wechat.KindSetup:
		wait = setupRetry
	default:
		return s.outcome(ctx, b, s.fail(ctx, b, why.Error()))
	}
	next := s.Now().Add(wait)
	if err := s.putOff(ctx, b, next, why.Error()); err != nil {
		return s.outcome(ctx, b, err)
	}
	s.Log.WarnContext(ctx, "a bill is not there yet", "day", Day(b.ID), "error", why.Error(), "again", next)
	return timeout.Reschedule(int64(next))
}

// putOff has the bill asked for again later. One that is overdue is an anomaly meanwhile, for what keeps it may need a person.
func (s *Service) putOff(ctx context.Context, b *model.Bill, next model.Time, why string) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		err := s.changeIn(tx, b, map[string]any{"next_at": next, "error": cut(why, 255)})
		if err != nil || !s.overdue(Day(b.ID)) {
			return err
		}
		return s.report(tx, b, "the bill is asked for again by itself, and has not come yet: "+why)
	})
}

// patience is for how long a bill may fail to come, or not be there, before it is taken for more than a delay.
const patience = 24 * time.Hour

// overdue reports whether the bill of the day should have been had by now.
func (s *Service) overdue(day Day) bool { return s.Now() >= day.Ready().Add(patience) }

// report records that nobody knows whether the money of the day adds up. It holds until the day is compared.
func (s *Service) report(tx *store.Tx, b *model.Bill, why string) error {
	return payment.Report(tx, model.Anomaly{Kind: payment.AnomalyBillFailed, Ref: Day(b.ID).String(), Detail: why, CreatedAt: s.Now()})
}

// fail ends a day whose bill cannot be had. One that is not over is taken up again; any other is an anomaly, for a person may run it
// again, and nobody else will.
func (s *Service) fail(ctx context.Context, b *model.Bill, why string) error {
	now, again := s.Now(), s.again(b)
	s.Log.ErrorContext(ctx, "a day is not reconciled", "day", Day(b.ID), "error", why)
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		err := s.moveIn(tx, b, model.BillFailed, map[string]any{"next_at": again, "error": cut(why, 255), "ended_at": now})
		if err != nil || again != nil {
			return err
		}
		return s.report(tx, b, why)
	})
}

// ended reports whether the day has ended, for now or for good.
func ended(b *model.Bill) bool { return model.BillTransitions.Allowed(b.State, model.BillWaiting) }

// again is when a day that ends now is taken up again: at its hour, where a person ran it before WeChat's bill of it was whole.
func (s *Service) again(b *model.Bill) *model.Time {
	if ready := Day(b.ID).Ready(); s.Now() < ready {
		return &ready
	}
	return nil
}

// move changes the day's state; errMoved where somebody else was first.
func (s *Service) move(ctx context.Context, b *model.Bill, to model.BillState, set map[string]any) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error { return s.moveIn(tx, b, to, set) })
}

// moveIn is move in the caller's transaction. b is renewed after the commit.
func (s *Service) moveIn(tx *store.Tx, b *model.Bill, to model.BillState, set map[string]any) error {
	if !model.BillTransitions.Allowed(b.State, to) {
		return fmt.Errorf("bill of %s: %s does not follow %s", Day(b.ID), to, b.State)
	}
	set["state"] = to
	return s.changeIn(tx, b, set)
}

// change changes columns of the day while it is ours, and reads it again.
func (s *Service) change(ctx context.Context, b *model.Bill, set map[string]any) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error { return s.changeIn(tx, b, set) })
}

// changeIn is change in the caller's transaction. b is renewed after the commit.
func (s *Service) changeIn(tx *store.Tx, b *model.Bill, set map[string]any) error {
	set["updated_at"] = s.Now()
	set["version"] = b.Version + 1
	res := tx.Model(&model.Bill{}).Where("id = ? AND version = ?", b.ID, b.Version).Updates(set)
	if res.Error != nil {
		return res.Error
	}
	if res.RowsAffected == 0 {
		return errMoved
	}
	var now model.Bill
	if err := tx.Where("id = ?", b.ID).Take(&now).Error; err != nil {
		return err
	}
	tx.AfterCommit(func() { *b = now })
	return nil
}

// byID reads a day; nil if there is none.
func (s *Service) byID(ctx context.Context, id int64) (*model.Bill, error) {
	var rows []model.Bill
	if err := s.Store.Read(ctx).Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return &rows[0], nil
}

// cut fits text to a column of n characters.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n])
	}
	return text
}
