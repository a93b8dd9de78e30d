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
