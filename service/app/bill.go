package app

import (
	"context"

	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

// settler hands what a bill tells to the order service.
type settler struct{ *order.Service }

// Settle settles without saying what became of the payment: the bill asks no further.
func (s settler) Settle(ctx context.Context, t wechat.Transaction) error {
	_, err := s.Service.Settle(ctx, t)
	return err
}
