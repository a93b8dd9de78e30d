package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// shipBreaks are the instants at which the shop is killed while it tells WeChat how an order was shipped.
var shipBreaks = []string{"shipinfo.claimed", "shipinfo.called", "shipinfo.recorded"}

// TestS01_KilledWhileUploading kills the shop at each of those instants. WeChat has the shipping information once.
// Case S01.
func TestS01_KilledWhileUploading(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range shipBreaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testShipBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
	}
	t.Run("shipinfo.called/embedded", func(t *testing.T) {
		t.Parallel()
		testShipBreak(t, program, "shipinfo.called", parts{})
	})
}

func testShipBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	g, ann := b.sell(50, time.Hour), b.shopper("ann")
	no := b.place(ann, g)
	b.confirm(b.pay(ann, no), 1)
	const within = 2*claimLife + recovery
	number := b.await(ann, no, "paid", within).OutTradeNo
	b.insist(g.admin, "POST", "/api/admin/v1/orders/"+no+"/ship", map[string]any{"parcels": []any{map[string]any{"delivery": "virtual"}}}, 200)
	type upload struct {
		Uploads int `json:"uploads"`
		State   int `json:"order_state"`
	}
	ask := func() []upload {
		return as[listOf[upload]](b.wechat(), b.wechat().call(200, "GET", "/sandbox/shipping?out_trade_no="+number, nil)).List
	}
	// What a killed replica had claimed is taken up when the claim ends.
	eventually(t, within, "WeChat knows that the order is shipped, and so does the shop", func() (bool, string) {
		b.revive()
		state := as[struct {
			Upload struct {
				Status string `json:"status"`
			} `json:"shipping_upload"`
		}](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/orders/"+no, nil, 200)).Upload.Status
		got := ask()
		return b.deaths == 1 && state == "uploaded" && len(got) == 1 && got[0].State == 2, fmt.Sprintf("%s, %+v after %d breaks", state, got, b.deaths)
	})
	if got := ask(); got[0].Uploads != 1 {
		t.Errorf("WeChat took %d uploads, want one", got[0].Uploads)
	}
	b.exactlyOnce()
	g.wantEvents(no, "pending_payment", "paid", "shipped")
}
