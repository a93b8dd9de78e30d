package order

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// phoneTail is how many digits of a phone number are shown, and looked for.
const phoneTail = 4

// isTail reports whether people who type s mean the tail of a phone number.
func isTail(s string) bool { return len(s) == phoneTail && strings.Trim(s, "0123456789") == "" }

// digitsOf are the digits of the receiver's phone number; none without an address.
func digitsOf(a *model.OrderAddress) string {
	if a == nil {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, a.Phone)
}

// tailOf are the last digits of the receiver's phone number.
func tailOf(a *model.OrderAddress) string {
	digits := digitsOf(a)
	return digits[max(len(digits)-phoneTail, 0):]
}

const (
	tailRows  = 200
	tailPause = 20 * time.Millisecond
	tailEvery = time.Minute
)

// TailFiller gives the orders that lack the tail of their receiver's phone number one: those of before there was the column, and, while
// replicas of an older version still place orders, theirs too. What is left to do is what an index finds, so any number of fillers may
// run, be killed and start again.
type TailFiller struct {
	Store *store.Store
	Log   *slog.Logger

	stop context.CancelFunc
	done chan struct{}
}

// Start begins to fill, and to look every minute for what is to be filled.
func (f *TailFiller) Start(ctx context.Context) error {
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		for {
			n, err := f.fill(ctx)
			if err != nil && ctx.Err() == nil {
				f.Log.WarnContext(ctx, "older orders are not found by phone for the moment", "error", err)
			}
			pause := tailEvery
			if n == tailRows {
				pause = tailPause
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}()
	return nil
}

// Stop ends the filling and returns when it has ended, or with the error of ctx when that ends first.
func (f *TailFiller) Stop(ctx context.Context) error {
	f.stop()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fill fills in up to tailRows orders and returns how many it found. The merchants come first in the join: the index has the orders of
// one merchant that lack a tail.
func (f *TailFiller) fill(ctx context.Context) (int, error) {
	join := "CROSS JOIN orders AS o"
	if f.Store.Dialect() == store.MySQL {
		join = "STRAIGHT_JOIN orders AS o FORCE INDEX (ix_orders_merchant_tail)"
	}
	var rows []struct {
		ID      int64
		Address string
	}
	err := f.Store.Read(ctx).Raw("SELECT o.id, COALESCE(o.address, '') AS address FROM merchants AS m "+join+
		" WHERE o.merchant_id = m.id AND o.receiver_phone_tail IS NULL LIMIT ?", tailRows).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return 0, store.Classify(err)
	}
	ids, cases := make([]int64, len(rows)), make([]any, 0, 2*len(rows)+1)
	for i, r := range rows {
		var a model.OrderAddress
		if r.Address != "" {
			if err := json.Unmarshal([]byte(r.Address), &a); err != nil {
				return 0, err
			}
		}
		ids[i], cases = r.ID, append(cases, r.ID, tailOf(&a))
	}
	err = f.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE orders SET receiver_phone_tail = CASE id"+strings.Repeat(" WHEN ? THEN ?", len(rows))+
			" END WHERE id IN ? AND receiver_phone_tail IS NULL", append(cases, ids)...).Error
	})
	return len(rows), err
}
