package deadline

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// A Claim is what a task did to its row before it acted: the row's deadline went from Due to Until, so that nobody else acts
// meanwhile and a kill delays the row no longer than that.
type Claim struct {
	Table, Column string
	ID            int64
	Due, Until    model.Time
}

// Ended returns the outcome of the task that had the claim. Where the task failed the row has its deadline back: the timeout module
// counts failures by the deadline, so that one that moves on with each claim begins with a clean slate each time, and a task that
// always fails would never be dead and never be seen.
func (c Claim) Ended(ctx context.Context, s *store.Store, out timeout.Outcome) timeout.Outcome {
	if out.Err() == nil {
		return out
	}
	// Where this fails, too, the claim runs out by itself.
	_ = s.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE "+c.Table+" SET "+c.Column+" = ? WHERE id = ? AND "+c.Column+" = ?", c.Due, c.ID, c.Until).Error
	})
	return out
}
