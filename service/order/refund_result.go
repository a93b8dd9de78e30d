package order

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
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
	// abnormalPoll is how often WeChat is asked about a refund that waits for the merchant.
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
	until := s.Now().Add(refundCall)
	var mine bool
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		mine, err = payment.ClaimCall(tx, id, *r.NextAt, until)
		return err
	})
	if err != nil {
		return failed(err)
	}
	if !mine {
		return timeout.Again(errMoved)
	}
	failpoint.Hit("refund.claimed")
	got, err := s.callRefund(ctx, r, p)
	failpoint.Hit("refund.called")
	if err != nil {
		return s.refundRefused(ctx, r, err)
	}
	if err := s.RefundResult(ctx, got); err != nil && !isMisfit(err) {
		return failed(err)
	}
	failpoint.Hit("refund.recorded")
	return s.refundNext(ctx, id)
}

func (s *Service) callRefund(ctx context.Context, r *model.Refund, p *model.Payment) (wechat.Refund, error) {
	if r.Calls > 0 {
		got, err := s.WeChat.QueryRefund(ctx, r.OutRefundNo)
		if wechat.KindOf(err) != wechat.KindNotFound {
			return got, err
		}
	}
	return s.WeChat.Refund(ctx, wechat.RefundRequest{
		TransactionID: p.TransactionID, OutRefundNo: r.OutRefundNo, RefundFen: int64(r.AmountFen), TotalFen: int64(r.TotalFen), Reason: r.Reason,
	})
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

// refundRefused decides what follows when WeChat did not take the call: no certain answer is asked about again, a full purse
// or a busy WeChat is waited for under the same number, and a definite refusal ends the refund, visibly.
func (s *Service) refundRefused(ctx context.Context, r *model.Refund, cause error) timeout.Outcome {
	now, said := s.Now(), cutText(cause.Error(), 255)
	next := payment.NextCall(now, r.Calls+1)
	kind := wechat.KindOf(cause)
	switch kind {
	case wechat.KindUnknown, wechat.KindUnavailable:
		next = now.Add(closingRetry)
	case wechat.KindFrequency, wechat.KindBusy:
		next = max(next, now.Add(time.Minute)) // WeChat wants a minute between refunds of one payment
	case wechat.KindNotEnough, wechat.KindNotFound:
	default:
		err := s.inRefund(ctx, r.ID, func(tx *store.Tx, _ *model.Order, r *model.Refund) error { return s.refundFailed(tx, r, said, now) })
		if err != nil {
			return failed(err)
		}
		return timeout.Done()
	}
	waitsFor := map[wechat.Kind]string{
		wechat.KindNotEnough: "the balance at WeChat does not cover the refund; it is tried again",
		wechat.KindNotFound:  "WeChat does not know the payment that is to be refunded; it is tried again",
	}
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		if err := payment.CallAt(tx, r.ID, next, said); err != nil || waitsFor[kind] == "" {
			return err
		}
		return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundWaiting, waitsFor[kind], now))
	})
	switch {
	case err != nil:
		return failed(err)
	case kind == wechat.KindUnknown || kind == wechat.KindUnavailable:
		return timeout.Again(cause)
	}
	return timeout.Reschedule(int64(next))
}

// RefundResult records what WeChat says of a refund, from its reply, a query or the callback, in any order: success is never
// taken back. not_found and *MisfitError leave an anomaly.
func (s *Service) RefundResult(ctx context.Context, got wechat.Refund) error {
	r, err := payment.RefundByNo(s.Store.Read(ctx), got.OutRefundNo)
	if err != nil {
		return err
	}
	if r == nil {
		return s.unknownRefund(ctx, got)
	}
	p, err := payment.ByID(s.Store.Read(ctx), r.PaymentID)
	if err != nil {
		return err
	}
	if field := refundMisfit(got, r, p); field != "" {
		return s.misfitRefund(ctx, got, r, field)
	}
	return s.inRefund(ctx, r.ID, func(tx *store.Tx, o *model.Order, r *model.Refund) error {
		now := s.Now()
		switch got.Status {
		case wechat.RefundSuccess:
			return s.refundSucceeded(tx, o, r, got.RefundID, now)
		case wechat.RefundClosed:
			return s.refundFailed(tx, r, "WeChat closed the refund", now)
		case wechat.RefundAbnormal:
			return s.refundAbnormal(tx, r, got.RefundID, now)
		}
		return s.refundProcessing(tx, r, got.RefundID, now)
	})
}

