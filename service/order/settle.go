package order

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// MisfitError says that a word of WeChat's does not fit what we know; an anomaly was recorded and nothing settled.
type MisfitError struct{ Field string }

func (e *MisfitError) Error() string { return "order: WeChat's word does not fit: " + e.Field }

// Misfit returns the field that does not fit.
func (e *MisfitError) Misfit() string { return e.Field }

func isMisfit(err error) bool {
	var m *MisfitError
	return errors.As(err, &m)
}

// Settled is what became of a confirmed payment.
type Settled struct {
	Order *model.Order
	// Payment is its row. Payment.Settled says whether it pays the order; otherwise it is refunded.
	Payment *model.Payment
	// First is false where the payment was known before; nothing changed then.
	First bool
}

// Settle records a payment that WeChat confirmed (trade state SUCCESS or REFUND): from the callback, a query, the close path or
// the bill, in any order and any number of times. It pays the order if that is pending and the amount its payable; any other
// confirmed payment is recorded and refunded in full, and touches neither order nor stock. A *MisfitError means that it does
// not fit its attempt, not_found that the number is not ours; both leave an anomaly.
func (s *Service) Settle(ctx context.Context, t wechat.Transaction) (Settled, error) {
	a, err := payment.AttemptByNo(s.Store.Read(ctx), t.OutTradeNo)
	if err != nil {
		return Settled{}, err
	}
	if a == nil {
		return Settled{}, s.unknownPayment(ctx, t)
	}
	if field, detail := misfit(t, a); field != "" {
		return Settled{}, s.Misfit(ctx, t, field, detail)
	}
	var ids settleIDs
	if ids.payment, err = s.Store.NextIDs(ctx, "payments", 1); err != nil {
		return Settled{}, err
	}
	if ids.refund, err = s.Store.NextIDs(ctx, "refunds", 1); err != nil {
		return Settled{}, err
	}
	var got Settled
	var odd string
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		got, odd, err = s.settle(tx, t, a.ID, ids)
		failpoint.Hit("settle.written")
		return err
	})
	failpoint.Hit("settle.committed")
	if err == nil && odd != "" {
		err = s.Misfit(ctx, t, "transaction_id", odd)
	}
	return got, err
}

type settleIDs struct{ payment, refund int64 }

// settle does the work under the order's row lock. odd says what is wrong with the transaction's id.
func (s *Service) settle(tx *store.Tx, t wechat.Transaction, attemptID int64, ids settleIDs) (got Settled, odd string, err error) {
	a, err := payment.AttemptByID(tx.DB, attemptID)
	if err != nil {
		return got, "", err
	}
	o, err := s.lock(tx, a.OrderID)
	if err != nil {
		return got, "", err
	}
	got.Order = o
	known, err := payment.ByTransaction(tx.DB, t.TransactionID)
	if err != nil {
		return got, "", err
	}
	if known != nil {
		got.Payment = known
		if known.OutTradeNo != t.OutTradeNo {
			return got, "the transaction belongs to number " + known.OutTradeNo, nil
		}
		return got, "", s.reportForeignRefund(tx, t, known)
	}
	other, err := payment.OfNumber(tx.DB, o.ID, t.OutTradeNo)
	if err != nil {
		return got, "", err
	}
	if other != nil { // one number is paid once
		return got, "the number was paid by transaction " + other.TransactionID, nil
	}
	now := s.Now()
	p := &model.Payment{
		ID: ids.payment, OrderID: o.ID, AttemptID: a.ID, MerchantID: o.MerchantID, OutTradeNo: a.OutTradeNo, TransactionID: t.TransactionID,
		AmountFen: model.Fen(t.AmountTotal), PayerFen: model.Fen(t.PayerTotal), Currency: t.Currency, PaidAt: paidAt(t, now), CreatedAt: now,
	}
	got.Payment, got.First = p, true
	if _, err := payment.MoveAttempt(tx, a, model.AttemptPaid, now); err != nil {
		return got, "", err
	}
	if o.State == model.OrderPending && p.AmountFen == o.PayableFen {
		err = s.settleOrder(tx, o, p, now)
	} else {
		err = s.settleLate(tx, o, p, ids.refund, now)
	}
	if err != nil {
		return got, "", err
	}
	return got, "", s.reportForeignRefund(tx, t, p)
}

// settleOrder makes the order paid by the payment. Attempts beside this one are asked about at once, which ends them.
func (s *Service) settleOrder(tx *store.Tx, o *model.Order, p *model.Payment, now model.Time) error {
	ok, err := s.transition(tx, change{to: model.OrderPaid, actor: ActorWeChat, reason: "paid", at: now, set: map[string]any{
		"paid_at": now, "closing_reason": nil, "closing_next_at": nil, "closing_note": "", "claim_token": "", "claim_until": 0,
	}}, o)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("settling order %d: %w", o.ID, errMoved)
	}
	o.PaidAt, o.ClosingReason, o.ClosingNextAt = now, nil, nil
	p.Settled, p.SettledOrder = true, &o.ID
	if err := payment.AskNow(tx, o.ID, now); err != nil {
		return err
	}
	if err := tx.Create(p).Error; err != nil {
		return err
	}
	return coupon.Use(tx, []int64{o.CouponID}, now)
}

