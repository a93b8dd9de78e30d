package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminOrderChanges(g *group, c *admin.OrderChanges) {
	replayCodes := []fault.Code{fault.IdempotencyKeyNeeded, fault.IdempotencyKeyReused}
	route(g, "POST", "/orders/{no}/ship", merchant(account.OrderWrite), c.Ship, doc{
		Summary:     "Ship an order, or a part of it",
		Description: "The order is shipped when nothing is left to ship. The upload of the shipping information to WeChat follows by itself.",
		Codes:       append([]fault.Code{fault.OrderNotPaid, fault.OrderClosed, fault.OrderState, fault.RefundOpen}, replayCodes...),
		Example:     admin.ShipBody{Parcels: []admin.ShipParcel{{Delivery: model.DeliveryExpress, Carrier: "SF", TrackingNo: "SF1234567890"}}},
	})
	route(g, "POST", "/orders/{no}/close", merchant(account.OrderWrite), c.Close, doc{
		Summary: "Close an unpaid order", Description: "While WeChat is silent the reply has closing: true.",
		Codes: []fault.Code{fault.OrderAlreadyPaid, fault.OrderBusy},
	})
	route(g, "POST", "/orders/{no}/price", merchant(account.OrderWrite), c.Price, doc{
		Summary: "Change an unpaid order's price", Description: "A payment that was opened is ended at WeChat first; if it turns out paid, the price stays.",
		Codes: []fault.Code{
			fault.StaleVersion, fault.OrderAlreadyPaid, fault.OrderClosed, fault.OrderClosing, fault.OrderBusy,
			fault.WeChatUnavailable, fault.WeChatRefused,
		},
		Example: admin.PriceBody{AdjustFen: -500, Version: 1},
	})
	route(g, "PUT", "/orders/{no}/remark", merchant(account.OrderWrite), c.Remark, doc{
		Summary: "Note something on an order", Description: "For the merchant's people alone. The remark has a version of its own; the order's stays.",
		Codes:   []fault.Code{fault.StaleVersion},
		Example: admin.OrderRemarkBody{Text: "先电话确认", Version: 0},
	})
	route(g, "POST", "/orders/{no}/refund", merchant(account.RefundWrite), c.Refund, doc{
		Summary:     "Refund an order, or a part of it",
		Description: "WeChat is called afterwards; the refund's state is in the order's refunds.",
		Codes: append([]fault.Code{fault.OrderNotPaid, fault.OrderClosed, fault.RefundTooMuch, fault.RefundTooOld, fault.RefundTooMany},
			replayCodes...),
		Example: admin.RefundBody{Lines: []admin.OrderPart{{LineID: 1, Quantity: 1}}, Reason: "缺货"},
	})
}
