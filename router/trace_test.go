package router

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidemall/tidemall/api"
)

// A request of the APIs is a span that continues the caller's trace, and operations run in it; probes and pages are none.
func TestRequestsAreSpans(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	var seen trace.SpanContext
	r := newDemo(t, func(g *group) {
		route(g, "GET", "/traced/{no}", anyone, func(ctx context.Context, in *api.OrderPath) (*api.Reply[orderReply], error) {
			seen = trace.SpanContextFromContext(ctx)
			return api.Body(orderReply{in.No}), nil
		}, doc{Summary: "Traced"})
	}, Deps{Traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))})
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	call(t, r, "GET", "/healthz", "")
	call(t, r, "GET", "/readyz", "")
	call(t, r, "GET", "/metrics", "")
	call(t, r, "GET", "/some/page", "")
	if spans := kept.GetSpans(); len(spans) != 0 {
		t.Errorf("%d spans of probes and pages, the first %s", len(spans), spans[0].Name)
	}
	const no = "T202601310123456789AB"
	if got := call(t, r, "GET", "/api/v1/traced/"+no+"?code=13800138000", "", "Traceparent", caller, "Authorization", "Bearer token-123"); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	spans := kept.GetSpans()
	if len(spans) != 1 || spans[0].Name != "GET /api/v1/traced/:no" || spans[0].SpanContext.SpanID() != seen.SpanID() {
		t.Fatalf("spans %v, the operation ran in %v", spans, seen)
	}
	if spans[0].SpanContext.TraceID().String() != caller[3:35] || spans[0].Parent.SpanID().String() != caller[36:52] {
		t.Errorf("the caller's trace is not continued: %v", spans[0].SpanContext)
	}
	if text := fmt.Sprint(spans[0].Attributes); strings.Contains(text, "13800138000") || strings.Contains(text, "token-123") {
		t.Errorf("the span tells what paths and headers must not: %s", text)
	}
}
