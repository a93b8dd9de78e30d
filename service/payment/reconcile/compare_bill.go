package reconcile

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/wechat"
)

const ourPayment = `COALESCE(p.id, 0) AS our_id, COALESCE(p.out_trade_no, '') AS our_no, COALESCE(p.amount_fen, 0) AS our_fen,
	COALESCE(p.merchant_id, 0) AS merchant_id, COALESCE(p.order_id, 0) AS order_id, COALESCE(p.id, 0) AS payment_id
	FROM bill_rows b LEFT JOIN payments p ON p.transaction_id = b.number`

const ourRefund = `COALESCE(r.id, 0) AS our_id, COALESCE(r.out_refund_no, '') AS our_no, COALESCE(r.amount_fen, 0) AS our_fen,
	COALESCE(r.total_fen, 0) AS our_total, COALESCE(r.state, '') AS our_state,
	COALESCE(r.merchant_id, 0) AS merchant_id, COALESCE(r.order_id, 0) AS order_id, COALESCE(r.payment_id, 0) AS payment_id
	FROM bill_rows b LEFT JOIN refunds r ON r.out_refund_no = b.number`

// paid is what a bill says of a payment that came in.
const paid = "SUCCESS"

// owner is an anomaly about the shop's side of a row.
func (r billed) owner() model.Anomaly {
	a := model.Anomaly{MerchantID: r.MerchantID, OrderID: r.OrderID, PaymentID: r.PaymentID}
	if r.Kind == model.BillRefund {
		a.RefundID = r.OurID
	}
	return a
}

// billedPayments looks for payments of the bill in the shop. One that the shop has not heard of is settled, which takes so
// much longer than looking that a page may not fit a step.
func (s *Service) billedPayments(ctx context.Context, b *model.Bill, after string, more func() bool) (page, error) {
	rows, last, err := s.billedPage(ctx, b, model.BillPayment, ourPayment, after)
	if err != nil {
		return page{}, err
	}
	p := page{last: last}
	for i, r := range rows {
		if i > 0 && !more() {
			p.last = rows[i-1].Number
			break
		}
		switch {
		case r.OurID == 0 && r.Status != paid:
		case r.OurID == 0:
			if err := s.settle(ctx, &p, r); err != nil {
				return page{}, err
			}
		case r.AmountFen != r.OurFen || r.OutTradeNo != r.OurNo || r.Status != paid:
			p.differf(payment.AnomalyBillPayment, r.Number, r.AmountFen, r.OurFen, r.owner(),
				"WeChat's bill of %s has %d fen for %s, %s; the shop has %d fen for %s", Day(b.ID), r.AmountFen, r.OutTradeNo, r.Status, r.OurFen, r.OurNo)
		}
	}
	open, err := s.healable(ctx, b, model.BillPayment, after, p.last, payment.AnomalyBillPayment, payment.AnomalyUnbilledPayment)
	p.keep(open)
	return p, err
}

// settle hands a payment that the shop has not heard of to the order service, by which it is recorded, or an anomaly.
func (s *Service) settle(ctx context.Context, p *page, r billed) error {
	err := s.Orders.Settle(ctx, wechat.Transaction{
		OutTradeNo: r.OutTradeNo, TransactionID: r.TransactionID, TradeState: wechat.TradeSuccess, AmountTotal: int64(r.AmountFen),
		PayerTotal: int64(r.AmountFen - r.CouponFen), Currency: r.Currency, AppID: r.AppID, MchID: r.MchID, SuccessTime: r.At.Std(),
	})
	field, misfit := isMisfit(err)
	switch {
	case err == nil:
		p.note(FoundPayment, ref(r.TransactionID), r.AmountFen, r.AmountFen)
	case misfit:
		p.note(payment.AnomalyMismatch+field, ref(r.OutTradeNo), r.AmountFen, 0)
	case fault.Is(err, fault.NotFoundError):
		p.note(payment.AnomalyUnknownPayment, ref(r.TransactionID), r.AmountFen, 0)
	default:
		return err
	}
	return nil
}

// What a bill says of a refund that is made, or on its way.
const (
	refundDone = "SUCCESS"
	refundOpen = "PROCESSING"
)

// billedRefunds looks for refunds of the bill in the shop. One that succeeded and of which the shop has not heard has its effects now.
func (s *Service) billedRefunds(ctx context.Context, b *model.Bill, after string, more func() bool) (page, error) {
	rows, last, err := s.billedPage(ctx, b, model.BillRefund, ourRefund, after)
	if err != nil {
		return page{}, err
	}
	p := page{last: last}
	for i, r := range rows {
		if i > 0 && !more() {
			p.last = rows[i-1].Number
			break
		}
		success := r.OurState == model.RefundSuccess
		switch {
		case r.OurID == 0, r.AmountFen != r.OurFen, r.Status == refundDone && !success:
			if err := s.refund(ctx, &p, r); err != nil {
				return page{}, err
			}
		case success && r.Status != refundDone && r.Status != refundOpen:
			p.differf(payment.AnomalyBillRefund, r.Number, 0, r.OurFen, r.owner(),
				"WeChat's bill of %s says %s of the refund of %d fen; the shop has it as made", Day(b.ID), r.Status, r.AmountFen)
		}
	}
	open, err := s.healable(ctx, b, model.BillRefund, after, p.last, payment.AnomalyBillRefund, payment.AnomalyUnbilledRefund)
	p.keep(open)
	return p, err
}

// refund hands what the bill says of a refund to the order service, by which it is recorded, or an anomaly.
func (s *Service) refund(ctx context.Context, p *page, r billed) error {
	status := wechat.RefundProcessing
	if r.Status == refundDone {
		status = wechat.RefundSuccess
	}
	err := s.Orders.RefundResult(ctx, wechat.Refund{
		RefundID: r.RefundID, OutRefundNo: r.Number, TransactionID: r.TransactionID, OutTradeNo: r.OutTradeNo, Status: status,
		AmountRefund: int64(r.AmountFen), AmountTotal: int64(r.OurTotal), Currency: r.Currency, SuccessTime: r.At.Std(),
	})
	_, misfit := isMisfit(err)
	switch {
	case misfit:
		p.note(payment.AnomalyRefundMismatch, ref(r.Number), r.AmountFen, r.OurFen)
	case fault.Is(err, fault.NotFoundError):
		p.note(payment.AnomalyUnknownRefund, ref(r.Number), r.AmountFen, 0)
	case err != nil:
		return err
	case r.OurState == model.RefundFailed: // an end is an end: nothing was recorded
		p.differf(payment.AnomalyBillRefund, r.Number, r.AmountFen, 0, r.owner(),
			"WeChat's bill of %s has the refund of %d fen as made; the shop has it as failed", Day(r.Day), r.AmountFen)
	default:
		p.note(FoundRefund, ref(r.Number), r.AmountFen, r.AmountFen)
	}
	return nil
}
