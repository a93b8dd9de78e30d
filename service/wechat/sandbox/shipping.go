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
	if code == 0 {
		err := s.books.change(func() { code, message = s.books.ship(body, raw, time.Now()) })
		if err != nil {
			code, message = -1, "system error"
		}
	}
	if code != 0 {
		miniRefusal(w, code, message)
		return
	}
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

func (b *books) ship(body shippingBody, raw []byte, now time.Time) (int, string) {
	o := b.orders[body.OrderKey.OutTradeNo]
	if body.OrderKey.Type == 2 {
		o = b.orders[b.transactions[body.OrderKey.TransactionID]]
	}
	uploaded, _ := time.Parse(time.RFC3339, body.UploadTime)
	body.UploadTime = ""
	same := json.RawMessage(encode(body))
	switch {
	case o == nil || !o.paid() || b.settings.ShippingLag:
		return 10060001, "pay order not exist"
	case o.State == stateRefund && b.refundedFen(o) == o.TotalFen:
		return 10060004, "order cannot be shipped"
	case o.OpenID != body.Payer.OpenID:
		return 10060031, "openid is not the payer's"
	case o.Shipped > 0 && string(same) == string(o.Shipping):
		return 10060023, "shipping info not changed"
	case o.Shipped > 0 && !uploaded.After(o.ShippedAt):
		return 268485216, "upload_time is not newer than the former"
	case o.Shipped >= 2:
		return 10060003, "the one correction was used"
	}
	o.Shipped, o.Shipping, o.ShippedAt = o.Shipped+1, same, uploaded
	b.save("order", o.OutTradeNo, o)
	return 0, ""
}

// shippingOrder serves get_order.
func (s *Server) shippingOrder(w http.ResponseWriter, r *http.Request) {
	var body struct {
		TransactionID string `json:"transaction_id"`
		MchID         string `json:"merchant_id"`
		OutTradeNo    string `json:"merchant_trade_no"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	var reply map[string]any
	s.books.view(func() {
		o := s.books.orders[body.OutTradeNo]
		if body.TransactionID != "" {
			o = s.books.orders[s.books.transactions[body.TransactionID]]
		}
		if o != nil && o.paid() && !s.books.settings.ShippingLag {
			reply = map[string]any{
				"transaction_id": o.TransactionID, "merchant_trade_no": o.OutTradeNo, "merchant_id": s.keys.MchID,
				"description": o.Description, "paid_amount": o.TotalFen, "openid": o.OpenID,
				"trade_create_time": o.CreatedAt.Unix(), "pay_time": o.PaidAt.Unix(), "order_state": s.books.shippingState(o),
			}
		}
	})
	if reply == nil {
		miniRefusal(w, 10060001, "pay order not exist")
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "order": reply})
}

// shippingState is 1 to ship, 2 shipped, 5 refunded.
func (b *books) shippingState(o *order) int {
	switch {
	case o.State == stateRefund && b.refundedFen(o) == o.TotalFen:
		return 5
	case o.Shipped > 0:
		return 2
	}
	return 1
}
