package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminAuth(g *group, a *admin.Auth) {
	route(g, "POST", "/auth/login", anyone, a.Login, doc{
		Summary: "Log in to the panel", Description: "Five wrong passwords in a row lock the username for a quarter of an hour.",
		Codes:   []fault.Code{fault.LoginFailed, fault.LoginLocked, fault.PermissionDenied, fault.MerchantDisabled},
		Example: admin.LoginBody{Username: "admin", Password: "…"},
	})
	route(g, "POST", "/auth/logout", staff(""), a.Logout, doc{Summary: "Log out of the panel"})
	route(g, "GET", "/auth/me", staff(""), a.Me, doc{Summary: "Who is logged in"})
	route(g, "POST", "/auth/password", staff(""), a.Password, doc{
		Summary: "Change one's password", Description: "All tokens are refused from now on but the one in the reply.",
		Codes:   []fault.Code{fault.LoginLocked, fault.StaleVersion},
		Example: admin.PasswordBody{OldPassword: "…", NewPassword: "at least eight"},
	})
}

func adminAdmins(g *group, a *admin.Admins) {
	route(g, "GET", "/admins", staff(account.AccountRead), a.List, doc{
		Summary: "List admins", Description: "A merchant's admin sees the merchant's; one of the platform all, or the named merchant's.",
	})
	route(g, "POST", "/admins", staff(account.AccountWrite), a.Add, doc{
		Summary: "Add an admin", Status: 201, Description: "The role must not allow more than the caller may.",
		Codes:   []fault.Code{fault.NameTaken},
		Example: admin.AdminAddBody{Username: "clerk", Password: "at least eight", RoleID: 2},
	})
	route(g, "PUT", "/admins/{id}", staff(account.AccountWrite), a.Change, doc{
		Summary: "Change an admin's role, state or password", Description: "Nobody changes their own role or disables themself.",
		Codes:   []fault.Code{fault.StaleVersion},
		Example: map[string]any{"version": 1, "disabled": true},
	})
}

func adminRoles(g *group, r *admin.Roles) {
	route(g, "GET", "/permissions", staff(account.AccountRead), r.Permissions, doc{Summary: "List what roles can allow"})
	route(g, "GET", "/roles", staff(account.AccountRead), r.List, doc{Summary: "List roles"})
	route(g, "POST", "/roles", staff(account.AccountWrite), r.Add, doc{
		Summary: "Add a role", Status: 201, Codes: []fault.Code{fault.NameTaken},
		Example: admin.RoleAddBody{Name: "客服", Permissions: admin.Permissions{account.OrderRead}},
	})
	route(g, "PUT", "/roles/{id}", staff(account.AccountWrite), r.Change, doc{
		Summary: "Change a role", Description: "Counts for its admins at once.", Codes: []fault.Code{fault.NameTaken, fault.StaleVersion},
		Example: admin.RoleChangeBody{Version: 1, Name: "客服", Permissions: admin.Permissions{account.OrderRead}},
	})
}

func adminMerchants(g *group, m *admin.Merchants) {
	route(g, "GET", "/merchants", platform(account.MerchantRead), m.List, doc{Summary: "List merchants"})
	route(g, "POST", "/merchants", platform(account.MerchantWrite), m.Add, doc{
		Summary: "Add a merchant", Status: 201, Description: "It comes with a role that allows everything, for its first admin.",
		Codes: []fault.Code{fault.NameTaken}, Example: admin.MerchantAddBody{Name: "潮汐小店"},
	})
	route(g, "PUT", "/merchants/{id}", platform(account.MerchantWrite), m.Change, doc{
		Summary: "Change a merchant", Description: "A disabled merchant's admins are refused at once.",
		Codes:   []fault.Code{fault.NameTaken, fault.StaleVersion},
		Example: admin.MerchantChangeBody{Version: 1, Name: "潮汐小店", Disabled: true},
	})
}
