package order

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// An order's trace begins when it is placed, and whatever happens to it later continues it, whoever does it: the row keeps the
// traceparent, so that neither a restart nor another replica breaks the trace. A change made by something that has a trace of its
// own (a batch of deadlines, a shopper's request, WeChat's callback) is a span in the order's trace, and the two are linked.

// traceIDOf returns the trace id of a traceparent, 32 hexadecimal digits, and whether the trace is recorded; "" for none.
func traceIDOf(traceparent string) (id string, sampled bool) {
	const length = 55 // 00-<trace id>-<span id>-<flags>
	if len(traceparent) != length {
		return "", false
	}
	flags, err := strconv.ParseUint(traceparent[53:], 16, 8)
	return traceparent[3:35], err == nil && trace.TraceFlags(flags).IsSampled()
}

// follow begins a span of something that is done about an order. It is in the order's trace where that is recorded, linked with
// the span of the context, which then is in another trace; otherwise it is a child of the context's span.
func (s *Service) follow(ctx context.Context, name string, o *model.Order) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{trace.WithAttributes(attribute.Int64("order.id", o.ID), attribute.String("order.no", o.No))}
	here := trace.SpanContextFromContext(ctx)
	if id, sampled := traceIDOf(o.TraceParent); sampled && id != here.TraceID().String() {
		if here.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: here}))
		}
		ctx = event.WithTrace(ctx, o.TraceParent)
	}
	return s.Tracer.Start(ctx, name, options...)
}

// step makes the span of a change that the transaction makes to an order, from here to the commit; a transaction that is rolled
// back leaves none. It returns the id of the trace for the event's row and the traceparent for the message: those of the order's
// trace, which cost nothing where it is not recorded, or the context's for an order without one.
func (s *Service) step(tx *store.Tx, name string, o *model.Order) (traceID, traceparent string) {
	ctx := tx.Statement.Context
	id, sampled := traceIDOf(o.TraceParent)
	switch {
	case id == "":
		traceparent = event.TraceParent(ctx)
		id, _ = traceIDOf(traceparent)
		return id, traceparent
	case !sampled:
		return id, o.TraceParent
	}
	in, span := s.follow(ctx, name, o)
	around := trace.SpanFromContext(ctx)
	tx.AfterCommit(func() {
		if around.IsRecording() && around.SpanContext().TraceID() != span.SpanContext().TraceID() {
			around.AddLink(trace.Link{SpanContext: span.SpanContext()})
		}
		span.End()
	})
	return id, event.TraceParent(in)
}

// traced reads as much of the orders as step needs, by id. Orders that do not exist are left out.
func traced(tx *store.Tx, ids []int64) (map[int64]*model.Order, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var orders []*model.Order
	if err := tx.Raw("SELECT id, no, trace_parent FROM orders WHERE id IN ?", ids).Scan(&orders).Error; err != nil {
		return nil, err
	}
	byID := make(map[int64]*model.Order, len(orders))
	for _, o := range orders {
		byID[o.ID] = o
	}
	return byID, nil
}

// traceOf returns the traceparent for a message about an order that makes no span of its own.
func traceOf(ctx context.Context, o *model.Order) string {
	here := event.TraceParent(ctx)
	mine, _ := traceIDOf(here)
	if id, _ := traceIDOf(o.TraceParent); id == "" || id == mine {
		return here
	}
	return o.TraceParent
}

// ended ends a span by what came of its work. Only the error's code is told: its text may hold what nobody should read.
func ended(span trace.Span, err error) {
	code := fault.CodeOf(err)
	switch {
	case errors.Is(err, errMoved): // somebody else was first, a normal outcome
		span.SetAttributes(attribute.String("error.type", "moved"))
	case code != "":
		span.SetAttributes(attribute.String("error.type", string(code)))
		if class := fault.Lookup(code).Class; class == fault.Internal || class == fault.Unavailable {
			span.SetStatus(codes.Error, string(code))
		}
	}
	span.End()
}
