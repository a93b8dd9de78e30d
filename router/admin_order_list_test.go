package router

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm/schema"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// What the list is asked for reaches the service; a list that is searched for is read by cursor alone.
func TestOrderListFilters(t *testing.T) {
	const path = "/api/admin/v1/orders"
	for query, want := range map[string]order.Filter{
		"?status=paid&q=T2026":                    {MerchantID: 1, State: model.OrderPaid, Query: "T2026"},
		"?close_reason=timeout":                   {MerchantID: 1, CloseReason: model.CloseTimeout},
		"?shopper_id=9&product_id=4&sku_id=5":     {MerchantID: 1, ShopperID: 9, ProductID: 4, SKUID: 5},
		"?nickname=%E5%B0%8F%E6%98%8E&min_fen=10": {MerchantID: 1, Nickname: "小明", MinFen: 10},
		"?min_fen=10&max_fen=10":                  {MerchantID: 1, MinFen: 10, MaxFen: 10},
		"?aftersale_open=true":                    {MerchantID: 1, AftersaleOpen: true},
	} {
		late := &lateOrder{}
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminOrders: &admin.Orders{Service: late, Pictures: keys{}}}})
		got := as(t, h, "one", "GET", path+query, "", 200)
		if len(late.asked) != 1 || fmt.Sprint(late.asked[0]) != fmt.Sprint(want) {
			t.Errorf("%s asked %+v, want %+v", query, late.asked, want)
		}
		if got.Body["total"] != nil || got.Body["page"] != nil {
			t.Errorf("%s is counted: %s", query, got.Text)
		}
		refused(t, h, "one", "GET", path+query+"&page=2", "", 422, fault.ValidationFailed, "page out_of_range")
	}
	h := New(Deps{Auth: withChief{}, Operations: Operations{AdminOrders: &admin.Orders{Service: &lateOrder{}, Pictures: keys{}}}})
	refused(t, h, "one", "GET", path+"?min_fen=2&max_fen=1", "", 422, fault.ValidationFailed, "max_fen out_of_range")
	for _, q := range []string{"T20260131", "5678"} {
		if got := as(t, h, "one", "GET", path+"?q="+q, "", 200); got.Body["total"] == nil {
			t.Errorf("the orders of %s are not counted: %s", q, got.Text)
		}
	}
	if got := as(t, h, "one", "GET", path+"/"+someOrder+"/timeline", "", 200); list(got.Body["list"])[0]["actor"] != "admin:3" {
		t.Errorf("timeline: %s", got.Text)
	}
}

// TestLongOrderListsOpenLikeShortOnes opens the list of a merchant with 100,000 orders and that of one with 100, as the panel does: the
// database touches as many rows for the one as for the other. The times are only told, since another program may take them.
func TestLongOrderListsOpenLikeShortOnes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const long, short = 1, 2
		fillOrders(t, s, long, 100_000)
		fillOrders(t, s, short, 100)
		service := order.New(order.Deps{Store: s, Now: func() model.Time { return 1 }, Zone: time.UTC})
		h := New(Deps{Auth: people{}, Operations: Operations{AdminOrders: &admin.Orders{Service: service, Pictures: keys{}}}})
		s.SQL().SetMaxOpenConns(1) // the counters are a connection's
		for _, query := range []string{"?after=", "?after=&status=paid", "?after=&min_fen=1", "?after=&status=paid&max_fen=1000", "?after=&q=5678"} {
			var times [2]time.Duration
			var rows [2]int64
			for i, who := range []string{"two", "one"} {
				before := rowsRead(t, s)
				as(t, h, who, "GET", "/api/admin/v1/orders"+query, "", 200)
				rows[i] = rowsRead(t, s) - before
				times[i] = fastest(15, func() {
					if got := as(t, h, who, "GET", "/api/admin/v1/orders"+query, "", 200); len(list(got.Body["list"])) != 20 {
						t.Fatalf("%d orders", len(list(got.Body["list"])))
					}
				})
			}
			t.Logf("orders%s: 100,000 orders in %v, 100 in %v: ratio %.2f; rows touched %d and %d", query, times[1], times[0],
				float64(times[1])/float64(times[0]), rows[1], rows[0])
			if rows[1] > rows[0]+20 {
				t.Errorf("orders%s: %d rows are touched in a long list, %d in a short one", query, rows[1], rows[0])
			}
		}
	})
}

