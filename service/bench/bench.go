package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/timeout/load"
)

// Options is what a run is made of.
type Options struct {
	Config *config.Config
	Log    *slog.Logger
	// Count deadlines, or orders, are due over Over; 0 means all at one instant. 0 of Count means 20,000, or 5,000 orders.
	Count int
	Over  time.Duration
	// Callers schedule, and place orders, at a time.
	Callers int
	// HandlerTime is added to each batch; not with Close.
	HandlerTime time.Duration
	// Close fills a shop with unpaid orders and lets it close them.
	Close bool
	// Progress is told where the run stands.
	Progress func(text string)
}

const (
	defaultDeadlines = 20_000
	defaultOrders    = 5_000
	mostCount        = 10_000_000
	mostCallers      = 4096
)

// Check reports what is wrong with the numbers.
func (o Options) Check() error {
	switch {
	case o.Count < 0 || o.Count > mostCount:
		return fmt.Errorf("--count must be 1 to %d", mostCount)
	case o.Over < 0 || o.Over > time.Hour:
		return errors.New("--over must be 0s to 1h")
	case o.Callers < 1 || o.Callers > mostCallers:
		return fmt.Errorf("--callers must be 1 to %d", mostCallers)
	case o.HandlerTime < 0 || o.HandlerTime > 15*time.Second:
		return errors.New("--handler-ms must be 0 to 15000: a handler's time ends at 19 s")
	case o.Close && o.HandlerTime > 0:
		return errors.New("--handler-ms does not go with --close, which measures the shop's own handler")
	}
	return nil
}

// Run measures and removes everything it has made, also when ctx ends first.
func Run(ctx context.Context, o Options) (r load.Report, err error) {
	if err := o.Check(); err != nil {
		return r, err
	}
	if o.Count == 0 {
		o.Count = defaultDeadlines
		if o.Close {
			o.Count = defaultOrders
		}
	}
	s, err := newScratch(o.Config, o.Log)
	if err != nil {
		return r, err
	}
	o.Progress(s.says())
	defer func() {
		removing := s.remove(ctx)
		if removing == nil && ctx.Err() != nil {
			o.Progress("interrupted; everything that was made for the run is removed")
		}
		err = errors.Join(err, removing)
	}()
	if err := s.make(ctx); err != nil {
		return r, err
	}
	if o.Close {
		r, err = closing(ctx, s, o)
	} else {
		r, err = deadlines(ctx, s, o)
	}
	r.Database, r.Redis = s.parts()
	return r, err
}

// deadlines measures the timeout module alone. The shop's own engine is made, but never started.
func deadlines(ctx context.Context, s *scratch, o Options) (r load.Report, err error) {
	a, err := app.New(ctx, s.cfg, o.Log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	r, err = load.Run(ctx, load.Options{
		DB: a.Store.SQL(), Redis: a.Redis, Prefix: s.prefix, Shards: s.cfg.Timeout.Shards, Log: o.Log,
		Count: o.Count, Over: o.Over, Callers: o.Callers, HandlerTime: o.HandlerTime, Progress: o.Progress,
	})
	r.Work = "trigger"
	return r, err
}
