// Package reconcile compares what the shop recorded of money with WeChat's bill of the day: every payment and every refund, in
// both directions. What it finds missing in the shop it hands to the order service, which alone settles; what does not add up
// becomes an anomaly, one a thing however often a day is compared.
//
// A day is a row of bills. The row of the next day is made when a day is first taken up, so that the days follow each other
// without a gap and one at a time, also after an outage of many. One task takes a day further in steps that end within the time a
// task may take; where a step stops, at whatever statement, the next one goes on.
package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// KindBill takes the reconciliation of a day further (bills.next_at). Its key is the day in digits.
const KindBill = "bill"

// WeChat is where bills come from.
type WeChat interface {
	TradeBill(ctx context.Context, day time.Time, kind wechat.BillType) (*wechat.Bill, error)
}

// Orders is who alone settles. Both record an anomaly where they return not_found (the number is not ours) or an error that is
// a Misfit.
type Orders interface {
	Settle(ctx context.Context, t wechat.Transaction) error
	RefundResult(ctx context.Context, r wechat.Refund) error
}

// Misfit is an error that says which field of WeChat's word does not fit the shop.
type Misfit interface {
	error
	Misfit() string
}

// Scheduler hands deadlines to the timeout module. Its errors are only logged: the database is asked again.
type Scheduler interface {
	Schedule(ctx context.Context, tasks ...timeout.Task) error
}

// Deps is what the service is made of.
type Deps struct {
	Store  *store.Store
	Now    func() model.Time
	Log    *slog.Logger
	WeChat WeChat
	Orders Orders
	Tasks  Scheduler
}

// Service is safe for concurrent use; many replicas may run over one database.
type Service struct{ Deps }

// New makes the service.
func New(d Deps) *Service { return &Service{d} }

const (
	// lease is how long others keep away from a day that is taken further. It is longer than a task may run.
	lease = 30 * time.Second
	// stepTime is after how long a step stops where it is.
	stepTime = 10 * time.Second
	// creatingRetry is WeChat's advice for a bill that it is still making.
	creatingRetry = 30 * time.Minute
	setupRetry    = time.Hour
)

// errMoved says that another replica, or a person, has taken the day over.
var errMoved = errors.New("reconcile: the day was taken over by somebody else")

// Kinds are the deadlines of bills, for the timeout module. One day at a time is enough work for a replica.
func (s *Service) Kinds() []timeout.Kind {
	return []timeout.Kind{{
		Name: KindBill, Handler: deadline.Each(s.due), Batch: 1, Workers: 1,
		Source: deadline.NewColumn(s.Store, KindBill, "bills", "next_at", "next_at IS NOT NULL"),
	}}
}

// schedule tells the timeout module of a day, after the commit that made it due.
func (s *Service) schedule(ctx context.Context, day Day, at model.Time) {
	if err := s.Tasks.Schedule(ctx, deadline.Task(KindBill, int64(day), at)); err != nil {
		s.Log.WarnContext(ctx, "a bill could not be scheduled; the database will be asked for it", "error", err, "day", day)
	}
}
