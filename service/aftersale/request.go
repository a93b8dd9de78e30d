package aftersale

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/idempotency"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// maxPerOrder is how many after-sales an order may have, those that were withdrawn included. WeChat makes as many refunds.
const maxPerOrder = 50

// Request is what a shopper asks for.
type Request struct {
	Type   model.AftersaleType `json:"type"`
	Lines  []order.RefundPart  `json:"lines"`
	Reason string              `json:"reason"` // the merchant reads it, and at WeChat the shopper; up to 200 characters
}

// Ask makes an after-sale of pieces of the shopper's order and returns it. key, if not empty, is the Idempotency-Key: the same
// request again returns what it made. not_found, order_not_paid, order_closed, aftersale_expired, aftersale_limit,
// refund_too_much, refund_too_old, refund_too_many, validation_failed, idempotency_key_reused.
func (s *Service) Ask(ctx context.Context, shopperID int64, no, key string, req Request) (*View, error) {
	orderID, err := s.orderOf(ctx, shopperID, no)
	if err != nil {
		return nil, err
	}
	id, err := s.store.NextIDs(ctx, "aftersales", 1)
	if err != nil {
		return nil, err
	}
	err = s.tx(ctx, func(tx *store.Tx) error {
		o, err := locked(tx, orderID)
		if err != nil {
			return err
		}
		before, err := idempotency.Bind(tx, fmt.Sprintf("aftersale:%d", o.ID), key, req, id, s.now())
		if err != nil {
			return err
		}
		if before != 0 {
			id = before
			return nil
		}
		return s.ask(tx, o, id, req)
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, shopperID, id)
}

func (s *Service) ask(tx *store.Tx, o *model.Order, id int64, req Request) error {
	var n int64
	if err := tx.Raw("SELECT COUNT(*) FROM aftersales WHERE order_id = ?", o.ID).Scan(&n).Error; err != nil {
		return err
	}
	if n >= maxPerOrder {
		return fault.New(fault.AftersaleLimit)
	}
	if len(req.Lines) == 0 { // to a refund that would mean everything
		return fault.New(fault.ValidationFailed).With("lines", fault.FieldRequired, "必填", "is required")
	}
	amount, err := s.orders.AftersaleAmount(tx, o, req.Type, req.Lines)
	if err != nil {
		return err
	}
	now := s.now()
	a := &model.Aftersale{
		ID: id, OrderID: o.ID, MerchantID: o.MerchantID, ShopperID: o.ShopperID, Type: req.Type, Reason: req.Reason, AmountFen: amount,
		CreatedAt: now, UpdatedAt: now,
	}
	lines := make([]model.AftersaleLine, len(req.Lines))
	for i, p := range req.Lines {
		lines[i] = model.AftersaleLine{AftersaleID: id, LineID: p.LineID, Quantity: p.Quantity}
	}
	return s.orders.CreateAftersale(tx, o, a, lines)
}

// orderOf returns the id of the shopper's order. not_found if it is somebody else's.
func (s *Service) orderOf(ctx context.Context, shopperID int64, no string) (int64, error) {
	var ids []int64
	if err := s.store.Read(ctx).Raw("SELECT id FROM orders WHERE no = ? AND shopper_id = ?", no, shopperID).Scan(&ids).Error; err != nil {
		return 0, store.Classify(err)
	}
	if len(ids) == 0 {
		return 0, fault.New(fault.NotFoundError)
	}
	return ids[0], nil
}
