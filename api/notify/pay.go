package notify

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

// Pay takes WeChat's word of a payment.
type Pay struct {
	*Shared
	WeChat interface {
		ParsePayNotice(ctx context.Context, header map[string][]string, body []byte) (wechat.PayNotice, error)
	}
	Orders interface {
		Settle(ctx context.Context, t wechat.Transaction) (order.Settled, error)
		Misfit(ctx context.Context, t wechat.Transaction, field, detail string) error
	}
}

// Handle answers 204 once the payment is recorded, whatever became of it; 401 for what is not verifiably WeChat's, 400 for what
// does not fit (an anomaly where money is concerned), 5xx for what shall be sent again.
func (p *Pay) Handle(c *gin.Context) {
	p.handle(c, model.CallbackPay, func(ctx context.Context, body []byte, seen *model.Callback) (outcome, error) {
		n, err := p.WeChat.ParsePayNotice(ctx, c.Request.Header, body)
		seen.NoticeID, seen.EventType, seen.OutTradeNo, seen.AmountFen = n.ID, n.EventType, n.OutTradeNo, model.Fen(n.AmountTotal)
		if err != nil {
			o, field := refused(err)
			if field == "appid" || field == "mchid" || field == "amount" {
				err = errors.Join(err, notMisfit(p.Orders.Misfit(ctx, n.Transaction, field, "the callback does not fit the shop")))
			}
			return o, err
		}
		settled, err := p.Orders.Settle(ctx, n.Transaction)
		if !settled.First {
			seen.Verdict = model.CallbackDuplicate
		}
		return settledAs(err), err
	})
}

// notMisfit leaves what kept an anomaly from being recorded.
func notMisfit(err error) error {
	var m *order.MisfitError
	if errors.As(err, &m) {
		return nil
	}
	return err
}
