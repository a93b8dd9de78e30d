package order

import (
	"context"
	"testing"

	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// An order is locked before its anomalies, also by whoever resolves one: who reports one of an order that is locked meets no deadlock.
func TestResolvingLocksTheOrderFirst(t *testing.T) {
	tl := newTill(t, mysqlStore(t))
	o := tl.unpaid()
	tl.phone(tl.open(o))
	tl.exec("UPDATE payment_attempts SET amount_fen = 99, next_query_at = NULL WHERE order_id = ?", o.ID)
	tl.toDeadline(o)
	tl.tick() // it waits for a person now
	id := tl.number("SELECT id FROM anomalies WHERE order_id = ?", o.ID)
	resolved, tries := make(chan error, 1), 0
	err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
		if tries++; tries > 1 {
			return nil // it was rolled back for a deadlock
		}
		if _, err := tl.lock(tx, o.ID); err != nil {
			return err
		}
		go func() {
			_, err := tl.ResolveAnomaly(context.Background(), payment.AnomalyFilter{MerchantID: merchantID}, id, "seen", "admin:1")
			resolved <- err
		}()
		if err := storetest.LockWait(t.Context(), tl.Store); err != nil {
			return err
		}
		// Where the resolver had the anomaly's row, the server would end one of the two; which, nobody knows.
		if err := tx.Exec("SELECT id FROM anomalies WHERE id = ? FOR UPDATE NOWAIT", id).Error; err != nil {
			t.Errorf("the anomaly is locked before its order: %v", err)
			return nil
		}
		return tx.Exec("UPDATE anomalies SET seen = 2 WHERE id = ?", id).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-resolved; err != nil {
		t.Fatal(err)
	}
	if n := tl.number("SELECT seen FROM anomalies WHERE id = ? AND state = 'resolved'", id); tries != 1 || n != 2 {
		t.Errorf("%d tries, seen %d times", tries, n)
	}
	if now := tl.reload(o); now.ClosingNextAt == nil {
		t.Errorf("order %+v does not go on closing", now)
	}
}
