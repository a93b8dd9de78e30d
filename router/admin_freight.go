package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

var freightExample = admin.FreightRuleBody{
	Name: "偏远地区", Kind: model.FreightPiece, Regions: []string{"新疆维吾尔自治区", "540000"},
	FirstUnits: 1, FirstFen: 1800, StepUnits: 1, StepFen: 800, FreeOverFen: 29_900, Sort: 1,
}

func adminFreight(g *group, f *admin.Freight) {
	route(g, "GET", "/freight-rules", merchant(account.ShippingRead), f.List, doc{
		Summary: "List freight rules", Description: "Without any rule delivery is free; with rules, a region that none of them names is not delivered to.",
	})
	route(g, "GET", "/freight-rules/{id}", merchant(account.ShippingRead), f.Get, doc{Summary: "Get a freight rule"})
	route(g, "POST", "/freight-rules", merchant(account.ShippingWrite), f.Create, doc{
		Summary: "Make a freight rule", Status: 201, Codes: []fault.Code{fault.StateConflict}, Example: freightExample,
	})
	route(g, "PUT", "/freight-rules/{id}", merchant(account.ShippingWrite), f.Update, doc{
		Summary: "Change a freight rule", Description: "Orders keep the freight they were placed with.",
		Codes: []fault.Code{fault.StaleVersion}, Example: admin.FreightUpdateBody{FreightRuleBody: freightExample, Version: 1},
	})
	route(g, "DELETE", "/freight-rules/{id}", merchant(account.ShippingWrite), f.Delete, doc{Summary: "Remove a freight rule"})
}

func adminCarriers(g *group, c *admin.Carriers) {
	route(g, "GET", "/carriers", staff(""), c.List, doc{Summary: "List carriers"})
}
