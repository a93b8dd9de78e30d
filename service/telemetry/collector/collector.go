// Package collector is a collector of traces for tests: it takes OTLP over HTTP on loopback and keeps the spans.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one that came in. Ids are hexadecimal; Links are the ids of the spans that it is linked with.
type Span struct {
	Name, TraceID, ID, ParentID string
	Links                       []string
	Attributes                  map[string]string
	// Resource says whose it is.
	Resource map[string]string
}

// Collector keeps what it was sent.
type Collector struct {
	// Endpoint is its URL, without a path.
	Endpoint string

	t      testing.TB
	mu     sync.Mutex
	spans  []Span
	change chan struct{} // closed when spans came in
}

// Start runs a collector until the test ends.
func Start(t testing.TB) *Collector {
	c := &Collector{t: t, change: make(chan struct{})}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.Endpoint = server.URL
	return c
}

// ServeHTTP takes an export.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	export, err := read(r)
	if err != nil || r.URL.Path != "/v1/traces" {
		c.t.Errorf("an export to %s cannot be read: %v", r.URL.Path, err)
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range export.GetResourceSpans() {
		whose := values(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Name: s.GetName(), TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					ParentID: hex.EncodeToString(s.GetParentSpanId()), Attributes: values(s.GetAttributes()), Resource: whose,
				}
				for _, l := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(l.GetSpanId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	close(c.change)
	c.change = make(chan struct{})
}

func read(r *http.Request) (*v1.ExportTraceServiceRequest, error) {
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	export := &v1.ExportTraceServiceRequest{}
	return export, proto.Unmarshal(body, export)
}

func values(attributes []*common.KeyValue) map[string]string {
	of := map[string]string{}
	for _, a := range attributes {
		v := a.GetValue()
		if _, isText := v.GetValue().(*common.AnyValue_StringValue); isText {
			of[a.GetKey()] = v.GetStringValue()
		} else {
			of[a.GetKey()] = v.String()
		}
	}
	return of
}

// Spans returns what came in so far, and a channel that is closed when more does.
func (c *Collector) Spans() ([]Span, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...), c.change
}

// Await returns the first span that fits, waiting for it until the test's context ends.
func (c *Collector) Await(fits func(Span) bool) Span {
	c.t.Helper()
	for {
		spans, more := c.Spans()
		for _, s := range spans {
			if fits(s) {
				return s
			}
		}
		select {
		case <-more:
		case <-c.t.Context().Done():
			c.t.Fatal("the span did not come")
		}
	}
}
