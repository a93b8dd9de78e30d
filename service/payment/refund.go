package payment

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// Topics of the messages about payments and refunds; the keys are "payment:ID" and "refund:ID".
const (
	TopicLate            = "payment.late"
	TopicRefundCreated   = "refund.created"
	TopicRefundSucceeded = "refund.succeeded"
)

// MaxRefunds is how many refunds WeChat takes of one payment.
const MaxRefunds = 50

// RefundLimit is how long after a payment WeChat refunds it: a year.
const RefundLimit = 365 * 24 * time.Hour

// RefundChanged is the payload of the messages about a refund.
type RefundChanged struct {
	RefundID    int64             `json:"refund_id"`
	OutRefundNo string            `json:"out_refund_no"`
	OrderID     int64             `json:"order_id"`
	PaymentID   int64             `json:"payment_id"`
	AftersaleID int64             `json:"aftersale_id,omitempty"`
	MerchantID  int64             `json:"merchant_id"`
	Kind        model.RefundKind  `json:"kind"`
	State       model.RefundState `json:"state"`
	AmountFen   model.Fen         `json:"amount_fen"`
	At          model.Time        `json:"at"`
}

// Late is the payload of payment.late.
type Late struct {
	PaymentID     int64      `json:"payment_id"`
	OrderID       int64      `json:"order_id"`
	RefundID      int64      `json:"refund_id"`
	MerchantID    int64      `json:"merchant_id"`
	OutTradeNo    string     `json:"out_trade_no"`
	TransactionID string     `json:"transaction_id"`
	AmountFen     model.Fen  `json:"amount_fen"`
	At            model.Time `json:"at"`
}

// CreateRefund writes a refund with its lines and its message, which carries the traceparent. The caller has counted its amount on
// the payment.
func CreateRefund(tx *store.Tx, r *model.Refund, lines []model.RefundLine, traceparent string) error {
	r.State, r.Version = model.RefundPending, 1
	if err := tx.Create(r).Error; err != nil {
		return err
	}
	if len(lines) > 0 {
		if err := tx.Create(&lines).Error; err != nil {
			return err
		}
	}
	return event.Append(tx, refundMessage(TopicRefundCreated, r, r.CreatedAt, traceparent))
}

func refundMessage(topic string, r *model.Refund, at model.Time, traceparent string) event.New {
	return event.New{Topic: topic, Key: fmt.Sprintf("refund:%d", r.ID), Seq: r.Version, MerchantID: r.MerchantID, At: at, Trace: traceparent, Payload: RefundChanged{
		RefundID: r.ID, OutRefundNo: r.OutRefundNo, OrderID: r.OrderID, PaymentID: r.PaymentID, AftersaleID: r.AftersaleID,
		MerchantID: r.MerchantID, Kind: r.Kind, State: r.State, AmountFen: r.AmountFen, At: at,
	}}
}

// LateMessage is the message about a confirmed payment that is not its order's.
func LateMessage(p *model.Payment, refundID int64, traceparent string) event.New {
	return event.New{Topic: TopicLate, Key: fmt.Sprintf("payment:%d", p.ID), Seq: 1, MerchantID: p.MerchantID, At: p.CreatedAt, Trace: traceparent, Payload: Late{
		PaymentID: p.ID, OrderID: p.OrderID, RefundID: refundID, MerchantID: p.MerchantID, OutTradeNo: p.OutTradeNo,
		TransactionID: p.TransactionID, AmountFen: p.AmountFen, At: p.CreatedAt,
	}}
}

// MoveRefund changes a refund's state, with further columns, but for success (see RefundSucceeded). ok is false where somebody else
// was first, or where the state is one that cannot follow: a late word of WeChat's never takes a success back.
func MoveRefund(tx *store.Tx, r *model.Refund, to model.RefundState, now model.Time, set map[string]any) (ok bool, err error) {
	sets, args := setters(set)
	n, err := tx.Affected("UPDATE refunds SET state = ?, version = version + 1"+sets+" WHERE id = ? AND version = ? AND state IN ?",
		append(append([]any{to}, args...), r.ID, r.Version, model.RefundTransitions.From(to))...)
	if err != nil || n == 0 {
		return false, err
	}
	r.State, r.Version = to, r.Version+1
	return true, nil
}

// RefundSucceeded is MoveRefund to success; it also writes the message, which carries the traceparent.
func RefundSucceeded(tx *store.Tx, r *model.Refund, now model.Time, refundID, traceparent string) (ok bool, err error) {
	ok, err = MoveRefund(tx, r, model.RefundSuccess, now, map[string]any{"refund_id": refundID, "error": "", "next_at": nil, "ended_at": now})
	if err != nil || !ok {
		return false, err
	}
	return true, event.Append(tx, refundMessage(TopicRefundSucceeded, r, now, traceparent))
}

