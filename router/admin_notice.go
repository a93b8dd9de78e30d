package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminNotices(g *group, n *admin.Notices) {
	route(g, "GET", "/subscribe-templates", platform(account.SubscribeRead), n.Templates, doc{
		Summary: "List the templates of subscribe messages", Description: "One for every event, with what its fields may hold.",
	})
	route(g, "PUT", "/subscribe-templates/{event}", platform(account.SubscribeWrite), n.SetTemplate, doc{
		Summary: "Set the template of an event", Description: "What happens from then on is told by it; values are cut to WeChat's rules by character.",
		Codes: []fault.Code{fault.StaleVersion},
		Example: admin.SubscribeTemplateBody{
			TemplateID: "4fO4mA1hKq2nGgV0m1yJ0a6bXr7c8d9eFgHiJkLmNoP", Page: "pages/order/detail?no={order_no}", Enabled: true,
			Fields: admin.SubscribeFields{"character_string1": "order_no", "thing2": "goods", "amount3": "amount", "time4": "paid_at", "thing5": "text:感谢您的惠顾"},
		},
	})
	route(g, "GET", "/subscribe-messages", platform(account.SubscribeRead), n.Messages, doc{
		Summary: "List the messages to shoppers", Description: "Newest first; kept for 90 days. Those of one order are in its detail.",
	})
}
