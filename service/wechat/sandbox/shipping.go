package sandbox

import (
	"encoding/json"
	"net/http"
	"time"
)

// shippingBody is what a shipping upload carries.
type shippingBody struct {
	OrderKey struct {
		Type          int    `json:"order_number_type"`
		TransactionID string `json:"transaction_id"`
		MchID         string `json:"mchid"`
		OutTradeNo    string `json:"out_trade_no"`
	} `json:"order_key"`
	LogisticsType  int  `json:"logistics_type"`
	DeliveryMode   int  `json:"delivery_mode"`
	IsAllDelivered bool `json:"is_all_delivered"`
	ShippingList   []struct {
		TrackingNo     string `json:"tracking_no"`
		ExpressCompany string `json:"express_company"`
		ItemDesc       string `json:"item_desc"`
		Contact        struct {
			Consignor string `json:"consignor_contact"`
			Receiver  string `json:"receiver_contact"`
		} `json:"contact"`
	} `json:"shipping_list"`
	UploadTime string `json:"upload_time"`
	Payer      struct {
		OpenID string `json:"openid"`
	} `json:"payer"`
}

// uploadShipping serves upload_shipping_info: one upload and one correction an order.
func (s *Server) uploadShipping(w http.ResponseWriter, r *http.Request) {
	raw := bodyOf(r)
	var body shippingBody
	if json.Unmarshal(raw, &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	code, message := body.refusal()
	var shipped *posting
	if code == 0 {
		err := s.books.change(func() {
			if code, message = s.books.ship(body, time.Now()); code == 0 {
				shipped = s.books.addOrderPush(s.shippedPush(s.books.shippingOf(body)))
			}
		})
		if err != nil {
			code, message = -1, "system error"
		}
	}
	if code != 0 {
		miniRefusal(w, code, message)
		return
	}
	s.send(shipped)
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok"})
}

// refusal applies the rules that do not need the books.
func (b *shippingBody) refusal() (int, string) {
	uploaded, err := time.Parse(time.RFC3339, b.UploadTime)
	switch {
	case err != nil || uploaded.Nanosecond()%int(time.Millisecond) != 0:
		return 268485216, "upload_time is not RFC 3339 in milliseconds at most"
	case b.LogisticsType < 1 || b.LogisticsType > 4:
		return 268485223, "logistics_type invalid"
	case b.DeliveryMode != 1 && b.DeliveryMode != 2, b.DeliveryMode == 2 && b.LogisticsType != 1:
		return 268485224, "delivery_mode invalid"
	case len(b.ShippingList) == 0 || len(b.ShippingList) > 15:
		return 10060024, "shipping_list has 1 to 15 parcels"
	case b.DeliveryMode == 1 && len(b.ShippingList) != 1:
		return 268485228, "unified delivery has exactly one parcel"
	}
	for _, p := range b.ShippingList {
		switch {
		case p.ItemDesc == "" || len([]rune(p.ItemDesc)) > 120:
			return 10060014, "item_desc has 1 to 120 characters"
		case b.LogisticsType == 1 && p.TrackingNo == "":
			return 268485226, "tracking_no required"
		case b.LogisticsType == 1 && p.ExpressCompany == "":
			return 268485227, "express_company required"
		case b.LogisticsType != 1 && (p.TrackingNo != "" || p.ExpressCompany != ""):
			return 10060014, "only express parcels are tracked"
		case p.ExpressCompany == "SF" && p.Contact.Receiver == "" && p.Contact.Consignor == "":
			return 10060014, "SF parcels need a contact"
		}
	}
	return 0, ""
}

// shippingOf finds the order that an upload names; nil if there is none.
func (b *books) shippingOf(body shippingBody) *order {
	if body.OrderKey.Type == 2 {
		return b.orders[b.transactions[body.OrderKey.TransactionID]]
	}
	return b.orders[body.OrderKey.OutTradeNo]
}

// ship takes an upload. An order that is not finished may be uploaded again and again;
// once it is, there is one correction.
func (b *books) ship(body shippingBody, now time.Time) (int, string) {
	o := b.shippingOf(body)
	uploaded, _ := time.Parse(time.RFC3339, body.UploadTime)
	body.UploadTime = ""
	same := json.RawMessage(encode(body))
	switch {
	case o == nil || !o.paid() || b.settings.ShippingLag:
		return 10060001, "pay order not exist"
	case b.shippingState(o) >= 3:
		return 10060004, "order cannot be shipped"
	case o.OpenID != body.Payer.OpenID:
		return 10060031, "openid is not the payer's"
	case o.Shipped > 0 && string(same) == string(o.Shipping):
		return 10060023, "shipping info not changed"
	case o.Shipped > 0 && !uploaded.After(o.ShippedAt):
		return 268485216, "upload_time is not newer than the former"
	case o.Corrected && (o.Finished || b.settings.ShippingSplitCounts):
		return 10060003, "the one correction was used"
	}
	o.Corrected = o.Corrected || o.Finished || o.Shipped > 0 && b.settings.ShippingSplitCounts
	o.Finished = body.DeliveryMode == 1 || body.IsAllDelivered
	if o.Finished {
		o.FinishedTimes++
	}
	o.Shipped, o.Shipping, o.ShippedAt = o.Shipped+1, same, uploaded
	b.save("order", o.OutTradeNo, o)
	return 0, ""
}

// shippingKey names an order in the interfaces that ask about one.
type shippingKey struct {
	TransactionID string `json:"transaction_id"`
	MchID         string `json:"merchant_id"`
	OutTradeNo    string `json:"merchant_trade_no"`
}

// shippingSeen finds an order that shipping management sees; nil if it does not.
func (b *books) shippingSeen(key shippingKey) *order {
	o := b.orders[key.OutTradeNo]
	if key.TransactionID != "" {
		o = b.orders[b.transactions[key.TransactionID]]
	}
	if o == nil || !o.paid() || b.settings.ShippingLag {
		return nil
	}
	return o
}

// shippingOrder serves get_order.
func (s *Server) shippingOrder(w http.ResponseWriter, r *http.Request) {
	var key shippingKey
	if json.Unmarshal(bodyOf(r), &key) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	var reply map[string]any
	s.books.view(func() {
		if o := s.books.shippingSeen(key); o != nil {
			reply = s.shippingView(o)
		}
	})
	if reply == nil {
		miniRefusal(w, 10060001, "pay order not exist")
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "order": reply})
}