// settleLate records a payment that does not pay the order, and its full refund under a number made from the payment's.
func (s *Service) settleLate(tx *store.Tx, o *model.Order, p *model.Payment, refundID int64, now model.Time) error {
	p.RefundedFen = p.AmountFen
	if err := tx.Create(p).Error; err != nil {
		return err
	}
	next := now.Add(refundStart)
	r := &model.Refund{
		ID: refundID, OrderID: o.ID, PaymentID: p.ID, MerchantID: o.MerchantID, OutRefundNo: "L" + p.OutTradeNo, Kind: model.RefundLate,
		AmountFen: p.AmountFen, TotalFen: p.AmountFen, Reason: "订单已关闭，自动退款", NextAt: &next, CreatedAt: now,
	}
	why := "the order was " + string(o.State)
	switch {
	case o.State == model.OrderPending:
		r.Reason, why = "订单金额已变更，自动退款", fmt.Sprintf("the order's payable is %d fen", o.PayableFen)
	case o.State != model.OrderClosed:
		r.Reason = "重复支付，自动退款"
	}
	_, traceparent := s.step(tx, payment.TopicLate, o)
	if err := payment.CreateRefund(tx, r, nil, traceparent); err != nil {
		return err
	}
	tx.AfterCommit(s.relayed)
	if err := event.Append(tx, payment.LateMessage(p, r.ID, traceparent)); err != nil {
		return err
	}
	return payment.Report(tx, model.Anomaly{
		MerchantID: o.MerchantID, Kind: payment.AnomalyLate, Ref: p.TransactionID, OrderID: o.ID, PaymentID: p.ID, RefundID: r.ID, CreatedAt: now,
		Detail: fmt.Sprintf("order %s: %d fen came in by %s while %s; refunded in full as %s", o.No, p.AmountFen, p.OutTradeNo, why, r.OutRefundNo),
	})
}

// reportForeignRefund records that WeChat refunded something of the payment that we did not ask for.
func (s *Service) reportForeignRefund(tx *store.Tx, t wechat.Transaction, p *model.Payment) error {
	if t.TradeState != wechat.TradeRefund {
		return nil
	}
	refunds, err := payment.RefundsOf(tx.DB, p.OrderID)
	if err != nil {
		return err
	}
	for _, r := range refunds {
		if r.PaymentID == p.ID && r.Calls > 0 {
			return nil
		}
	}
	return payment.Report(tx, model.Anomaly{
		MerchantID: p.MerchantID, Kind: payment.AnomalyForeignRefund, Ref: p.TransactionID, OrderID: p.OrderID, PaymentID: p.ID, CreatedAt: s.Now(),
		Detail: "WeChat shows a refund of " + p.OutTradeNo + " that the shop did not make; shipping is held",
	})
}

// misfit compares WeChat's word with the attempt. payer_total may be lower than total: WeChat's own coupons pay the rest.
func misfit(t wechat.Transaction, a *model.PaymentAttempt) (field, detail string) {
	differ := func(got, want any) string { return fmt.Sprintf("got %v, want %v", got, want) }
	switch {
	case t.AppID != a.AppID:
		return "appid", differ(t.AppID, a.AppID)
	case t.MchID != a.MchID:
		return "mchid", differ(t.MchID, a.MchID)
	case t.Currency != wechat.Currency:
		return "currency", differ(t.Currency, wechat.Currency)
	case model.Fen(t.AmountTotal) != a.AmountFen:
		return "amount", differ(t.AmountTotal, a.AmountFen)
	}
	return "", ""
}

// Misfit records that a verified word of WeChat's does not fit the shop, and returns it as a *MisfitError. The number need
// not be ours.
func (s *Service) Misfit(ctx context.Context, t wechat.Transaction, field, detail string) error {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		a, err := payment.AttemptByNo(tx.DB, t.OutTradeNo)
		if err != nil {
			return err
		}
		row := model.Anomaly{
			Kind: payment.AnomalyMismatch + field, Ref: cutRef(t.OutTradeNo), CreatedAt: s.Now(),
			Detail: strings.TrimSpace(fmt.Sprintf("%s of transaction %s for %s does not fit. %s", field, t.TransactionID, t.OutTradeNo, detail)),
		}
		if a != nil {
			row.MerchantID, row.OrderID = a.MerchantID, a.OrderID
		}
		return payment.Report(tx, row)
	})
	if err != nil {
		return err
	}
	s.Log.ErrorContext(ctx, "a payment does not fit", "field", field, "out_trade_no", t.OutTradeNo, "transaction", t.TransactionID)
	return &MisfitError{field}
}

func (s *Service) unknownPayment(ctx context.Context, t wechat.Transaction) error {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		return payment.Report(tx, model.Anomaly{
			Kind: payment.AnomalyUnknownPayment, Ref: cutRef(t.TransactionID), CreatedAt: s.Now(),
			Detail: fmt.Sprintf("%d fen came in for number %s, which is not ours", t.AmountTotal, t.OutTradeNo),
		})
	})
	if err != nil {
		return err
	}
	return fault.New(fault.NotFoundError)
}

// cutRef fits WeChat's words to the column.
func cutRef(ref string) string { return ref[:min(len(ref), 80)] }

func paidAt(t wechat.Transaction, now model.Time) model.Time {
	if t.SuccessTime.IsZero() {
		return now
	}
	return model.At(t.SuccessTime)
}
