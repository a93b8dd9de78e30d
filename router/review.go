package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func shopReviews(g *group, r *shop.Reviews) {
	route(g, "POST", "/orders/{no}/reviews", shopper, r.Add, doc{
		Summary: "Review a line that was received", Status: 201,
		Description: "Once a line, after the order is completed. WeChat is asked about the text, which must not be risky, and about every picture; the review is shown once all of it is passed.",
		Codes:       []fault.Code{fault.OrderState, fault.ReviewExists, fault.ReviewClosed, fault.ContentRefused},
		Example:     shop.ReviewBody{LineID: 1, Rating: 5, Content: "料子舒服，尺码正好"},
	})
	route(g, "GET", "/my/reviews", shopper, r.Mine, doc{Summary: "List one's reviews", Description: "Newest first."})
	route(g, "GET", "/products/{id}/reviews", visitor, r.OfProduct, doc{
		Summary: "List a product's reviews", Description: "Those that are shown, newest first, with how many there are of each rating.",
	})
}

func adminReviews(g *group, r *admin.Reviews) {
	route(g, "GET", "/reviews", merchant(account.ReviewRead), r.All, doc{Summary: "List reviews", Description: "Newest first."})
	codes := []fault.Code{fault.StaleVersion, fault.StateConflict}
	route(g, "POST", "/reviews/{id}/answer", merchant(account.ReviewWrite), r.Answer, doc{
		Summary: "Answer a review", Codes: codes, Example: admin.AnswerBody{Answer: "谢谢支持", Version: 1},
	})
	route(g, "POST", "/reviews/{id}/hide", merchant(account.ReviewWrite), r.Hide, doc{
		Summary: "Hide a review", Description: "It leaves every list and every count at once.", Codes: codes, Example: admin.VersionBody{Version: 1},
	})
	route(g, "POST", "/reviews/{id}/show", merchant(account.ReviewWrite), r.Show, doc{
		Summary: "Show a hidden review again", Codes: codes, Example: admin.VersionBody{Version: 1},
	})
}