// shippingView is an order as shipping management shows it.
func (s *Server) shippingView(o *order) map[string]any {
	reply := map[string]any{
		"transaction_id": o.TransactionID, "merchant_trade_no": o.OutTradeNo, "merchant_id": s.keys.MchID,
		"description": o.Description, "paid_amount": o.TotalFen, "openid": o.OpenID, "in_complaint": false,
		"trade_create_time": o.CreatedAt.Unix(), "pay_time": o.PaidAt.Unix(), "order_state": s.books.shippingState(o),
	}
	var body shippingBody
	if o.Shipped == 0 || json.Unmarshal(o.Shipping, &body) != nil {
		return reply
	}
	list := make([]map[string]any, len(body.ShippingList))
	for i, p := range body.ShippingList {
		list[i] = map[string]any{
			"tracking_no": p.TrackingNo, "express_company": p.ExpressCompany, "goods_desc": p.ItemDesc, "upload_time": o.ShippedAt.Unix(),
			"contact": map[string]any{"consignor_contact": p.Contact.Consignor, "receiver_contact": p.Contact.Receiver},
		}
	}
	reply["shipping"] = map[string]any{
		"delivery_mode": body.DeliveryMode, "logistics_type": body.LogisticsType, "finish_shipping": o.Finished,
		"finish_shipping_count": o.FinishedTimes, "goods_desc": o.Description, "shipping_list": list,
	}
	return reply
}

// shippingState is 1 to ship, 2 shipped, 3 received, 4 completed, 5 refunded, 6 received
// while the money waits. An order of which a part was uploaded is still to ship.
func (b *books) shippingState(o *order) int {
	switch {
	case o.State == stateRefund && b.refundedFen(o) == o.TotalFen:
		return 5
	case !o.SettledAt.IsZero():
		return 4
	case !o.ReceivedAt.IsZero() && o.Unsettled:
		return 6
	case !o.ReceivedAt.IsZero():
		return 3
	case o.Finished:
		return 2
	}
	return 1
}
