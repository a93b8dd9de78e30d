package order

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	// refundStart is when a refund is called for even if the message that starts it was held up.
	refundStart = 30 * time.Second
	// refundCall covers the two calls that one run of the refund task may make.
	refundCall = 2*wechat.CallLimit + callMargin
	// refundPause is what lies between calls for refunds of one payment: WeChat wants a minute, counted where it receives them, which
	// may be as long after the call was begun as a call may take.
	refundPause = time.Minute + wechat.CallLimit
	// abnormalPoll is how often WeChat is asked about a refund, or for it, that waits for the merchant.
	abnormalPoll = time.Hour
)

// Subscribers are what the service does about messages: a refund that was made becomes due, what came too late is logged loudly.
func (s *Service) Subscribers() []event.Subscriber {
	return []event.Subscriber{
		{Name: "refund-start", Topic: payment.TopicRefundCreated, Handle: s.startRefund},
		{Name: "ship-overdue-alarm", Topic: TopicOverdue, Handle: s.alarmOverdue},
		{Name: "answer-overdue-alarm", Topic: TopicAnswerOverdue, Handle: s.alarmUnanswered},
		{Name: "late-payment-alarm", Topic: payment.TopicLate, Handle: s.alarmLate},
	}
}

// startRefund makes the refund of a message due now, unless it was called for already. Doing so twice does no harm.
func (s *Service) startRefund(ctx context.Context, m event.Message) error {
	var about payment.RefundChanged
	if err := m.Decode(&about); err != nil {
		return err
	}
	now := s.Now()
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE refunds SET next_at = ? WHERE id = ? AND state = ? AND calls = 0 AND next_at > ?",
			now, about.RefundID, model.RefundPending, now)
		if err == nil && n == 1 {
			tx.AfterCommit(func() { s.schedule(ctx, refundTask(about.RefundID, now)) })
		}
		return err
	})
}

func (s *Service) alarmLate(ctx context.Context, m event.Message) error {
	var late payment.Late
	if err := m.Decode(&late); err != nil {
		return err
	}
	s.Log.WarnContext(ctx, "a late payment is refunded", "order", late.OrderID, "out_trade_no", late.OutTradeNo, "amount_fen", late.AmountFen, "refund", late.RefundID)
	return nil
}

func refundTask(id int64, at model.Time) timeout.Task {
	return timeout.Task{Kind: KindRefund, Key: strconv.FormatInt(id, 10), Due: int64(at)}
}

// refundDue calls WeChat for a refund, or asks about it. A call whose answer was lost is asked about first, and repeated with
// the same number and amount only if WeChat has none of it.
func (s *Service) refundDue(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	r, err := payment.RefundByID(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return failed(err)
	case r == nil || r.NextAt == nil:
		return timeout.Done()
	case *r.NextAt > due:
		return timeout.Reschedule(int64(*r.NextAt))
	}
	p, err := payment.ByID(s.Store.Read(ctx), r.PaymentID)
	if err != nil {
		return failed(err)
	}
	if p == nil {
		return timeout.Failed(fmt.Errorf("refund %d has no payment", id))
	}
	due = *r.NextAt
	if wait, err := s.claimRefund(ctx, r); errors.Is(err, errMoved) {
		return timeout.Again(err)
	} else if err != nil {
		return failed(err)
	} else if wait != nil {
		return timeout.Reschedule(int64(*wait))
	}
	failpoint.Hit("refund.claimed")
	claim := deadline.Claim{Table: "refunds", Column: "next_at", ID: id, Due: due, Until: *r.NextAt}
	return claim.Ended(ctx, s.Store, s.refundClaimed(ctx, r, p, due))
}

// refundClaimed calls WeChat for a claimed refund that was due then.
func (s *Service) refundClaimed(ctx context.Context, r *model.Refund, p *model.Payment, due model.Time) timeout.Outcome {
	if r.Calls > 0 {
		got, err := s.WeChat.QueryRefund(ctx, r.OutRefundNo)
		switch wechat.KindOf(err) {
		case wechat.KindNotFound:
		case "", wechat.KindUnknown, wechat.KindUnavailable, wechat.KindFrequency, wechat.KindBusy, wechat.KindSetup:
			return s.refundAnswered(ctx, r, due, got, err)
		default: // the question is refused, not the refund, which may have been made: nothing of it is given back
			return s.refundPutOff(ctx, r, payment.NextCall(s.Now(), r.CalledAt), err, "WeChat refuses to say what became of the refund; it is asked again")
		}
		if wait, err := s.refundTurn(ctx, r); err != nil {
			return failed(err)
		} else if wait != nil {
			return timeout.Reschedule(int64(*wait))
		}
	}
	got, err := s.WeChat.Refund(ctx, wechat.RefundRequest{
		TransactionID: p.TransactionID, OutRefundNo: r.OutRefundNo, RefundFen: int64(r.AmountFen), TotalFen: int64(r.TotalFen), Reason: r.Reason,
	})
	return s.refundAnswered(ctx, r, due, got, err)
}

