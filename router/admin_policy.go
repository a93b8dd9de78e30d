package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
)

func adminPolicies(g *group, p *admin.Policies) {
	ten, version := int64(600_000), int64(1)
	route(g, "GET", "/timeout-policies", staff(account.TimeoutRead), p.List, doc{
		Summary: "List timeout policies", Description: "In the order in which they are tried: the most specific that is enabled and applies wins. A merchant is shown its own and those for all merchants.",
	})
	route(g, "GET", "/timeout-policies/{id}", staff(account.TimeoutRead), p.Show, doc{Summary: "Show a timeout policy"})
	route(g, "GET", "/timeout-policies/{id}/versions", staff(account.TimeoutRead), p.Versions, doc{
		Summary: "List all versions of a timeout policy", Description: "Newest first: what it said, who made it, when, and how; of a removed policy too.",
	})
	route(g, "POST", "/timeout-policies", staff(account.TimeoutWrite), p.Create, doc{
		Summary: "Make a timeout policy", Status: 201, Description: "It sets the deadlines of what begins from then on; what waits keeps the deadline it got.",
		Example: admin.PolicyBody{Stage: policy.StagePay, DurationMS: ten},
	})
	route(g, "PUT", "/timeout-policies/{id}", staff(account.TimeoutWrite), p.Update, doc{
		Summary: "Change a timeout policy", Description: "Live on all replicas within a second. Every version is kept.",
		Codes: []fault.Code{fault.StaleVersion}, Example: admin.PolicyUpdateBody{DurationMS: &ten, Version: version},
	})
	route(g, "POST", "/timeout-policies/{id}/rollback", staff(account.TimeoutWrite), p.Rollback, doc{
		Summary: "Roll a timeout policy back", Description: "A former version's values become a new version.",
		Codes: []fault.Code{fault.StaleVersion, fault.StateConflict}, Example: admin.PolicyRollbackBody{Version: version},
	})
	route(g, "DELETE", "/timeout-policies/{id}", staff(account.TimeoutWrite), p.Remove, doc{
		Summary: "Remove a timeout policy", Codes: []fault.Code{fault.StaleVersion},
	})
	adminPolicyPreviews(g, p)
	adminRetiming(g, p)
}

func adminPolicyPreviews(g *group, p *admin.Policies) {
	route(g, "GET", "/timeout-policies/stages", staff(account.TimeoutRead), p.Stages, doc{
		Summary: "List the stages, and what policies of each may say",
	})
	ten := int64(600_000)
	route(g, "POST", "/timeout-policies/preview", staff(account.TimeoutRead), p.Preview, doc{
		Summary: "Preview a timeout policy",
		Description: "Changes nothing. Says to which share of the newest orders of the last 30 days the policy would apply, which policy " +
			"decides about which orders without it and with it, and how many unpaid orders a re-timing by it would move. With id it is " +
			"about a change of that policy, and values that are absent stay.",
		Example: admin.PolicyPreviewBody{Stage: policy.StagePay, DurationMS: &ten}, Unrecorded: "changes nothing",
	})
}
