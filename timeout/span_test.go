package timeout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A batch's span says what became of its tasks, and nothing of what an error
// said.
func TestSpanCountsOutcomes(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tracing := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	s := newThings(sqliteDB(t))
	s.before = func(_ context.Context, task Task) (Outcome, bool) {
		return Failed(errors.New("phone 13800000000")), task.Key == "bad"
	}
	e := node(t, s, redisClient(t, miniRedis(t)), "a", func(o *Options, _ *Kind) { o.Tracer = tracing.Tracer("test") })
	past := time.Now().Add(-time.Second).UnixMilli()
	s.add(t, map[string]int64{"bad": past, "good": past, "better": past})
	start(t, e)
	s.await(t, 10*time.Second, "all called", func() bool { return s.waitingNow(t) == 1 && len(s.callsOf("bad")) > 0 })
	stop(t, e)

	counts := map[string]int64{}
	failed := false
	for _, span := range spans.GetSpans() {
		failed = failed || span.Status.Code == codes.Error
		if strings.Contains(span.Status.Description, "phone") || len(span.Events) != 0 {
			t.Errorf("the span tells of the error: %+v", span)
		}
		for _, a := range span.Attributes {
			counts[string(a.Key)] += a.Value.AsInt64()
		}
	}
	if counts["tasks.done"] != 2 || counts["tasks.failed"] < 1 || !failed {
		t.Errorf("counts %v, failed %v", counts, failed)
	}
}
