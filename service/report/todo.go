package report

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// WaitingMost is the most that one count of a Waiting says; more is as much work as anybody can see at once.
const WaitingMost = 1000

// Waiting counts what waits for a person of a merchant, up to WaitingMost each.
type Waiting struct {
	ToShip       int64 // paid orders
	Aftersales   int64 // to be answered, or sent back and to be received
	ContentHolds int64
	Anomalies    int64
	DeadMessages int64
}

// Waiting counts for a merchant, and for the platform (unowned) besides what is no merchant's. It counts by index and stops at WaitingMost, so that its cost does not grow with the shop.
func (r Report) Waiting(ctx context.Context, merchantID int64, unowned bool) (t Waiting, err error) {
	merchants := []int64{merchantID}
	if unowned {
		merchants = append(merchants, 0)
	}
	db := r.Store.Read(ctx)
	some := func(table, where string, args ...any) any {
		return db.Table(table).Select("1 AS one").Where(where, args...).Limit(WaitingMost)
	}
	err = db.Raw(`SELECT (SELECT COUNT(*) FROM (?) a) AS to_ship, (SELECT COUNT(*) FROM (?) b) AS aftersales,
			(SELECT COUNT(*) FROM (?) c) AS content_holds, (SELECT COUNT(*) FROM (?) d) AS anomalies,
			(SELECT COUNT(*) FROM (?) e) AS dead_messages`,
		some("orders", "merchant_id = ? AND state = ?", merchantID, model.OrderPaid),
		some("aftersales", "merchant_id = ? AND state IN ?", merchantID, []model.AftersaleState{model.AftersaleRequested, model.AftersaleReturning}),
		some("content_holds", "merchant_id IN ? AND state = ?", merchants, model.HoldHeld),
		some("anomalies", "merchant_id IN ? AND state = ?", merchants, model.AnomalyOpen),
		some("messages", "merchant_id = ? AND state = ?", merchantID, model.MessageDead),
	).Scan(&t).Error
	return t, store.Classify(err)
}
