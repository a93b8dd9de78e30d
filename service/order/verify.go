package order

import (
	"context"

	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/wechat"
)

// Verify asks WeChat about the shopper's order now, settles it if it is paid, and returns the order. An order that is paid is
// not asked about again; a closed one is, for a payment may have come after all. wechat_unavailable where WeChat is silent.
func (s *Service) Verify(ctx context.Context, shopperID int64, no string) (*View, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, err
	}
	attempts, err := payment.Attempts(s.Store.Read(ctx), o.ID)
	if err != nil {
		return nil, err
	}
	settled := o.PaidAt != 0
	for i := len(attempts) - 1; i >= 0 && !settled; i-- {
		a := attempts[i]
		// Of the numbers that ended only the latest can still bring a surprise worth a call.
		if !payment.Live(a) && i != len(attempts)-1 {
			continue
		}
		t, err := s.WeChat.Query(ctx, a.OutTradeNo)
		switch {
		case wechat.KindOf(err) == wechat.KindNotFound:
		case err != nil:
			return nil, unanswered(err)
		case t.TradeState.Paid():
			if _, err := s.Settle(ctx, t); err != nil && !isMisfit(err) { // a misfit is recorded and pays nothing
				return nil, err
			}
			settled = true
		}
	}
	return s.Get(ctx, shopperID, no)
}
