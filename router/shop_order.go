package router

import (
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/fault"
)

// basketCodes are what pricing a basket may answer.
var basketCodes = []fault.Code{fault.ProductUnavailable, fault.StockInsufficient, fault.MixedMerchants, fault.CouponUnusable, fault.NoDelivery, fault.AddressRequired}

func shopOrders(g *group, o *shop.Orders) {
	route(g, "POST", "/orders/quote", shopper, o.Quote, doc{
		Summary:     "Price a basket",
		Description: "Nothing is stored. Without an address there is no freight yet. A coupon that was chosen before may save nothing once there is one, and is then refused with coupon_unusable: the quote without it lists what else can be used.",
		Codes:       basketCodes,
		Example:     shop.QuoteBody{Items: []shop.BasketItem{{SKUID: 1, Quantity: 2}}},
	})
	route(g, "POST", "/orders", shopper, o.Place, doc{
		Summary: "Place an order", Status: 201,
		Description: "One transaction: the basket is priced again, the coupon locked, stock reserved. The same Idempotency-Key with the same body gives the same order again. WeChat is asked about the remark first; while it was not passed the merchant does not see it.",
		Codes:       append([]fault.Code{fault.PriceChanged, fault.UnpaidLimit, fault.IdempotencyKeyNeeded, fault.IdempotencyKeyReused, fault.ContentRefused}, basketCodes...),
		Example:     shop.PlaceBody{QuoteBody: shop.QuoteBody{Items: []shop.BasketItem{{SKUID: 1, Quantity: 2}}, AddressID: 1}, ExpectedPayableFen: 19800},
	})
	route(g, "GET", "/orders", shopper, o.List, doc{Summary: "List one's orders", Description: "Newest first."})
	route(g, "GET", "/orders/{no}", shopper, o.Get, doc{Summary: "Get one's order"})
	route(g, "GET", "/orders/by-trade-no/{out_trade_no}", shopper, o.GetByTradeNo, doc{
		Summary: "Get one's order by a payment attempt", Description: "This is how WeChat's order centre opens an order.",
	})
}
