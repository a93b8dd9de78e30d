package sandbox

import (
	"encoding/json"
	"net/http"
	"time"
)

// Shipping management lets the money go so long after the order was shipped, if nobody
// says that it was received: express, and everything else.
const (
	settleExpress = 10 * 24 * time.Hour
	settleOther   = 2 * 24 * time.Hour
)

// controlShipping tells what shipping management believes, with the last upload as it came.
func (s *Server) controlShipping(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	no := r.URL.Query().Get("out_trade_no")
	s.books.view(func() {
		for _, o := range s.books.orderList {
			if o.paid() && (no == "" || o.OutTradeNo == no) {
				v := s.shippingView(o)
				v["uploads"], v["corrected"], v["nudged"] = o.Shipped, o.Corrected, o.Nudged
				if o.Shipped > 0 {
					v["last_upload"] = o.Shipping
				}
				list = append(list, v)
			}
		}
	})
	controlList(w, list)
}

// receiptOrder is the body of the controls that move an order in shipping management.
type receiptOrder struct {
	Auto      bool `json:"auto"`      // nobody confirmed: the time for it ran out
	Unsettled bool `json:"unsettled"` // the money waits still: state 6
	Push      *int `json:"push"`      // how often it is pushed; absent: once
}

// controlShippingEvent has something happen to an order in shipping management: the
// shopper confirms in WeChat's component, the money is settled, the merchant is reminded.
func (s *Server) controlShippingEvent(w http.ResponseWriter, r *http.Request) {
	var body receiptOrder
	if !readOptional(w, r, &body) {
		return
	}
	act := map[string]func(o *order, b receiptOrder, now time.Time) (push, *problem){
		"confirm": s.confirmReceipt, "settle": s.settleReceipt, "remind": s.remindShipping,
	}[r.PathValue("what")]
	if act == nil {
		controlError(w, 404, "NOT_FOUND", "an order's shipping takes confirm, settle and remind")
		return
	}
	var p *problem
	times := 1
	if body.Push != nil {
		times = *body.Push
	}
	var pushes []*posting
	var reply map[string]any
	err := s.books.change(func() {
		o := s.books.orders[r.PathValue("out_trade_no")]
		if o == nil || !o.paid() {
			p = &problem{404, "NOT_FOUND", "no paid order has this out_trade_no"}
			return
		}
		var say push
		if say, p = act(o, body, time.Now()); p == nil {
			s.books.save("order", o.OutTradeNo, o)
			reply = s.shippingView(o)
			for range times {
				pushes = append(pushes, s.books.addOrderPush(say))
			}
		}
	})
	switch {
	case err != nil:
		s.diskFailed(w, err)
	case p != nil:
		p.write(w)
	default:
		for _, n := range pushes {
			s.send(n)
		}
		controlReply(w, 200, reply)
	}
}

func (s *Server) confirmReceipt(o *order, b receiptOrder, now time.Time) (push, *problem) {
	if state := s.books.shippingState(o); state != 2 {
		return nil, &problem{409, "NOT_SHIPPED", "only an order that is shipped (2) is received"}
	}
	o.ReceivedAt, o.ReceivedAuto, o.Unsettled = now, b.Auto, b.Unsettled
	return s.settlementPush(o), nil
}

func (s *Server) settleReceipt(o *order, _ receiptOrder, now time.Time) (push, *problem) {
	switch s.books.shippingState(o) {
	case 2:
		o.ReceivedAt, o.ReceivedAuto = now, true
	case 3, 6:
	default:
		return nil, &problem{409, "NOT_SHIPPED", "only an order that is shipped or received (2, 3, 6) is settled"}
	}
	o.SettledAt, o.Unsettled = now, false
	return s.settlementPush(o), nil
}

func (s *Server) remindShipping(o *order, _ receiptOrder, _ time.Time) (push, *problem) {
	if s.books.shippingState(o) != 1 {
		return nil, &problem{409, "SHIPPED", "only an order that waits to be shipped (1) is reminded of"}
	}
	return s.remindPush(o), nil
}

// setReminder notes when the shop is reminded of an order, if it has not shipped it by then; inside change.
func (b *books) setReminder(o *order, now time.Time) {
	if after := time.Duration(b.settings.ShippingRemindMS) * time.Millisecond; after > 0 {
		o.RemindAt = now.Add(after)
		b.save("order", o.OutTradeNo, o)
	}
}

// remindLater reminds the shop of an order at the time that was set for it.
func (s *Server) remindLater(o *order) {
	var at time.Time
	s.books.view(func() { at = o.RemindAt })
	if at.IsZero() {
		return
	}
	s.work.Go(func() {
		if !s.pause(time.Until(at)) {
			return
		}
		var n *posting
		err := s.books.change(func() {
			say, _ := s.remindShipping(o, receiptOrder{}, time.Now())
			o.RemindAt, n = time.Time{}, s.books.addOrderPush(say)
			s.books.save("order", o.OutTradeNo, o)
		})
		if err != nil {
			s.log.Error("the sandbox cannot write its books", "err", err)
			return
		}
		s.send(n)
	})
}

// eventPush is what all pushes of shipping management have in common.
func (s *Server) eventPush(event string, o *order) push {
	return push{
		"MsgType": "event", "Event": event, "transaction_id": o.TransactionID, "merchant_id": s.keys.MchID,
		"sub_merchant_id": "", "merchant_trade_no": o.OutTradeNo, "pay_time": o.PaidAt.Unix(),
	}
}

func (s *Server) remindPush(o *order) push {
	p := s.eventPush("trade_manage_remind_shipping", o)
	p["msg"] = "您有订单未及时发货，请尽快录入发货信息"
	return p
}

// shippedPush says when the money will be free at the latest; nil while the order is not
// shipped as a whole.
func (s *Server) shippedPush(o *order) push {
	if !o.Finished {
		return nil
	}
	return s.settlementPush(o)
}

// settlementPush says what is known of an order's receipt and settlement.
func (s *Server) settlementPush(o *order) push {
	var body shippingBody
	_ = json.Unmarshal(o.Shipping, &body)
	wait := settleOther
	if body.LogisticsType == 1 {
		wait = settleExpress
	}
	p := s.eventPush("trade_manage_order_settlement", o)
	p["shipped_time"], p["estimated_settlement_time"] = o.ShippedAt.Unix(), o.ShippedAt.Add(wait).Unix()
	if !o.ReceivedAt.IsZero() {
		p["confirm_receive_method"], p["confirm_receive_time"] = 2, o.ReceivedAt.Unix()
		if o.ReceivedAuto {
			p["confirm_receive_method"] = 1
		}
	}
	if !o.SettledAt.IsZero() {
		p["settlement_time"] = o.SettledAt.Unix()
	}
	return p
}
