package router

import (
	"net/http"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminBills(g *group, b *admin.Bills) {
	route(g, "GET", "/bills", platform(account.AnomalyRead), b.All, doc{
		Summary: "List the days that are reconciled with WeChat's bills", Description: "Newest first. Days are China's.",
	})
	route(g, "GET", "/bills/{day}", platform(account.AnomalyRead), b.Get, doc{
		Summary: "Get a day with what its bill and the shop differ in", Codes: []fault.Code{fault.NotFoundError},
		Description: "The differences are those of the latest comparison; most are anomalies, which are resolved there.",
	})
	route(g, "POST", "/bills/{day}/run", platform(account.AnomalyWrite), b.Run, doc{
		Summary: "Reconcile a day again", Status: http.StatusAccepted,
		Description: "The bill is fetched anew and compared. A day that is under way goes on. Nothing is reported twice.",
	})
}
