package router

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one thing that /readyz asks.
type Check struct {
	Name string
	// Essential: without it the shop cannot serve, and /readyz says 503; without another it is degraded.
	Essential bool
	Run       func(ctx context.Context) error
}

// checkTime bounds the answer of /readyz.
const checkTime = 2 * time.Second

type health struct {
	Status string `json:"status" enum:"ok" doc:"Always ok: the process answers"`
}

type healthReply struct{ Body health }

// readiness is what /readyz answers.
type readiness struct {
	Status string            `json:"status" enum:"ok,degraded,unavailable" doc:"degraded: it serves, but a part that it can do without is away"`
	Checks map[string]string `json:"checks" doc:"Each part: ok or unavailable"`
}

type readyReply struct {
	Status int
	Body   readiness
}

func (r *Router) mountOps() {
	g := r.group("")
	route(g, http.MethodGet, "/healthz", anyone, func(context.Context, *struct{}) (*healthReply, error) {
		return &healthReply{health{"ok"}}, nil
	}, doc{Summary: "Is the process up", NoLimit: true, Head: true})
	route(g, http.MethodGet, "/readyz", anyone, r.ready, doc{
		Summary: "Can it serve", NoLimit: true, Head: true,
		Description: "200 while the database and its schema are usable; Redis away is degraded. 503 with the same body otherwise.",
	})
	metrics := promhttp.HandlerFor(r.deps.Metrics, promhttp.HandlerOpts{})
	r.engine.GET("/metrics", gin.WrapH(metrics))
}

func (r *Router) ready(ctx context.Context, _ *struct{}) (*readyReply, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	errs := make([]error, len(r.deps.Checks))
	var wg sync.WaitGroup
	for i, c := range r.deps.Checks {
		wg.Go(func() { errs[i] = c.Run(ctx) })
	}
	wg.Wait()
	out := &readyReply{http.StatusOK, readiness{"ok", map[string]string{}}}
	for i, c := range r.deps.Checks {
		if errs[i] == nil {
			out.Body.Checks[c.Name] = "ok"
			continue
		}
		r.deps.Log.Warn("not ready", "check", c.Name, "error", errs[i])
		out.Body.Checks[c.Name] = "unavailable"
		switch {
		case c.Essential:
			out.Status, out.Body.Status = http.StatusServiceUnavailable, "unavailable"
		case out.Body.Status == "ok":
			out.Body.Status = "degraded"
		}
	}
	return out, nil
}
