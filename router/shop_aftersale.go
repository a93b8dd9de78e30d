package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

func shopAftersales(g *group, a *shop.Aftersales) {
	route(g, "POST", "/orders/{no}/aftersales", shopper, a.Ask, doc{
		Summary: "Ask for money back", Status: 201,
		Description: "For pieces of a paid order that no refund and no open after-sale has taken, until some days after its completion. Pieces that were shipped can be sent back.",
		Codes: []fault.Code{
			fault.OrderNotPaid, fault.OrderClosed, fault.AftersaleExpired, fault.AftersaleLimit, fault.RefundTooMuch, fault.RefundTooOld,
			fault.RefundTooMany, fault.IdempotencyKeyNeeded, fault.IdempotencyKeyReused,
		},
		Example: shop.AftersaleBody{Type: model.AftersaleReturn, Lines: []shop.AftersalePart{{LineID: 1, Quantity: 1}}, Reason: "尺码不合适"},
	})
	route(g, "GET", "/aftersales", shopper, a.List, doc{Summary: "List one's after-sales", Description: "Newest first."})
	route(g, "GET", "/aftersales/{id}", shopper, a.Get, doc{Summary: "Get one's after-sale"})
	route(g, "POST", "/aftersales/{id}/withdraw", shopper, a.Withdraw, doc{
		Summary: "Withdraw an after-sale", Description: "As long as nothing was sent back or refunded.",
		Codes: []fault.Code{fault.StateConflict, fault.StaleVersion},
	})
	route(g, "POST", "/aftersales/{id}/return-parcel", shopper, a.ReturnParcel, doc{
		Summary: "Name the parcel with which goods go back", Description: "May be corrected until the merchant has received it.",
		Codes:   []fault.Code{fault.StateConflict, fault.StaleVersion},
		Example: shop.ReturnParcelBody{Carrier: "SF", TrackingNo: "SF1234567890"},
	})
}

// shopCarriers lets the shopper choose whom to give a parcel to.
func shopCarriers(g *group, c *admin.Carriers) {
	route(g, "GET", "/carriers", shopper, c.List, doc{Summary: "List carriers"})
}
