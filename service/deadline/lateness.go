package deadline

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Lateness is how late the deadlines of a stretch of time were, all replicas together.
type Lateness struct {
	timeout.History
	// From and To bound whole periods of Grain; the last one is the present.
	From, To model.Time
	Grain    time.Duration
}

// grainOf is by which periods a stretch is shown: some sixty to three hundred of them.
func grainOf(reach time.Duration) time.Duration {
	switch {
	case reach <= time.Hour:
		return timeout.Minute
	case reach <= 24*time.Hour:
		return timeout.FiveMinutes
	}
	return timeout.Hour
}

// Lateness returns how late deadlines of the kind ("" means all) were from so long ago on.
func (b *Board) Lateness(ctx context.Context, reach time.Duration, kind string) (Lateness, error) {
	l := Lateness{Grain: grainOf(reach)}
	grain, now := l.Grain.Milliseconds(), b.engine.Now().UnixMilli()
	l.To = model.Time(now - now%grain + grain)
	l.From = l.To.Add(-reach)
	var err error
	l.History, err = b.engine.History(ctx, timeout.HistoryQuery{Grain: l.Grain, From: int64(l.From), To: int64(l.To), Kind: kind})
	return l, store.Classify(err)
}
