// Package load puts a timeout engine under load and measures what it does: how late it fires, how much it schedules and acts on
// a second, what it costs Redis, and whether anything was early, acted on twice or missed. It needs a database and a key prefix
// that nobody else uses: its engine is a replica, and would otherwise be given shards of the installation it measures.
package load

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
)

// Options is what a run is made of.
type Options struct {
	// DB has the engine's tables (timeout/schema) and nobody else's replicas in them.
	DB *sql.DB
	// Redis holds the schedule; nil measures the database alone.
	Redis redis.UniversalClient
	// Prefix is the first part of every key; the caller removes the keys afterwards, see Clean.
	Prefix string
	// Shards as in timeout.Options.
	Shards int
	Log    *slog.Logger
	// Count deadlines are spread evenly over Over; 0 means all at one instant.
	Count int
	Over  time.Duration
	// Callers is how many goroutines schedule at a time, one deadline a call.
	Callers int
	// HandlerTime is added to each call of the handler, which is given up to timeout.MaxBatch tasks.
	HandlerTime time.Duration
	// Progress, if set, is told now and then where the run stands.
	Progress func(text string)
	// Patience is how long after the last deadline nothing may happen before what is open counts as missed; 0 means 30 s.
	Patience time.Duration
}

// kind is the run's own; no shop has a kind of this name.
const kind = "bench"

func (o Options) check() error {
	switch {
	case o.DB == nil || o.Prefix == "":
		return errors.New("load: a database and a prefix are required")
	case o.Count < 1 || o.Callers < 1 || o.Over < 0 || o.HandlerTime < 0:
		return errors.New("load: the numbers of deadlines and of callers must be at least 1, and times not negative")
	}
	return nil
}

// Run makes a table of deadlines, schedules them, lets an engine act on them and drops the table again, also when ctx ends
// first. The error is why there is no report.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	id := hex.EncodeToString(random[:])
	b := newBook(o, "timeout_bench_"+id)
	engine, err := timeout.New(timeout.Options{
		DB: o.DB, Redis: o.Redis, Prefix: o.Prefix, Shards: o.Shards, Node: "bench-" + id, Log: o.Log,
	})
	if err != nil {
		return r, err
	}
	b.now = engine.Now
	if err := engine.Register(timeout.Kind{Name: kind, Handler: b, Source: b}); err != nil {
		return r, err
	}
	if err := b.create(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.drop(ctx)) }()
	// Started before the table is filled, because its clock is measured at the start and the deadlines are made by it.
	if err := engine.Start(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop(ctx, engine)) }()
	return b.run(ctx, engine)
}

// stop lets what is in flight end, also when the run was interrupted.
func stop(ctx context.Context, e *timeout.Engine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return e.Stop(ctx)
}

// run fills the table, schedules, waits and counts.
func (b *book) run(ctx context.Context, engine *timeout.Engine) (Report, error) {
	o := b.o
	r := Report{Count: o.Count, OverMS: o.Over.Milliseconds(), Callers: o.Callers, HandlerMS: o.HandlerTime.Milliseconds()}
	if err := b.fill(ctx); err != nil {
		return r, err
	}
	commands := CountCommands(ctx, o.Redis)
	scheduled, err := ScheduleAll(ctx, engine, b.tasks(), o.Callers, o.Progress)
	if err != nil {
		return r, err
	}
	r.Scheduled(scheduled)
	if late := b.now().Sub(time.UnixMilli(b.first)); late > 0 {
		r.notef("scheduling ended %d ms after the first deadline, which the lateness includes", late.Milliseconds())
	}
	o.Progress(fmt.Sprintf("all are scheduled; the last is due in %.1f s", time.UnixMilli(b.due(o.Count-1)).Sub(b.now()).Seconds()))
	if err := b.await(ctx); err != nil {
		return r, err
	}
	r.RedisCommandsPerTask = commands.Per(ctx, o.Count)
	r.Feed = engine.Feed()
	b.report(&r)
	return r, nil
}
