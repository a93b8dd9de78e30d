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
	route(g, "GET", "/timeouts/lateness", staff(account.TimeoutRead), t.Lateness, doc{
		Summary: "Show how late deadlines were", Description: "All replicas together, by periods; what happened in the last seconds may be missing.",
	})
	route(g, "GET", "/timeouts/replicas", staff(account.TimeoutRead), t.Replicas, doc{
		Summary: "List the replicas that fire deadlines", Description: "Those heard of within the last hour that did not stop in an orderly way.",
	})
	route(g, "GET", "/timeouts/ahead", staff(account.TimeoutRead), t.Ahead, doc{
		Summary: "Show what of each kind is still to come", Description: "The figures are the installation's.",
	})
	route(g, "GET", "/timeouts/{kind}/waiting", staff(account.TimeoutRead), t.Waiting, doc{
		Summary: "List the tasks of a kind that wait", Description: "The nearest first: a merchant's own, or everybody's for the platform while it names no " +
			"merchant. A page may hold fewer than limit and yet have a next one.",
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
