package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// noticeBreaks are the instants at which the shop is killed while it tells a shopper that their order is paid.
var noticeBreaks = []string{"notice.claimed", "notice.called", "notice.recorded"}

// noticeClaim is how long the claim of a message keeps others out after a kill.
const noticeClaim = 11 * time.Second

// TestKilledWhileAShopperIsTold kills the shop at each of those instants. The message arrives: once, but for a kill between WeChat's
// taking it and the record, after which it arrives again.
func TestKilledWhileAShopperIsTold(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range noticeBreaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testNoticeBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
		t.Run(point+"/embedded", func(t *testing.T) {
			t.Parallel()
			testNoticeBreak(t, program, point, parts{})
		})
	}
}

func testNoticeBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	g, ann := b.sell(50, time.Hour), b.shopper("ann")
	setTemplates(g.admin)
	no := b.place(ann, g)
	b.confirm(b.pay(ann, no), 1)
	const within = noticeClaim + recovery
	type told struct {
		Event  string `json:"event"`
		Status string `json:"status"`
		Calls  int    `json:"calls"`
	}
	var notices []told
	eventually(t, within, "the shopper is told", func() (bool, string) {
		b.revive()
		notices = as[struct {
			Notices []told `json:"notices"`
		}](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/orders/"+no, nil, 200)).Notices
		return b.deaths == 1 && len(notices) == 1 && notices[0].Status == "sent", fmt.Sprintf("%+v after %d breaks", notices, b.deaths)
	})
	calls, arrivals := 2, 1
	switch point {
	case "notice.called":
		arrivals = 2
	case "notice.recorded":
		calls = 1
	}
	if notices[0].Event != "order_paid" || notices[0].Calls != calls {
		t.Errorf("%+v, want %d calls", notices, calls)
	}
	list := as[listOf[struct {
		Values map[string]string `json:"values"`
	}]](b.wechat(), b.wechat().call(200, "GET", "/sandbox/messages?template_id="+strings.Repeat("t", 43), nil)).List
	if len(list) != arrivals || list[0].Values["character_string1"] != no {
		t.Errorf("%d messages arrived, want %d: %+v", len(list), arrivals, list)
	}
	b.exactlyOnce()
}
