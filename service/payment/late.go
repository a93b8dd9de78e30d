package payment

import (
	"context"
	"errors"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// LatePayment is a confirmed payment that is not its order's, with the refund that was made for it.
type LatePayment struct {
	model.Payment
	Order     model.Order
	Refund    *model.Refund // nil: the money was given back by a refund that is not ours
	AnomalyID int64         // 0: none
}

// LatePayments lists a merchant's late payments.
type LatePayments struct{ Store *store.Store }

// List returns up to limit late payments that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (l LatePayments) List(ctx context.Context, merchantID int64, after store.Cursor, limit int) ([]LatePayment, *store.Cursor, error) {
	var rows []model.Payment
	q := l.Store.After(l.Store.Read(ctx), "payments", "ix_payments_late", after).Where("merchant_id = ? AND settled = ?", merchantID, false)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(p model.Payment) store.Cursor { return store.Cursor{At: p.CreatedAt, ID: p.ID} })
	if len(rows) == 0 {
		return nil, nil, nil
	}
	out := make([]LatePayment, len(rows))
	for i, p := range rows {
		out[i].Payment = p
	}
	return out, next, l.complete(ctx, out)
}

// complete adds to a page of payments what belongs to each.
func (l LatePayments) complete(ctx context.Context, page []LatePayment) error {
	var ids, orderIDs []int64
	var transactions []string
	for _, p := range page {
		ids, orderIDs, transactions = append(ids, p.ID), append(orderIDs, p.OrderID), append(transactions, p.TransactionID)
	}
	var orders []model.Order
	var refunds []model.Refund
	var anomalies []model.Anomaly
	db := l.Store.Read(ctx)
	err := errors.Join(
		db.Select("id", "no", "state", "close_reason").Where("id IN ?", orderIDs).Find(&orders).Error,
		db.Where("payment_id IN ? AND kind = ?", ids, model.RefundLate).Find(&refunds).Error,
		db.Select("id", "ref").Where("kind = ? AND ref IN ?", AnomalyLate, transactions).Find(&anomalies).Error,
	)
	if err != nil {
		return store.Classify(err)
	}
	for i := range page {
		p := &page[i]
		for _, o := range orders {
			if o.ID == p.OrderID {
				p.Order = o
			}
		}
		for j := range refunds {
			if refunds[j].PaymentID == p.ID {
				p.Refund = &refunds[j]
			}
		}
		for _, a := range anomalies {
			if a.Ref == p.TransactionID {
				p.AnomalyID = a.ID
			}
		}
	}
	return nil
}
