package main

import (
	"fmt"
	"testing"
	"time"
)

// shippedOrder is what the panel tells of an order's shipping.
type shippedOrder struct {
	Status string `json:"status"`
	Upload struct {
		Status          string    `json:"status"`
		Error           string    `json:"error"`
		Calls           int       `json:"calls"`
		SettlementDueAt time.Time `json:"settlement_due_at"`
		ReceivedBy      string    `json:"received_by"`
		SettledAt       time.Time `json:"settled_at"`
	} `json:"shipping_upload"`
	TransactionID string `json:"transaction_id"`
}

// TestS12_T71_ShippingInformationOnItsWay ships while WeChat is down, and lets everything that follows happen by itself: the upload
// once WeChat is back, its push of when the money comes, the shopper's confirmation in WeChat and the push of that. The order
// centre is told where orders are while nobody waits for it.
// Cases S09, S12, T71.
func TestS12_T71_ShippingInformationOnItsWay(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		const page = "pages/order/detail?out_trade_no=${商品订单号}"
		s := newShop(t, p, "TIDEMALL_WECHAT_ORDER_PATH="+page)
		g, ann := s.sell(10, time.Hour), s.shopper("ann")
		o := ann.buy(g.sku, 1)
		s.confirm(ann.pay(o.No), 1)
		ann.await(o.No, "paid", recovery)
		number := ann.order(o.No).OutTradeNo

		panel := func() shippedOrder {
			return as[shippedOrder](g.admin, g.admin.call(200, "GET", "/api/admin/v1/orders/"+o.No, nil))
		}
		s.fault("/wxa/sec/order/", "timeout", map[string]any{"delay_ms": 60000})
		shipped := g.admin.call(200, "POST", "/api/admin/v1/orders/"+o.No+"/ship", map[string]any{"parcels": []any{map[string]any{"delivery": "virtual"}}})
		if shipped.took > lag {
			t.Errorf("shipping took %v while WeChat was silent", shipped.took)
		}
		ann.refused(503, "wechat_unavailable", "POST", "/api/v1/orders/"+o.No+"/confirm", map[string]any{"via": "wechat"})
		eventually(t, recovery, "the panel says what the upload waits for", func() (bool, string) {
			u := panel().Upload
			return u.Status == "waiting" && u.Calls > 0 && u.Error != "", fmt.Sprintf("%+v", u)
		})
		s.noFaults()
		begin := time.Now()
		// While WeChat is silent the pause between calls grows to 30 s at most.
		eventually(t, 30*time.Second+recovery, "the upload goes out, and WeChat says when the money comes", func() (bool, string) {
			u := panel().Upload
			return u.Status == "uploaded" && !u.SettlementDueAt.IsZero(), fmt.Sprintf("%+v", u)
		})
		t.Logf("uploaded %v after WeChat was back", time.Since(begin).Round(time.Millisecond))
		ann.refused(409, "receipt_unconfirmed", "POST", "/api/v1/orders/"+o.No+"/confirm", map[string]any{"via": "wechat"})
		if got := as[shippedOrder](ann, ann.call(200, "GET", "/api/v1/orders/by-trade-no/"+number, nil)); got.TransactionID == "" {
			t.Error("the shopper is not told the transaction that WeChat's component asks for")
		}
		s.wechat().call(200, "POST", "/sandbox/shipping/"+number+"/confirm", nil)
		ann.await(o.No, "completed", recovery)
		ann.call(200, "POST", "/api/v1/orders/"+o.No+"/confirm", map[string]any{"via": "wechat"})
		s.wechat().call(200, "POST", "/sandbox/shipping/"+number+"/settle", nil)
		eventually(t, recovery, "the money is settled", func() (bool, string) {
			u := panel().Upload
			return u.ReceivedBy == "shopper" && !u.SettledAt.IsZero(), fmt.Sprintf("%+v", u)
		})
		g.wantEvents(o.No, "pending_payment", "paid", "shipped", "completed")

		type call struct {
			Fault string `json:"fault"`
			Body  struct {
				Path string `json:"path"`
			} `json:"body"`
		}
		eventually(t, recovery, "the order centre was told", func() (bool, string) {
			told := as[listOf[call]](s.wechat(), s.wechat().call(200, "GET", "/sandbox/calls?path=/wxa/sec/order/update_order_detail_path", nil)).List
			return len(told) == 1 && told[0].Body.Path == page, fmt.Sprintf("%+v", told)
		})
		s.audit()
	})
}
