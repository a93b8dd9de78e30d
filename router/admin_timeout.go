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
	route(g, "POST", "/timeouts/retry-all", staff(account.TimeoutWrite), t.RetryAll, doc{
		Summary: "Retry all dead tasks, or those of one kind",
		Description: "A merchant's own, at most 500 at a time, or everybody's for the platform while it names no merchant. Those that fail " +
			"again back off and die again.",
		Example: admin.TimeoutRetryAllBody{Kind: "refund"},
	})
}
