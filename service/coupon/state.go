package coupon

import (
	"fmt"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Lock adds to the batch that a shopper's available coupon is locked for an order; sending it is coupon_unusable where the
// shopper has no such coupon, or it is locked, used or past its end.
func Lock(b *store.Batch, couponID, shopperID, orderID int64, now model.Time) {
	b.Expect(1, fault.New(fault.CouponUnusable), `UPDATE coupons SET state = ?, order_id = ?, updated_at = ?
		WHERE id = ? AND shopper_id = ? AND state = ? AND expires_at > ?`,
		model.CouponLocked, orderID, now, couponID, shopperID, model.CouponAvailable, now)
}

// Use marks the coupons of orders that were paid. Ids of 0 (an order without a coupon) are passed over. The caller has, in
// this transaction, made the orders paid; a coupon that is not locked is then an error.
func Use(tx *store.Tx, couponIDs []int64, now model.Time) error {
	ids := distinct(couponIDs)
	if len(ids) == 0 {
		return nil
	}
	n, err := tx.Affected(`UPDATE coupons SET state = ?, used_at = ?, updated_at = ? WHERE id IN ? AND state IN ?`,
		model.CouponUsed, now, now, ids, model.CouponTransitions.From(model.CouponUsed))
	return allChanged("use", ids, n, err)
}

// Return gives coupons back to their shoppers, from locked or used: available again, or expired where their end has passed. Ids
// of 0 are passed over. The caller has, in this transaction, closed the orders that held them, which is what makes it happen
// once; a coupon that no order holds is then an error.
func Return(tx *store.Tx, couponIDs []int64, now model.Time) error {
	ids := distinct(couponIDs)
	if len(ids) == 0 {
		return nil
	}
	held := []model.CouponState{model.CouponLocked, model.CouponUsed}
	// The ids are sorted, so that two batches lock common rows in one order.
	n, err := tx.Affected(`UPDATE coupons SET state = CASE WHEN expires_at <= ? THEN ? ELSE ? END, order_id = NULL, used_at = 0, given_back = given_back + 1,
		updated_at = ?
		WHERE id IN ? AND state IN ?`,
		now, model.CouponExpired, model.CouponAvailable, now, ids, held)
	return allChanged("return", ids, n, err)
}

func distinct(ids []int64) []int64 {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id == 0 })
	slices.Sort(ids)
	return slices.Compact(ids)
}

func allChanged(verb string, ids []int64, changed int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s coupons %v: %w", verb, ids, err)
	}
	if changed != int64(len(ids)) {
		return fmt.Errorf("%s coupons %v: only %d were in a state that allows it", verb, ids, changed)
	}
	return nil
}
