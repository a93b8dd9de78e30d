package payment

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Kinds of anomalies.
const (
	// AnomalyLate is a confirmed payment that is not its order's; it is refunded by itself. Ref: the transaction id.
	AnomalyLate = "late_payment"
	// AnomalyMismatch, with the field after it, is a word of WeChat's that does not fit its attempt. Ref: the out_trade_no.
	AnomalyMismatch = "payment_mismatch_"
	// AnomalyUnknownPayment is a payment for a number that is not ours. Ref: the transaction id.
	AnomalyUnknownPayment = "unknown_payment"
	// AnomalyForeignRefund is a refund at WeChat that is not ours; shipping is held. Ref: the transaction id.
	AnomalyForeignRefund = "foreign_refund"
	// AnomalyUnknownRefund is word of a refund that is not ours. Ref: the out_refund_no.
	AnomalyUnknownRefund = "unknown_refund"
	// AnomalyRefundMismatch is word of a refund that does not fit ours. Ref: the out_refund_no.
	AnomalyRefundMismatch = "refund_mismatch"
	// AnomalyRefundFailed is a refund that WeChat refused for good. Ref: the out_refund_no.
	AnomalyRefundFailed = "refund_failed"
	// AnomalyRefundAbnormal is a refund that WeChat cannot complete without the merchant. Ref: the out_refund_no.
	AnomalyRefundAbnormal = "refund_abnormal"
	// AnomalyRefundWaiting is a refund that WeChat does not take yet, mostly for want of balance. Ref: the out_refund_no.
	AnomalyRefundWaiting = "refund_waiting"
)

// Report records an anomaly: one row a kind and ref. Met again, its counter is raised and its detail renewed; one that was
// resolved stays so.
func Report(tx *store.Tx, a model.Anomaly) error {
	onDuplicate := " ON DUPLICATE KEY UPDATE seen = seen + 1, detail = VALUES(detail)"
	if tx.Dialect() == store.SQLite {
		onDuplicate = " ON CONFLICT (kind, ref) DO UPDATE SET seen = seen + 1, detail = excluded.detail"
	}
	return tx.Exec(`INSERT INTO anomalies (merchant_id, kind, ref, order_id, payment_id, refund_id, detail, state, seen, note, resolved_by, created_at, resolved_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'open', 1, '', '', ?, 0)`+onDuplicate,
		a.MerchantID, a.Kind, a.Ref, a.OrderID, a.PaymentID, a.RefundID, a.Detail, a.CreatedAt).Error
}

// HasOpen reports whether the order has an open anomaly of the kind.
func HasOpen(db *gorm.DB, orderID int64, kind string) (bool, error) {
	var n int64
	err := db.Raw("SELECT COUNT(*) FROM anomalies WHERE order_id = ? AND kind = ? AND state = 'open'", orderID, kind).Scan(&n).Error
	return n > 0, store.Classify(err)
}

// Anomalies lists anomalies, newest first.
type Anomalies struct{ Store *store.Store }

// AnomalyFilter narrows the list. State "" is all. Unowned adds those of no merchant, which concern the platform.
type AnomalyFilter struct {
	MerchantID int64
	Unowned    bool
	State      model.AnomalyState
}

func (f AnomalyFilter) on(db *gorm.DB) *gorm.DB {
	merchants := []int64{f.MerchantID}
	if f.Unowned {
		merchants = append(merchants, 0)
	}
	q := db.Model(&model.Anomaly{}).Where("merchant_id IN ?", merchants)
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	return q
}

// List returns a page of anomalies, newest first, and how many there are.
func (l Anomalies) List(ctx context.Context, f AnomalyFilter, p store.Page) ([]model.Anomaly, int64, error) {
	var n int64
	if err := f.on(l.Store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Anomaly
	err := f.on(l.Store.Read(ctx)).Order("created_at DESC, id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	return rows, n, store.Classify(err)
}

// Resolve closes an anomaly with a person's note and returns it. not_found where the filter does not reach it, state_conflict
// where it is resolved already.
func Resolve(tx *store.Tx, f AnomalyFilter, id int64, note, actor string, now model.Time) (*model.Anomaly, error) {
	a, err := first[model.Anomaly](f.on(tx.DB).Where("id = ?", id))
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fault.New(fault.NotFoundError)
	}
	n, err := tx.Affected("UPDATE anomalies SET state = ?, note = ?, resolved_by = ?, resolved_at = ? WHERE id = ? AND state IN ?",
		model.AnomalyResolved, note, actor, now, id, model.AnomalyTransitions.From(model.AnomalyResolved))
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fault.New(fault.StateConflict).Say("该异常已处理", "This anomaly is resolved already")
	}
	a.State, a.Note, a.ResolvedBy, a.ResolvedAt = model.AnomalyResolved, note, actor, now
	return a, nil
}
