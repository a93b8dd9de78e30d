package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminCallbacks(g *group, c *admin.Callbacks) {
	route(g, "GET", "/callbacks", merchant(account.AnomalyRead), c.All, doc{
		Summary: "List what WeChat called the shop about",
		Description: "Newest first, kept for thirty days. Only what was verifiably WeChat's; the same notification with the same outcome is counted on one row. " +
			"Admins of the platform also see what is about no order.",
	})
	route(g, "GET", "/callbacks/refused", platform(account.AnomalyRead), c.Refused, doc{
		Summary:     "Get the figures of callbacks that were not verifiably WeChat's",
		Description: "Anybody can send such things: they are counted by hour and reason, and of each reason the latest is kept as an example.",
	})
}
