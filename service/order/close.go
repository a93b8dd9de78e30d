package order

import (
	"context"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// What a closing order waits for (orders.closing_note).
const (
	noteWeChat = "wechat" // its word: it was silent, or is to be asked again a little later
	notePerson = "person" // WeChat says paid, but it does not fit: an anomaly must be resolved
)

// missingPause lies between the two times that WeChat must say it does not know a number.
const missingPause = 2 * time.Second

// closing says who closes an order, and why.
type closing struct {
	reason model.CloseReason
	actor  string
	due    model.Time // of the closing task that is acted on; 0 for a person
}

// progress is how far one step of the close protocol came. The zero value: the order's fate is settled, it is closed or paid.
type progress struct {
	next    model.Time // when it goes on (orders.closing_next_at)
	silence error      // WeChat gave no certain answer
	person  bool       // waiting for a person
}

// Cancel closes the shopper's unpaid order. An order that is closed already is returned as it is. While WeChat is silent the
// order comes back with ClosingReason set: it closes, or turns out paid, as soon as WeChat answers. order_already_paid,
// order_busy.
func (s *Service) Cancel(ctx context.Context, shopperID int64, no string) (*View, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, err
	}
	return s.closeNow(ctx, o, closing{reason: model.CloseShopper, actor: ActorShopper(shopperID)})
}

// Close closes a merchant's unpaid order, under the rules of Cancel.
func (s *Service) Close(ctx context.Context, merchantID int64, no, actor string) (*View, error) {
	o, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, err
	}
	return s.closeNow(ctx, o, closing{reason: model.CloseMerchant, actor: actor})
}

// closeNow takes the close protocol as far as it goes while somebody waits for the answer.
func (s *Service) closeNow(ctx context.Context, o *model.Order, c closing) (*View, error) {
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimPatience+claimLife)
	defer cancel()
	err := patiently(ctx, func() error {
		p, err := s.closeStep(work, o.ID, c)
		if p.next != 0 {
			s.schedule(work, closingTask(o.ID, p.next))
		}
		return err
	})
	if err != nil && !fault.Is(err, fault.OrderBusy) && !errors.Is(err, errMoved) {
		return nil, err
	}
	view, readErr := s.byIDView(work, o.ID)
	switch {
	case readErr != nil:
		return nil, readErr
	case view.State == model.OrderClosed, view.Closing():
		return view, nil
	case view.State != model.OrderPending:
		return nil, fault.New(fault.OrderAlreadyPaid)
	}
	return nil, fault.New(fault.OrderBusy).After(time.Second)
}

func (s *Service) byIDView(ctx context.Context, id int64) (*View, error) {
	o, err := one(s.Store.Read(ctx).Where("id = ?", id))
	if err != nil {
		return nil, err
	}
	return s.view(ctx, *o)
}

// closeStep is the close protocol, whoever asks for it:
//
//  1. claim the order and mark it closing, in one committed transaction; an order for which WeChat was never called is closed
//     in that transaction;
//  2. outside any transaction have every live number ended at WeChat;
//  3. in one transaction that requires the claim and the state, close the order and give everything back.
//
// Whatever is not certain releases nothing. A *claimedError means that somebody else is at work on the order, errMoved that
// it is not due, or not what it was, any more.
func (s *Service) closeStep(ctx context.Context, id int64, c closing) (progress, error) {
	o, attempts, err := s.claimClosing(ctx, id, c)
	failpoint.Hit("close.claimed")
	if err != nil || o.State != model.OrderPending {
		return progress{}, err
	}
	ctx, span := s.follow(ctx, "order.close", o)
	p, err := s.closeClaimed(ctx, o, attempts, c)
	if err != nil {
		s.unclaimClosing(ctx, o, c)
	}
	ended(span, err)
	return p, err
}

