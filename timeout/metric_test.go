package timeout

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gather returns the samples of a registry by name, with their labels.
func gather(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.GetHistogram() != nil:
				values[name] = float64(m.GetHistogram().GetSampleCount())
			case m.GetCounter() != nil:
				values[name] = m.GetCounter().GetValue()
			default:
				values[name] = m.GetGauge().GetValue()
			}
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	s := newThings(sqliteDB(t))
	r := prometheus.NewRegistry()
	e := node(t, s, redisClient(t, miniRedis(t)), "a", func(o *Options, _ *Kind) { o.Metrics = r })
	if _, there := gather(t, r)["tidemall_timeout_lateness_seconds{kind=thing}"]; !there {
		t.Error("the lateness histogram is not there from the start")
	}
	start(t, e)
	schedule(t, e, s, map[string]int64{"a": in(50 * time.Millisecond), "b": in(time.Hour)})
	s.await(t, 5*time.Second, "a done", func() bool { return s.waitingNow(t) == 1 })
	stop(t, e)
	values := gather(t, r)
	for name, want := range map[string]float64{
		"tidemall_timeout_lateness_seconds{kind=thing}":        1,
		"tidemall_timeout_fired_total{kind=thing,result=done}": 1,
		"tidemall_timeout_dead_total{kind=thing}":              0,
		"tidemall_timeout_rescued_total{kind=thing}":           0,
		"tidemall_timeout_waiting{kind=thing,state=waiting}":   1,
		"tidemall_timeout_feed{feed=redis}":                    1,
		"tidemall_timeout_feed{feed=sql}":                      0,
		"tidemall_timeout_shards_owned{}":                      8,
	} {
		if got, there := values[name]; !there || got != want {
			t.Errorf("%s = %v (%v), want %v", name, got, there, want)
		}
	}
	if _, err := New(Options{DB: s.db, Prefix: "p", Node: "n", Metrics: r}); err == nil {
		t.Error("a second engine on one registry")
	}
}

func TestSamplesKeepTheNewestOfAnHour(t *testing.T) {
	var s samples
	now := time.Now()
	if p := s.percentiles(now, 50); p[0] != 0 {
		t.Errorf("of nothing: %v", p)
	}
	s.add(now.Add(-2*time.Hour), time.Hour)
	for i := 1; i <= 100; i++ {
		s.add(now, time.Duration(i))
	}
	if p := s.percentiles(now, 50, 99, 100); p[0] != 50 || p[1] != 99 || p[2] != 100 {
		t.Errorf("percentiles %v", p)
	}
	for range sampleLimit {
		s.add(now, 7)
	}
	if p := s.percentiles(now, 1, 100); p[0] != 7 || p[1] != 7 {
		t.Errorf("the oldest stayed: %v", p)
	}
}

func TestStatsWithoutACounter(t *testing.T) {
	s := newThings(sqliteDB(t))
	e := start(t, node(t, s, redisClient(t, miniRedis(t)), "a", func(_ *Options, k *Kind) { k.Source = sourceFunc(s.Due) }))
	schedule(t, e, s, map[string]int64{"b": in(time.Hour), "c": in(time.Hour)})
	stats, err := e.Stats(context.Background())
	if err != nil || stats.Kinds[0].Waiting != 2 || stats.Node != "a" || stats.Shards != 8 {
		t.Errorf("%+v, %v", stats, err)
	}
}
