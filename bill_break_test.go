package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// billBreaks are the instants at which the shop is killed while it compares a day with WeChat's bill.
var billBreaks = []string{"bill.fetched", "bill.stored", "bill.imported", "bill.paged", "bill.paged:3", "bill.recorded", "bill.recorded:2"}

// billLease is how long a day belongs to a replica that was killed.
const billLease = 30 * time.Second

// TestKilledWhileADayIsReconciled kills the shop at each of those instants. Started again it goes on by itself, finds what there
// is to find, and finds it once; so does another run.
// Case B05.
func TestKilledWhileADayIsReconciled(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range billBreaks {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			testBillBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
	}
}

// dayBill is what the test reads of a day.
type dayBill struct {
	Status      string
	Payments    int64
	Differences listOf[struct{ Kind, Status string }]
}

func testBillBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	g, ann := b.sell(50, time.Hour), b.shopper("ann")
	no := b.place(ann, g)
	b.confirm(b.pay(ann, no), 1)
	const within = 2*billLease + recovery
	b.await(ann, no, "paid", within)
	number := as[order](ann, b.insist(ann, "GET", "/api/v1/orders/"+no, nil, 200)).OutTradeNo
	b.wechat().call(200, "POST", "/sandbox/settings", map[string]any{"bill_today": true, "bill_edits": []map[string]any{
		{"out_trade_no": number, "set": map[string]string{"订单金额": "7.77"}}, {"out_trade_no": "FOREIGN0001", "add": true},
	}})
	paid := as[struct {
		At string `json:"success_time"` // by the time of China, as days of bills are
	}](b.wechat(), b.wechat().call(200, "GET", "/sandbox/transactions/"+number, nil)).At
	day := "/api/admin/v1/bills/" + paid[:len(time.DateOnly)]
	reconciled := func(deaths int) {
		b.insist(g.admin, "POST", day+"/run", nil, 202)
		eventually(t, within, "the day is reconciled", func() (bool, string) {
			b.revive()
			got := as[dayBill](g.admin, b.insist(g.admin, "GET", day, nil, 200))
			return b.deaths == deaths && got.Status == "compared" && got.Payments == 2 && len(got.Differences.List) == 2, fmt.Sprintf("%+v after %d breaks", got, b.deaths)
		})
	}
	reconciled(1)
	reconciled(1)
	if all := as[listOf[struct{ Kind string }]](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/anomalies?status=open", nil, 200)); len(all.List) != 2 {
		t.Errorf("anomalies: %+v, want two", all.List)
	}
	b.exactlyOnce()
}
