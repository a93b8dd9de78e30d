package admin

import (
	"context"
	"strconv"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
)

// OrderMoment is one thing that happened to an order.
type OrderMoment struct {
	At        model.Time       `json:"at" format:"date-time"`
	Kind      order.MomentKind `json:"kind" enum:"event,attempt,attempt_ended,payment,callback,message,refund,refund_ended,aftersale,aftersale_now,parcel,upload,received,settled,anomaly,anomaly_resolved,remark,notice" doc:"What happened"`
	Actor     string           `json:"actor,omitempty" example:"admin:3" doc:"Who did it: shopper:ID, admin:ID, timeout, wechat"`
	Status    string           `json:"status,omitempty" doc:"Where the thing stood then, or stands now where its steps are not kept"`
	Reason    string           `json:"reason,omitempty"`
	AmountFen model.Fen        `json:"amount_fen,omitempty"`
	Ref       string           `json:"ref,omitempty" doc:"The number or id of the thing"`
	Details   map[string]any   `json:"details,omitempty" doc:"What else is known, for reading"`
}

// Timeline returns everything that happened to one of the merchant's orders.
func (o *Orders) Timeline(ctx context.Context, in *OrderGetInput) (*api.Reply[api.All[OrderMoment]], error) {
	moments, id, err := o.Service.Timeline(ctx, api.Admin(ctx).MerchantID, in.No)
	if err != nil {
		return nil, err
	}
	if o.Notices != nil {
		rows, err := o.Notices.OfOrder(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, n := range rows {
			moments = append(moments, noticeMoment(n))
		}
		order.SortMoments(moments)
	}
	list := make([]OrderMoment, len(moments))
	for i, m := range moments {
		list[i] = OrderMoment{At: m.At, Kind: m.Kind, Actor: m.Actor, Status: m.Status, Reason: m.Reason, AmountFen: m.Amount, Ref: m.Ref, Details: m.Details}
	}
	return api.NewAll(list), nil
}

func noticeMoment(n model.SubscribeMessage) order.Moment {
	d := map[string]any{"event": n.Event, "calls": n.Calls}
	if n.Code != "" {
		d["code"] = n.Code
	}
	if n.SentAt != 0 {
		d["sent_at"] = n.SentAt
	}
	return order.Moment{At: n.CreatedAt, Kind: order.MomentNotice, Status: string(n.State), Reason: n.Error, Ref: strconv.FormatInt(n.ID, 10), Details: d}
}
