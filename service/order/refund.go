package order

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/idempotency"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// RefundPart is how many pieces of a line are to be refunded.
type RefundPart struct {
	LineID   int64 `json:"line_id"`
	Quantity int64 `json:"quantity"`
}

// RefundRequest asks for money back. No lines means everything that no refund has taken yet.
type RefundRequest struct {
	Kind        model.RefundKind `json:"-"`
	AftersaleID int64            `json:"-"`
	Actor       string           `json:"-"`
	Lines       []RefundPart     `json:"lines,omitempty"`
	Reason      string           `json:"reason"` // the shopper reads it at WeChat; cut to 80 bytes
}

// Refund makes a refund of a merchant's order and returns it. key, if not empty, is the Idempotency-Key: the same request
// again returns the refund it made. order_not_paid, order_closed, refund_too_much, refund_too_old, refund_too_many,
// idempotency_key_reused.
func (s *Service) Refund(ctx context.Context, merchantID int64, no, key string, req RefundRequest) (*model.Refund, error) {
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, err
	}
	id, err := s.NewRefundID(ctx)
	if err != nil {
		return nil, err
	}
	req.Kind = model.RefundMerchant
	var r *model.Refund
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		o, err := s.lock(tx, seen.ID)
		if err != nil {
			return err
		}
		before, err := idempotency.Bind(tx, fmt.Sprintf("refund:%d", o.ID), key, req, id, s.Now())
		if err != nil {
			return err
		}
		if before != 0 {
			r, err = payment.RefundByID(tx.DB, before)
			return err
		}
		r, err = s.RefundIn(tx, o, id, req)
		return err
	})
	return r, err
}

// NewRefundID takes an id for RefundIn. It must be called outside a transaction.
func (s *Service) NewRefundID(ctx context.Context) (int64, error) {
	return s.Store.NextIDs(ctx, "refunds", 1)
}

// RefundIn makes a refund in the caller's transaction, which has read the order under its lock and has not touched refunds,
// after-sales, coupons or stock yet. Where nothing is to be paid back (a line that cost nothing) the refund succeeds here;
// otherwise WeChat is called after the commit. Errors as of Refund.
func (s *Service) RefundIn(tx *store.Tx, o *model.Order, id int64, req RefundRequest) (*model.Refund, error) {
	switch o.State {
	case model.OrderPending:
		return nil, fault.New(fault.OrderNotPaid)
	case model.OrderClosed:
		return nil, fault.New(fault.OrderClosed)
	}
	now := s.Now()
	p, err := payment.LockSettled(tx, o.ID)
	if err != nil {
		return nil, err
	}
	before, err := payment.RefundsOf(tx.DB, o.ID)
	if err != nil {
		return nil, err
	}
	if err := refundable(p, before, now); err != nil {
		return nil, err
	}
	goods, err := lines(tx.DB, o.ID)
	if err != nil {
		return nil, err
	}
	taken, err := payment.LineAmounts(tx.DB, o.ID)
	if err != nil {
		return nil, err
	}
	r := &model.Refund{
		ID: id, OrderID: o.ID, AftersaleID: req.AftersaleID, MerchantID: o.MerchantID, OutRefundNo: fmt.Sprintf("R%s-%d", o.No, len(before)+1),
		Kind: req.Kind, Reason: cutText(req.Reason, 80), CreatedAt: now,
	}
	parts, err := refundLines(o, goods, taken, req.Lines, r)
	if err != nil {
		return nil, err
	}
	return r, s.insertRefund(tx, o, p, r, parts, now)
}

// refundable checks WeChat's limits of a payment. p is nil for an order that cost nothing.
func refundable(p *model.Payment, before []model.Refund, now model.Time) error {
	if p == nil {
		return nil
	}
	if now.Sub(p.PaidAt) > payment.RefundLimit {
		return fault.New(fault.RefundTooOld)
	}
	n := 0
	for _, r := range before {
		if r.PaymentID == p.ID && r.State != model.RefundFailed {
			n++
		}
	}
	if n >= payment.MaxRefunds {
		return fault.New(fault.RefundTooMany)
	}
	return nil
}

// net is what the line costs in all: its price less its shares of discount and adjustment.
func net(l model.OrderLine) model.Fen {
	return l.PriceFen*model.Fen(l.Quantity) - l.DiscountFen + l.AdjustmentFen
}

