package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
)

func adminReports(g *group, r *admin.Reports) {
	route(g, "GET", "/report/overview", merchant(account.ReportRead), r.Overview, doc{
		Summary: "Figures of a time", Description: "What became of the orders placed in it, 366 days at most; today where nothing is said.",
	})
	route(g, "GET", "/report/series", merchant(account.ReportRead), r.Series, doc{
		Summary: "Figures by hour or day", Description: "Of the orders placed in a time, oldest first, spans without orders included, 366 days at most; today where nothing is said.",
	})
	route(g, "GET", "/report/best-sellers", merchant(account.ReportRead), r.BestSellers, doc{
		Summary: "What sold best", Description: "By pieces in paid orders placed in a time, 366 days at most; today where nothing is said.",
	})
	route(g, "GET", "/report/low-stock", merchant(account.ReportRead), r.LowStock, doc{Summary: "Published SKUs of which little is left"})
}