// claimRefund takes a refund that is due for one run of its task; errMoved where somebody else did. wait, if not nil, is when WeChat
// may be called for it, and no call is to be made now.
func (s *Service) claimRefund(ctx context.Context, r *model.Refund) (wait *model.Time, err error) {
	due, until := *r.NextAt, s.Now().Add(refundCall)
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if wait = nil; r.Calls == 0 { // otherwise it is asked about first
			if wait, err = payment.TakeTurn(tx, r, s.Now(), refundPause); err != nil || wait != nil {
				return err
			}
		}
		mine, err := payment.ClaimCall(tx, r.ID, due, until)
		if err == nil && !mine {
			err = errMoved
		}
		return err
	})
	if err == nil && wait == nil {
		r.NextAt = &until
	}
	return wait, err
}

// refundTurn is claimRefund's pause for a refund that was claimed already.
func (s *Service) refundTurn(ctx context.Context, r *model.Refund) (wait *model.Time, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		wait, err = payment.TakeTurn(tx, r, s.Now(), refundPause)
		return err
	})
	return wait, err
}

// refundAnswered records what WeChat said to a call about a refund that was due then.
func (s *Service) refundAnswered(ctx context.Context, r *model.Refund, due model.Time, got wechat.Refund, err error) timeout.Outcome {
	failpoint.Hit("refund.called")
	if err != nil {
		return s.refundRefused(ctx, r, due, err)
	}
	err = s.RefundResult(ctx, got)
	if isMisfit(err) { // it says the same until a person has looked at it
		return s.refundPutOff(ctx, r, s.Now().Add(abnormalPoll), err, "")
	}
	if err != nil {
		return failed(err)
	}
	failpoint.Hit("refund.recorded")
	return s.refundNext(ctx, r.ID)
}

// refundNext says when the refund is called about next, as RefundResult stored it.
func (s *Service) refundNext(ctx context.Context, id int64) timeout.Outcome {
	r, err := payment.RefundByID(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return failed(err)
	case r.NextAt == nil:
		return timeout.Done()
	}
	return timeout.Reschedule(int64(*r.NextAt))
}

// refundRefused decides what follows when WeChat did not take the call: no certain answer is asked about again, a full purse,
// a busy WeChat or credentials that are mended are waited for under the same number, and a definite refusal of this refund ends
// it, visibly. That of a late payment is waited for as well: the money is not the shop's, and nobody could make another refund of it.
func (s *Service) refundRefused(ctx context.Context, r *model.Refund, due model.Time, cause error) timeout.Outcome {
	now, said := s.Now(), cutText(cause.Error(), 255)
	next := payment.NextCall(now, r.CreatedAt)
	kind := wechat.KindOf(cause)
	switch kind {
	case wechat.KindUnknown, wechat.KindUnavailable:
		next = s.goesOn(due)
	case wechat.KindFrequency, wechat.KindBusy:
		next = max(next, now.Add(time.Minute)) // WeChat wants a minute between refunds of one payment
	case wechat.KindNotEnough, wechat.KindNotFound, wechat.KindSetup:
	default:
		if r.Kind == model.RefundLate {
			return s.refundPutOff(ctx, r, now.Add(abnormalPoll), cause, "WeChat refuses to refund a late payment; mend what it names; it is tried again every hour")
		}
		err := s.inRefund(ctx, r.ID, func(tx *store.Tx, o *model.Order, r *model.Refund) error {
			return s.refundFailed(tx, o, r, said, now)
		})
		if err != nil {
			return failed(err)
		}
		return timeout.Done()
	}
	waitsFor := map[wechat.Kind]string{
		wechat.KindNotEnough: "the balance at WeChat does not cover the refund; it is tried again",
		wechat.KindNotFound:  "WeChat does not know the payment that is to be refunded; it is tried again",
		wechat.KindSetup:     "WeChat does not take the shop's own credentials; mend the wechat.* settings or the merchant's rights; it is tried again",
	}
	if put := s.refundPutOff(ctx, r, next, cause, waitsFor[kind]); put.Err() != nil || kind != wechat.KindUnknown && kind != wechat.KindUnavailable {
		return put
	}
	return timeout.Again(cause)
}

// refundPutOff has WeChat called for a refund, or asked about it, later. waitsFor, if not empty, is told to people as an anomaly.
func (s *Service) refundPutOff(ctx context.Context, r *model.Refund, next model.Time, cause error, waitsFor string) timeout.Outcome {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		if waits, err := payment.CallAt(tx, r.ID, next, cutText(cause.Error(), 255)); err != nil || !waits || waitsFor == "" {
			return err
		}
		return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundWaiting, waitsFor, s.Now()))
	})
	if err != nil {
		return failed(err)
	}
	return timeout.Reschedule(int64(next))
}
