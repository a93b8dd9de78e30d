package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminAftersales(g *group, a *admin.Aftersales) {
	refundCodes := []fault.Code{fault.StateConflict, fault.StaleVersion, fault.RefundTooMuch, fault.RefundTooOld, fault.RefundTooMany, fault.OrderClosed}
	route(g, "GET", "/aftersales", merchant(account.OrderRead), a.List, doc{
		Summary: "List after-sales", Description: "Newest first, or in the order of when an answer is due.",
	})
	route(g, "GET", "/aftersales/{id}", merchant(account.OrderRead), a.Get, doc{Summary: "Get an after-sale"})
	route(g, "POST", "/aftersales/{id}/approve", merchant(account.RefundWrite), a.Approve, doc{
		Summary: "Approve an after-sale", Description: "Money alone is refunded at once; goods that are to come back are waited for.",
		Codes: refundCodes, Example: admin.ApproveBody{Answer: "请寄回：浙江省杭州市文三路 1 号", Version: 1},
	})
	route(g, "POST", "/aftersales/{id}/reject", merchant(account.RefundWrite), a.Reject, doc{
		Summary: "Reject an after-sale", Description: "Also one whose goods do not come, or are not as it was said.",
		Codes: []fault.Code{fault.StateConflict, fault.StaleVersion}, Example: admin.RejectBody{Answer: "商品已使用", Version: 1},
	})
	route(g, "POST", "/aftersales/{id}/receive", merchant(account.RefundWrite), a.Receive, doc{
		Summary: "Receive goods that came back, and refund", Description: "Unless restock is false the goods are for sale again once the refund has succeeded.",
		Codes: refundCodes, Example: admin.ReceiveBody{Version: 2},
	})
}
