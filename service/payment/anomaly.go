package payment

import (
	"context"
	"errors"
	"strings"

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
	// AnomalyTradeControlled is WeChat restricting payments of the mini-program until orders are shipped by its rules. It concerns the
	// platform. Ref: the push.
	AnomalyTradeControlled = "wechat_trade_controlled"
	// AnomalyShippingUnmanaged is WeChat missing that the mini-program uploads shipping information. It concerns the platform. Ref: the
	// push.
	AnomalyShippingUnmanaged = "wechat_shipping_unmanaged"
	// AnomalyBillPayment is a payment of which WeChat's bill says something else than the shop. Ref: the transaction id.
	AnomalyBillPayment = "bill_payment_differs"
	// AnomalyBillRefund is a refund of which WeChat's bill says something else than the shop. Ref: the out_refund_no.
	AnomalyBillRefund = "bill_refund_differs"
	// AnomalyUnbilledPayment is a payment of the shop's that no bill of WeChat's has. Ref: the transaction id.
	AnomalyUnbilledPayment = "bill_payment_missing"
	// AnomalyUnbilledRefund is a refund of the shop's that no bill of WeChat's has. Ref: the out_refund_no.
	AnomalyUnbilledRefund = "bill_refund_missing"
	// AnomalyBillFailed is a day whose bill cannot be had, so that nobody knows whether its money adds up. It concerns the platform.
	// Ref: the day.
	AnomalyBillFailed = "bill_failed"
)

// MismatchFields are what of a payment may not fit its attempt, in the kinds that begin with AnomalyMismatch.
var MismatchFields = []string{"appid", "mchid", "currency", "amount", "transaction_id"}

// AnomalyKinds lists every kind of anomaly. The document of the API names them, so that whoever shows anomalies has words for each.
func AnomalyKinds() []string {
	kinds := []string{AnomalyLate}
	for _, field := range MismatchFields {
		kinds = append(kinds, AnomalyMismatch+field)
	}
	return append(kinds, AnomalyUnknownPayment, AnomalyForeignRefund, AnomalyUnknownRefund, AnomalyRefundMismatch, AnomalyRefundFailed,
		AnomalyRefundAbnormal, AnomalyRefundWaiting, AnomalyTradeControlled, AnomalyShippingUnmanaged, AnomalyBillPayment, AnomalyBillRefund,
		AnomalyUnbilledPayment, AnomalyUnbilledRefund, AnomalyBillFailed)
}

// The shop's own actors that resolve anomalies; whoever else does so is a person.
const (
	// ActorBill is who resolves an anomaly of a bill that a later bill clears up.
	ActorBill = "bill"
	// ActorWeChat is who resolves an anomaly of a refund that went through.
	ActorWeChat = "wechat"
)

// reopens is what becomes of the resolution of an anomaly that is met again: the shop's own is taken back, for what it said holds no
// longer, and a person's stays. MySQL assigns from left to right and then compares with what it has assigned, SQLite compares with the
// old row, so what is compared with is assigned last.
const reopens = `note = CASE WHEN resolved_by IN ? THEN '' ELSE note END, resolved_at = CASE WHEN resolved_by IN ? THEN 0 ELSE resolved_at END,
	state = CASE WHEN resolved_by IN ? THEN 'open' ELSE state END, resolved_by = CASE WHEN resolved_by IN ? THEN '' ELSE resolved_by END`

// Report records an anomaly: one row a kind and ref. Met again, its counter is raised and its detail renewed, and it is open again
// unless a person resolved it.
func Report(tx *store.Tx, a model.Anomaly) error {
	onDuplicate := " ON DUPLICATE KEY UPDATE seen = seen + 1, detail = VALUES(detail), "
	if tx.Dialect() == store.SQLite {
		onDuplicate = " ON CONFLICT (kind, ref) DO UPDATE SET seen = seen + 1, detail = excluded.detail, "
	}
	own := []string{ActorBill, ActorWeChat}
	return tx.Exec(`INSERT INTO anomalies (merchant_id, kind, ref, order_id, payment_id, refund_id, detail, state, seen, note, resolved_by, created_at, resolved_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'open', 1, '', '', ?, 0)`+onDuplicate+reopens,
		a.MerchantID, a.Kind, a.Ref, a.OrderID, a.PaymentID, a.RefundID, a.Detail, a.CreatedAt, own, own, own, own).Error
}

// Withdraw resolves an open anomaly that the shop itself found to hold no longer, with a note that says why and by the word of what
// actor. One that a person resolved meanwhile stays as it is.
func Withdraw(tx *store.Tx, id int64, note, actor string, now model.Time) error {
	return tx.Exec("UPDATE anomalies SET state = ?, note = ?, resolved_by = ?, resolved_at = ? WHERE id = ? AND state IN ?",
		model.AnomalyResolved, note, actor, now, id, model.AnomalyTransitions.From(model.AnomalyResolved)).Error
}

