package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminAuth(g *group, a *admin.Auth) {
	route(g, "POST", "/auth/login", anyone, a.Login, doc{
		Summary: "Log in to the panel", Description: "Five wrong passwords in a quarter of an hour lock the username for the address they came from (of IPv6: its /64), " +
			"a hundred from wherever for all, and so do five wrong codes of the second factor; each for a quarter of an hour. Where a second factor is on, " +
			"`totp_required` asks for the same again with `totp`. An address may log in five times a second, a hundred times at once.",
		Codes:   []fault.Code{fault.LoginFailed, fault.LoginLocked, fault.TOTPRequired, fault.TOTPInvalid, fault.PermissionDenied, fault.MerchantDisabled},
		Pace:    adminLogins,
		Example: admin.LoginBody{Username: "admin", Password: "…"}, Unrecorded: "nobody is known yet, and nothing changes",
	})
	route(g, "POST", "/auth/logout", staff(""), a.Logout, doc{Summary: "Log out of the panel", Unrecorded: "ends a session and changes nothing else"})
	route(g, "GET", "/auth/me", staff(""), a.Me, doc{Summary: "Who is logged in"})
	route(g, "POST", "/auth/password", staff(""), a.Password, doc{
		Summary: "Change one's password", Description: "All tokens are refused from now on but the one in the reply. Five wrong passwords in a quarter of an hour " +
			"lock this for the session; failed logins do not.",
		Codes:   []fault.Code{fault.LoginLocked, fault.StaleVersion},
		Example: admin.PasswordBody{OldPassword: "…", NewPassword: "at least eight"},
	})
}

func adminSessions(g *group, s *admin.Sessions) {
	route(g, "GET", "/auth/sessions", staff(""), s.List, doc{Summary: "List where one is logged in"})
	route(g, "DELETE", "/auth/sessions/{id}", staff(""), s.End, doc{
		Summary: "End a session", Description: "Its token is refused here at once, on other replicas within a second.",
		Unrecorded: "ends a session and changes nothing else",
	})
	route(g, "POST", "/auth/sessions/end-others", staff(""), s.EndOthers, doc{Summary: "Sign out everywhere else", Unrecorded: "ends a session and changes nothing else"})
	route(g, "POST", "/auth/sessions/end-all", staff(""), s.EndAll, doc{Summary: "Sign out everywhere", Unrecorded: "ends a session and changes nothing else"})
}

func adminTOTP(g *group, t *admin.TOTP) {
	proof := admin.TOTPProofBody{Password: "…", Code: "123456"}
	route(g, "GET", "/auth/totp", staff(""), t.Get, doc{Summary: "Whether one's second factor is on"})
	route(g, "POST", "/auth/totp", staff(""), t.Begin, doc{
		Summary: "Begin a second factor", Description: "By RFC 6238. It asks for nothing until it is confirmed.",
		Unrecorded: "asks for nothing until it is confirmed", Codes: []fault.Code{fault.StateConflict},
	})
	route(g, "POST", "/auth/totp/confirm", staff(""), t.Confirm, doc{
		Summary: "Turn the second factor on", Description: "The reply has the recovery codes; they are shown once. All sessions but this one end.",
		Codes: []fault.Code{fault.StateConflict, fault.LoginLocked}, Example: admin.TOTPCodeBody{Password: "…", Code: "123456"},
	})
	route(g, "POST", "/auth/totp/disable", staff(""), t.Disable, doc{
		Summary: "Turn the second factor off", Codes: []fault.Code{fault.StateConflict, fault.LoginLocked}, Example: proof,
	})
	route(g, "POST", "/auth/totp/recovery-codes", staff(""), t.Renew, doc{
		Summary: "Replace the recovery codes", Codes: []fault.Code{fault.StateConflict, fault.LoginLocked}, Example: proof,
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
	route(g, "GET", "/admins/{id}", staff(account.AccountRead), a.Get, doc{Summary: "Show an admin"})
	route(g, "PUT", "/admins/{id}", staff(account.AccountWrite), a.Change, doc{
		Summary: "Change an admin's role, state, password or second factor", Description: "Nobody changes their own role or disables themself.",
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
	route(g, "GET", "/roles/{id}", staff(account.AccountRead), r.Get, doc{Summary: "Show a role"})
	route(g, "PUT", "/roles/{id}", staff(account.AccountWrite), r.Change, doc{
		Summary: "Change a role", Description: "Counts for its admins at once.", Codes: []fault.Code{fault.NameTaken, fault.StaleVersion},
		Example: admin.RoleChangeBody{Version: 1, Name: "客服", Permissions: admin.Permissions{account.OrderRead}},
	})
	route(g, "DELETE", "/roles/{id}", staff(account.AccountWrite), r.Remove, doc{
		Summary: "Remove a role that no admin has", Codes: []fault.Code{fault.InUse, fault.StaleVersion},
	})
}

func adminMerchants(g *group, m *admin.Merchants) {
	route(g, "GET", "/merchants", platform(account.MerchantRead), m.List, doc{Summary: "List merchants"})
	route(g, "POST", "/merchants", platform(account.MerchantWrite), m.Add, doc{
		Summary: "Add a merchant", Status: 201, Description: "It comes with a role that allows everything, for its first admin.",
		Codes: []fault.Code{fault.NameTaken}, Example: admin.MerchantAddBody{Name: "潮汐小店"},
	})
	route(g, "GET", "/merchants/{id}", platform(account.MerchantRead), m.Get, doc{Summary: "Show a merchant"})
	route(g, "PUT", "/merchants/{id}", platform(account.MerchantWrite), m.Change, doc{
		Summary: "Change a merchant", Description: "A disabled merchant's admins are refused at once.",
		Codes:   []fault.Code{fault.NameTaken, fault.StaleVersion},
		Example: admin.MerchantChangeBody{Version: 1, Name: "潮汐小店", Disabled: true},
	})
}
