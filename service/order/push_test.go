package order

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// Case S09.
func TestS09_SettlementPushAndConfirmAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		inbox := payment.Inbox{Store: tl.Store, Now: tl.Now}
		push := func(id, format, no string, at int) error {
			p := wechat.Push{ID: id, Event: "trade_manage_order_settlement", Message: fmt.Appendf(nil, format, no, at), XML: format[0] == '<'}
			_, err := inbox.Take(context.Background(), p.ID, p.Event, func(tx *store.Tx) error { return tl.Pushes()[p.Event](tx, p) })
			return err
		}
		const asJSON, asXML = `{"merchant_trade_no":%q,"confirm_receive_time":%d}`, `<xml><merchant_trade_no>%s</merchant_trade_no><confirm_receive_time>%d</confirm_receive_time></xml>`
		for i, format := range []string{asJSON, asXML} {
			o := tl.paid()
			no := o.No + "-1"
			early := push(fmt.Sprint("early", i), format, no, 1764400000) // not shipped here: no effect
			if err := tl.ship(o, ShipmentParcel{Delivery: model.DeliveryVirtual}); err != nil || early != nil {
				t.Fatal(err, early)
			}
			if err := push(fmt.Sprint("shipped", i), format, no, 0); err != nil || tl.reload(o).State != model.OrderShipped {
				t.Errorf("a push without a time of receipt: %v, order is %s", err, tl.reload(o).State)
			}
			for _, err := range together(8, func(n int) error {
				if n%2 == 0 {
					return push(fmt.Sprint("received", i, n), format, no, 1764400000)
				}
				_, err := tl.Confirm(context.Background(), o.ShopperID, o.No)
				return err
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			if now := tl.reload(o); now.State != model.OrderCompleted || now.Version != 4 {
				t.Errorf("order is %s, version %d", now.State, now.Version)
			}
		}
		if err := push("strange", asJSON, "T20260101AAAAAAAAAAAA-1", 1); err != nil {
			t.Error(err)
		}
		tl.audited()
	})
}

// push takes a push of WeChat's as the shop does, once.
func (tl *till) push(id, event, message string) error {
	p := wechat.Push{ID: id, Event: event, Message: []byte(message), XML: message[0] == '<'}
	_, err := payment.Inbox{Store: tl.Store, Now: tl.Now}.Take(context.Background(), p.ID, p.Event, func(tx *store.Tx) error { return tl.Pushes()[p.Event](tx, p) })
	return err
}

// What WeChat says of an order's money is kept for the merchant, in whatever order the pushes come.
func TestSettlementIsKept(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, ShipmentParcel{Delivery: model.DeliveryVirtual})
		tl.uploadNow(o)
		const event = "trade_manage_order_settlement"
		for i, message := range []string{
			`{"merchant_trade_no":"%s-1","confirm_receive_method":1,"confirm_receive_time":1764500000,"settlement_time":1764600000}`,
			`<xml><merchant_trade_no>%s-1</merchant_trade_no><estimated_settlement_time>1764400000</estimated_settlement_time></xml>`,
			`{"merchant_trade_no":"%s-1","estimated_settlement_time":1764400000}`,
		} {
			if err := tl.push(fmt.Sprint("kept", i), event, fmt.Sprintf(message, o.No)); err != nil {
				t.Fatal(err)
			}
		}
		u := tl.upload(o)
		if u.SettlementDueAt != 1764400000_000 || u.ReceivedAt != 1764500000_000 || u.SettledAt != 1764600000_000 ||
			u.ReceivedBy != model.ReceivedAuto || u.State != model.UploadDone {
			t.Errorf("upload %+v", u)
		}
		tl.want(o, "completed stock=9 coupon=used")
		tl.audited()
	})
}

// WeChat misses an order's shipping information: an order that is not shipped is overdue, once; an upload that waits is tried now.
func TestRemindedOfShipping(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		const event = "trade_manage_remind_shipping"
		o := tl.paid()
		for i := range 3 {
			if err := tl.push(fmt.Sprint("remind", i), event, `{"merchant_trade_no":"`+o.No+`-1","msg":"ship!"}`); err != nil {
				t.Fatal(err)
			}
		}
		now := tl.reload(o)
		if now.ShipOverdueAt == nil || now.ShipDueAt != nil || now.Version != o.Version+1 {
			t.Errorf("order %+v", now)
		}
		if n := tl.number("SELECT COUNT(*) FROM messages WHERE topic = ? AND msg_key = ?", TopicOverdue, fmt.Sprintf("order:%d", o.ID)); n != 1 {
			t.Errorf("%d alerts", n)
		}
		tl.settings(m{"shipping_lag": true})
		tl.mustShip(o, ShipmentParcel{Delivery: model.DeliveryVirtual})
		tl.uploadNow(o)
		tl.settings(m{"shipping_lag": false})
		if u := tl.upload(o); u.NextAt == nil || *u.NextAt <= tl.Now() {
			t.Fatalf("upload %+v", u)
		}
		if err := tl.push("remind-shipped", event, `{"merchant_trade_no":"`+o.No+`-1"}`); err != nil {
			t.Fatal(err)
		}
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=2 corrections=0", model.ParcelUploaded)
		if err := tl.push("remind-strange", event, `{"merchant_trade_no":"T20260101AAAAAAAAAAAA-1"}`); err != nil {
			t.Error(err)
		}
		tl.audited()
	})
}

// What concerns the whole mini-program is an anomaly that only the platform sees.
func TestPlatformPushes(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for kind, event := range map[string]string{payment.AnomalyTradeControlled: "wxa_trade_controlled", payment.AnomalyShippingUnmanaged: "trade_manage_remind_access_api"} {
			for range 2 { // sent again
				if err := tl.push(event, event, `{"msg":"订单管理"}`); err != nil {
					t.Fatal(err)
				}
			}
			if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE kind = ? AND merchant_id = 0 AND state = 'open' AND seen = 1 AND detail LIKE '%订单管理'", kind); n != 1 {
				t.Errorf("%s: %d anomalies", event, n)
			}
		}
		all := payment.Anomalies{Store: tl.Store}
		for _, platform := range []bool{false, true} {
			_, n, err := all.List(t.Context(), payment.AnomalyFilter{MerchantID: merchantID, Unowned: platform}, store.Page{Number: 1, Limit: 20})
			if err != nil || (n == 2) != platform {
				t.Errorf("the platform: %v, anomalies: %d, %v", platform, n, err)
			}
		}
		tl.audited()
	})
}
