package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminTimeouts(g *group, t *admin.Timeouts) {
	route(g, "GET", "/timeouts", staff(account.TimeoutRead), t.Show, doc{
		Summary: "Show deadlines: how many wait, how late they fire, which tasks failed",
		Description: "The figures are the installation's. The list has the tasks that are dead or back off: a merchant's own, " +
			"or everybody's for the platform while it names no merchant.",
	})
	route(g, "POST", "/timeouts/{kind}/{key}/retry", staff(account.TimeoutWrite), t.Retry, doc{
		Summary: "Retry a dead task", Codes: []fault.Code{fault.StateConflict},
	})
}
