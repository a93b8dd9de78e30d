package app

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
)

// subscribers returns everybody who acts on messages, and the topics.
func (a *App) subscribers() ([]event.Subscriber, []string) {
	topics := []string{
		order.TopicCreated, order.TopicPaid, order.TopicShipped, order.TopicCompleted, order.TopicClosed, order.TopicChanged,
		payment.TopicLate, payment.TopicRefundCreated, payment.TopicRefundSucceeded,
	}
	changes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemall_changes_total", Help: "Changes of orders, payments and refunds that were relayed, by topic.",
	}, []string{"topic"})
	a.Metrics.MustRegister(changes)
	subs := slices.Concat(a.Orders.Subscribers(), []event.Subscriber{a.Catalog.SalesCounter()})
	for _, topic := range topics {
		counter := changes.WithLabelValues(topic)
		subs = append(subs, event.Subscriber{Name: "metric:" + topic, Topic: topic, Handle: func(context.Context, event.Message) error {
			counter.Inc()
			return nil
		}})
	}
	return subs, topics
}
