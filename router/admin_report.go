package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminReports(g *group, r *admin.Reports) {
	route(g, "GET", "/report/overview", merchant(account.ReportRead), r.Overview, doc{
		Summary: "Figures of a time", Description: "What became of the orders placed in it; today where nothing is said.",
	})
}
