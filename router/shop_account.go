package router

import (
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/fault"
)

func shopAccounts(g *group, a *shop.Accounts) {
	route(g, "POST", "/auth/login", anyone, a.Login, doc{
		Summary: "Log in with WeChat", Description: "The first login makes the shopper. An address may log in fifty times a second, three thousand times at once.",
		Codes:   []fault.Code{fault.LoginCodeInvalid, fault.WeChatUnavailable},
		Pace:    shopperLogins,
		Example: shop.LoginBody{Code: "demo-ann"},
	})
	route(g, "POST", "/auth/logout", shopper, a.Logout, doc{Summary: "Log out", Description: "The token is refused from now on, on every replica within a second."})
	route(g, "GET", "/me", shopper, a.Me, doc{Summary: "Get one's profile", Codes: []fault.Code{fault.NotFoundError}})
	route(g, "PUT", "/me", shopper, a.ChangeMe, doc{
		Summary: "Change one's profile", Description: "WeChat is asked about a new nickname; while it was not passed the former one stays and nickname_pending has the new one.",
		Codes: []fault.Code{fault.NotFoundError, fault.ContentRefused}, Example: map[string]string{"nickname": "安"},
	})
	route(g, "POST", "/me/phone", shopper, a.SetPhone, doc{
		Summary: "Set one's phone number by WeChat's phone button",
		Codes:   []fault.Code{fault.WeChatUnavailable, fault.NotFoundError},
		Example: shop.PhoneBody{Code: "e31968a7f94cc5ee25fafc2aef2773f0"},
	})
	route(g, "GET", "/me/counts", shopper, a.Counts, doc{Summary: "Count one's orders, coupons and after-sales"})
}

func shopAddresses(g *group, a *shop.Addresses) {
	example := shop.AddressBody{
		Name: "安", Phone: "13812345678", Province: "上海市", City: "上海市", District: "黄浦区", Detail: "人民大道 200 号", RegionCode: "310101", IsDefault: true,
	}
	route(g, "GET", "/addresses", shopper, a.List, doc{Summary: "List one's addresses", Description: "The default one first, then the newest."})
	route(g, "POST", "/addresses", shopper, a.Add, doc{
		Summary: "Add an address", Status: 201, Codes: []fault.Code{fault.AddressLimit}, Example: example,
	})
	route(g, "PUT", "/addresses/{id}", shopper, a.Change, doc{Summary: "Replace an address", Example: example})
	route(g, "DELETE", "/addresses/{id}", shopper, a.Remove, doc{Summary: "Remove an address"})
}
