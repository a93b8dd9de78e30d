package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminContentHolds(g *group, c *admin.ContentHolds) {
	route(g, "GET", "/content-holds", merchant(account.ReviewRead), c.All, doc{
		Summary: "List what shoppers wrote and nobody else sees yet", Description: "Newest first: remarks and reviews of the merchant. Admins of the platform also see nicknames and avatars.",
	})
	codes := []fault.Code{fault.StateConflict, fault.StaleVersion}
	route(g, "POST", "/content-holds/{id}/approve", merchant(account.ReviewWrite), c.Approve, doc{
		Summary: "Show everybody what was held", Description: "A review is shown once its text and all its pictures are passed.",
		Codes: codes, Example: admin.VersionBody{Version: 1},
	})
	route(g, "POST", "/content-holds/{id}/reject", merchant(account.ReviewWrite), c.Reject, doc{
		Summary: "Refuse for good what was held", Description: "The nickname stays the former one, the remark is never shown to the merchant, the review is refused.",
		Codes: codes, Example: admin.VersionBody{Version: 1},
	})
}
