// Package telemetry is where the shop's traces go: to a collector that takes OTLP over HTTP, or nowhere. Requests, orders and
// batches of deadlines begin traces; what the database and Redis do is told only inside a trace that is recorded, so that loops
// that run idle make none.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	serviceName = "tidemall"
	// queued is how many ended spans wait for the collector at most; further ones are dropped, since a request must not wait.
	queued = 8192
	// sendLimit is how long one sending may take, with its repetitions.
	sendLimit = 10 * time.Second
	// flushLimit is how long a stop waits for what is still to be sent.
	flushLimit = 2 * time.Second
)

// Options say where traces go and whose they are.
type Options struct {
	// Endpoint is the collector's URL, with the path /v1/traces where it has none; empty sends nothing. Traces have ids all the same.
	Endpoint string
	// SampleRatio is the share of traces that are recorded, from 0 to 1, of those that begin here and of those that a caller began and
	// records. It is decided by the trace's id: every replica decides alike.
	SampleRatio float64
	// Version is the program's, Node this process's name among the replicas.
	Version, Node string
	Log           *slog.Logger
	Metrics       prometheus.Registerer
}

// Telemetry makes spans.
type Telemetry struct {
	provider  *sdktrace.TracerProvider
	exporting bool
}

// Open makes the provider. It does not need the collector to answer.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Endpoint == "" {
		return New(0), nil
	}
	endpoint, err := withPath(o.Endpoint)
	if err != nil {
		return nil, err
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithTimeout(sendLimit),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 4 * time.Second, MaxElapsedTime: sendLimit}))
	if err != nil {
		return nil, fmt.Errorf("otel.endpoint: %w", err)
	}
	paced := newExporter(client, o.Log, endpoint)
	if err := o.Metrics.Register(paced.spans); err != nil {
		return nil, err
	}
	return New(o.SampleRatio,
		sdktrace.WithBatcher(paced, sdktrace.WithMaxQueueSize(queued), sdktrace.WithBatchTimeout(time.Second), sdktrace.WithExportTimeout(sendLimit)),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName(serviceName), semconv.ServiceVersion(o.Version), semconv.ServiceInstanceID(o.Node),
			attribute.String("telemetry.sdk.language", "go"))),
	), nil
}

// withPath adds the path that collectors listen at where the endpoint has none.
func withPath(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("otel.endpoint: not a URL") // which may hold a token
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// New makes a provider of one's own, such as a test's that keeps its spans. ratio is as in Options.
func New(ratio float64, processors ...sdktrace.TracerProviderOption) *Telemetry {
	share := sdktrace.TraceIDRatioBased(ratio)
	// A caller's word that its trace is recorded does not raise the share: callers are anybody.
	sampler := sdktrace.WithSampler(sdktrace.ParentBased(share, sdktrace.WithRemoteParentSampled(share)))
	return &Telemetry{provider: sdktrace.NewTracerProvider(append(processors, sampler)...), exporting: len(processors) > 0}
}

// Provider is for libraries that make tracers of their own.
func (t *Telemetry) Provider() trace.TracerProvider { return t.provider }

// Tracer makes the spans of one part of the shop, such as "order".
func (t *Telemetry) Tracer(part string) trace.Tracer {
	return t.provider.Tracer("github.com/tidemall/tidemall/" + part)
}

// Exporting reports whether spans go anywhere.
func (t *Telemetry) Exporting() bool { return t.exporting }

// Stop sends what is waiting, for at most two seconds, and ends. What a collector that is away did not take by then is lost.
func (t *Telemetry) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	// The only error is that the time was over, which the exporter has told about.
	_ = t.provider.Shutdown(ctx)
	return nil
}
