package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// refundBreaks are the instants at which the shop is killed while money that came after the close goes back.
var refundBreaks = []string{"refund.claimed", "refund.called", "refund.recorded", "settle.written", "settle.committed", "relay.delivered:3"}

// TestKilledWhileMoneyGoesBack kills the shop at each of those instants. The order stays closed, and the money goes back once, under
// one number.
// Cases T32, T38.
func TestKilledWhileMoneyGoesBack(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range refundBreaks {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			testRefundBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
	}
}

func testRefundBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	g, ann := b.sell(50, time.Hour), b.shopper("ann")
	no := b.place(ann, g)
	b.pay(ann, no)
	const within = 2*claimLife + recovery
	number := as[order](ann, b.insist(ann, "GET", "/api/v1/orders/"+no, nil, 200)).OutTradeNo
	b.insist(ann, "POST", "/api/v1/orders/"+no+"/cancel", nil, 200)
	b.await(ann, no, "closed", within)
	eventually(t, within, "the callback of the late payment is taken", func() (bool, string) {
		b.revive()
		got := b.wechat().call(200, "POST", "/sandbox/notify", map[string]any{"to": "pay", "out_trade_no": number, "tamper": "none", "times": 1})
		answers := as[struct{ Responses []struct{ Status int } }](b.wechat(), got).Responses
		return len(answers) == 1 && answers[0].Status/100 == 2, got.text
	})
	eventually(t, within, "the money is back", func() (bool, string) {
		refunds := as[order](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/orders/"+no, nil, 200)).Refunds
		return b.deaths == 1 && len(refunds) == 1 && refunds[0].Status == "success", fmt.Sprintf("%+v after %d breaks", refunds, b.deaths)
	})
	b.exactlyOnce()
	g.wantStock(50)
	g.wantEvents(no, "pending_payment", "closed")
	made := as[listOf[struct {
		Status string `json:"status"`
	}]](b.wechat(), b.wechat().call(200, "GET", "/sandbox/refunds?out_trade_no="+number, nil)).List
	if len(made) != 1 || made[0].Status != "SUCCESS" {
		t.Errorf("WeChat made the refunds %+v, want one", made)
	}
}
