package timeout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options is what an Engine is made of. The caller owns DB and Redis and
// closes them after Stop.
type Options struct {
	// DB holds task_failures and the tables timeout_… (see schema/).
	DB *sql.DB
	// Redis holds the schedule; nil runs on the database alone. Make it with
	// RedisOptions: go-redis' own defaults block for seconds when Redis hangs.
	Redis redis.UniversalClient
	// Prefix is the installation id, the first part of every key.
	Prefix string
	// Shards is the number of sorted sets per kind; 0 means 64. It is stored
	// at the first start, and Start refuses another one.
	Shards int
	// Node names this replica, unique among the live ones, at most 64 bytes.
	Node string
	// Log defaults to slog.Default.
	Log *slog.Logger
	// Metrics is where the engine registers its metrics; nil keeps them private.
	Metrics prometheus.Registerer
	// Tracer makes one span per batch; nil makes none.
	Tracer trace.Tracer
	// IsOutage adds to the errors that never count against a task; those of
	// contexts, the network and broken connections are known already.
	IsOutage func(error) bool
}

// Engine fires deadlines. Make it with New, Register every kind, Start it.
type Engine struct {
	o        Options
	log      *slog.Logger
	clock    *clock
	db       *breaker
	redis    *breaker // nil without Redis
	store    *store   // nil without Redis
	failures *failures
	members  *members
	near     *near
	writer   *writer
	tokens   *tokens
	metrics  *metrics

	pollKick chan struct{} // makes the poll run now

	lanes map[string]*lane // by kind; fixed by Start
	order []*lane          // in order of registration

	// loops ends the feeding loops, work the workers, and force the context
	// of handlers that are still running.
	loops, work, force scope

	mu      sync.Mutex
	started bool
	began   int64         // unix ms of Start
	stopped chan struct{} // made by the first Stop, closed when it is through
	stopErr error
	running atomic.Bool
}

// New checks the options and makes an engine that is not running yet.
func New(o Options) (*Engine, error) {
	if o.DB == nil {
		return nil, errors.New("timeout: Options.DB is required")
	}
	if o.Prefix == "" || o.Node == "" || len(o.Node) > 64 {
		return nil, errors.New("timeout: Options.Prefix and a Node of at most 64 bytes are required")
	}
	if o.Shards == 0 {
		o.Shards = 64
	}
	if o.Shards < 1 || o.Shards > 4096 {
		return nil, fmt.Errorf("timeout: %d shards: want 1 to 4096", o.Shards)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("timeout")
	}
	e := &Engine{o: o, log: o.Log.With("component", "timeout"), lanes: map[string]*lane{}}
	e.pollKick = make(chan struct{}, 1)
	e.tokens = newTokens()
	e.db = newBreaker("database", e.log, databaseTrips)
	if o.Redis != nil {
		e.redis = newBreaker("redis", e.log, redisTrips)
		e.store = &store{client: o.Redis, breaker: e.redis, prefix: o.Prefix, shards: o.Shards}
	}
	e.clock = newClock(o.DB, e.store, e.log)
	e.failures = &failures{db: o.DB, breaker: e.db}
	e.members = newMembers(o.DB, e.db, o.Node, o.Shards, e.clock, newLeases(e.store, o.DB, e.db, o.Node, e.clock))
	e.writer = newWriter(e.store, e.hintOf)
	m, err := newMetrics(o.Metrics, e)
	if err != nil {
		return nil, err
	}
	e.metrics = m
	return e, nil
}

// Register adds a kind. It fails after Start, for a second kind of one name
// and for a kind that lacks a part.
func (e *Engine) Register(k Kind) error {
	k, err := k.withDefaults()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return ErrRunning
	}
	if e.lanes[k.Name] != nil {
		return fmt.Errorf("timeout: kind %s is registered already", k.Name)
	}
	l := newLane(k)
	e.lanes[k.Name] = l
	e.order = append(e.order, l)
	e.metrics.present(k.Name)
	return nil
}

