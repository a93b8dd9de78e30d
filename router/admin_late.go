package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminLatePayments(g *group, l *admin.LatePayments) {
	route(g, "GET", "/late-payments", merchant(account.AnomalyRead), l.All, doc{
		Summary:     "List confirmed payments that are not their order's, with their refunds",
		Description: "Newest first. Such a payment came after its order was closed, paid or re-priced; it is refunded in full by itself.",
	})
}
