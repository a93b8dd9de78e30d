package app

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// countRows registers the count of the rows that batches of due orders change. Expected and affected drift apart only where
// batches meet on the same orders, and then a transaction was rolled back.
func (a *App) countRows() func(kind string, expected, affected int64) {
	rows := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemall_order_rows_total", Help: "Rows that batches of due orders and after-sales were to change, and did, by kind of deadline.",
	}, []string{"kind", "what"})
	a.Metrics.MustRegister(rows)
	for _, kind := range []string{order.KindPay, order.KindRemind, order.KindShip, order.KindConfirm, order.KindAftersale, order.KindRetime} {
		rows.WithLabelValues(kind, "expected")
		rows.WithLabelValues(kind, "affected")
	}
	return func(kind string, expected, affected int64) {
		rows.WithLabelValues(kind, "expected").Add(float64(expected))
		rows.WithLabelValues(kind, "affected").Add(float64(affected))
	}
}

// subscribers returns everybody who acts on messages, and the topics.
func (a *App) subscribers() ([]event.Subscriber, []string) {
	topics := []string{
		order.TopicCreated, order.TopicPaid, order.TopicShipped, order.TopicCompleted, order.TopicClosed, order.TopicChanged,
		order.TopicReminder, order.TopicOverdue, order.TopicAnswerOverdue,
		payment.TopicLate, payment.TopicRefundCreated, payment.TopicRefundSucceeded,
	}
	topics = append(topics, order.AftersaleTopics()...)
	changes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemall_changes_total", Help: "Changes of orders, payments, refunds and after-sales that were relayed, by topic.",
	}, []string{"topic"})
	a.Metrics.MustRegister(changes)
	subs := slices.Concat(a.Orders.Subscribers(), a.Notices.Subscribers(), []event.Subscriber{a.Catalog.SalesCounter()})
	for _, topic := range topics {
		counter := changes.WithLabelValues(topic)
		subs = append(subs, event.Subscriber{Name: "metric:" + topic, Topic: topic, Handle: func(context.Context, event.Message) error {
			counter.Inc()
			return nil
		}})
	}
	return subs, topics
}

// Pushes are what the shop does about WeChat's message pushes, by the name of the event.
func (a *App) Pushes() map[string]func(tx *store.Tx, p wechat.Push) error {
	all := map[string]func(tx *store.Tx, p wechat.Push) error{}
	maps.Copy(all, a.Orders.Pushes())
	maps.Copy(all, a.Content.Pushes())
	return all
}
