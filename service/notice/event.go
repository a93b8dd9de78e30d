package notice

import (
	"slices"

	"github.com/tidemall/tidemall/service/fault"
)

// The events that shoppers can be told of.
const (
	EventPaid     = "order_paid"
	EventShipped  = "order_shipped"
	EventExpiring = "order_expiring"
	EventClosed   = "order_closed"
	EventRefunded = "refund_succeeded"
)

// Event is something that shoppers can be told of.
type Event struct {
	Name string
	Text fault.Text
	// status is the event in Han characters, for fields of the kind phrase.
	status string
	// sources are those that only this event and others like it have, beside the ones of every order.
	sources []string
}

var events = []Event{
	{EventPaid, fault.Text{ZH: "订单支付成功", EN: "The order is paid"}, "已支付", []string{"paid_at"}},
	{EventShipped, fault.Text{ZH: "订单已发货", EN: "The order is shipped"}, "已发货", []string{"shipped_at", "carrier", "tracking_no"}},
	{EventExpiring, fault.Text{ZH: "订单即将关闭", EN: "The order is about to close"}, "待付款", []string{"deadline"}},
	{EventClosed, fault.Text{ZH: "订单已关闭（超时或商家关闭）", EN: "The order is closed, by its deadline or the merchant"}, "已关闭", []string{"closed_at", "close_reason"}},
	{EventRefunded, fault.Text{ZH: "退款成功", EN: "A refund succeeded"}, "已退款", []string{"refund_amount", "refund_at", "refund_no", "refund_reason"}},
}

// Events lists the events that shoppers can be told of. The caller must not change the list.
func Events() []Event { return events }

func eventOf(name string) (Event, bool) {
	i := slices.IndexFunc(events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return events[i], true
}

// Sources lists where the values of the event's fields may come from, besides fixed texts.
func (e Event) Sources() []Source {
	return slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return !s.always && !slices.Contains(e.sources, s.Name) })
}

func (e Event) source(name string) (Source, bool) {
	all := e.Sources()
	i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name })
	if i < 0 {
		return Source{}, false
	}
	return all[i], true
}
