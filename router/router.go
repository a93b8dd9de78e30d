package router

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// Prefixes of the two APIs.
const (
	shopPrefix  = "/api/v1"
	adminPrefix = "/api/admin/v1"
)

// Deps is what the HTTP surface is made of. Zero values are allowed: without Auth nobody is logged in, without Web there are no
// pages.
type Deps struct {
	Log     *slog.Logger
	Auth    api.Authenticator
	Metrics *prometheus.Registry
	// Traces makes a span of every request of the APIs and of WeChat's callbacks.
	Traces trace.TracerProvider
	// Now is the shop's clock.
	Now func() model.Time
	// Zone is shop.timezone.
	Zone *time.Location
	// PublicURL is http.public_url, the server that the OpenAPI document names.
	PublicURL string
	Version   string
	Limits    Limits
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is believed.
	TrustedProxies []string
	// Checks are what /readyz asks.
	Checks []Check
	// Web serves the pages: whatever is asked by GET, is no route and lies outside /api and /notify.
	Web http.Handler

	Operations
}

// Router answers requests.
type Router struct {
	engine *gin.Engine
	api    huma.API
	deps   Deps
	limits *limiter
	meter  *meter
	routes []Route
}

// New mounts everything. It panics where a route table contradicts itself, which only a programmer can cause.
func New(deps Deps) *Router {
	r := bare(deps)
	r.api = humagin.New(r.engine, openAPIConfig(r.deps))
	r.mount()
	r.mountOps()
	r.mountDocs()
	return r
}

// Starting answers whatever is asked with 503 and the code starting: what stands in until the shop has started. That holds for the
// probes too, as nobody who waits for one of them is served before. It logs nothing: each would be an error every second, and what
// the start waits for is in the log.
func Starting() *Router {
	r := bare(Deps{})
	r.engine.NoRoute(func(c *gin.Context) {
		api.WriteProblem(c.Writer, c.Request, fault.New(fault.Starting).After(time.Second))
	})
	return r
}

// bare is a router without routes.
func bare(deps Deps) *Router {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Auth == nil {
		deps.Auth = nobody{}
	}
	if deps.Metrics == nil {
		deps.Metrics = prometheus.NewRegistry()
	}
	if deps.Traces == nil {
		deps.Traces = noop.NewTracerProvider()
	}
	if deps.Now == nil {
		deps.Now = func() model.Time { return model.At(time.Now()) }
	}
	if deps.Zone == nil {
		deps.Zone = time.UTC
	}
	r := &Router{deps: deps, limits: newLimiter(deps.Limits), meter: newMeter(deps.Metrics)}
	r.engine = r.newEngine()
	return r
}

// ServeHTTP answers one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.engine.ServeHTTP(w, req) }

// Routes lists all operations of the tables.
func (r *Router) Routes() []Route { return r.routes }
