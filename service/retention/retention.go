// Package retention removes rows that have served their time.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

const (
	every     = time.Hour
	batchRows = 1000
	pause     = 100 * time.Millisecond
)

// Rule says how long the rows of a table are kept.
type Rule struct {
	Table string
	// Key is the column that is the table's primary key.
	Key string
	// Since is the column with the time from which Keep counts; an index begins with it.
	Since string
	Keep  time.Duration
}

// Deps is what the cleaner is made of; all are required.
type Deps struct {
	Store *store.Store
	Now   func() model.Time
	Log   *slog.Logger
	Rules []Rule
}

// Cleaner is the one goroutine that keeps the rules. On several replicas each has one; what another was faster with is no harm.
type Cleaner struct {
	Deps

	stop context.CancelFunc
	done chan struct{}
}

// New makes the cleaner.
func New(d Deps) *Cleaner { return &Cleaner{Deps: d} }

// Start removes what is past its time, now and every hour, until Stop.
func (c *Cleaner) Start(ctx context.Context) error {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		for {
			c.clean(ctx)
			wait(ctx, every)
			if ctx.Err() != nil {
				return
			}
		}
	}()
	return nil
}

// Stop ends what Start began and returns when it has ended, or the context has.
func (c *Cleaner) Stop(ctx context.Context) error {
	c.stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clean keeps every rule once. One that fails holds up no other.
func (c *Cleaner) clean(ctx context.Context) {
	for _, r := range c.Rules {
		if err := c.keep(ctx, r); err != nil && ctx.Err() == nil {
			c.Log.WarnContext(ctx, "old rows could not be removed; tried again later", "table", r.Table, "error", err)
		}
	}
}

// keep removes rows in batches that hold no lock for long, with a pause after each.
func (c *Cleaner) keep(ctx context.Context, r Rule) error {
	before := c.Now().Add(-r.Keep)
	for ctx.Err() == nil {
		var n int64
		err := c.Store.Tx(ctx, func(tx *store.Tx) (err error) {
			n, err = r.batch(tx, before)
			return err
		})
		if err != nil || n < batchRows {
			return err
		}
		wait(ctx, pause)
	}
	return ctx.Err()
}

func (r Rule) batch(tx *store.Tx, before model.Time) (removed int64, err error) {
	var keys []any
	rows := tx.Table(r.Table).Where(r.Since+" < ?", before).Order(r.Since).Limit(batchRows)
	if err := rows.Pluck(r.Key, &keys).Error; err != nil || len(keys) == 0 {
		return 0, err
	}
	return tx.Affected("DELETE FROM "+r.Table+" WHERE "+r.Key+" IN ?", keys)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
