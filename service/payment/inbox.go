package payment

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// PushRetention is how long a push is known to have been taken. One that comes again later is refused for its age.
const PushRetention = 30 * 24 * time.Hour

// Inbox makes WeChat's message pushes single-use: the row with the push's id and its effect are one transaction, so a push
// whose effect failed can be sent again and one that had its effect cannot.
type Inbox struct {
	Store *store.Store
	Now   func() model.Time
}

// Take runs effect in a transaction unless the push with the id had its effect before; first tells.
func (i Inbox) Take(ctx context.Context, id, event string, effect func(tx *store.Tx) error) (first bool, err error) {
	err = i.Store.Tx(ctx, func(tx *store.Tx) error {
		// The id is written over itself: a duplicate then changes no row.
		onDuplicate := " ON DUPLICATE KEY UPDATE message_id = message_id"
		if tx.Dialect() == store.SQLite {
			onDuplicate = " ON CONFLICT DO NOTHING"
		}
		n, err := tx.Affected("INSERT INTO push_messages (message_id, event, received_at) VALUES (?, ?, ?)"+onDuplicate, id, event, i.Now())
		first = n == 1
		if err != nil || !first {
			return err
		}
		return effect(tx)
	})
	return first && err == nil, err
}
