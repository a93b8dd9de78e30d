package timeout

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what a scrape sees of the engine.
type metrics struct {
	lateness *prometheus.HistogramVec
	fired    *prometheus.CounterVec
	retries  *prometheus.CounterVec
	dead     *prometheus.CounterVec
	rescued  *prometheus.CounterVec

	pollInterval prometheus.Gauge
	checks       *prometheus.HistogramVec
}

// check times one check of the engine: poll, look or sweep. What it returns is
// called at the end.
func (m *metrics) check(name string) func() {
	began := time.Now()
	return func() { m.checks.WithLabelValues(name).Observe(time.Since(began).Seconds()) }
}

func newMetrics(r prometheus.Registerer, e *Engine) (*metrics, error) {
	const space, part = "tidemall", "timeout"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: space, Subsystem: part, Name: name, Help: help}, labels)
	}
	m := &metrics{
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: space, Subsystem: part, Name: "lateness_seconds",
			Help:    "From a deadline to the call of its handler, first calls only.",
			Buckets: []float64{.001, .002, .003, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"kind"}),
		fired:   counter("fired_total", "Tasks handed to a handler, by what it said.", "kind", "result"),
		retries: counter("retries_total", "Tasks to be repeated after a failure or an outage.", "kind"),
		dead:    counter("dead_total", "Tasks that have failed too often.", "kind"),
		rescued: counter("rescued_total", "Overdue tasks that only the sweep found.", "kind"),
		pollInterval: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: space, Subsystem: part, Name: "poll_interval_seconds", Help: "Pause before the schedule in Redis is read again.",
		}),
		checks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: space, Subsystem: part, Name: "check_seconds",
			Help:    "Duration of reading the schedule (poll), a source (look) or what is overdue (sweep).",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"check"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.lateness, m.fired, m.retries, m.dead, m.rescued, m.pollInterval, m.checks, newGauges(e)} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("timeout: register metrics: %w", err)
		}
	}
	return m, nil
}

// present makes a kind's series appear before anything has happened to it.
func (m *metrics) present(kind string) {
	m.lateness.WithLabelValues(kind)
	m.retries.WithLabelValues(kind)
	m.dead.WithLabelValues(kind)
	m.rescued.WithLabelValues(kind)
	for _, o := range []Outcome{Done(), Reschedule(0), Failed(nil), Again(nil), {verdict: verdictDead}} {
		m.fired.WithLabelValues(kind, o.String())
	}
}

// gauges are worked out when they are scraped.
type gauges struct {
	engine                                         *Engine
	waiting, inFlight, feed, apart, offset, shards *prometheus.Desc
}

func newGauges(e *Engine) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("tidemall_timeout_"+name, help, labels, nil)
	}
	return &gauges{
		engine:   e,
		waiting:  desc("waiting", "Tasks by state: waiting, overdue, dead, backing_off.", "kind", "state"),
		inFlight: desc("in_flight", "Tasks in the hands of handlers of this replica.", "kind"),
		feed:     desc("feed", "1 for what feeds this replica at the moment.", "feed"),
		apart:    desc("clock_difference_seconds", "Redis' clock minus the database's, as last measured."),
		offset:   desc("clock_offset_seconds", "The shop's clock minus this machine's."),
		shards:   desc("shards_owned", "Shards this replica looks after."),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.inFlight, g.feed, g.apart, g.offset, g.shards} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(c chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s, err := g.engine.Stats(ctx)
	for _, k := range s.Kinds {
		gauge(g.inFlight, float64(k.InFlight), k.Kind)
		if err != nil {
			continue // better no figure than a wrong one
		}
		gauge(g.waiting, float64(k.Waiting), k.Kind, "waiting")
		gauge(g.waiting, float64(k.Overdue), k.Kind, "overdue")
		gauge(g.waiting, float64(k.Dead), k.Kind, "dead")
		gauge(g.waiting, float64(k.BackingOff), k.Kind, "backing_off")
	}
	for _, f := range []feed{feedRedis, feedSQL} {
		value := 0.0
		if s.Feed == string(f) {
			value = 1
		}
		gauge(g.feed, value, string(f))
	}
	gauge(g.apart, g.engine.clock.difference().Seconds())
	gauge(g.offset, g.engine.clock.drift().Seconds())
	gauge(g.shards, float64(s.Shards))
}
