package payment

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Inbox makes WeChat's message pushes single-use: the row with the push's id and its effect are one transaction, so a push
// whose effect failed can be sent again and one that had its effect cannot.
type Inbox struct {
	Store *store.Store
	Now   func() model.Time
}

// Take runs effect in a transaction unless the push with the id had its effect before; first tells.
func (i Inbox) Take(ctx context.Context, id, event string, effect func(tx *store.Tx) error) (first bool, err error) {
	err = i.Store.Tx(ctx, func(tx *store.Tx) error {
		first = false
		err := tx.Create(&model.PushMessage{MessageID: id, Event: event, ReceivedAt: i.Now()}).Error
		if err != nil {
			return err
		}
		first = true
		return effect(tx)
	})
	if store.IsDuplicate(err, "push_messages", "PRIMARY") {
		return false, nil
	}
	return first && err == nil, err
}
