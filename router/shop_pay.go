package router

import (
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/fault"
)

func shopPayments(g *group, p *shop.Payments) {
	route(g, "POST", "/orders/{no}/pay", shopper, p.Pay, doc{
		Summary:     "Get the parameters for wx.requestPayment",
		Description: "May be called again: the payment is opened anew. What the phone then says is not the truth; ask verify.",
		Codes: []fault.Code{
			fault.OrderClosed, fault.OrderClosing, fault.OrderBusy, fault.OrderAlreadyPaid, fault.WeChatUnavailable,
			fault.WeChatRefused,
		},
	})
	route(g, "POST", "/orders/{no}/verify", shopper, p.Verify, doc{
		Summary: "Ask WeChat now whether the order is paid", Codes: []fault.Code{fault.WeChatUnavailable, fault.WeChatRefused},
	})
	route(g, "POST", "/orders/{no}/cancel", shopper, p.Cancel, doc{
		Summary: "Cancel an unpaid order", Description: "While WeChat is silent the reply has closing: true; the order closes, or turns out paid, as soon as WeChat answers.",
		Codes: []fault.Code{fault.OrderAlreadyPaid, fault.OrderBusy},
	})
	route(g, "POST", "/orders/{no}/confirm", shopper, p.Confirm, doc{
		Summary:     "Confirm that the goods arrived",
		Description: "With via: wechat the order completes only if WeChat says so too.",
		Codes:       []fault.Code{fault.OrderState, fault.ReceiptUnconfirmed, fault.WeChatUnavailable, fault.WeChatRefused},
		Example:     shop.ConfirmBody{Via: "wechat"},
	})
}
