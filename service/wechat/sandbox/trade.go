package sandbox

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// shippingOrders serves get_order_list: by pay time, newest last, in pages of page_size.
func (s *Server) shippingOrders(w http.ResponseWriter, r *http.Request) {
	var body struct {
		PayTime struct {
			Begin int64 `json:"begin_time"`
			End   int64 `json:"end_time"`
		} `json:"pay_time_range"`
		State     int    `json:"order_state"`
		OpenID    string `json:"openid"`
		LastIndex string `json:"last_index"`
		PageSize  int    `json:"page_size"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	from, _ := strconv.Atoi(body.LastIndex)
	size := min(cmp.Or(body.PageSize, 100), 100)
	list := []map[string]any{}
	s.books.view(func() {
		for _, o := range s.books.orderList {
			paid := o.PaidAt.Unix()
			if o.paid() && (body.State == 0 || s.books.shippingState(o) == body.State) && (body.OpenID == "" || o.OpenID == body.OpenID) &&
				paid >= body.PayTime.Begin && (body.PayTime.End == 0 || paid <= body.PayTime.End) {
				list = append(list, s.shippingView(o))
			}
		}
	})
	from = min(max(from, 0), len(list))
	page := list[from:min(from+size, len(list))]
	miniReply(w, map[string]any{
		"errcode": 0, "errmsg": "ok", "order_list": page, "last_index": strconv.Itoa(from + len(page)), "has_more": from+len(page) < len(list),
	})
}

// nudge serves notify_confirm_receive: the shopper is asked to confirm, once an order,
// and only for parcels that were sent.
func (s *Server) nudge(w http.ResponseWriter, r *http.Request) {
	var body struct {
		shippingKey
		ReceivedAt int64 `json:"received_time"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	code, message := 0, "ok"
	err := s.books.change(func() {
		o := s.books.shippingSeen(body.shippingKey)
		var sent shippingBody
		if o != nil {
			_ = json.Unmarshal(o.Shipping, &sent)
		}
		switch {
		case o == nil:
			code, message = 10060001, "pay order not exist"
		case body.ReceivedAt == 0:
			code, message = 10060014, "received_time required"
		case s.books.shippingState(o) != 2 || sent.LogisticsType != 1 || o.Nudged:
			code, message = 10060004, "only a shipped express order is reminded of, once"
		default:
			o.Nudged = true
			s.books.save("order", o.OutTradeNo, o)
		}
	})
	switch {
	case err != nil:
		miniRefusal(w, -1, "system error")
	case code != 0:
		miniRefusal(w, code, message)
	default:
		miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok"})
	}
}

// tradeManaged serves is_trade_managed.
func (s *Server) tradeManaged(w http.ResponseWriter, r *http.Request) {
	var body struct {
		AppID string `json:"appid"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "is_trade_managed": body.AppID == s.keys.AppID})
}

// tradeNoPlace is where the order centre puts the out_trade_no.
const tradeNoPlace = "${商品订单号}"

// setOrderPath serves update_order_detail_path.
func (s *Server) setOrderPath(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	if !strings.Contains(body.Path, tradeNoPlace) {
		miniRefusal(w, 10060035, "path needs "+tradeNoPlace)
		return
	}
	err := s.books.change(func() {
		s.books.orderPath = body.Path
		s.books.save("order_path", "", body.Path)
	})
	if err != nil {
		miniRefusal(w, -1, "system error")
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok"})
}

// getOrderPath serves get_order_detail_path.
func (s *Server) getOrderPath(w http.ResponseWriter, _ *http.Request) {
	var path string
	s.books.view(func() { path = s.books.orderPath })
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "path": path})
}

// delivery are companies of WeChat's list, by code. The real list has over a thousand.
var delivery = map[string]string{
	"SF": "顺丰速运", "ZTO": "中通快递", "YTO": "圆通速递", "YD": "韵达速递", "STO": "申通快递", "JTSD": "极兔速递", "JD": "京东快递",
	"EMS": "邮政特快专递", "YZPY": "邮政快递包裹", "DBL": "德邦快递", "KYSY": "跨越速运", "UC": "优速快递", "ZJS": "宅急送", "DHL": "DHL",
}

// deliveryList serves get_delivery_list.
func (s *Server) deliveryList(w http.ResponseWriter, _ *http.Request) {
	list := make([]map[string]any, 0, len(delivery))
	for code, name := range delivery {
		list = append(list, map[string]any{"delivery_id": code, "delivery_name": name})
	}
	slices.SortFunc(list, func(a, b map[string]any) int {
		return cmp.Compare(a["delivery_id"].(string), b["delivery_id"].(string))
	})
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "delivery_list": list, "count": len(list)})
}
