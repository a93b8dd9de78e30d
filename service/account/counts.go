package account

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Counts is what the shopper's page shows beside its entries.
type Counts struct {
	Orders  map[model.OrderState]int64 // every state is there
	Coupons int64                      // that can still be used
	// Aftersales are those that have not ended.
	Aftersales int64
}

// CountsOf counts a shopper's orders by state, usable coupons and open after-sales.
func (a *Accounts) CountsOf(ctx context.Context, shopperID int64) (Counts, error) {
	c := Counts{Orders: map[model.OrderState]int64{
		model.OrderPending: 0, model.OrderPaid: 0, model.OrderShipped: 0, model.OrderCompleted: 0, model.OrderClosed: 0,
	}}
	var rows []struct {
		State model.OrderState
		N     int64
	}
	db := a.store.Read(ctx)
	if err := db.Raw("SELECT state, COUNT(*) AS n FROM orders WHERE shopper_id = ? GROUP BY state", shopperID).Scan(&rows).Error; err != nil {
		return Counts{}, store.Classify(err)
	}
	for _, r := range rows {
		c.Orders[r.State] = r.N
	}
	err := db.Raw("SELECT COUNT(*) FROM coupons WHERE shopper_id = ? AND state = ? AND expires_at > ?",
		shopperID, model.CouponAvailable, a.now()).Scan(&c.Coupons).Error
	if err != nil {
		return Counts{}, store.Classify(err)
	}
	err = db.Raw("SELECT COUNT(*) FROM aftersales WHERE shopper_id = ? AND state IN ?", shopperID, model.AftersalesOpen).Scan(&c.Aftersales).Error
	return c, store.Classify(err)
}
