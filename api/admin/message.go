package admin

import (
	"context"
	"encoding/json"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// Messages has the operations on the local message table.
type Messages struct {
	Relay interface {
		List(ctx context.Context, f event.Filter, page store.Page) ([]event.Listed, int64, error)
		ListAfter(ctx context.Context, f event.Filter, after store.Cursor, limit int) ([]event.Listed, *store.Cursor, error)
		Retry(ctx context.Context, merchantID, id int64) (model.Message, error)
		Skip(ctx context.Context, merchantID, id int64) (model.Message, error)
	}
}

// Message tells of one change; it is delivered to the parts of the shop that act on it.
type Message struct {
	ID        int64              `json:"id"`
	Topic     string             `json:"topic" example:"order.paid"`
	Key       string             `json:"key" doc:"What changed; messages of a key are delivered in order" example:"order:17"`
	Seq       int64              `json:"seq" doc:"The version of it that the message tells of"`
	Status    model.MessageState `json:"status" enum:"pending,sent,dead,skipped" doc:"A dead one holds those of its key behind it until it is retried or skipped"`
	Attempts  int                `json:"attempts" doc:"How often it has failed"`
	Error     string             `json:"error,omitempty" doc:"The last failure"`
	Payload   any                `json:"payload,omitempty" doc:"What it says"`
	Trace     string             `json:"trace,omitempty" doc:"W3C traceparent of the change"`
	DueAt     model.Time         `json:"due_at,omitempty" format:"date-time" doc:"When it is tried next"`
	CreatedAt model.Time         `json:"created_at" format:"date-time"`
	SentAt    model.Time         `json:"sent_at,omitempty" format:"date-time"`
	Blocks    int64              `json:"blocks,omitempty" doc:"In a list: how many messages of its key wait behind this dead one"`
}

func messageOf(m model.Message) Message {
	out := Message{
		ID: m.ID, Topic: m.Topic, Key: m.Key, Seq: m.Seq, Status: m.State, Attempts: m.Attempts, Error: m.Error,
		Trace: m.Trace, CreatedAt: m.CreatedAt, SentAt: m.SentAt,
	}
	if json.Unmarshal([]byte(m.Payload), &out.Payload) != nil {
		out.Payload = m.Payload
	}
	// One that waits behind a dead message has no time of its own; its due time lies beyond any that a relay sets.
	if m.State == model.MessagePending && m.DueAt.Std().Year() < 9999 {
		out.DueAt = m.DueAt
	}
	return out
}

// MessageListInput asks for a page of messages.
type MessageListInput struct {
	api.DeepInput
	Status model.MessageState `query:"status" enum:"pending,sent,dead,skipped" doc:"Only messages that stand here"`
	Topic  string             `query:"topic" maxLength:"64" doc:"Only messages of this topic" example:"order.paid"`
	Key    string             `query:"key" maxLength:"64" doc:"Only messages about this" example:"order:17"`
}

// All returns messages, newest first.
func (m *Messages) All(ctx context.Context, in *MessageListInput) (*api.Reply[api.Deep[Message]], error) {
	f := event.Filter{MerchantID: api.Admin(ctx).MerchantID, State: in.Status, Topic: in.Topic, Key: in.Key}
	rows, next, total, err := api.DeepRows(ctx, in.DeepInput,
		func(ctx context.Context, after store.Cursor, limit int) ([]event.Listed, *store.Cursor, error) {
			return m.Relay.ListAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]event.Listed, int64, error) {
			return m.Relay.List(ctx, f, p)
		},
		event.Listed.Cursor)
	if err != nil {
		return nil, err
	}
	out := make([]Message, len(rows))
	for i, row := range rows {
		out[i] = messageOf(row.Message)
		out[i].Blocks = row.Blocks
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}

// MessageInput names a message.
type MessageInput struct{ api.IDPath }

// Retry gives a dead message another round of attempts.
func (m *Messages) Retry(ctx context.Context, in *MessageInput) (*api.Reply[Message], error) {
	return messageReply(m.Relay.Retry(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// Skip passes a dead message over.
func (m *Messages) Skip(ctx context.Context, in *MessageInput) (*api.Reply[Message], error) {
	return messageReply(m.Relay.Skip(ctx, api.Admin(ctx).MerchantID, in.ID))
}

func messageReply(row model.Message, err error) (*api.Reply[Message], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(messageOf(row)), nil
}
