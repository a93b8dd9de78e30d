package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// aftersaleBreaks are the instants at which the shop is killed while goods and money go back: when the after-sale is asked for, when
// the goods are received (the fourth change), and while WeChat is called.
var aftersaleBreaks = []string{
	"aftersale.written", "aftersale.committed", "aftersale.written:4", "aftersale.committed:4", "refund.claimed", "refund.called", "refund.recorded",
}

// TestKilledWhileGoodsGoBack kills the shop at each of those instants. There is one after-sale, one refund at WeChat under one number,
// and the piece is back on the shelf once.
// Case T63.
func TestKilledWhileGoodsGoBack(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range aftersaleBreaks {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			testAftersaleBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
	}
}

// afterSale is an after-sale as the API shows it.
type afterSale struct {
	ID      int64  `json:"id"`
	Status  string `json:"status"`
	Version int64  `json:"version"`
}

func testAftersaleBreak(t *testing.T, program, point string, p parts) {
	const mine, theirs = "/api/v1/aftersales/%d", "/api/admin/v1/aftersales/%d"
	b := breakAt(t, program, point, p)
	g, ann := b.sell(50, time.Hour), b.shopper("ann")
	no := b.place(ann, g)
	b.confirm(b.pay(ann, no), 1)
	const within = 2*claimLife + recovery
	paid := b.await(ann, no, "paid", within)
	b.insist(g.admin, "POST", "/api/admin/v1/orders/"+no+"/ship", map[string]any{"parcels": []any{map[string]any{"delivery": "virtual"}}}, 200)

	sale := as[afterSale](ann, b.insist(ann, "POST", "/api/v1/orders/"+no+"/aftersales", map[string]any{
		"type": "return_refund", "reason": "不想要了", "lines": []any{map[string]any{"line_id": paid.Lines[0].ID, "quantity": 1}},
	}, 201))
	// A change whose answer was lost is stale when it is sent again.
	b.insist(g.admin, "POST", fmt.Sprintf(theirs+"/approve", sale.ID), map[string]any{"version": sale.Version}, 200, 409)
	b.insist(ann, "POST", fmt.Sprintf(mine+"/return-parcel", sale.ID), map[string]any{"carrier": "ZTO", "tracking_no": "7531"}, 200)
	sale = as[afterSale](g.admin, b.insist(g.admin, "GET", fmt.Sprintf(theirs, sale.ID), nil, 200))
	b.insist(g.admin, "POST", fmt.Sprintf(theirs+"/receive", sale.ID), map[string]any{"version": sale.Version}, 200, 409)
	eventually(t, within, "goods and money are back", func() (bool, string) {
		sale = as[afterSale](ann, b.insist(ann, "GET", fmt.Sprintf(mine, sale.ID), nil, 200))
		b.revive()
		return b.deaths == 1 && sale.Status == "refunded", fmt.Sprintf("%+v after %d breaks", sale, b.deaths)
	})
	b.exactlyOnce()
	g.wantStock(50)
	if o := g.order(no); o.RefundedFen != o.PayableFen || o.Status != "shipped" {
		t.Errorf("order %+v", o)
	}
	made := as[listOf[struct {
		Status string `json:"status"`
	}]](b.wechat(), b.wechat().call(200, "GET", "/sandbox/refunds?out_trade_no="+paid.OutTradeNo, nil)).List
	if len(made) != 1 || made[0].Status != "SUCCESS" {
		t.Errorf("WeChat made the refunds %+v, want one", made)
	}
	if n := as[listOf[afterSale]](ann, ann.call(200, "GET", "/api/v1/aftersales", nil)); len(n.List) != 1 {
		t.Errorf("after-sales %+v, want one", n.List)
	}
}