// refundLines works out the parts of a refund, sets its amounts and checks quantities. Parts of one line add up to the line's
// net amount: the last takes what is left. Freight is refunded with the last piece of an order of which nothing was shipped.
func refundLines(o *model.Order, goods []model.OrderLine, taken map[int64]model.Fen, want []RefundPart, r *model.Refund) ([]model.RefundLine, error) {
	if len(want) == 0 {
		for _, l := range goods {
			if left := l.Quantity - l.RefundingQuantity; left > 0 {
				want = append(want, RefundPart{LineID: l.ID, Quantity: left})
			}
		}
	}
	refused := fault.New(fault.RefundTooMuch)
	if len(want) == 0 {
		return nil, refused
	}
	var parts []model.RefundLine
	all, shipped := true, false
	var nets, takenBefore model.Fen
	for _, l := range goods {
		nets += net(l)
		takenBefore += taken[l.ID]
		shipped = shipped || l.ShippedQuantity > 0
		at := slices.IndexFunc(want, func(p RefundPart) bool { return p.LineID == l.ID })
		var quantity int64
		if at >= 0 {
			quantity = want[at].Quantity
			if quantity < 1 || quantity > l.Quantity-l.RefundingQuantity {
				refused.With(fmt.Sprintf("lines[%d].quantity", at), fault.FieldRange,
					fmt.Sprintf("最多可退 %d 件", l.Quantity-l.RefundingQuantity), fmt.Sprintf("at most %d can be refunded", l.Quantity-l.RefundingQuantity))
				continue
			}
			part := model.PartOf(net(l), l.RefundingQuantity, quantity, l.Quantity)
			if left := net(l) - taken[l.ID]; l.RefundingQuantity+quantity == l.Quantity || part > left {
				part = left
			}
			parts = append(parts, model.RefundLine{RefundID: r.ID, LineID: l.ID, Quantity: quantity, AmountFen: part})
			r.AmountFen += part
		}
		all = all && l.RefundingQuantity+quantity == l.Quantity
	}
	if err := strangeLines(goods, want); err != nil {
		return nil, err
	}
	if len(refused.Fields) > 0 {
		return nil, refused
	}
	if all && !shipped {
		r.FreightFen = o.PayableFen - nets
		r.AmountFen += r.FreightFen
	}
	return parts, nil
}

// strangeLines refuses lines that are not the order's, or are named twice.
func strangeLines(goods []model.OrderLine, want []RefundPart) error {
	wrong := fault.New(fault.ValidationFailed)
	seen := map[int64]bool{}
	for i, p := range want {
		field := fmt.Sprintf("lines[%d].line_id", i)
		switch {
		case seen[p.LineID]:
			wrong.With(field, fault.FieldDup, "重复", "is there twice")
		case !slices.ContainsFunc(goods, func(l model.OrderLine) bool { return l.ID == p.LineID }):
			wrong.With(field, fault.FieldChoice, "不是该订单的商品", "is no line of this order")
		}
		seen[p.LineID] = true
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// insertRefund writes the refund and counts it on its payment and its lines.
func (s *Service) insertRefund(tx *store.Tx, o *model.Order, p *model.Payment, r *model.Refund, parts []model.RefundLine, now model.Time) error {
	if p != nil {
		r.PaymentID, r.TotalFen = p.ID, p.AmountFen
	}
	if r.AmountFen > 0 {
		if p == nil {
			return fmt.Errorf("order %d is paid without a payment and refunds %d fen", o.ID, r.AmountFen)
		}
		ok, err := payment.CountRefund(tx, p.ID, r.AmountFen)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.RefundTooMuch)
		}
		next := now.Add(refundStart)
		r.NextAt = &next
	}
	_, traceparent := s.step(tx, payment.TopicRefundCreated, o)
	if err := payment.CreateRefund(tx, r, parts, traceparent); err != nil {
		return err
	}
	for _, part := range parts {
		n, err := tx.Affected("UPDATE order_lines SET refunding_quantity = refunding_quantity + ? WHERE id = ? AND refunding_quantity + ? <= quantity",
			part.Quantity, part.LineID, part.Quantity)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.RefundTooMuch)
		}
	}
	tx.AfterCommit(s.relayed)
	if r.AmountFen > 0 {
		return nil
	}
	return s.refundSucceeded(tx, o, r, "", now)
}
