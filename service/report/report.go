// Package report has figures about the shop.
package report

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Report makes figures from the database as it is now.
type Report struct{ Store *store.Store }

// Overview is what became of the orders placed in a time.
type Overview struct {
	Placed        int64     // orders
	Paid          int64     // of them, whatever became of them afterwards
	ClosedTimeout int64     // of them
	PaidFen       model.Fen // payable of the paid ones
	RefundedFen   model.Fen // given back of it so far
}

// figures are the columns of an Overview, of orders.
const figures = `COUNT(*) AS placed,
	COALESCE(SUM(CASE WHEN paid_at > 0 THEN 1 ELSE 0 END), 0) AS paid,
	COALESCE(SUM(CASE WHEN close_reason = 'timeout' THEN 1 ELSE 0 END), 0) AS closed_timeout,
	COALESCE(SUM(CASE WHEN paid_at > 0 THEN payable_fen ELSE 0 END), 0) AS paid_fen,
	COALESCE(SUM(refunded_fen), 0) AS refunded_fen`

// AverageFen is what a paid order brought on average, rounded down; 0 without any.
func (o Overview) AverageFen() model.Fen {
	if o.Paid == 0 {
		return 0
	}
	return o.PaidFen / model.Fen(o.Paid)
}

// Overview looks at the merchant's orders created from ≤ t < to. It reads those orders by index, however large the shop is.
func (r Report) Overview(ctx context.Context, merchantID int64, from, to model.Time) (o Overview, err error) {
	err = r.Store.Read(ctx).Raw(`SELECT `+figures+`
		FROM orders WHERE merchant_id = ? AND created_at >= ? AND created_at < ?`, merchantID, from, to).Scan(&o).Error
	return o, store.Classify(err)
}
