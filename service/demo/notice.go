package demo

import (
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/notice"
)

// orderPage is where a tap on a message leads.
const orderPage = "pages/order/detail?no={order_no}"

// templates are those of subscribe messages, under ids that only the simulator takes.
func templates(now model.Time) []model.SubscribeTemplate {
	rows := []model.SubscribeTemplate{
		{Event: notice.EventPaid, TemplateID: "DEMO_order_paid_subscribe_template_00000001", Fields: map[string]string{
			"character_string1": "order_no", "thing2": "goods", "amount3": "amount", "time4": "paid_at", "thing5": "text:我们会尽快为您发货",
		}},
		{Event: notice.EventShipped, TemplateID: "DEMO_order_shipped_subscribe_template_00002", Fields: map[string]string{
			"character_string1": "order_no", "thing2": "goods", "thing3": "carrier", "character_string4": "tracking_no", "time5": "shipped_at",
		}},
		{Event: notice.EventExpiring, TemplateID: "DEMO_order_expiring_subscribe_template_0003", Fields: map[string]string{
			"character_string1": "order_no", "thing2": "goods", "amount3": "amount", "time4": "deadline", "phrase5": "status",
		}},
		{Event: notice.EventClosed, TemplateID: "DEMO_order_closed_subscribe_template_000004", Fields: map[string]string{
			"character_string1": "order_no", "thing2": "goods", "phrase3": "close_reason", "time4": "closed_at",
		}},
		{Event: notice.EventRefunded, TemplateID: "DEMO_refund_subscribe_template_000000000005", Fields: map[string]string{
			"character_string1": "order_no", "thing2": "goods", "amount3": "refund_amount", "time4": "refund_at",
		}},
	}
	for i := range rows {
		rows[i].Page, rows[i].Enabled, rows[i].Version, rows[i].CreatedAt, rows[i].ChangedAt = orderPage, true, 1, now, now
	}
	return rows
}
