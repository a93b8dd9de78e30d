package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminMessages(g *group, m *admin.Messages) {
	route(g, "GET", "/messages", merchant(account.MessageRead), m.All, doc{
		Summary: "List the local message table", Description: "Newest first. Messages that were delivered are kept for seven days.",
	})
	route(g, "POST", "/messages/{id}/retry", merchant(account.MessageWrite), m.Retry, doc{
		Summary: "Retry a dead message", Codes: []fault.Code{fault.StateConflict},
	})
	route(g, "POST", "/messages/{id}/skip", merchant(account.MessageWrite), m.Skip, doc{
		Summary: "Skip a dead message", Description: "Its effect is given up; the next message of its key goes on.",
		Codes: []fault.Code{fault.StateConflict},
	})
}
