package admin

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
)

// OrderRemark is what the merchant's people noted on an order.
type OrderRemark struct {
	Text    string     `json:"text,omitempty"`
	Version int64      `json:"version" doc:"Its own; 0 where nothing was noted yet"`
	Actor   string     `json:"actor,omitempty" example:"admin:3" doc:"Who wrote it"`
	At      model.Time `json:"at,omitempty" format:"date-time"`
}

func orderRemarkOf(r model.OrderRemark) OrderRemark {
	return OrderRemark{Text: r.Text, Version: r.Version, Actor: r.Actor, At: r.CreatedAt}
}

// OrderRemarkBody is the remark in place of the former one.
type OrderRemarkBody struct {
	Text    string `json:"text" maxLength:"500" doc:"Empty takes the remark away"`
	Version int64  `json:"version" minimum:"0" maximum:"9007199254740991" doc:"The remark's version that was read; 0 where there was none"`
}

// OrderRemarkInput notes something on an order.
type OrderRemarkInput struct {
	api.OrderPath
	Body OrderRemarkBody
}

// Remark notes something on an order.
func (c *OrderChanges) Remark(ctx context.Context, in *OrderRemarkInput) (*api.Reply[OrderDetail], error) {
	err := c.Service.SetMerchantRemark(ctx, api.Admin(ctx).MerchantID, in.No, api.Caller(ctx), strings.TrimSpace(in.Body.Text), in.Body.Version)
	return c.after(ctx, in.OrderPath, err)
}