// unclaimClosing gives the claim of a closing back that failed (see deadline.Claim). The order waits for WeChat no more: it is overdue
// for a person to see. Where this fails, too, the claim runs out by itself.
func (s *Service) unclaimClosing(ctx context.Context, o *model.Order, c closing) {
	_ = s.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE orders SET claim_token = '', claim_until = 0, closing_next_at = ?, closing_note = '', updated_at = ? WHERE id = ? AND state = ? AND claim_token = ?",
			s.goesOn(c.due), s.Now(), o.ID, model.OrderPending, o.ClaimToken).Error
	})
}

// closeClaimed is steps 2 and 3.
func (s *Service) closeClaimed(ctx context.Context, o *model.Order, attempts []*model.PaymentAttempt, c closing) (progress, error) {
	for _, a := range attempts {
		end, err := s.endAtWeChat(ctx, a)
		failpoint.Hit("close.ended")
		switch {
		case err != nil:
			return progress{}, err
		case end.paid != nil:
			return s.settleClosing(ctx, o, a, *end.paid)
		case end.silence != nil:
			return s.park(ctx, o, progress{silence: end.silence, next: s.goesOn(c.due)})
		case end.wait != 0:
			return s.park(ctx, o, progress{next: end.wait})
		}
	}
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		now, token := s.Now(), o.ClaimToken
		locked, err := s.lock(tx, o.ID)
		if err != nil || locked.State != model.OrderPending {
			return err // paid meanwhile, or closed: done
		}
		c.reason = *o.ClosingReason
		ok, err := s.close(tx, change{actor: actorOf(locked, c), reason: string(c.reason), at: now, where: "claim_token = ?", args: []any{token}}, c.reason, locked)
		if err == nil && !ok {
			return errMoved
		}
		if err == nil {
			err = logClosed(tx, locked)
		}
		failpoint.Hit("close.written")
		return err
	})
	failpoint.Hit("close.committed")
	return progress{}, err
}

// goesOn is where a task's column goes when WeChat gave no certain answer, or the task failed: back to the deadline of the task that is
// acted on (0: none is), so that the task goes on as the one it was and the timeout module counts it, and makes the pauses longer.
func (s *Service) goesOn(due model.Time) model.Time {
	if due == 0 {
		return s.Now()
	}
	return due
}

// claimClosing is step 1. The order comes back as it is after it, with the attempts that may still bring money. Its closing
// task is put to the end of the claim, so that a kill of this process delays the order no longer.
func (s *Service) claimClosing(ctx context.Context, id int64, c closing) (o *model.Order, attempts []*model.PaymentAttempt, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		if o, err = s.lock(tx, id); err != nil || o.State != model.OrderPending {
			changelog.Nothing(ctx) // closed already, or paid
			return err
		}
		now := s.Now()
		// After a backoff due is later than the column; acting is right as long as both have passed.
		if c.due != 0 && (o.ClosingNextAt == nil || *o.ClosingNextAt > c.due) {
			return errMoved
		}
		if err := free(o, now); err != nil {
			return err
		}
		if o.ClosingReason != nil {
			c.reason = *o.ClosingReason
		}
		if o.FirstAttemptAt == nil {
			ok, err := s.close(tx, change{actor: actorOf(o, c), reason: string(c.reason), at: now, where: "first_attempt_at IS NULL"}, c.reason, o)
			if err == nil && !ok {
				return errMoved
			}
			if err != nil {
				return err
			}
			return logClosed(tx, o)
		}
		if _, err := claim(tx, o, now); err != nil {
			return err
		}
		o.ClosingReason, o.ClosingNextAt = &c.reason, &o.ClaimUntil
		n, err := tx.Affected("UPDATE orders SET closing_reason = ?, closing_next_at = ? WHERE id = ? AND claim_token = ?",
			c.reason, o.ClaimUntil, o.ID, o.ClaimToken)
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		attempts, err = payment.LiveAttempts(tx.DB, o.ID)
		failpoint.Hit("close.marked")
		return err
	})
	return o, attempts, err
}

