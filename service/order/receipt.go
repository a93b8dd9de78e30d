package order

import (
	"context"
	"errors"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// ConfirmAtWeChat is Confirm where the shopper confirmed in WeChat's own component: the phone's word for that is not the truth, so
// WeChat is asked. receipt_unconfirmed where it says otherwise, wechat_unavailable where it is silent; errors of Confirm.
func (s *Service) ConfirmAtWeChat(ctx context.Context, shopperID int64, no string) (*View, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, err
	}
	switch o.State {
	case model.OrderCompleted:
		return s.byIDView(ctx, o.ID)
	case model.OrderShipped:
	default:
		return nil, fault.New(fault.OrderState)
	}
	if err := s.received(ctx, o); err != nil {
		return nil, err
	}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error { return s.Complete(tx, o.ID, ActorShopper(shopperID), "confirmed at WeChat") })
	if err != nil {
		return nil, err
	}
	return s.byIDView(ctx, o.ID)
}

// received asks WeChat whether the goods of an order were received. What cost nothing is not known there.
func (s *Service) received(ctx context.Context, o *model.Order) error {
	unconfirmed := fault.New(fault.ReceiptUnconfirmed)
	var paid []model.Payment
	if err := s.Store.Read(ctx).Where("settled_order = ?", o.ID).Limit(1).Find(&paid).Error; err != nil {
		return store.Classify(err)
	}
	if len(paid) == 0 {
		return unconfirmed
	}
	at, err := s.WeChat.QueryShipping(ctx, paid[0].OutTradeNo)
	var e *wechat.Error
	switch {
	case err == nil && at.State.Received():
		return nil
	case err == nil, errors.As(err, &e) && e.Code == wechat.CodeShippingNoPay:
		return unconfirmed
	}
	return unanswered(err)
}