// fillOrders writes so many orders of a merchant: one, and then copies in SQL, three in four of them paid.
func fillOrders(t *testing.T, s *store.Store, merchant int64, count int64) {
	t.Helper()
	first, tail := merchant*10_000_000, "5678"
	o := model.Order{ID: first, No: fmt.Sprintf("T20260101%d", first), MerchantID: merchant, ShopperID: 1, State: model.OrderPaid, PayableFen: 500, IdemKey: fmt.Sprint(first), CreatedAt: 1e12, Version: 1, ReceiverPhoneTail: &tail}
	l := model.OrderLine{ID: first, OrderID: first, LineNo: 1, MerchantID: merchant, ProductID: 1, SKUID: 1, Name: "茶", Specs: map[string]string{}, Quantity: 1, PriceFen: 500, CreatedAt: 1e12}
	for _, row := range []any{&o, &l} {
		if err := s.Read(t.Context()).Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}
	for have := int64(1); have < count; have *= 2 {
		copyRows(t, s, &o, map[string]string{
			"id": "id + ?", "no": text(s, "'T20260101'", "id + ?"), "idem_key": text(s, "''", "id + ?"), "created_at": "created_at + ?",
			"state": "CASE WHEN (id + ?) % 4 = 0 THEN 'completed' ELSE 'paid' END",
		}, have, first, min(have, count-have))
		copyRows(t, s, &l, map[string]string{"id": "id + ?", "order_id": "id + ?", "created_at": "created_at + ?"}, have, first, min(have, count-have))
	}
	if s.Dialect() == store.MySQL {
		if err := s.Read(t.Context()).Exec("ANALYZE TABLE orders, order_lines").Error; err != nil {
			t.Fatal(err)
		}
	}
}

// text joins two expressions of SQL to a text.
func text(s *store.Store, a, b string) string {
	if s.Dialect() == store.MySQL {
		return "CONCAT(" + a + ", " + b + ")"
	}
	return a + " || (" + b + ")"
}

// copyRows copies n rows of the model's table, from the one with the id first on, with other values, in which ? is shift.
func copyRows(t *testing.T, s *store.Store, row any, values map[string]string, shift, first, n int64) {
	t.Helper()
	table, err := schema.Parse(row, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	exprs := make([]string, len(table.DBNames))
	names := slices.Clone(table.DBNames)
	for i, name := range table.DBNames {
		names[i] = "`" + name + "`"
		exprs[i] = names[i]
		if v := values[name]; v != "" {
			exprs[i] = strings.ReplaceAll(v, "?", fmt.Sprint(shift))
		}
	}
	query := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE id >= %d AND id < %d", table.Table, strings.Join(names, ", "), strings.Join(exprs, ", "), table.Table, first, first+n)
	if err := s.Read(t.Context()).Exec(query).Error; err != nil {
		t.Fatal(err)
	}
}

// rowsRead is how many rows the connection has read so far; 0 where the database does not count them.
func rowsRead(t *testing.T, s *store.Store) (n int64) {
	t.Helper()
	if s.Dialect() != store.MySQL {
		return 0
	}
	var rows []struct {
		Name  string `gorm:"column:Variable_name"`
		Value int64  `gorm:"column:Value"`
	}
	if err := s.Read(t.Context()).Raw("SHOW SESSION STATUS LIKE 'Handler_read%'").Scan(&rows).Error; err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		n += r.Value
	}
	return n
}

// fastest is the shortest time that fn takes.
func fastest(n int, fn func()) time.Duration {
	best := time.Hour
	for range n {
		start := time.Now()
		fn()
		best = min(best, time.Since(start))
	}
	return best
}
