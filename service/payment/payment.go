package payment

import (
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// ByTransaction reads the payment that WeChat knows by the id; nil if it was not recorded yet.
func ByTransaction(db *gorm.DB, transactionID string) (*model.Payment, error) {
	return first[model.Payment](db.Where("transaction_id = ?", transactionID))
}

// ByID reads a payment; nil if there is none.
func ByID(db *gorm.DB, id int64) (*model.Payment, error) {
	return first[model.Payment](db.Where("id = ?", id))
}

// OfNumber reads the payment that was recorded for one of our numbers; nil if there is none.
func OfNumber(db *gorm.DB, orderID int64, outTradeNo string) (*model.Payment, error) {
	return first[model.Payment](db.Where("order_id = ? AND out_trade_no = ?", orderID, outTradeNo))
}

// Lock takes a payment's row lock, which comes before those of its refunds.
func Lock(tx *store.Tx, id int64) error {
	var locked int64
	return tx.Raw("SELECT id FROM payments WHERE id = ?"+tx.ForUpdate(), id).Scan(&locked).Error
}

// LockSettled reads the payment that pays the order, under its row lock; nil if none does.
func LockSettled(tx *store.Tx, orderID int64) (*model.Payment, error) {
	var rows []model.Payment
	if err := tx.Raw("SELECT * FROM payments WHERE settled_order = ?"+tx.ForUpdate(), orderID).Scan(&rows).Error; err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// CountRefund adds the amount of a refund that was made, or with a negative amount of one that failed, to what is refunded of
// the payment. ok is false where refunds would exceed the payment.
func CountRefund(tx *store.Tx, paymentID int64, amount model.Fen) (ok bool, err error) {
	n, err := tx.Affected("UPDATE payments SET refunded_fen = refunded_fen + ? WHERE id = ? AND refunded_fen + ? BETWEEN 0 AND amount_fen",
		amount, paymentID, amount)
	return n == 1, err
}
