package order

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
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
			changelog.Nothing(ctx)
			r, err = payment.RefundByID(tx.DB, before)
			return err
		}
		if r, err = s.RefundIn(tx, o, id, req); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Order, o.No, nil,
			map[string]any{"merchant_id": o.MerchantID, "refund": r.OutRefundNo, "amount_fen": r.AmountFen, "lines": req.Lines, "reason": r.Reason})
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
	r, err := s.makeRefund(tx, o, id, req)
	if err != nil {
		return nil, err
	}
	return r, s.refundFree(tx, o, r)
}

// refundFree ends a refund that was made and gives no money back: there is nothing to call WeChat for.
func (s *Service) refundFree(tx *store.Tx, o *model.Order, r *model.Refund) error {
	if r.AmountFen > 0 {
		return nil
	}
	return s.refundSucceeded(tx, o, r, "", r.CreatedAt)
}

// refundableState refuses orders that have nothing to give back.
func refundableState(o *model.Order) error {
	switch o.State {
	case model.OrderPending:
		return fault.New(fault.OrderNotPaid)
	case model.OrderClosed:
		return fault.New(fault.OrderClosed)
	}
	return nil
}

// makeRefund writes a refund. Pieces of which open after-sales ask are left to these.
func (s *Service) makeRefund(tx *store.Tx, o *model.Order, id int64, req RefundRequest) (*model.Refund, error) {
	if err := refundableState(o); err != nil {
		return nil, err
	}
	now := s.Now()
	d, err := s.dues(tx, o, req.AftersaleID, now)
	if err != nil {
		return nil, err
	}
	r := &model.Refund{
		ID: id, OrderID: o.ID, AftersaleID: req.AftersaleID, MerchantID: o.MerchantID, OutRefundNo: fmt.Sprintf("R%s-%d", o.No, len(d.refunds)+1),
		Kind: req.Kind, Reason: cutText(req.Reason, 80), CreatedAt: now,
	}
	parts, err := refundLines(o, d, d.demands, req.Lines, r)
	if err != nil {
		return nil, err
	}
	return r, s.insertRefund(tx, o, d.payment, r, parts, now)
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
// net amount: the last takes what is left. Freight is refunded once, with the last piece of an order of which nothing was shipped.
// Pieces that open after-sales ask for are not there to be refunded.
func refundLines(o *model.Order, d dues, held demands, want []RefundPart, r *model.Refund) ([]model.RefundLine, error) {
	goods, taken := d.goods, d.taken
	if len(want) == 0 {
		for _, l := range goods {
			if left := held[l.ID].free(l); left > 0 {
				want = append(want, RefundPart{LineID: l.ID, Quantity: left})
			}
		}
	}
	refused := fault.New(fault.RefundTooMuch)
	if len(held) > 0 {
		refused = refused.Say("其余商品在售后中，请在售后单中处理", "The rest is in open after-sales; answer those")
	}
	if len(want) == 0 {
		return nil, refused
	}
	var parts []model.RefundLine
	all, shipped := true, false
	var nets model.Fen
	for _, l := range goods {
		nets += net(l)
		shipped = shipped || l.ShippedQuantity > 0
		at := slices.IndexFunc(want, func(p RefundPart) bool { return p.LineID == l.ID })
		var quantity int64
		if at >= 0 {
			quantity = want[at].Quantity
			if free := held[l.ID].free(l); quantity < 1 || quantity > free {
				refused.With(fmt.Sprintf("lines[%d].quantity", at), fault.FieldRange,
					fmt.Sprintf("最多可退 %d 件", free), fmt.Sprintf("at most %d can be refunded", free))
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
		r.FreightFen = o.PayableFen - nets - d.freight
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
	return nil
}
