package telemetry

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// RedisHook makes spans of the commands that are sent within a recorded trace, and costs the others one look at their context:
// go-redis' own hook writes out every command of every pipeline for its span's name, also where there is no trace. Only the names
// of commands are told, since keys and values may be tokens.
func RedisHook(tracer trace.Tracer) redis.Hook { return hook{tracer} }

type hook struct{ trace.Tracer }

// DialHook implements redis.Hook: dialling belongs to the pool, not to who happened to need a connection.
func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.span(ctx, cmd.Name, 1, func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.span(ctx, func() string { return "pipeline" }, len(cmds), func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

func (h hook) span(ctx context.Context, name func() string, commands int, do func(ctx context.Context) error) error {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return do(ctx)
	}
	operation := name()
	ctx, span := h.Start(ctx, "redis "+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.DBSystemNameRedis, semconv.DBOperationName(operation), semconv.DBOperationBatchSize(commands)))
	defer span.End()
	err := do(ctx)
	if err != nil && !errors.Is(err, redis.Nil) { // the error's text may hold a key
		span.SetAttributes(semconv.ErrorType(err))
		span.SetStatus(codes.Error, "")
	}
	return err
}
