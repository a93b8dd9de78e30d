package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminAnomalies(g *group, a *admin.Anomalies) {
	route(g, "GET", "/anomalies", merchant(account.AnomalyRead), a.All, doc{
		Summary: "List money that does not add up", Description: "Newest first. Admins of the platform also see what belongs to no merchant.",
	})
	route(g, "GET", "/anomalies/{id}", merchant(account.AnomalyRead), a.Get, doc{
		Summary: "Get an anomaly with what the shop knows of it", Codes: []fault.Code{fault.NotFoundError},
		Description: "The order, the payment, the refund and the amounts on both sides, as far as there are any.",
	})
	route(g, "POST", "/anomalies/{id}/resolve", merchant(account.AnomalyWrite), a.Resolve, doc{
		Summary: "Resolve an anomaly with a note", Description: "An order whose closing waited for it goes on closing.",
		Codes: []fault.Code{fault.StateConflict}, Example: admin.ResolveBody{Note: "checked with WeChat, nothing to do"},
	})
}
