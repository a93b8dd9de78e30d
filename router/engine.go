package router

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/propagation"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func (r *Router) newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.ContextWithFallback = true
	if err := e.SetTrustedProxies(r.deps.TrustedProxies); err != nil {
		panic(fmt.Errorf("http.trusted_proxies: %w", err)) // config has checked it
	}
	e.Use(hurry, r.begin, r.traced(), r.observe, r.recover, secure)
	e.NoRoute(r.noRoute)
	e.NoMethod(func(c *gin.Context) { api.WriteProblem(c.Writer, c.Request, fault.New(fault.MethodNotAllowed)) })
	return e
}

// traced makes a span of a request. Pages, pictures and the probes of whoever watches the shop have none.
func (r *Router) traced() gin.HandlerFunc {
	return otelgin.Middleware("tidemall",
		otelgin.WithTracerProvider(r.deps.Traces), otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithFilter(func(req *http.Request) bool { return machine(req.URL.Path) }))
}

var requestIDShape = regexp.MustCompile(`^[0-9A-Za-z_-]{8,64}$`)

// begin gives the request its id and its language.
func (r *Router) begin(c *gin.Context) {
	id := c.GetHeader("X-Request-Id")
	if !requestIDShape.MatchString(id) {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails
		id = hex.EncodeToString(b[:])
	}
	c.Header("X-Request-Id", id)
	call := &api.Call{
		RequestID: id, Language: api.ParseLanguage(c.GetHeader("Accept-Language")), Zone: r.deps.Zone,
		From: account.Client{IP: c.ClientIP(), Agent: c.Request.UserAgent()},
	}
	c.Request = c.Request.WithContext(api.Begin(c.Request.Context(), call))
	c.Next()
}

// observe writes one line a request and counts it. Paths are logged without their query, which may hold codes and secrets.
func (r *Router) observe(c *gin.Context) {
	start := time.Now()
	c.Next()
	took := time.Since(start)
	ctx, status := c.Request.Context(), c.Writer.Status()
	r.meter.count(c.Request.Method, c.FullPath(), status, took)
	level, err := slog.LevelInfo, api.Noted(ctx)
	args := []any{
		"method", c.Request.Method, "path", c.Request.URL.Path, "route", c.FullPath(), "status", status,
		"duration_ms", took.Milliseconds(), "bytes", c.Writer.Size(), "ip", c.ClientIP(), "request_id", api.RequestID(ctx),
	}
	if who := api.Caller(ctx); who != "" {
		args = append(args, "caller", who)
	}
	if err != nil {
		args = append(args, "error", err.Error())
	}
	if status >= http.StatusInternalServerError && ctx.Err() == nil {
		level = slog.LevelError
	}
	r.deps.Log.Log(ctx, level, "request", args...)
}

// recover turns a panic into internal_error.
func (r *Router) recover(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		r.deps.Log.Error("panic", "value", fmt.Sprint(p), "request_id", api.RequestID(c.Request.Context()), "stack", string(debug.Stack()))
		c.Abort()
		if !c.Writer.Written() {
			api.WriteProblem(c.Writer, c.Request, fault.Wrap(fault.InternalError, fmt.Errorf("panic: %v", p)))
		}
	}()
	c.Next()
}

// pagePolicy lets pages load what this server serves and pictures from anywhere (they may be in a bucket), and nothing else.
const pagePolicy = "default-src 'self'; img-src 'self' data: blob: https: http:; style-src 'self' 'unsafe-inline'; font-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'"

// secure sets the headers that browsers heed. Handlers of pages may replace the policy by their own.
func secure(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	if machine(c.Request.URL.Path) {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
	} else {
		h.Set("Content-Security-Policy", pagePolicy)
	}
	c.Next()
}

// machine reports whether a path belongs to programs, not to people: nothing there is ever answered with a page.
func machine(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/api" || strings.HasPrefix(path, "/notify/")
}

// noRoute leaves pages to Web and answers the rest with not_found.
func (r *Router) noRoute(c *gin.Context) {
	if r.deps.Web != nil && !machine(c.Request.URL.Path) {
		if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
			c.Status(http.StatusOK) // gin has set 404 beforehand
			r.deps.Web.ServeHTTP(c.Writer, c.Request)
			return
		}
	}
	api.WriteProblem(c.Writer, c.Request, fault.New(fault.NotFoundError))
}
