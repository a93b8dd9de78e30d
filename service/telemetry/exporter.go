package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// complainEvery is how often the log tells that the collector takes nothing.
const complainEvery = time.Minute

// exporter sends spans and keeps the log quiet about a collector that is away: one line, then one a minute, and one when it is back.
type exporter struct {
	sdktrace.SpanExporter
	endpoint string // a secret: its path may hold a token
	log      *slog.Logger
	spans    *prometheus.CounterVec

	mu       sync.Mutex
	lost     int // since the collector went away
	complain rate.Sometimes
}

func newExporter(to sdktrace.SpanExporter, log *slog.Logger, endpoint string) *exporter {
	e := &exporter{
		SpanExporter: to, endpoint: endpoint, log: log.With("component", "telemetry"), complain: rate.Sometimes{Interval: complainEvery},
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemall_trace_spans_total", Help: "Spans that the collector of traces took (sent) or did not take (lost).",
		}, []string{"result"}),
	}
	e.spans.WithLabelValues("sent")
	e.spans.WithLabelValues("lost")
	return e
}

// ExportSpans implements sdktrace.SpanExporter. It never fails: the SDK would only write the error to standard error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.spans.WithLabelValues("lost").Add(float64(len(spans)))
		e.lost += len(spans)
		e.complain.Do(func() {
			e.log.Warn("the collector takes no traces; they are lost until it does", "lost", e.lost, "error", strings.ReplaceAll(err.Error(), e.endpoint, "otel.endpoint"))
		})
		return nil
	}
	e.spans.WithLabelValues("sent").Add(float64(len(spans)))
	if e.lost > 0 {
		e.log.Info("the collector takes traces again", "lost", e.lost)
		e.lost, e.complain = 0, rate.Sometimes{Interval: complainEvery}
	}
	return nil
}
