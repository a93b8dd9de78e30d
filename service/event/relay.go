package event

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

const (
	pollEvery     = time.Second
	leaseFor      = 30 * time.Second
	leaseMargin   = 2 * time.Second // a delivery ends this long before its lease
	deliverers    = 4
	maxAttempts   = 5
	countEvery    = 5 * time.Second
	cleanEvery    = time.Hour
	databaseLimit = 10 * time.Second
)

// Relay delivers messages to the subscribers in this process. Every replica runs one; they share the work by leases, and may be
// killed at any instant: what was leased is delivered again when the lease has ended, and receipts keep the effects single.
type Relay struct {
	store  *store.Store
	now    func() model.Time
	log    *slog.Logger
	topics []string
	subs   map[string][]Subscriber // by topic, in the order they were given
	all    []Subscriber
	m      *metrics
	tracer trace.Tracer

	wake    chan struct{}
	poll    time.Duration
	loop    context.Context // ends leasing
	stop    context.CancelFunc
	deliver context.Context // ends running deliveries
	force   context.CancelFunc
	done    chan struct{}
	// crash, in tests, is asked between lease and mark whether to leave everything as a kill would.
	crash func() bool
}

// NewRelay makes a relay for the topics. It is a prometheus.Collector.
func NewRelay(s *store.Store, now func() model.Time, log *slog.Logger, topics []string, subs ...Subscriber) *Relay {
	r := &Relay{
		store: s, now: now, log: log.With("component", "relay"), topics: topics, all: subs,
		subs: map[string][]Subscriber{}, m: newMetrics(topics), wake: make(chan struct{}, 1), poll: pollEvery,
		tracer: noop.NewTracerProvider().Tracer(""),
	}
	for _, sub := range subs {
		r.subs[sub.Topic] = append(r.subs[sub.Topic], sub)
	}
	return r
}

// Trace makes a span of every delivery, in the trace of the change that its message tells of; a message outside any recorded trace
// has none. To be called before Start.
func (r *Relay) Trace(tracer trace.Tracer) { r.tracer = tracer }

// Wake makes the relay look for messages now. Services call it after a commit that appended one; it never blocks.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Start begins to deliver. It fails if a topic has no subscriber, since its messages would be lost in silence, and if two
// subscribers share a name or one asks for a topic that nobody sends.
func (r *Relay) Start(ctx context.Context) error {
	if r.done != nil {
		return errors.New("relay: started already")
	}
	if err := r.check(); err != nil {
		return err
	}
	base := context.WithoutCancel(ctx)
	r.loop, r.stop = context.WithCancel(base)
	r.deliver, r.force = context.WithCancel(base)
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(r.loop)
	}()
	return nil
}

func (r *Relay) check() error {
	for _, topic := range r.topics {
		if len(r.subs[topic]) == 0 {
			return fmt.Errorf("relay: topic %s has no subscriber", topic)
		}
	}
	names := map[string]bool{}
	for _, sub := range r.all {
		if sub.Name == "" || len(sub.Name) > 64 || sub.Handle == nil {
			return fmt.Errorf("relay: a subscriber of %s needs a name of at most 64 bytes and a Handle", sub.Topic)
		}
		if !slices.Contains(r.topics, sub.Topic) {
			return fmt.Errorf("relay: subscriber %s asks for the unknown topic %s", sub.Name, sub.Topic)
		}
		if names[sub.Name] {
			return fmt.Errorf("relay: two subscribers are named %s", sub.Name)
		}
		names[sub.Name] = true
	}
	return nil
}

// Stop ends the relay and returns when it has ended. Deliveries that run are finished, the rest of the batch is given back at
// once. When ctx ends first, the contexts of running deliveries are cancelled.
func (r *Relay) Stop(ctx context.Context) error {
	if r.done == nil {
		return nil
	}
	r.stop()
	unhook := context.AfterFunc(ctx, r.force)
	<-r.done
	r.force()
	if !unhook() {
		return ctx.Err()
	}
	return nil
}

func (r *Relay) run(ctx context.Context) {
	poll := time.NewTicker(r.poll)
	defer poll.Stop()
	count := time.NewTicker(countEvery)
	defer count.Stop()
	clean := time.NewTicker(cleanEvery)
	defer clean.Stop()
	failing := false
	note := func(err error) {
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("messages are not relayed", "error", err)
		}
		failing = err != nil
	}
	note(r.count(ctx))
	for {
		note(r.drain(ctx))
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-poll.C:
		case <-count.C:
			note(r.count(ctx))
		case <-clean.C:
			note(r.clean(ctx))
		}
	}
}

