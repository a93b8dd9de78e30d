package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminOrders(g *group, o *admin.Orders) {
	route(g, "GET", "/orders", merchant(account.OrderRead), o.List, doc{
		Summary: "List orders",
		Description: "Newest first. With close_reason, shopper_id, nickname, product_id, sku_id, min_fen, max_fen, aftersale_open or fewer than nine " +
			"characters in q the list is searched for: it is read by cursor only and has no total, and a page may have fewer orders than its " +
			"limit, or none, while next says that there may be more.",
	})
	route(g, "GET", "/orders/{no}", merchant(account.OrderRead), o.Get, doc{Summary: "Get an order with its history"})
	route(g, "GET", "/orders/{no}/timeline", merchant(account.OrderRead), o.Timeline, doc{
		Summary: "Get everything that happened to an order", Description: "In order of time, the oldest first. Messages are there as long as their table keeps them.",
	})
}
