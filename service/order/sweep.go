package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// queryDue asks WeChat about an attempt whose callback has not come: paid is settled, and a number of an order that was paid
// or closed without it is ended.
func (s *Service) queryDue(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	a, err := payment.AttemptByID(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return failed(err)
	case a == nil || !payment.Live(a) || a.NextQueryAt == nil:
		return timeout.Done()
	case *a.NextQueryAt > due:
		return timeout.Reschedule(int64(*a.NextQueryAt))
	}
	o, err := one(s.Store.Read(ctx).Where("id = ?", a.OrderID))
	if err != nil {
		return failed(err)
	}
	if o.State != model.OrderPending {
		return s.endUnneeded(ctx, a)
	}
	t, err := s.WeChat.Query(ctx, a.OutTradeNo)
	switch {
	case err != nil:
		return timeout.Again(err)
	case t.TradeState.Paid():
		return s.settleQueried(ctx, a, t)
	}
	return s.askLater(ctx, a, payment.NextQuery(a.PrepayAt, a.Queries+1))
}

// settleQueried settles a payment that a query found. One that does not fit is an anomaly now; asking on changes nothing.
func (s *Service) settleQueried(ctx context.Context, a *model.PaymentAttempt, t wechat.Transaction) timeout.Outcome {
	_, err := s.Settle(ctx, t)
	if isMisfit(err) {
		return s.askLater(ctx, a, nil)
	}
	if err != nil {
		return failed(err)
	}
	return timeout.Done()
}

// endUnneeded ends a number whose order was paid by another one.
func (s *Service) endUnneeded(ctx context.Context, a *model.PaymentAttempt) timeout.Outcome {
	end, err := s.endAtWeChat(ctx, a)
	switch {
	case err != nil:
		return failed(err)
	case end.paid != nil:
		return s.settleQueried(ctx, a, *end.paid)
	case end.silence != nil:
		return timeout.Again(end.silence)
	case end.wait != 0:
		return s.askLater(ctx, a, &end.wait)
	}
	if err := s.endAttempt(ctx, a); err != nil {
		return failed(err)
	}
	return timeout.Done()
}

func (s *Service) askLater(ctx context.Context, a *model.PaymentAttempt, next *model.Time) timeout.Outcome {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		_, err := payment.AskNext(tx, a, *a.NextQueryAt, next) // another replica that asked too was first: its time counts
		return err
	})
	switch {
	case err != nil:
		return failed(err)
	case next == nil:
		return timeout.Done()
	}
	return timeout.Reschedule(int64(*next))
}
