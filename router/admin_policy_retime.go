package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminRetiming(g *group, p *admin.Policies) {
	route(g, "POST", "/timeout-policies/{id}/retime", staff(account.TimeoutWrite), p.Retime, doc{
		Summary: "Re-time the orders that wait by a policy", Status: 202, Codes: []fault.Code{fault.StateConflict},
		Description: "Starts a job that gives each unpaid order to which the policy as it is now applies, and that is in its share, the deadline " +
			"placing + duration, but none nearer than a minute. Payment attempts that WeChat knows are ended first; an order that turns out " +
			"paid, or that somebody is at work on, is skipped. One job a policy at a time; policies of the stage pay only. The job is the " +
			"policy's merchant's, one by a policy for everybody the platform's; where the policy is changed meanwhile it fails with stale_version.",
	})
	route(g, "GET", "/timeout-policies/{id}/retime", staff(account.TimeoutRead), p.Retimings, doc{
		Summary: "List a policy's re-timings with their progress", Description: "Newest first. By a policy for everybody only the platform sees any.",
	})
	route(g, "DELETE", "/timeout-policies/{id}/retime", staff(account.TimeoutWrite), p.CancelRetime, doc{
		Summary: "Cancel a policy's running re-timing", Description: "What it changed stays.", Codes: []fault.Code{fault.StateConflict},
	})
}
