package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// ResolveAnomaly closes an anomaly with a person's note. A closing order that waited for it goes on closing. Errors as of
// payment.AnomalyByID and payment.Resolve.
func (s *Service) ResolveAnomaly(ctx context.Context, f payment.AnomalyFilter, id int64, note, actor string) (*model.Anomaly, error) {
	var a *model.Anomaly
	err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if a, err = payment.AnomalyByID(tx.DB, f, id); err != nil {
			return err
		}
		if a.OrderID != 0 {
			if _, err = s.lock(tx, a.OrderID); err != nil {
				return err
			}
		}
		now := s.Now()
		if err = payment.Resolve(tx, a, note, actor, now); err != nil {
			return err
		}
		err = changelog.Record(tx, changelog.Anomaly, id,
			map[string]any{"merchant_id": a.MerchantID, "state": model.AnomalyOpen}, map[string]any{"state": a.State, "note": a.Note})
		if err != nil || a.OrderID == 0 {
			return err
		}
		n, err := tx.Affected("UPDATE orders SET closing_next_at = ?, closing_note = '', updated_at = ? WHERE id = ? AND state = ? AND closing_note = ?",
			now, now, a.OrderID, model.OrderPending, notePerson)
		if err == nil && n == 1 {
			tx.AfterCommit(func() { s.schedule(ctx, closingTask(a.OrderID, now)) })
		}
		return err
	})
	return a, err
}
