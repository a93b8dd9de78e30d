package event

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Results of a delivery.
const (
	resultSent   = "sent"
	resultFailed = "failed"
	resultOutage = "outage"
	resultDead   = "dead"
)

type metrics struct {
	waiting, dead prometheus.Gauge
	deliveries    *prometheus.CounterVec
}

func newMetrics(topics []string) *metrics {
	m := &metrics{
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemall_messages_waiting", Help: "Messages that are not delivered yet, as of the last count.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemall_messages_dead", Help: "Messages that wait for a person, as of the last count.",
		}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemall_message_deliveries_total", Help: "Deliveries by topic and result.",
		}, []string{"topic", "result"}),
	}
	for _, topic := range topics {
		for _, result := range []string{resultSent, resultFailed, resultOutage, resultDead} {
			m.deliveries.WithLabelValues(topic, result)
		}
	}
	return m
}

func (m *metrics) delivered(topic, result string) { m.deliveries.WithLabelValues(topic, result).Inc() }

// Describe implements prometheus.Collector.
func (r *Relay) Describe(ch chan<- *prometheus.Desc) {
	r.m.waiting.Describe(ch)
	r.m.dead.Describe(ch)
	r.m.deliveries.Describe(ch)
}

// Collect implements prometheus.Collector.
func (r *Relay) Collect(ch chan<- prometheus.Metric) {
	r.m.waiting.Collect(ch)
	r.m.dead.Collect(ch)
	r.m.deliveries.Collect(ch)
}

// count refreshes the gauges. A scrape must not wait for the database, so it reads the last count.
func (r *Relay) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, databaseLimit)
	defer cancel()
	var rows []struct {
		State model.MessageState
		N     int64
	}
	err := r.store.Read(ctx).Raw(
		"SELECT state, COUNT(*) AS n FROM messages WHERE state IN ('pending', 'dead') GROUP BY state").Scan(&rows).Error
	if err != nil {
		return store.Classify(err)
	}
	n := map[model.MessageState]int64{}
	for _, row := range rows {
		n[row.State] = row.N
	}
	r.m.waiting.Set(float64(n[model.MessagePending]))
	r.m.dead.Set(float64(n[model.MessageDead]))
	return nil
}
