package reconcile

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// recorded is what the shop has of money, where no bill has it.
type recorded struct {
	ID, At     int64
	Number     string
	AmountFen  model.Fen
	MerchantID int64
	OrderID    int64
	PaymentID  int64
	RefundID   int64
	Billed     bool
	Noted      bool // as missing, by a neighbouring day
}

// window is the time whose payments and refunds a day's bill must have: the day, without the hour before either midnight that may be
// in a bill that is not here. What is near a midnight is looked for once both its bills are, by whichever day is compared then.
func (s *Service) window(ctx context.Context, day Day) (from, until model.Time, err error) {
	from, until = day.Start(), day.Add(1).Start().Add(-midnight)
	if s.Now() < day.Ready() {
		return until, until, nil // the day is not over: nothing can be missing yet
	}
	before, err := s.whole(ctx, day.Add(-1))
	if err != nil {
		return 0, 0, err
	}
	after, err := s.whole(ctx, day.Add(1))
	if err != nil {
		return 0, 0, err
	}
	if before {
		from = from.Add(-midnight)
	}
	if after {
		until = until.Add(midnight)
	}
	return from, until, nil
}

// whole reports whether the whole bill of the day is here: one that was run before its hour is not whole.
func (s *Service) whole(ctx context.Context, day Day) (bool, error) {
	if s.Now() < day.Ready() {
		return false, nil
	}
	var n int64
	err := s.Store.Read(ctx).Raw("SELECT COUNT(*) FROM bills WHERE id = ? AND (state = ? OR state IN ? AND next_at IS NULL)",
		day, model.BillComparing, []model.BillState{model.BillCompared, model.BillNone}).Scan(&n).Error
	return n > 0, store.Classify(err)
}

// recordedPayments looks for the shop's payments in the bills of their day and its neighbours.
func (s *Service) recordedPayments(ctx context.Context, b *model.Bill, after string, _ func() bool) (page, error) {
	day := Day(b.ID)
	return s.recordedPage(ctx, day, after, payment.AnomalyUnbilledPayment, `
		SELECT p.id, p.paid_at AS at, p.transaction_id AS number, p.amount_fen, p.merchant_id, p.order_id, p.id AS payment_id, 0 AS refund_id,
			EXISTS (SELECT 1 FROM bill_rows b WHERE b.number = p.transaction_id AND b.kind = 'payment' AND b.day BETWEEN ? AND ?) AS billed,
			EXISTS (SELECT 1 FROM bill_differences d WHERE d.day IN ? AND d.kind = ? AND d.ref = p.transaction_id) AS noted
		FROM payments p WHERE p.paid_at >= ? AND p.paid_at < ? AND (p.paid_at > ? OR p.id > ?) ORDER BY p.paid_at, p.id LIMIT ?`,
		day.Add(-1), day.Add(1))
}

// recordedRefunds looks for the shop's refunds in the bills. A bill has them by when they were asked for or when they were made;
// those that gave back nothing never went to WeChat.
func (s *Service) recordedRefunds(ctx context.Context, b *model.Bill, after string, _ func() bool) (page, error) {
	day := Day(b.ID)
	return s.recordedPage(ctx, day, after, payment.AnomalyUnbilledRefund, `
		SELECT r.id, r.ended_at AS at, r.out_refund_no AS number, r.amount_fen, r.merchant_id, r.order_id, r.payment_id, r.id AS refund_id,
			(r.state <> 'success' OR r.amount_fen = 0 OR
				EXISTS (SELECT 1 FROM bill_rows b WHERE b.number = r.out_refund_no AND b.kind = 'refund' AND b.day BETWEEN ? AND ?)) AS billed,
			EXISTS (SELECT 1 FROM bill_differences d WHERE d.day IN ? AND d.kind = ? AND d.ref = r.out_refund_no) AS noted
		FROM refunds r WHERE r.ended_at >= ? AND r.ended_at < ? AND (r.ended_at > ? OR r.id > ?) ORDER BY r.ended_at, r.id LIMIT ?`,
		day.Add(-keptDays), day.Add(1))
}

// recordedPage reads what the shop recorded in the day's window, behind after in the order of time, and notes what no bill has.
func (s *Service) recordedPage(ctx context.Context, day Day, after, kind, query string, first, last Day) (page, error) {
	from, until, err := s.window(ctx, day)
	if err != nil || from >= until {
		return page{}, err
	}
	at, id := int64(from)-1, int64(0)
	if after != "" {
		if _, err := fmt.Sscanf(after, "%d.%d", &at, &id); err != nil {
			return page{}, fmt.Errorf("bill of %s: the comparison is at %q: %w", day, after, err)
		}
	}
	var rows []recorded
	neighbours := []Day{day.Add(-1), day.Add(1)}
	err = s.Store.Read(ctx).Raw(query, first, last, neighbours, kind, max(at, int64(from)), until, at, id, pageRows).Scan(&rows).Error
	if err != nil {
		return page{}, store.Classify(err)
	}
	var p page
	for _, r := range rows {
		if r.Billed || r.Noted {
			continue
		}
		p.differf(kind, r.Number, 0, r.AmountFen,
			model.Anomaly{MerchantID: r.MerchantID, OrderID: r.OrderID, PaymentID: r.PaymentID, RefundID: r.RefundID},
			"the shop has %d fen at %s; WeChat's bill of %s has nothing of it", r.AmountFen, model.Time(r.At), day)
	}
	if len(rows) == pageRows {
		p.last = fmt.Sprintf("%d.%d", rows[pageRows-1].At, rows[pageRows-1].ID)
	}
	return p, nil
}