// inRefund runs fn under the locks of the refund and its order.
func (s *Service) inRefund(ctx context.Context, id int64, fn func(tx *store.Tx, o *model.Order, r *model.Refund) error) error {
	seen, err := payment.RefundByID(s.Store.Read(ctx), id)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		o, err := s.lock(tx, seen.OrderID)
		if err != nil {
			return err
		}
		r, err := payment.LockRefund(tx, id)
		if err != nil {
			return err
		}
		return fn(tx, o, r)
	})
}

func (s *Service) refundProcessing(tx *store.Tx, r *model.Refund, refundID string, now model.Time) error {
	next := payment.NextCall(now, r.Calls)
	ok, err := payment.MoveRefund(tx, r, model.RefundProcessing, now, map[string]any{"refund_id": refundID, "error": "", "next_at": next})
	if err != nil || ok {
		return err
	}
	if r.State != model.RefundProcessing {
		return nil // it ended meanwhile
	}
	return payment.CallAt(tx, r.ID, next, "")
}

func (s *Service) refundAbnormal(tx *store.Tx, r *model.Refund, refundID string, now model.Time) error {
	next := now.Add(abnormalPoll)
	const said = "WeChat cannot pay the refund out; handle it in WeChat Pay's merchant console"
	ok, err := payment.MoveRefund(tx, r, model.RefundAbnormal, now, map[string]any{"refund_id": refundID, "error": said, "next_at": next})
	switch {
	case err != nil:
		return err
	case ok:
		return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundAbnormal, said, now))
	case r.State == model.RefundAbnormal:
		return payment.CallAt(tx, r.ID, next, said)
	}
	return nil
}

// refundFailed ends a refund that WeChat will not make, and gives back what it had taken of its payment and lines.
func (s *Service) refundFailed(tx *store.Tx, r *model.Refund, said string, now model.Time) error {
	ok, err := payment.MoveRefund(tx, r, model.RefundFailed, now, map[string]any{"error": said, "next_at": nil, "ended_at": now})
	if err != nil || !ok {
		return err
	}
	if _, err := payment.CountRefund(tx, r.PaymentID, -r.AmountFen); err != nil {
		return err
	}
	parts, err := payment.RefundLines(tx.DB, r.ID)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := tx.Exec("UPDATE order_lines SET refunding_quantity = refunding_quantity - ? WHERE id = ?", part.Quantity, part.LineID).Error; err != nil {
			return err
		}
	}
	return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundFailed, said, now))
}

// refundSucceeded is the one place where a refund has its effects: the order's sums, stock of what was not shipped, the coupon
// and the order's end when everything is refunded. A late payment's refund touches none of them.
func (s *Service) refundSucceeded(tx *store.Tx, o *model.Order, r *model.Refund, refundID string, now model.Time) error {
	ok, err := payment.RefundSucceeded(tx, r, now, refundID, traceOf(tx.Statement.Context, o))
	if err != nil || !ok {
		return err
	}
	tx.AfterCommit(s.relayed)
	if r.Kind == model.RefundLate {
		return nil
	}
	parts, err := payment.RefundLines(tx.DB, r.ID)
	if err != nil {
		return err
	}
	goods, err := lines(tx.DB, o.ID)
	if err != nil {
		return err
	}
	back := applyRefund(goods, parts)
	for _, part := range parts {
		n, err := tx.Affected("UPDATE order_lines SET refunded_quantity = refunded_quantity + ?, refunded_fen = refunded_fen + ? WHERE id = ?",
			part.Quantity, part.AmountFen, part.LineID)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("refund %d names line %d, which does not exist", r.ID, part.LineID)
		}
	}
	whole, err := s.orderAfterRefund(tx, o, r, goods, now)
	if err != nil {
		return err
	}
	if whole && o.CouponID != 0 {
		if err := coupon.Return(tx, []int64{o.CouponID}, now); err != nil {
			return err
		}
	}
	if len(back) == 0 {
		return nil
	}
	return inventory.Return(tx, r.ID, back, ActorWeChat, "refund "+r.OutRefundNo, now)
}