// logClosed leaves the entry of an order that an admin closed.
func logClosed(tx *store.Tx, o *model.Order) error {
	return changelog.Record(tx, changelog.Order, o.No,
		map[string]any{"merchant_id": o.MerchantID, "state": model.OrderPending}, map[string]any{"state": o.State, "close_reason": o.CloseReason})
}

// actorOf names who closes: the one who asks now, or who did when the order was marked.
func actorOf(o *model.Order, c closing) string {
	if c.actor != "" {
		return c.actor
	}
	switch c.reason {
	case model.CloseShopper:
		return ActorShopper(o.ShopperID)
	case model.CloseMerchant:
		return "merchant"
	}
	return ActorTimeout
}

// settleClosing settles a payment that the close path found by an attempt.
func (s *Service) settleClosing(ctx context.Context, o *model.Order, a *model.PaymentAttempt, t wechat.Transaction) (progress, error) {
	got, err := s.Settle(ctx, t)
	var odd *MisfitError
	switch {
	case errors.As(err, &odd):
		return s.parkMisfit(ctx, o, a, odd)
	case err != nil:
		return progress{}, err
	case got.Order.State == model.OrderPending: // the money was not this order's; its number is ended, so go on at once
		return s.park(ctx, o, progress{next: s.Now()})
	}
	return progress{}, nil
}

// parkMisfit leaves an order whose number took money that does not fit to a person. Once the anomaly is resolved, which is a person's
// word that this money was seen to, the number counts as ended and the closing goes on: WeChat would say the same for ever. It is
// decided under the order's lock, since whoever resolves an anomaly wakes the order that waits for it.
func (s *Service) parkMisfit(ctx context.Context, o *model.Order, a *model.PaymentAttempt, odd *MisfitError) (progress, error) {
	return s.parkAs(ctx, o, func(tx *store.Tx) (progress, error) {
		if _, err := s.lock(tx, o.ID); err != nil {
			return progress{}, err
		}
		resolved, err := payment.IsResolved(tx.DB, payment.AnomalyMismatch+odd.Field, cutRef(a.OutTradeNo))
		if err != nil || !resolved {
			return progress{person: true}, err
		}
		_, err = payment.MoveAttempt(tx, a, model.AttemptClosed, s.Now())
		return progress{next: s.Now()}, err
	})
}

// park gives the claim back and records when and for what the closing goes on.
func (s *Service) park(ctx context.Context, o *model.Order, p progress) (progress, error) {
	return s.parkAs(ctx, o, func(*store.Tx) (progress, error) { return p, nil })
}

// parkAs is park for what is decided in its transaction.
func (s *Service) parkAs(ctx context.Context, o *model.Order, decide func(tx *store.Tx) (progress, error)) (p progress, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if p, err = decide(tx); err != nil {
			return err
		}
		note, next := noteWeChat, any(p.next)
		if p.person {
			note, next = notePerson, nil
		}
		err = tx.Exec("UPDATE orders SET claim_token = '', claim_until = 0, closing_next_at = ?, closing_note = ?, updated_at = ? WHERE id = ? AND state = ? AND claim_token = ?",
			next, note, s.Now(), o.ID, model.OrderPending, o.ClaimToken).Error
		if err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Order, o.No, map[string]any{"merchant_id": o.MerchantID, "closing": nil}, map[string]any{"closing": o.ClosingReason})
	})
	failpoint.Hit("close.parked")
	return p, err
}

