// Package notice tells shoppers by WeChat's subscribe messages what happened to their orders. A message is written when a message
// of the local table tells of its event, and sent by a task of the timeout module; what it says is read when it is sent.
//
// WeChat takes no number that would make a repeated call harmless, so one of two promises must give: a message is sent at most
// once, or it arrives. Here it arrives: after a call without a certain answer, and after a kill between the call and its record, it
// is sent again, a few times at most. What a shopper might get twice names the same order and amount; what they might not get is
// that an order is about to close, or where the money is. Where they agreed to one message only, WeChat itself refuses the second.
package notice

import (
	"context"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// WeChat sends messages. Errors are *wechat.Error.
type WeChat interface {
	SendSubscribeMessage(ctx context.Context, m wechat.SubscribeMessage) error
}

// Scheduler hands deadlines to the timeout module. Its errors are only logged: the database is asked again.
type Scheduler interface {
	Schedule(ctx context.Context, tasks ...timeout.Task) error
}

// Deps is what the service works with; all are required.
type Deps struct {
	Store  *store.Store
	Now    func() model.Time
	Log    *slog.Logger
	WeChat WeChat
	Tasks  Scheduler
	// Zone is the shop's time zone; the times in messages are in it.
	Zone *time.Location
}

// Service is safe for concurrent use; many replicas may run over one database.
type Service struct{ Deps }

// Retention is how long messages to shoppers are kept after what they told of. One that still waits then has long been of no use.
const Retention = 90 * 24 * time.Hour

// New returns the service.
func New(d Deps) *Service { return &Service{Deps: d} }
