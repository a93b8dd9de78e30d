package router

import "github.com/tidemall/tidemall/api/shop"

func shopNotices(g *group, n *shop.Notices) {
	route(g, "GET", "/subscribe-templates", anyone, n.Templates, doc{
		Summary: "List the templates of subscribe messages", Description: "Those that are on; the mini-program asks the shopper to agree to them.",
	})
}