// applyRefund counts the parts on the lines, and returns what of them was never shipped and goes back to the shelf.
func applyRefund(goods []model.OrderLine, parts []model.RefundLine) (back []model.OrderLine) {
	for _, part := range parts {
		for i := range goods {
			l := &goods[i]
			if l.ID != part.LineID {
				continue
			}
			unshipped := max(l.Quantity-l.ShippedQuantity-l.RefundedQuantity, 0)
			l.RefundedQuantity += part.Quantity
			if n := min(part.Quantity, unshipped); n > 0 {
				returned := *l
				returned.Quantity = n
				back = append(back, returned)
			}
		}
	}
	return back
}

// orderAfterRefund records the refund on the order. One of which everything was refunded before anything was shipped is
// closed; one of which the rest was refunded is shipped as far as it ever will be. whole says that no piece is left.
func (s *Service) orderAfterRefund(tx *store.Tx, o *model.Order, r *model.Refund, goods []model.OrderLine, now model.Time) (whole bool, err error) {
	whole, shipped, left := true, false, int64(0)
	for _, l := range goods {
		whole = whole && l.RefundedQuantity == l.Quantity
		shipped = shipped || l.ShippedQuantity > 0
		left += max(l.Quantity-l.ShippedQuantity-l.RefundedQuantity, 0)
	}
	o.RefundedFen += r.AmountFen
	c := change{
		to: o.State, actor: ActorWeChat, reason: fmt.Sprintf("refunded %d fen as %s", r.AmountFen, r.OutRefundNo), at: now,
		set: map[string]any{"refunded_fen": o.RefundedFen},
	}
	switch {
	case o.State == model.OrderPaid && whole && !shipped:
		c.to = model.OrderClosed
		c.set["close_reason"], c.set["closed_at"] = model.CloseRefunded, now
	case o.State == model.OrderPaid && shipped && left == 0:
		c.to = model.OrderShipped
		c.set["shipped_at"] = now
	}
	ok, err := s.transition(tx, c, o)
	if err == nil && !ok {
		err = fmt.Errorf("refunding order %d: %w", o.ID, errMoved)
	}
	return whole, err
}

func refundMisfit(got wechat.Refund, r *model.Refund, p *model.Payment) string {
	switch {
	case p == nil || got.TransactionID != "" && got.TransactionID != p.TransactionID:
		return "transaction_id"
	case got.OutTradeNo != "" && got.OutTradeNo != p.OutTradeNo:
		return "out_trade_no"
	case got.AmountRefund != int64(r.AmountFen):
		return "amount.refund"
	case got.AmountTotal != int64(r.TotalFen):
		return "amount.total"
	}
	return ""
}

// RefundMisfit records that a verified word of a refund does not fit the shop, and returns it as a *MisfitError. The refund
// need not be ours.
func (s *Service) RefundMisfit(ctx context.Context, got wechat.Refund, field string) error {
	r, err := payment.RefundByNo(s.Store.Read(ctx), got.OutRefundNo)
	if err != nil {
		return err
	}
	if r == nil {
		r = &model.Refund{OutRefundNo: cutRef(got.OutRefundNo)}
	}
	return s.misfitRefund(ctx, got, r, field)
}

func (s *Service) misfitRefund(ctx context.Context, got wechat.Refund, r *model.Refund, field string) error {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundMismatch,
			fmt.Sprintf("%s does not fit: WeChat refunded %d of %d fen", field, got.AmountRefund, got.AmountTotal), s.Now()))
	})
	if err != nil {
		return err
	}
	return &MisfitError{field}
}

func (s *Service) unknownRefund(ctx context.Context, got wechat.Refund) error {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		return payment.Report(tx, model.Anomaly{
			Kind: payment.AnomalyUnknownRefund, Ref: cutRef(got.OutRefundNo), CreatedAt: s.Now(),
			Detail: fmt.Sprintf("WeChat reports a refund of %d fen for %s that is not ours", got.AmountRefund, got.OutTradeNo),
		})
	})
	if err != nil {
		return err
	}
	return fault.New(fault.NotFoundError)
}

func refundAnomaly(r *model.Refund, kind, detail string, now model.Time) model.Anomaly {
	return model.Anomaly{MerchantID: r.MerchantID, Kind: kind, Ref: r.OutRefundNo, OrderID: r.OrderID, PaymentID: r.PaymentID, RefundID: r.ID, Detail: detail, CreatedAt: now}
}
