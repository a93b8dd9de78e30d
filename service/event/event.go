// Package event is the local message table. A change writes its message in its own transaction with Append; the relay delivers
// it afterwards to the subscribers in this process, in order for each key, as often as it takes.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// New is a message to append. Key names the aggregate that changed ("order:17") and Seq is its version: a key has one message a
// version, and they are delivered in that order.
type New struct {
	Topic string
	Key   string
	Seq   int64
	// MerchantID is whose message it is.
	MerchantID int64
	// Payload is stored as JSON.
	Payload any
	// Trace is a W3C traceparent; empty takes that of the transaction's context.
	Trace string
	// At is when the change happened; the message is due from then on.
	At model.Time
}

// Message is one being delivered.
type Message struct {
	ID         int64
	Topic      string
	Key        string
	Seq        int64
	MerchantID int64
	Payload    []byte
	Trace      string
	CreatedAt  model.Time
	// Attempts is how often a subscriber has failed on it by an error of its own.
	Attempts int
}

// Decode reads the payload into v.
func (m Message) Decode(v any) error {
	if err := json.Unmarshal(m.Payload, v); err != nil {
		return fmt.Errorf("payload of message %d (%s): %w", m.ID, m.Topic, err)
	}
	return nil
}

// Subscriber has an effect for every message of a topic. Handle may be called again with the same message, also by another
// replica at the same time, so it writes its receipt with Once in the transaction of its effect. It makes no network call.
type Subscriber struct {
	// Name is unique and never changes: receipts carry it. At most 64 bytes.
	Name   string
	Topic  string
	Handle func(ctx context.Context, m Message) error
}

const appendRows = 500 // a statement; SQLite takes 32,766 parameters

// Append writes the messages in the caller's transaction, at once. A key and seq that are there already fail with a duplicate
// (store.IsDuplicate): the aggregate's version was not raised.
func Append(tx *store.Tx, msgs ...New) error {
	var b store.Batch
	if err := Add(tx.Statement.Context, &b, msgs...); err != nil {
		return err
	}
	return tx.Send(&b)
}

// Add is Append for a batch that the caller sends. The context's trace is that of messages that name none.
func Add(ctx context.Context, b *store.Batch, msgs ...New) error {
	const row = ", (?, ?, ?, ?, ?, ?, 'pending', ?, '', 0, 0, '', ?, 0)"
	trace := TraceParent(ctx)
	for some := range slices.Chunk(msgs, appendRows) {
		args := make([]any, 0, 8*len(some))
		for _, m := range some {
			if m.Topic == "" || m.Key == "" || m.Seq < 1 || m.At.IsZero() {
				return fmt.Errorf("a message needs a topic, a key, a seq from 1 and a time: %+v", m)
			}
			payload, err := json.Marshal(m.Payload)
			if err != nil {
				return fmt.Errorf("payload of a message for %s: %w", m.Topic, err)
			}
			if m.Trace == "" {
				m.Trace = trace
			}
			args = append(args, m.Topic, m.Key, m.Seq, m.MerchantID, string(payload), m.Trace, m.At, m.At)
		}
		b.Add("INSERT INTO messages (topic, msg_key, seq, merchant_id, payload, trace, state, due_at, lease_token, "+
			"lease_until, attempts, error, created_at, sent_at) VALUES "+strings.Repeat(row, len(some))[2:], args...)
	}
	return nil
}

// Once writes the receipt of a subscriber for a message in the transaction of its effect. It returns false if the effect was had
// before; the caller then does nothing. Two deliveries at once wait for each other here.
func Once(tx *store.Tx, subscriber string, m Message, now model.Time) (first bool, err error) {
	// The id is written over itself: a duplicate then changes no row. INSERT IGNORE would hide other errors.
	onDuplicate := " ON DUPLICATE KEY UPDATE message_id = message_id"
	if tx.Dialect() == store.SQLite {
		onDuplicate = " ON CONFLICT DO NOTHING"
	}
	n, err := tx.Affected("INSERT INTO subscriber_receipts (subscriber, message_id, created_at) VALUES (?, ?, ?)"+onDuplicate,
		subscriber, m.ID, now)
	if err != nil {
		return false, fmt.Errorf("receipt of %s for message %d: %w", subscriber, m.ID, err)
	}
	return n == 1, nil
}

var w3c propagation.TraceContext

// TraceParent returns the W3C traceparent of the context's span, 55 characters; empty outside a trace.
func TraceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// WithTrace returns a context in which spans continue the trace of a traceparent. One that is empty or damaged leaves the context
// as it is.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	return w3c.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
