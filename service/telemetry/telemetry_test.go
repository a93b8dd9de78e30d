package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidemall/tidemall/service/telemetry/collector"
)

func open(t *testing.T, endpoint string, log io.Writer) (*Telemetry, *prometheus.Registry) {
	t.Helper()
	metrics := prometheus.NewRegistry()
	tel, err := Open(t.Context(), Options{
		Endpoint: endpoint, SampleRatio: 1, Version: "v9.9", Node: "node-7", Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tel, metrics
}

func TestSpansReachTheCollector(t *testing.T) {
	c := collector.Start(t)
	tel, metrics := open(t, c.Endpoint, io.Discard)
	ctx, outer := tel.Tracer("test").Start(t.Context(), "outer")
	_, inner := tel.Tracer("test").Start(ctx, "inner")
	inner.End()
	outer.End()
	if err := tel.Stop(t.Context()); err != nil { // sends what is waiting
		t.Fatal(err)
	}
	spans, _ := c.Spans()
	if len(spans) != 2 || spans[0].Name != "inner" || spans[0].TraceID != spans[1].TraceID || spans[0].ParentID != spans[1].ID {
		t.Fatalf("got %+v", spans)
	}
	for key, want := range map[string]string{"service.name": "tidemall", "service.version": "v9.9", "service.instance.id": "node-7"} {
		if got := spans[0].Resource[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	want := `
		# HELP tidemall_trace_spans_total Spans that the collector of traces took (sent) or did not take (lost).
		# TYPE tidemall_trace_spans_total counter
		tidemall_trace_spans_total{result="lost"} 0
		tidemall_trace_spans_total{result="sent"} 2
	`
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestWithoutACollectorTracesHaveIds(t *testing.T) {
	tel, _ := open(t, "", io.Discard)
	ctx, span := tel.Tracer("test").Start(t.Context(), "x")
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsSampled() || span.IsRecording() || tel.Exporting() {
		t.Errorf("span %v, recording %v, exporting %v", sc, span.IsRecording(), tel.Exporting())
	}
	_, inner := tel.Tracer("test").Start(ctx, "y")
	if inner.SpanContext().TraceID() != span.SpanContext().TraceID() {
		t.Error("the inner span is in another trace")
	}
	if err := tel.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// hole is a server that takes connections and answers nothing.
func hole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// A collector that is silent holds up neither who makes spans, more than the queue takes, nor the stop.
func TestASilentCollectorHoldsNobodyUp(t *testing.T) {
	tel, _ := open(t, hole(t), io.Discard)
	tracer := tel.Tracer("test")
	began := time.Now()
	for range 2 * queued {
		_, span := tracer.Start(t.Context(), "x")
		span.End()
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%d spans took %v", 2*queued, took)
	}
	began = time.Now()
	if err := tel.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > flushLimit+10*time.Second {
		t.Errorf("the stop took %v", took)
	}
}

// failing is an exporter that fails while it is told to.
type failing struct {
	sdktrace.SpanExporter
	err error
}

func (f *failing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return f.err }

func TestTheLogIsQuietAboutACollectorThatIsAway(t *testing.T) {
	var log bytes.Buffer
	f := &failing{err: errors.New(`Post "http://collector/token-123/v1/traces": connection refused`)}
	e := newExporter(f, slog.New(slog.NewTextHandler(&log, nil)), "http://collector/token-123/v1/traces")
	export := func(n int) {
		if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, n)); err != nil {
			t.Error(err)
		}
	}
	for range 50 {
		export(2)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || strings.Contains(text, "token-123") {
		t.Errorf("after fifty failures the log is:\n%s", text)
	}
	f.err = nil
	export(3)
	export(3)
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "lost=100") {
		t.Errorf("after it came back the log is:\n%s", text)
	}
	f.err = errors.New("away again")
	export(1)
	if text := log.String(); strings.Count(text, "\n") != 3 {
		t.Errorf("after it went again the log is:\n%s", text)
	}
	if lost, sent := testutil.ToFloat64(e.spans.WithLabelValues("lost")), testutil.ToFloat64(e.spans.WithLabelValues("sent")); lost != 101 || sent != 6 {
		t.Errorf("lost %v, sent %v", lost, sent)
	}
}

func TestWhoDecidesWhatIsRecorded(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4}, TraceFlags: flags, Remote: true,
		}))
	}
	for _, c := range []struct {
		name  string
		ratio float64
		ctx   context.Context
		want  bool
	}{
		{"all", 1, t.Context(), true},
		{"none", 0, t.Context(), false},
		{"a caller's recorded trace", 1, remote(trace.FlagsSampled), true},
		{"a caller cannot raise the share", 0, remote(trace.FlagsSampled), false},
		{"a caller that records nothing", 1, remote(0), false},
	} {
		_, span := New(c.ratio, sdktrace.WithSyncer(tracetest.NewInMemoryExporter())).Tracer("test").Start(c.ctx, "x")
		if span.IsRecording() != c.want {
			t.Errorf("%s: recording %v", c.name, span.IsRecording())
		}
	}
	tel := New(0.25, sdktrace.WithSyncer(tracetest.NewInMemoryExporter()))
	recorded := 0
	for range 4000 {
		if _, span := tel.Tracer("test").Start(t.Context(), "x"); span.IsRecording() {
			recorded++
		}
	}
	if recorded < 800 || recorded > 1200 { // seven standard deviations from 1,000
		t.Errorf("%d of 4,000 are recorded", recorded)
	}
}

func TestRedisSpansAreInsideRecordedTracesOnly(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tracer := New(1, sdktrace.WithSyncer(kept)).Tracer("test")
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer func() { _ = client.Close() }()
	client.AddHook(RedisHook(tracer))
	work := func(ctx context.Context) {
		client.Set(ctx, "token:abc", "secret", 0)
		client.Get(ctx, "nothing")
		client.LPush(ctx, "token:abc", "x") // of another type
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { p.Get(ctx, "token:abc"); p.Get(ctx, "b"); return nil })
	}
	work(t.Context())
	if spans := kept.GetSpans(); len(spans) != 0 {
		t.Errorf("outside a trace: %v", spans)
	}
	ctx, span := tracer.Start(t.Context(), "request")
	work(ctx)
	var got []string
	for _, s := range kept.GetSpans() {
		got = append(got, s.Name+" "+s.Status.Code.String())
		if s.Parent.SpanID() != span.SpanContext().SpanID() {
			t.Errorf("%s is no child of the request", s.Name)
		}
		for _, a := range s.Attributes {
			if v := a.Value.String(); strings.Contains(v, "token") || strings.Contains(v, "secret") {
				t.Errorf("%s tells %s=%s", s.Name, a.Key, v)
			}
		}
	}
	if want := "redis set Unset, redis get Unset, redis lpush Error, redis pipeline Unset"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestLogLinesNameTheirTrace(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(LogHandler(slog.NewTextHandler(&b, nil))).With("part", "x").WithGroup("g")
	log.InfoContext(t.Context(), "outside")
	if strings.Contains(b.String(), "trace_id") {
		t.Errorf("outside a trace: %s", b.String())
	}
	ctx, span := New(0).Tracer("test").Start(t.Context(), "x")
	log.InfoContext(ctx, "inside", "key", "value")
	if want := "trace_id=" + span.SpanContext().TraceID().String(); !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "part=x") || !strings.Contains(b.String(), "g.key=value") {
		t.Errorf("the line lacks %s: %s", want, b.String())
	}
}
