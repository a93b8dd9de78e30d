package router

import (
	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

var categoryExample = admin.CategoryBody{Name: "女装", Sort: 10}

func adminCategories(g *group, c *admin.Categories) {
	route(g, "GET", "/categories", merchant(account.CatalogRead), c.List, doc{Summary: "Get the tree of categories"})
	route(g, "POST", "/categories", merchant(account.CatalogWrite), c.Create, doc{Summary: "Add a category", Status: 201, Example: categoryExample})
	route(g, "PUT", "/categories/{id}", merchant(account.CatalogWrite), c.Update, doc{
		Summary: "Change a category", Codes: []fault.Code{fault.StaleVersion}, Example: admin.CategoryChange{CategoryBody: categoryExample, Version: 1},
	})
	route(g, "POST", "/categories/{id}/move", merchant(account.CatalogWrite), c.Move, doc{
		Summary: "Move a category", Description: "Its new neighbours get new sorting numbers where there is no room between theirs.",
		Codes: []fault.Code{fault.StaleVersion}, Example: admin.CategoryMove{ParentID: 1, AfterID: 2, Version: 1},
	})
	route(g, "DELETE", "/categories/{id}", merchant(account.CatalogWrite), c.Delete, doc{
		Summary: "Remove an empty category", Codes: []fault.Code{fault.InUse},
	})
}

var productExample = admin.ProductBody{
	Name: "纯棉圆领 T恤", Code: "TEE-001", CategoryID: 1, Subtitle: "Cotton crew-neck tee",
	Options: []api.ProductOption{{Name: "颜色", Values: []api.OptionValue{"白"}}, {Name: "尺码", Values: []api.OptionValue{"M", "L"}}},
	SKUs: []admin.SKUBody{
		{Specs: api.Specs{"颜色": "白", "尺码": "M"}, PriceFen: model.Fen(5900), Stock: new(int64(100)), WeightG: 200},
		{Specs: api.Specs{"颜色": "白", "尺码": "L"}, PriceFen: model.Fen(5900), Stock: new(int64(80)), WeightG: 220},
	},
}

func adminProducts(g *group, p *admin.Products) {
	route(g, "GET", "/products", merchant(account.CatalogRead), p.List, doc{Summary: "List products", Description: "With their SKUs, without their detail text."})
	route(g, "POST", "/products", merchant(account.CatalogWrite), p.Create, doc{
		Summary: "Add a product", Description: "It is not on the shelf until it is published.", Status: 201, Example: productExample,
		Codes: []fault.Code{fault.NameTaken},
	})
	route(g, "GET", "/products/{id}", merchant(account.CatalogRead), p.Get, doc{Summary: "Get a product"})
	route(g, "PUT", "/products/{id}", merchant(account.CatalogWrite), p.Update, doc{
		Summary: "Replace a product",
		Description: "What is left out is emptied. SKUs that are left out are taken off sale; orders keep them, carts say that they are gone, and they come back " +
			"with their stock when their specs are named again.",
		Codes: []fault.Code{fault.StaleVersion, fault.StockInsufficient, fault.NameTaken}, Example: admin.ProductChange{ProductBody: productExample, Version: 1},
	})
	route(g, "POST", "/products/{id}/publish", merchant(account.CatalogWrite), p.Publish, doc{
		Summary: "Put a product on the shelf", Codes: []fault.Code{fault.StateConflict},
	})
	route(g, "POST", "/products/{id}/unpublish", merchant(account.CatalogWrite), p.Unpublish, doc{Summary: "Take a product off the shelf"})
	route(g, "POST", "/products/shelf", merchant(account.CatalogWrite), p.Shelve, doc{
		Summary:     "Put many products on the shelf, or take them off",
		Description: "Each by itself; the reply says of each, in order, whether it went well: not_found, stale_version or state_conflict (no SKU) where not.",
		Example:     admin.ShelfBody{Published: true, Products: []admin.ProductPick{{ID: 1, Version: 1}}},
	})
	route(g, "PUT", "/products/{id}/sort", merchant(account.CatalogWrite), p.SetSort, doc{
		Summary: "Give a product its place", Codes: []fault.Code{fault.StaleVersion}, Example: admin.ProductSort{Sort: 10, Version: 1},
	})
}

func adminSKUs(g *group, s *admin.SKUs) {
	route(g, "POST", "/skus/{id}/stock", merchant(account.StockWrite), s.ChangeStock, doc{
		Summary: "Change a SKU's stock", Description: "Accepts an Idempotency-Key.",
		Codes:   []fault.Code{fault.StockInsufficient, fault.IdempotencyKeyNeeded, fault.IdempotencyKeyReused},
		Example: admin.StockBody{Delta: 20, Reason: "进货"},
	})
	route(g, "GET", "/skus/{id}/ledger", merchant(account.CatalogRead), s.Ledger, doc{
		Summary: "List the changes of a SKU's stock", Description: "Newest first; deep pages by cursor. Their sum is the stock.",
	})
}
