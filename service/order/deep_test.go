package order

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// deepDoublings of one order are what the test of deep pages reads: 262,144.
const deepDoublings = 18

// TestT79_DeepPages reads pages by cursor at the beginning of a long list and deep in it, and counts the rows that the database
// touched: as many here as there. A page by number, for contrast, touches all that is before it.
// Case T79.
func TestT79_DeepPages(t *testing.T) {
	sh := newShop(t, mysqlStore(t))
	o := sh.order(sh.sku(product{price: 100, stock: 10, virtual: true}), 1)
	sh.insertSQL("UPDATE orders SET receiver_phone_tail = '1234'")
	total := sh.multiply(deepDoublings)
	sh.Store.SQL().SetMaxOpenConns(1) // the counters are a connection's
	const limit = 20
	for name, f := range map[string]Filter{
		"merchant":          {MerchantID: merchantID},
		"merchant, unpaid":  {MerchantID: merchantID, State: model.OrderPending},
		"merchant, tail":    {MerchantID: merchantID, Query: "1234"},
		"shopper":           {ShopperID: o.ShopperID},
		"shopper, finished": {ShopperID: o.ShopperID, State: model.OrderCompleted},
	} {
		list := sh.number("SELECT COUNT(*) FROM orders WHERE (? = '' OR state = ?)", f.State, f.State)
		var costs []int64
		for _, percent := range []int64{0, 50, 99} {
			after := sh.behind(f, list*percent/100)
			var rows []View
			costs = append(costs, sh.touched(func() {
				var err error
				if rows, _, err = sh.ListAfter(t.Context(), f, after, limit); err != nil {
					t.Fatal(err)
				}
			}))
			if len(rows) != limit || after.ID != 0 && rows[0].CreatedAt > after.At {
				t.Errorf("%s, %d%%: %d rows from %v on", name, percent, len(rows), rows[0].CreatedAt)
			}
		}
		byNumber := sh.touched(func() {
			if _, _, err := sh.List(t.Context(), f, store.Page{Number: int(list / limit / 2), Limit: limit}); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %d of %d orders; rows touched by a page at the start, in the middle and at the end: %v; by number in the middle: %d", name, list, total, costs, byNumber)
		for _, cost := range costs {
			if cost < limit || cost > costs[0]+limit {
				t.Errorf("%s: a page touches %v rows, by depth", name, costs)
				break
			}
		}
		if byNumber < list/2 {
			t.Errorf("%s: a page by number touches only %d rows: they are counted wrongly", name, byNumber)
		}
	}
}

// TestShortBeginningsOfNumbers asks for a page of the orders whose numbers begin with what most of them begin with: it is read in the
// order of the list, not found among everybody's orders.
func TestShortBeginningsOfNumbers(t *testing.T) {
	sh := newShop(t, mysqlStore(t))
	sh.order(sh.sku(product{price: 100, stock: 10, virtual: true}), 1)
	total := sh.multiply(11)
	sh.insertSQL("UPDATE orders SET no = CONCAT('T2026', 1000 + id % 365, 'X', id)")
	sh.Store.SQL().SetMaxOpenConns(1) // the counters are a connection's
	const limit = 20
	for query, most := range map[string]int64{"T": total / 4, "t2026": total / 4, "T20261099": total / 4} {
		var rows []View
		cost := sh.touched(func() {
			var err error
			if rows, _, err = sh.ListAfter(t.Context(), Filter{MerchantID: merchantID, Query: query}, store.Cursor{}, limit); err != nil {
				t.Fatal(err)
			}
		})
		if len(rows) == 0 || cost > most {
			t.Errorf("%q: %d orders of %d touched %d rows", query, len(rows), total, cost)
		}
	}
}

// multiply doubles the orders that there are, in SQL, and returns how many there are then. Three at a time share a millisecond, and
// one in four is finished.
func (sh *shop) multiply(doublings int) int64 {
	sh.t.Helper()
	var columns []string
	if err := sh.Store.Read(sh.t.Context()).Raw("SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders'").Scan(&columns).Error; err != nil {
		sh.t.Fatal(err)
	}
	for n := range doublings {
		shift := int64(1) << n
		values := make([]string, len(columns))
		for i, c := range columns {
			switch strings.ToLower(c) {
			case "id":
				values[i] = fmt.Sprintf("id + %d", shift)
			case "no", "idem_key":
				values[i] = fmt.Sprintf("CONCAT('deep-', id + %d)", shift)
			case "created_at":
				values[i] = fmt.Sprintf("created_at - %d", shift/3)
			case "state":
				values[i] = fmt.Sprintf("CASE WHEN (id + %d) %% 4 = 0 THEN 'completed' ELSE 'pending_payment' END", shift)
			default:
				values[i] = c
			}
		}
		sh.insertSQL("INSERT INTO orders (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM orders")
	}
	sh.insertSQL("ANALYZE TABLE orders")
	return sh.number("SELECT COUNT(*) FROM orders")
}

func (sh *shop) insertSQL(query string) {
	sh.t.Helper()
	if err := sh.Store.Read(sh.t.Context()).Exec(query).Error; err != nil {
		sh.t.Fatal(err)
	}
}

// behind is the cursor behind so many orders of the list; the start for none.
func (sh *shop) behind(f Filter, depth int64) store.Cursor {
	sh.t.Helper()
	if depth == 0 {
		return store.Cursor{}
	}
	var o model.Order
	if err := f.on(sh.Store.Read(sh.t.Context())).Order("created_at DESC, id DESC").Offset(int(depth)).Limit(1).Take(&o).Error; err != nil {
		sh.t.Fatal(err)
	}
	return store.Cursor{At: o.CreatedAt, ID: o.ID}
}

// touched is how many rows the database read for what fn does. Asking costs some too, always as many.
func (sh *shop) touched(fn func()) int64 {
	sh.t.Helper()
	first := sh.reads()
	asking := sh.reads() - first
	before := sh.reads()
	fn()
	return sh.reads() - before - asking
}

func (sh *shop) reads() (n int64) {
	sh.t.Helper()
	var rows []struct {
		VariableName string `gorm:"column:Variable_name"`
		Value        int64  `gorm:"column:Value"`
	}
	if err := sh.Store.Read(sh.t.Context()).Raw("SHOW SESSION STATUS LIKE 'Handler_read%'").Scan(&rows).Error; err != nil {
		sh.t.Fatal(err)
	}
	for _, r := range rows {
		n += r.Value
	}
	return n
}
