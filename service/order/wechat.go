package order

import (
	"context"

	"github.com/tidemall/tidemall/service/wechat"
)

// WeChat is what orders need of WeChat Pay and of WeChat's shipping management. No call is made inside a transaction.
type WeChat interface {
	AppID() string
	MchID() string
	PayNotifyURL() string
	RefundNotifyURL() string
	Prepay(ctx context.Context, req wechat.PrepayRequest) (string, error)
	PayParams(prepayID string) (wechat.RequestPayment, error)
	Query(ctx context.Context, outTradeNo string) (wechat.Transaction, error)
	Close(ctx context.Context, outTradeNo string) error
	Refund(ctx context.Context, req wechat.RefundRequest) (wechat.Refund, error)
	QueryRefund(ctx context.Context, outRefundNo string) (wechat.Refund, error)
	UploadShipping(ctx context.Context, up wechat.ShippingUpload) error
	QueryShipping(ctx context.Context, outTradeNo string) (wechat.ShippingOrder, error)
}
