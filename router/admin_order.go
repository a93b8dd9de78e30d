package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminOrders(g *group, o *admin.Orders) {
	route(g, "GET", "/orders", merchant(account.OrderRead), o.List, doc{Summary: "List orders", Description: "Newest first."})
	route(g, "GET", "/orders/{no}", merchant(account.OrderRead), o.Get, doc{Summary: "Get an order with its history"})
}