// close is step 3 for orders in one state of which WeChat takes no more money: closed, every line released once, coupons back,
// attempts ended, event rows and messages. ok is false, and nothing was changed, where an order is not any more what it was
// read as.
func (s *Service) close(tx *store.Tx, c change, reason model.CloseReason, orders ...*model.Order) (ok bool, err error) {
	c.to = model.OrderClosed
	c.set = map[string]any{
		"close_reason": reason, "closed_at": c.at, "closing_reason": nil, "closing_next_at": nil, "closing_note": "", "claim_token": "", "claim_until": 0,
	}
	if ok, err = s.transition(tx, c, orders...); err != nil || !ok {
		return false, err
	}
	var attempted, coupons []int64
	ids := make([]int64, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
		if o.FirstAttemptAt != nil {
			attempted = append(attempted, o.ID)
		}
		o.ClosedAt, o.ClosingReason, o.ClosingNextAt = c.at, nil, nil
		if o.CouponID != 0 {
			coupons = append(coupons, o.CouponID)
		}
	}
	if len(attempted) > 0 {
		if err := payment.EndAttempts(tx, attempted, c.at); err != nil {
			return false, err
		}
	}
	var released []model.OrderLine
	if err := tx.Where("order_id IN ?", ids).Order("order_id, line_no").Find(&released).Error; err != nil {
		return false, err
	}
	if err := coupon.Return(tx, coupons, c.at); err != nil {
		return false, err
	}
	return true, inventory.Release(tx, released, c.actor, string(reason), c.at)
}

// ending is what became of a number at WeChat. The zero value: it takes no more money.
type ending struct {
	paid    *wechat.Transaction // money came in
	wait    model.Time          // nothing is certain before; go on then
	silence error               // WeChat gave no certain answer
}

// endAtWeChat has a number ended at WeChat, without a transaction. WeChat's 404 is unsigned, so it alone proves nothing: where
// a prepay reply is stored it is no answer at all, and where none is, it counts only after the call that may be under way has
// ended, with the close call agreeing, and both again a little later. The error is the database's.
func (s *Service) endAtWeChat(ctx context.Context, a *model.PaymentAttempt) (ending, error) {
	t, err := s.WeChat.Query(ctx, a.OutTradeNo)
	failpoint.Hit("close.queried")
	switch {
	case err == nil && t.TradeState.Paid():
		return ending{paid: &t}, nil
	case err == nil && t.TradeState == wechat.TradeClosed:
		return ending{}, nil
	case err == nil:
		return s.closeNumber(ctx, a), nil
	case wechat.KindOf(err) != wechat.KindNotFound || a.PrepayID != "":
		return ending{silence: err}, nil
	}
	return s.endMissing(ctx, a)
}

// closeNumber closes a number that WeChat says is not paid. The shopper may pay in between: then it is paid.
func (s *Service) closeNumber(ctx context.Context, a *model.PaymentAttempt) ending {
	err := s.WeChat.Close(ctx, a.OutTradeNo)
	switch wechat.KindOf(err) {
	case "", wechat.KindClosed:
		return ending{}
	case wechat.KindPaid:
		t, err := s.WeChat.Query(ctx, a.OutTradeNo)
		if err == nil && t.TradeState.Paid() {
			return ending{paid: &t}
		}
		return ending{silence: cmpErr(err, errContradiction)}
	}
	return ending{silence: err}
}

// errContradiction stands for answers of WeChat's that contradict each other.
var errContradiction = errors.New("WeChat contradicts itself about a number")

func cmpErr(err, fallback error) error {
	if err != nil {
		return err
	}
	return fallback
}

// endMissing goes on where WeChat says that it does not know the number.
func (s *Service) endMissing(ctx context.Context, a *model.PaymentAttempt) (ending, error) {
	now := s.Now()
	if now < a.CallUntil {
		return ending{wait: a.CallUntil}, nil
	}
	if a.MissingAt != 0 && now < a.MissingAt.Add(missingPause) {
		return ending{wait: a.MissingAt.Add(missingPause)}, nil
	}
	err := s.WeChat.Close(ctx, a.OutTradeNo)
	failpoint.Hit("close.unknown")
	switch wechat.KindOf(err) {
	case "", wechat.KindNotFound:
	case wechat.KindClosed:
		return ending{}, nil
	default: // paid included: the query said the contrary a moment ago, and will be asked again
		return ending{silence: err}, nil
	}
	if a.MissingAt != 0 {
		return ending{}, nil
	}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error { return payment.MarkMissing(tx, a, s.Now()) })
	failpoint.Hit("close.missing")
	return ending{wait: a.MissingAt.Add(missingPause)}, err
}
