// Package payment keeps what the shop knows of money: payment attempts, confirmed payments, refunds, and the anomalies among
// them. Its functions run inside the transaction of service/order, which decides; the rows here never decide about an order.
package payment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Live reports whether money may still come in by the attempt as far as we know: it was neither paid nor ended.
func Live(a *model.PaymentAttempt) bool {
	return a.State == model.AttemptOpen || a.State == model.AttemptClosing
}

// liveStates are the states from which an attempt can be ended.
var liveStates = model.AttemptTransitions.From(model.AttemptClosed)

// queryAfter is when WeChat is asked about an attempt whose callback did not come, counted from its prepay. The times are
// WeChat's own advice.
var queryAfter = []time.Duration{5 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// NextQuery returns when an attempt that was asked about so many times is asked about next; nil when the advice ends.
func NextQuery(prepayAt model.Time, queries int) *model.Time {
	if queries >= len(queryAfter) {
		return nil
	}
	at := prepayAt.Add(queryAfter[queries])
	return &at
}

// Attempts reads an order's attempts, oldest first.
func Attempts(db *gorm.DB, orderID int64) ([]*model.PaymentAttempt, error) {
	var rows []*model.PaymentAttempt
	err := db.Where("order_id = ?", orderID).Order("id").Find(&rows).Error
	return rows, store.Classify(err)
}

// LiveAttempts reads an order's attempts that are neither paid nor ended.
func LiveAttempts(db *gorm.DB, orderID int64) ([]*model.PaymentAttempt, error) {
	all, err := Attempts(db, orderID)
	return slices.DeleteFunc(all, func(a *model.PaymentAttempt) bool { return !Live(a) }), err
}

// AttemptByNo reads an attempt by its number at WeChat; nil if there is none.
func AttemptByNo(db *gorm.DB, outTradeNo string) (*model.PaymentAttempt, error) {
	return first[model.PaymentAttempt](db.Where("out_trade_no = ?", outTradeNo))
}

// AttemptByID reads an attempt; nil if there is none.
func AttemptByID(db *gorm.DB, id int64) (*model.PaymentAttempt, error) {
	return first[model.PaymentAttempt](db.Where("id = ?", id))
}

// MoveAttempt changes an attempt's state. ok is false where somebody else was first. An attempt that is paid or ended is not
// asked about any more.
func MoveAttempt(tx *store.Tx, a *model.PaymentAttempt, to model.AttemptState, now model.Time) (ok bool, err error) {
	sets, args := "state = ?", []any{to}
	if to == model.AttemptPaid || to == model.AttemptClosed {
		sets, args = sets+", ended_at = ?, next_query_at = NULL", append(args, now)
	}
	n, err := tx.Affected("UPDATE payment_attempts SET "+sets+" WHERE id = ? AND state IN ?", append(args, a.ID, model.AttemptTransitions.From(to))...)
	if err != nil || n == 0 {
		return false, err
	}
	a.State = to
	return true, nil
}

// EndAttempts ends whatever attempts of the orders are live.
func EndAttempts(tx *store.Tx, orderIDs []int64, now model.Time) error {
	return tx.Exec("UPDATE payment_attempts SET state = ?, ended_at = ?, next_query_at = NULL WHERE order_id IN ? AND state IN ?",
		model.AttemptClosed, now, orderIDs, liveStates).Error
}

// BeginCall records that a prepay call is on its way until the given time. What WeChat said before of not knowing the number
// no longer counts.
func BeginCall(tx *store.Tx, a *model.PaymentAttempt, until model.Time) error {
	a.CallUntil, a.MissingAt = until, 0
	return tx.Exec("UPDATE payment_attempts SET call_until = ?, missing_at = 0 WHERE id = ?", until, a.ID).Error
}

// StorePrepay records WeChat's reply, unless the attempt was paid or ended meanwhile, and begins the queries anew.
func StorePrepay(tx *store.Tx, a *model.PaymentAttempt, prepayID string, now model.Time) error {
	next := NextQuery(now, 0)
	err := tx.Exec("UPDATE payment_attempts SET prepay_id = ?, prepay_at = ?, next_query_at = ?, queries = 0 WHERE id = ? AND state IN ?",
		prepayID, now, next, a.ID, liveStates).Error
	a.PrepayID, a.PrepayAt, a.NextQueryAt = prepayID, now, next
	return err
}

// MarkMissing records when WeChat first said that it does not know the number.
func MarkMissing(tx *store.Tx, a *model.PaymentAttempt, now model.Time) error {
	a.MissingAt = now
	return tx.Exec("UPDATE payment_attempts SET missing_at = ? WHERE id = ? AND state IN ?", now, a.ID, liveStates).Error
}

// AskNext puts the attempt's next query from due to next (nil: never). It reports whether the attempt was still due then.
func AskNext(tx *store.Tx, a *model.PaymentAttempt, due model.Time, next *model.Time) (bool, error) {
	n, err := tx.Affected("UPDATE payment_attempts SET queries = queries + 1, next_query_at = ? WHERE id = ? AND next_query_at = ? AND state IN ?",
		next, a.ID, due, liveStates)
	return n == 1, err
}

// AskNow makes every live attempt of the order due for a query.
func AskNow(tx *store.Tx, orderID int64, now model.Time) error {
	return tx.Exec("UPDATE payment_attempts SET next_query_at = ? WHERE order_id = ? AND state IN ?", now, orderID, liveStates).Error
}

// first reads one row; nil if there is none.
func first[T any](q *gorm.DB) (*T, error) {
	var rows []T
	if err := q.Limit(1).Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// setters turns a map of columns into the SET part of an UPDATE, in a fixed order.
func setters(set map[string]any) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, len(set))
	for _, column := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, ", %s = ?", column)
		args = append(args, set[column])
	}
	return b.String(), args
}
