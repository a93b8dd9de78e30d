package order

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// Topics of the messages that order changes write. The key is "order:ID", the sequence the order's version.
const (
	TopicCreated   = "order.created"
	TopicPaid      = "order.paid"
	TopicShipped   = "order.shipped"
	TopicCompleted = "order.completed"
	TopicClosed    = "order.closed"
	TopicChanged   = "order.changed" // the state stayed: a new price
	TopicReminder  = "order.payment_reminder"
	TopicOverdue   = "order.ship_overdue"
)

var topicOf = map[model.OrderState]string{
	model.OrderPending: TopicCreated, model.OrderPaid: TopicPaid, model.OrderShipped: TopicShipped,
	model.OrderCompleted: TopicCompleted, model.OrderClosed: TopicClosed,
}

// Actors that are no person.
const (
	ActorTimeout = "timeout"
	ActorWeChat  = payment.ActorWeChat
)

// ActorShopper names a shopper as the actor of a change.
func ActorShopper(id int64) string { return "shopper:" + strconv.FormatInt(id, 10) }

// Changed is the payload of every order message.
type Changed struct {
	OrderID     int64             `json:"order_id"`
	No          string            `json:"no"`
	MerchantID  int64             `json:"merchant_id"`
	ShopperID   int64             `json:"shopper_id"`
	State       model.OrderState  `json:"state"`
	CloseReason model.CloseReason `json:"close_reason,omitempty"`
	PayableFen  model.Fen         `json:"payable_fen"`
	Version     int64             `json:"version"`
	At          model.Time        `json:"at"`
}

// change is what transition makes of orders.
type change struct {
	to     model.OrderState // the present state for a change that keeps it
	topic  string           // for a change that keeps the state; empty means order.changed
	kind   string           // of the tasks that are acted on, for the count of rows; empty for other changes
	actor  string
	reason string // for the event row
	at     model.Time
	set    map[string]any // columns beside state, version, updated_at; an instants has another value for each order
	where  string         // a further condition, such as "claim_token = ?"
	args   []any
}

// transition is the one function that changes orders: a conditional update from the state and version that were read, the
// event row and the message, for all the orders or, if any of them was changed by somebody else meanwhile, for none: ok is
// then false and the caller must roll back or have made no other change. The deadlines of stages that end or begin with the
// change are set with it. The orders must be in one state and are updated in place (state, version, updated_at and the stages'
// deadlines; not the columns of set).
func (s *Service) transition(tx *store.Tx, c change, orders ...*model.Order) (ok bool, err error) {
	from := orders[0].State
	topic := topicOf[c.to]
	if c.to == from {
		topic = cmp.Or(c.topic, TopicChanged)
	} else if !model.OrderTransitions.Allowed(from, c.to) {
		return false, nil
	}
	sets, args := []string{"state = ?", "version = version + 1", "updated_at = ?"}, []any{c.to, c.at}
	set := s.stages(c, from, orders)
	for _, column := range slices.Sorted(maps.Keys(set)) {
		sql, values := assign(column, set[column])
		sets, args = append(sets, sql), append(args, values...)
	}
	where, more := versionsOf(orders)
	args = append(append(args, from), more...)
	if c.where != "" {
		where += " AND " + c.where
		args = append(args, c.args...)
	}
	n, err := tx.Affected("UPDATE orders SET "+strings.Join(sets, ", ")+" WHERE state = ? AND "+where, args...)
	if err != nil {
		return false, err
	}
	s.count(c.kind, len(orders), n)
	if n != int64(len(orders)) {
		return false, nil
	}
	for _, o := range orders {
		o.State, o.Version, o.UpdatedAt = c.to, o.Version+1, c.at
		if reason, ok := c.set["close_reason"].(model.CloseReason); ok {
			o.CloseReason = reason
		}
		keepStages(o, set)
	}
	s.scheduleStages(tx, orders, set)
	var b store.Batch
	if err := s.record(tx, &b, topic, from, c, orders); err != nil {
		return false, err
	}
	return true, tx.Send(&b)
}

// versionsOf matches exactly the orders as they were read: those of one version share an IN list.
func versionsOf(orders []*model.Order) (string, []any) {
	byVersion := map[int64][]any{}
	for _, o := range orders {
		byVersion[o.Version] = append(byVersion[o.Version], o.ID)
	}
	var terms []string
	var args []any
	for _, v := range slices.Sorted(maps.Keys(byVersion)) {
		terms = append(terms, "(id IN ("+strings.Repeat(", ?", len(byVersion[v]))[2:]+") AND version = ?)")
		args = append(append(args, byVersion[v]...), v)
	}
	return "(" + strings.Join(terms, " OR ") + ")", args
}

// record adds to the batch the event rows and the messages of a change that was made.
func (s *Service) record(tx *store.Tx, b *store.Batch, topic string, from model.OrderState, c change, orders []*model.Order) error {
	rows := make([]any, 0, 8*len(orders))
	messages := make([]event.New, len(orders))
	for i, o := range orders {
		traceID, traceparent := s.step(tx, topic, o)
		rows = append(rows, o.ID, o.Version, from, o.State, c.actor, c.reason, traceID, c.at)
		messages[i] = event.New{
			Topic: topic, Key: fmt.Sprintf("order:%d", o.ID), Seq: o.Version, MerchantID: o.MerchantID, At: c.at, Trace: traceparent,
			Payload: Changed{
				OrderID: o.ID, No: o.No, MerchantID: o.MerchantID, ShopperID: o.ShopperID, State: o.State,
				CloseReason: o.CloseReason, PayableFen: o.PayableFen, Version: o.Version, At: c.at,
			},
		}
	}
	b.Add("INSERT INTO order_events (order_id, version, from_state, to_state, actor, reason, trace_id, created_at) VALUES "+
		strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?)", len(orders))[2:], rows...)
	tx.AfterCommit(s.relayed)
	return event.Add(tx.Statement.Context, b, messages...)
}
