package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

// Payments has the shopper's operations that pay an order or end it.
type Payments struct {
	Service interface {
		Pay(ctx context.Context, shopperID int64, no string) (wechat.RequestPayment, error)
		Verify(ctx context.Context, shopperID int64, no string) (*order.View, error)
		Cancel(ctx context.Context, shopperID int64, no string) (*order.View, error)
		Confirm(ctx context.Context, shopperID int64, no string) (*order.View, error)
		ConfirmAtWeChat(ctx context.Context, shopperID int64, no string) (*order.View, error)
	}
	Pictures api.Pictures
}

// PayParameters are what wx.requestPayment takes, named as it names them.
type PayParameters struct {
	TimeStamp string `json:"timeStamp" doc:"Unix seconds, as text"`
	NonceStr  string `json:"nonceStr"`
	Package   string `json:"package" example:"prepay_id=wx201410272009395522657a690389285100"`
	SignType  string `json:"signType" example:"RSA"`
	PaySign   string `json:"paySign"`
}

// OrderNoInput names an order.
type OrderNoInput struct{ api.OrderPath }

// Pay opens the order at WeChat, again if need be.
func (p *Payments) Pay(ctx context.Context, in *OrderNoInput) (*api.Reply[PayParameters], error) {
	r, err := p.Service.Pay(ctx, api.Shopper(ctx), in.No)
	if err != nil {
		return nil, err
	}
	return api.Body(PayParameters{TimeStamp: r.TimeStamp, NonceStr: r.NonceStr, Package: r.Package, SignType: r.SignType, PaySign: r.PaySign}), nil
}

// Verify asks WeChat whether the order is paid.
func (p *Payments) Verify(ctx context.Context, in *OrderNoInput) (*api.Reply[api.Order], error) {
	return p.order(p.Service.Verify(ctx, api.Shopper(ctx), in.No))
}

// Cancel closes an unpaid order.
func (p *Payments) Cancel(ctx context.Context, in *OrderNoInput) (*api.Reply[api.Order], error) {
	return p.order(p.Service.Cancel(ctx, api.Shopper(ctx), in.No))
}

// ConfirmBody says where the shopper confirmed.
type ConfirmBody struct {
	Via string `json:"via,omitempty" enum:"wechat" doc:"wechat: WeChat's component (wx.openBusinessView, weappOrderConfirm) says that it succeeded; WeChat is asked whether that is so"`
}

// ConfirmInput confirms an order's receipt.
type ConfirmInput struct {
	api.OrderPath
	Body *ConfirmBody
}

// Confirm records that the goods arrived.
func (p *Payments) Confirm(ctx context.Context, in *ConfirmInput) (*api.Reply[api.Order], error) {
	if in.Body != nil && in.Body.Via != "" {
		return p.order(p.Service.ConfirmAtWeChat(ctx, api.Shopper(ctx), in.No))
	}
	return p.order(p.Service.Confirm(ctx, api.Shopper(ctx), in.No))
}

func (p *Payments) order(v *order.View, err error) (*api.Reply[api.Order], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(api.OrderOf(*v, v.ShopperActions(), p.Pictures)), nil
}
