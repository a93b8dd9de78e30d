package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminSettings(g *group, s *admin.ShopSettings) {
	route(g, "GET", "/shop-settings", merchant(account.ShopRead), s.Get, doc{
		Summary: "Get the shop's settings", Description: "With those of the platform that concern a merchant; they are changed in the configuration.",
	})
	route(g, "PUT", "/shop-settings", merchant(account.ShopWrite), s.Set, doc{
		Summary: "Change the shop's settings", Description: "What is left out becomes empty. The name is the merchant's.",
		Codes: []fault.Code{fault.NameTaken, fault.StaleVersion},
		Example: admin.ShopSettingsBody{
			Name: "潮汐小店", ContactPhone: "400-123-4567", Notice: "每日 16:00 前付款当日发货", Version: 1,
			Sender:   admin.Contact{Name: "潮汐仓库", Phone: "021-62345678", Address: "上海市黄浦区人民大道 200 号"},
			ReturnTo: admin.Contact{Name: "售后组", Phone: "021-62345679", Address: "上海市黄浦区人民大道 201 号"},
		},
	})
}

func adminChanges(g *group, c *admin.Changes) {
	route(g, "GET", "/changes", staff(account.AccountRead), c.List, doc{
		Summary: "List what admins changed", Description: "Newest first. Secrets and phone numbers are not in it. The platform sees everything while it names no merchant.",
	})
}

func shopShops(g *group, s *shop.Shops) {
	route(g, "GET", "/shop", visitor, s.Get, doc{Summary: "Get a shop", Codes: []fault.Code{fault.NotFoundError}})
}
