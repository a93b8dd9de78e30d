package router

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter counts requests by method, route and status, and times them by route.
type meter struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMeter(reg prometheus.Registerer) *meter {
	m := &meter{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemall_http_requests_total", Help: "HTTP requests answered.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidemall_http_request_seconds", Help: "Time to answer an HTTP request.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
	}
	reg.MustRegister(m.requests, m.seconds)
	return m
}

// known makes a route visible before its first request.
func (m *meter) known(method, path string) {
	m.requests.WithLabelValues(method, path, "200")
}

func (m *meter) count(method, ginPath string, status int, took time.Duration) {
	path := humaPath(ginPath)
	m.requests.WithLabelValues(knownMethod(method), path, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(path).Observe(took.Seconds())
}

// knownMethod bounds the label: a client may send any word as method.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "OTHER"
}

// humaPath writes gin's :parameters as {parameters}; what is no route is "unmatched".
func humaPath(ginPath string) string {
	if ginPath == "" {
		return "unmatched"
	}
	parts := strings.Split(ginPath, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}
