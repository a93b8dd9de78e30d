package deadline

import (
	"cmp"
	"context"
	"errors"

	"github.com/tidemall/tidemall/service/changelog"
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
		return n, errors.Join(store.Classify(err), b.logRetried(ctx, kind, "", n))
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
			return retried, errors.Join(store.Classify(err), b.logRetried(ctx, kind, "", retried))
		default:
			retried++
		}
	}
	return retried, b.logRetried(ctx, kind, "", retried)
}

// logRetried leaves the entry of tasks that were retried. The timeout module keeps its tables to itself, so the entry follows in a
// transaction of its own.
func (b *Board) logRetried(ctx context.Context, kind, key string, n int) error {
	if n == 0 {
		changelog.Nothing(ctx)
		return nil
	}
	return b.store.Tx(ctx, func(tx *store.Tx) error {
		return changelog.Record(tx, changelog.Task, cmp.Or(key, "*"), nil, map[string]any{"kind": cmp.Or(kind, "*"), "retried": n})
	})
}
