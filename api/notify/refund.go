package notify

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/wechat"
)

// Refund takes WeChat's word of a refund.
type Refund struct {
	*Shared
	WeChat interface {
		ParseRefundNotice(ctx context.Context, header map[string][]string, body []byte) (wechat.RefundNotice, error)
	}
	Orders interface {
		RefundResult(ctx context.Context, r wechat.Refund) error
		RefundMisfit(ctx context.Context, r wechat.Refund, field string) error
	}
}

// Handle answers as Pay's does.
func (r *Refund) Handle(c *gin.Context) {
	r.handle(c, model.CallbackRefund, func(ctx context.Context, body []byte, seen *model.Callback) (outcome, error) {
		n, err := r.WeChat.ParseRefundNotice(ctx, c.Request.Header, body)
		seen.NoticeID, seen.EventType, seen.AmountFen = n.ID, n.EventType, model.Fen(n.AmountRefund)
		seen.OutTradeNo, seen.OutRefundNo = n.OutTradeNo, n.OutRefundNo
		if err != nil {
			o, field := refused(err)
			if field == "mchid" || field == "amount" {
				err = errors.Join(err, notMisfit(r.Orders.RefundMisfit(ctx, n.Refund, field)))
			}
			return o, err
		}
		err = r.Orders.RefundResult(ctx, n.Refund)
		return settledAs(err), err
	})
}