// LockRefund reads a refund under its row lock; nil if there is none.
func LockRefund(tx *store.Tx, id int64) (*model.Refund, error) {
	var rows []model.Refund
	if err := tx.Raw("SELECT * FROM refunds WHERE id = ?"+tx.ForUpdate(), id).Scan(&rows).Error; err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// RefundByID reads a refund; nil if there is none.
func RefundByID(db *gorm.DB, id int64) (*model.Refund, error) {
	return first[model.Refund](db.Where("id = ?", id))
}

// RefundByNo reads a refund by our number for it; nil if there is none.
func RefundByNo(db *gorm.DB, outRefundNo string) (*model.Refund, error) {
	return first[model.Refund](db.Where("out_refund_no = ?", outRefundNo))
}

// RefundsOf reads the refunds of an order, oldest first.
func RefundsOf(db *gorm.DB, orderID int64) ([]model.Refund, error) {
	var rows []model.Refund
	err := db.Where("order_id = ?", orderID).Order("id").Find(&rows).Error
	return rows, store.Classify(err)
}

// RefundLines reads what of the order's lines is in the refund.
func RefundLines(db *gorm.DB, refundID int64) ([]model.RefundLine, error) {
	var rows []model.RefundLine
	err := db.Where("refund_id = ?", refundID).Order("line_id").Find(&rows).Error
	return rows, store.Classify(err)
}

// OpenLines returns the lines of the order that have a refund which neither succeeded nor failed.
func OpenLines(db *gorm.DB, orderID int64) (map[int64]bool, error) {
	var ids []int64
	err := db.Raw(`SELECT DISTINCT l.line_id FROM refund_lines l JOIN refunds r ON r.id = l.refund_id
		WHERE r.order_id = ? AND r.state NOT IN ?`, orderID, []model.RefundState{model.RefundSuccess, model.RefundFailed}).Scan(&ids).Error
	open := make(map[int64]bool, len(ids))
	for _, id := range ids {
		open[id] = true
	}
	return open, store.Classify(err)
}

// LineAmounts returns per line what refunds that are open or succeeded give back.
func LineAmounts(db *gorm.DB, orderID int64) (map[int64]model.Fen, error) {
	var rows []struct {
		LineID int64
		Fen    model.Fen
	}
	err := db.Raw(`SELECT l.line_id AS line_id, SUM(l.amount_fen) AS fen FROM refund_lines l JOIN refunds r ON r.id = l.refund_id
		WHERE r.order_id = ? AND r.state <> ? GROUP BY l.line_id`, orderID, model.RefundFailed).Scan(&rows).Error
	sums := make(map[int64]model.Fen, len(rows))
	for _, r := range rows {
		sums[r.LineID] = r.Fen
	}
	return sums, store.Classify(err)
}

// ClaimCall takes a refund that is due for one call to WeChat: its next call is put to until, which covers this one. It
// reports whether the refund was still due then.
func ClaimCall(tx *store.Tx, id int64, due, until model.Time) (bool, error) {
	n, err := tx.Affected("UPDATE refunds SET calls = calls + 1, next_at = ? WHERE id = ? AND next_at = ?", until, id, due)
	return n == 1, err
}

// TakeTurn notes that a refund is called for now, unless another refund of its payment was within the pause before: WeChat refuses
// refunds of one payment that follow too close on one another. wait is then when its turn may come; its next call is put there, and
// none is to be made now. A refund need not wait for its own last call, which is repeated under the same number.
func TakeTurn(tx *store.Tx, r *model.Refund, now model.Time, pause time.Duration) (wait *model.Time, err error) {
	// The payment's lock makes the refunds of one payment take turns also where two replicas call for them.
	if err := Lock(tx, r.PaymentID); err != nil {
		return nil, err
	}
	var last model.Time
	err = tx.Raw("SELECT COALESCE(MAX(called_at), 0) FROM refunds WHERE payment_id = ? AND id <> ?", r.PaymentID, r.ID).Scan(&last).Error
	if err != nil {
		return nil, err
	}
	if at := last.Add(pause); last != 0 && at > now {
		return &at, tx.Exec("UPDATE refunds SET next_at = ? WHERE id = ? AND next_at = ?", at, r.ID, *r.NextAt).Error
	}
	return nil, tx.Exec("UPDATE refunds SET called_at = ? WHERE id = ?", now, r.ID).Error
}

// CallAt puts a refund's next call to a time, with what WeChat said last. It reports whether that changed anything: one that ended is
// called for no more.
func CallAt(tx *store.Tx, id int64, at model.Time, said string) (bool, error) {
	n, err := tx.Affected("UPDATE refunds SET next_at = ?, error = ? WHERE id = ? AND next_at IS NOT NULL", at, said, id)
	return n == 1, err
}

// pollAfter are the pauses between calls about a refund: short while WeChat usually finishes, long afterwards.
var pollAfter = []time.Duration{
	3 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
}

// NextCall returns when a refund is called about next that has been waiting since then.
func NextCall(now, since model.Time) model.Time {
	return now.Add(deadline.Pause(now.Sub(since), pollAfter))
}
