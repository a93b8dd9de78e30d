package deadline

import (
	"context"
	"errors"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// mostRetried bounds how many tasks of one merchant are retried by one call; what is left is still there for the next one.
const mostRetried = 500

// RetryAll has every dead task of the kind ("": of every kind) run now and returns how many those were; of a merchant (0: of
// everybody) its own, at most mostRetried of them. What was done before an error stays done.
func (b *Board) RetryAll(ctx context.Context, merchantID int64, kind string) (int, error) {
	if merchantID == 0 {
		n, err := b.engine.RetryAllDead(ctx, kind)
		return n, store.Classify(err)
	}
	own, err := b.failuresOf(ctx, Filter{MerchantID: merchantID, Kind: kind, Dead: true})
	if err != nil {
		return 0, err
	}
	retried := 0
	for _, f := range own[:min(len(own), mostRetried)] {
		err := b.engine.RetryDead(ctx, f.Kind, f.Key)
		switch {
		case errors.Is(err, timeout.ErrNotDead): // somebody else was first
		case err != nil:
			return retried, store.Classify(err)
		default:
			retried++
		}
	}
	return retried, nil
}