// WithdrawOf is Withdraw for the anomaly of the kind and ref, if there is one.
func WithdrawOf(tx *store.Tx, kind, ref, note, actor string, now model.Time) error {
	var id int64
	if err := tx.Raw("SELECT id FROM anomalies WHERE kind = ? AND ref = ? AND state = 'open'", kind, ref).Scan(&id).Error; err != nil || id == 0 {
		return err
	}
	return Withdraw(tx, id, note, actor, now)
}

// IsResolved reports whether the anomaly of the kind and ref is there and resolved.
func IsResolved(db *gorm.DB, kind, ref string) (bool, error) {
	var n int64
	err := db.Raw("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND ref = ? AND state = ?", kind, ref, model.AnomalyResolved).Scan(&n).Error
	return n > 0, store.Classify(err)
}

// HasOpen reports whether the order has an open anomaly of the kind.
func HasOpen(db *gorm.DB, orderID int64, kind string) (bool, error) {
	var n int64
	err := db.Raw("SELECT COUNT(*) FROM anomalies WHERE order_id = ? AND kind = ? AND state = 'open'", orderID, kind).Scan(&n).Error
	return n > 0, store.Classify(err)
}

// Anomalies lists anomalies, newest first.
type Anomalies struct{ Store *store.Store }

// AnomalyFilter narrows the list. State and Kind "" are all. Unowned adds those of no merchant, which concern the platform.
type AnomalyFilter struct {
	MerchantID int64
	Unowned    bool
	State      model.AnomalyState
	Kind       string
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
	if f.Kind != "" {
		q = q.Where("kind = ?", f.Kind)
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

// AnomalyFacts is an anomaly with what the shop knows of the things that it is about; nil where there is none.
type AnomalyFacts struct {
	model.Anomaly
	Order      *model.Order
	Attempt    *model.PaymentAttempt
	Payment    *model.Payment
	Refund     *model.Refund
	Difference *model.BillDifference // of the latest bill that has it
}

// Get returns an anomaly with its facts. not_found where the filter does not reach it.
func (l Anomalies) Get(ctx context.Context, f AnomalyFilter, id int64) (*AnomalyFacts, error) {
	db := l.Store.Read(ctx)
	a, err := AnomalyByID(db, f, id)
	if err != nil {
		return nil, err
	}
	facts := &AnomalyFacts{Anomaly: *a}
	err = errors.Join(
		about(db, &facts.Order, a.OrderID != 0, "id = ?", a.OrderID),
		about(db, &facts.Payment, a.PaymentID != 0, "id = ?", a.PaymentID),
		about(db, &facts.Refund, a.RefundID != 0, "id = ?", a.RefundID),
		about(db, &facts.Attempt, strings.HasPrefix(a.Kind, AnomalyMismatch), "out_trade_no = ? AND merchant_id = ?", a.Ref, a.MerchantID),
		// Differences are few, so they need no index of their own.
		about(db.Order("day DESC"), &facts.Difference, a.Kind != AnomalyLate && a.Kind != AnomalyBillFailed, "kind = ? AND ref = ?", a.Kind, a.Ref),
	)
	return facts, err
}

// about reads one row where there may be one.
func about[T any](db *gorm.DB, into **T, there bool, where string, args ...any) (err error) {
	if there {
		*into, err = first[T](db.Where(where, args...))
	}
	return err
}

// AnomalyByID reads an anomaly without a lock. not_found where the filter does not reach it.
func AnomalyByID(db *gorm.DB, f AnomalyFilter, id int64) (*model.Anomaly, error) {
	a, err := first[model.Anomaly](f.on(db).Where("id = ?", id))
	if err == nil && a == nil {
		err = fault.New(fault.NotFoundError)
	}
	return a, err
}

// Resolve closes an anomaly with a person's note. Whoever locks its order too does so first, as all do who report one of an order
// that they have locked. state_conflict where it is resolved already.
func Resolve(tx *store.Tx, a *model.Anomaly, note, actor string, now model.Time) error {
	n, err := tx.Affected("UPDATE anomalies SET state = ?, note = ?, resolved_by = ?, resolved_at = ? WHERE id = ? AND state IN ?",
		model.AnomalyResolved, note, actor, now, a.ID, model.AnomalyTransitions.From(model.AnomalyResolved))
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.StateConflict).Say("该异常已处理", "This anomaly is resolved already")
	}
	a.State, a.Note, a.ResolvedBy, a.ResolvedAt = model.AnomalyResolved, note, actor, now
	return nil
}
