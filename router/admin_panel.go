package router

import "github.com/tidemall/tidemall/api/admin"

func adminPanel(g *group, p *admin.Panel) {
	route(g, "GET", "/panel", staff(""), p.Start, doc{Summary: "What the panel needs to begin"})
	route(g, "GET", "/report/todo", merchant(""), p.Waiting, doc{
		Summary: "What waits for a person", Description: "Counts of up to a thousand each. What the caller's role does not allow to see is absent.",
	})
}