// How long Measure waits for a clock, and how often it asks.
const (
	clockPatience = 30 * time.Second
	clockRetry    = 250 * time.Millisecond
)

// Measure has Now tell the time of the installation. Start does it, too; it is
// for those who need the time before. One clock that answers is enough, once
// and for all: afterwards it fails no more. As long as none does it asks again,
// and fails after clockPatience: this machine's clock, taken for the
// installation's, would fire too early or date what it writes into the future.
func (e *Engine) Measure(ctx context.Context) error {
	for range redisTrips {
		// Until it answers or the breaker is sure: it is not needed to start.
		if e.feed() == feedSQL || e.store.ping(ctx) == nil {
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	for waiting := false; ; waiting = true {
		err := e.clock.measure(ctx, e.feed())
		if err == nil || e.clock.known() {
			return nil
		}
		if !waiting {
			e.log.Warn("waiting for a clock", "err", err)
		}
		if !sleep(ctx, clockRetry) {
			return fmt.Errorf("timeout: no clock: %w", err)
		}
		e.probe(ctx)
	}
}

// Start measures the clock, checks the stored shard count and begins to fire.
// It needs the database, not Redis. The context bounds Start itself only.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return ErrRunning
	}
	if err := e.Measure(ctx); err != nil {
		return err
	}
	if err := checkShards(ctx, e.o.DB, e.o.Shards, e.clock.Now().UnixMilli()); err != nil {
		return err
	}
	near, err := newNear(e.clock, e.o.Shards)
	if err != nil {
		return err
	}
	e.near = near
	e.loops, e.work, e.force = newScope(), newScope(), newScope()
	e.attendOnce(ctx)
	e.started, e.began = true, e.clock.Now().UnixMilli()

	e.writer.start()
	for _, l := range e.order {
		l.open(near)
		e.loops.run(func(ctx context.Context) { e.look(ctx, l) })
		for range l.kind.Workers {
			e.work.run(func(ctx context.Context) { e.worker(ctx, l) })
		}
	}
	e.loops.run(e.watch)
	e.loops.run(e.sweep)
	e.loops.run(e.attend)
	e.loops.run(e.record)
	if e.store != nil {
		e.loops.run(e.poll)
		e.loops.run(e.listen)
	}
	e.running.Store(true) // from here on Schedule may reach the lanes
	e.tellMembers(ctx)
	return nil
}

// Stop ends the engine and returns when every goroutine of it has ended.
// Batches in flight are finished; what was not claimed yet is left to the
// other replicas or the next start. When ctx ends first, the contexts of
// running handlers are cancelled and ctx's error is returned once they have
// returned. Later calls wait for the first and return what it returned.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	if e.stopped != nil {
		e.mu.Unlock()
		<-e.stopped
		return e.stopErr
	}
	e.stopped = make(chan struct{})
	wasStarted := e.started
	e.started = true // a stopped engine cannot be started
	e.mu.Unlock()
	defer close(e.stopped)
	if !wasStarted {
		return nil
	}

	e.running.Store(false)
	released := context.AfterFunc(ctx, e.force.cancel)
	e.loops.stop()
	e.near.stop()
	for _, l := range e.order {
		l.close()
	}
	e.leave() // before the batches in flight, which have leases of their own, are through
	e.work.stop()
	e.recordEnd()
	if !released() {
		e.stopErr = ctx.Err()
	}
	e.force.stop()
	e.writer.stop()
	return e.stopErr
}

// Now is the one clock of the installation: Redis' time by a measured offset
// on the local monotonic clock, the database's while Redis is away, carried
// over so that a switch never makes it jump; the local clock before Measure or
// Start and where neither has one.
func (e *Engine) Now() time.Time { return e.clock.Now() }

// Feed says what feeds the engine at the moment: "redis" or "sql".
func (e *Engine) Feed() string { return string(e.feed()) }

type feed string

const (
	feedRedis feed = "redis"
	feedSQL   feed = "sql"
)

func (e *Engine) feed() feed {
	if e.redis == nil || !e.redis.closed() {
		return feedSQL
	}
	return feedRedis
}