// drain delivers until a look finds nothing that can be delivered now.
func (r *Relay) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := r.round(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// round looks, leases and delivers once; n is how many messages it leased or put off.
func (r *Relay) round(ctx context.Context) (n int, err error) {
	look, cancel := context.WithTimeout(ctx, databaseLimit)
	defer cancel()
	due, err := r.look(look)
	if err != nil {
		return 0, err
	}
	// A stop does not interrupt the lease: cut off in its commit, it would keep the messages until it ends.
	leasing, cancelLeasing := context.WithTimeout(context.WithoutCancel(ctx), databaseLimit)
	defer cancelLeasing()
	batch, err := r.lease(leasing, due.heads)
	if err != nil {
		return 0, err
	}
	off, err := r.putOff(leasing, due.behind)
	if err != nil {
		r.log.Debug("rows behind an unsent one stay due", "error", err)
	}
	if len(batch.msgs) > 0 {
		failpoint.Hit("relay.leased")
		r.deliverAll(ctx, batch)
	}
	return len(batch.msgs) + off, nil
}

// batch is what one lease holds.
type batch struct {
	token string
	until model.Time
	msgs  []Message
}

// deliverAll calls the subscribers, several messages at a time, and marks what came of it in groups. No two messages of a batch
// share a key.
func (r *Relay) deliverAll(ctx context.Context, b batch) {
	todo := make(chan Message, len(b.msgs))
	for _, m := range b.msgs {
		todo <- m
	}
	close(todo)
	results := make(chan result, len(b.msgs))
	var wg sync.WaitGroup
	for range min(deliverers, len(b.msgs)) {
		wg.Go(func() {
			for m := range todo {
				results <- r.one(ctx, b, m)
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
	for first := range results {
		group := []result{first}
		for len(results) > 0 {
			group = append(group, <-results)
		}
		if r.crash != nil && r.crash() {
			continue
		}
		failpoint.Hit("relay.delivered")
		r.mark(b, group)
		failpoint.Hit("relay.marked")
	}
}

// result is what came of one message. A nil err is a delivery.
type result struct {
	Message
	err       error
	own       bool // err is a subscriber's own and counts; an outage does not
	givenBack bool // it was not tried, or not to the end, because the relay stops
}

func (r *Relay) one(ctx context.Context, b batch, m Message) result {
	left := b.until.Sub(r.now()) - leaseMargin
	if ctx.Err() != nil || left <= 0 {
		return result{Message: m, givenBack: true}
	}
	dctx, cancel := context.WithTimeout(r.deliver, left)
	defer cancel()
	dctx, span := r.span(dctx, m)
	defer span.End()
	res := result{Message: m}
	for _, sub := range r.subs[m.Topic] {
		// One subscriber's failure does not keep the others waiting: each has receipts of its own.
		if err := r.call(dctx, sub, m); err != nil {
			res.own = res.own || !(store.IsUnavailable(err) || store.IsConflict(err))
			res.err = errors.Join(res.err, fmt.Errorf("%s: %w", sub.Name, err))
			span.SetStatus(codes.Error, sub.Name)
		}
	}
	if len(r.subs[m.Topic]) == 0 {
		// A newer version of the program sends it, and one of its replicas will take it.
		res.err = fmt.Errorf("topic %s has no subscriber in this version", m.Topic)
	}
	res.givenBack = res.err != nil && r.deliver.Err() != nil
	return res
}

// span continues the message's trace, if that is recorded, for its delivery.
func (r *Relay) span(ctx context.Context, m Message) (context.Context, trace.Span) {
	ctx = WithTrace(ctx, m.Trace)
	if here := trace.SpanFromContext(ctx); !here.SpanContext().IsSampled() {
		return ctx, here
	}
	return r.tracer.Start(ctx, "deliver "+m.Topic, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.Int64("message.id", m.ID), attribute.String("message.key", m.Key), attribute.Int64("message.seq", m.Seq)))
}

// call makes a panic of the subscriber an error of its own.
func (r *Relay) call(ctx context.Context, sub Subscriber, m Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a subscriber panicked", "subscriber", sub.Name, "message_id", m.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return sub.Handle(ctx, m)
}

func newToken() string { return rand.Text() }
