package order

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

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
			if r.State == model.RefundFailed { // what it had taken may have been refunded again by now
				return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundMismatch, "WeChat paid back a refund that the shop had given up", now))
			}
			return s.refundSucceeded(tx, o, r, got.RefundID, now)
		case wechat.RefundClosed:
			return s.refundFailed(tx, o, r, "WeChat closed the refund", now)
		case wechat.RefundAbnormal:
			return s.refundAbnormal(tx, r, got.RefundID, now)
		}
		return s.refundProcessing(tx, r, got.RefundID, now)
	})
}

// inRefund runs fn under the locks of the refund, its payment and its order.
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
		if err := payment.Lock(tx, seen.PaymentID); err != nil { // what a failure gives back is counted there
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
	next := payment.NextCall(now, r.CalledAt)
	ok, err := payment.MoveRefund(tx, r, model.RefundProcessing, now, map[string]any{"refund_id": refundID, "error": "", "next_at": next})
	if err != nil || ok {
		return err
	}
	switch r.State {
	case model.RefundProcessing:
		_, err = payment.CallAt(tx, r.ID, next, "")
	case model.RefundAbnormal: // the merchant had WeChat pay it out in another way, and WeChat is at it
		_, err = payment.CallAt(tx, r.ID, next, r.Error)
	}
	return err // otherwise it ended meanwhile
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
		_, err = payment.CallAt(tx, r.ID, next, said)
	}
	return err
}

// refundFailed ends a refund that WeChat will not make, and gives back what it had taken of its payment and lines. An after-sale
// that it was for waits for the merchant again.
func (s *Service) refundFailed(tx *store.Tx, o *model.Order, r *model.Refund, said string, now model.Time) error {
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
	if err := s.aftersaleUnrefunded(tx, o, r, said); err != nil {
		return err
	}
	if err := refundWaitsNoMore(tx, r, "退款已失败 · the refund failed", now); err != nil {
		return err
	}
	return payment.Report(tx, refundAnomaly(r, payment.AnomalyRefundFailed, said, now))
}

// refundWaitsNoMore withdraws the anomalies that say what a refund waits for: it has ended.
func refundWaitsNoMore(tx *store.Tx, r *model.Refund, note string, now model.Time) error {
	for _, kind := range []string{payment.AnomalyRefundWaiting, payment.AnomalyRefundAbnormal} {
		if err := payment.WithdrawOf(tx, kind, r.OutRefundNo, note, ActorWeChat, now); err != nil {
			return err
		}
	}
	return nil
}

// refundSucceeded is the one place where a refund has its effects: the order's sums, stock of what was not shipped or came back,
// the end of the after-sale that it was for, the coupon and the order's end when everything is refunded. A late payment's refund
// touches none of them. What the refund waited for is nobody's to look at any more.
func (s *Service) refundSucceeded(tx *store.Tx, o *model.Order, r *model.Refund, refundID string, now model.Time) error {
	ok, err := payment.RefundSucceeded(tx, r, now, refundID, traceOf(tx.Statement.Context, o))
	if err != nil || !ok {
		return err
	}
	tx.AfterCommit(s.relayed)
	if err := refundWaitsNoMore(tx, r, "退款已成功 · the refund went through", now); err != nil {
		return err
	}
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
	a, err := aftersaleOf(tx, r)
	if err != nil {
		return err
	}
	back, dropped := applyRefund(goods, parts, a)
	for _, part := range parts {
		n, err := tx.Affected(`UPDATE order_lines SET refunded_quantity = refunded_quantity + ?, refunded_fen = refunded_fen + ?,
			dropped_quantity = dropped_quantity + ? WHERE id = ?`, part.Quantity, part.AmountFen, dropped[part.LineID], part.LineID)
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
	if err := s.aftersaleRefunded(tx, o, a); err != nil {
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

// applyRefund counts the parts on the lines, and returns what of them goes back to the shelf and, by line, what of them will never
// be shipped. Of a refund the pieces that were not shipped come first, and all of those go back; goods that were sent back were
// shipped, and go back where the merchant will sell them again. a is the after-sale that the refund is for, or nil.
func applyRefund(goods []model.OrderLine, parts []model.RefundLine, a *model.Aftersale) (back []model.OrderLine, dropped map[int64]int64) {
	dropped = map[int64]int64{}
	for _, part := range parts {
		at := slices.IndexFunc(goods, func(l model.OrderLine) bool { return l.ID == part.LineID })
		if at < 0 {
			continue // the update of the line says so
		}
		l := &goods[at]
		n := min(part.Quantity, max(l.Unshipped(), 0))
		if a != nil && a.Type == model.AftersaleReturn {
			n = 0
		}
		dropped[l.ID] = n
		l.DroppedQuantity += n
		l.RefundedQuantity += part.Quantity
		if a != nil && a.Type == model.AftersaleReturn && a.Restock {
			n = part.Quantity
		}
		if n > 0 {
			returned := *l
			returned.Quantity = n
			back = append(back, returned)
		}
	}
	return back, dropped
}

// orderAfterRefund records the refund on the order. One of which everything was refunded before anything was shipped is
// closed; one of which the rest was refunded is shipped as far as it ever will be. whole says that no piece is left.
func (s *Service) orderAfterRefund(tx *store.Tx, o *model.Order, r *model.Refund, goods []model.OrderLine, now model.Time) (whole bool, err error) {
	whole, shipped, left := true, false, int64(0)
	for _, l := range goods {
		whole = whole && l.RefundedQuantity == l.Quantity
		shipped = shipped || l.ShippedQuantity > 0
		left += max(l.Unshipped(), 0)
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
	if err == nil && c.set["shipped_at"] != nil { // WeChat is told that nothing follows
		err = s.renewUpload(tx, o, now)
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
