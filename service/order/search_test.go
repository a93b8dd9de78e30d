package order

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// found reads a list to its end, in pages of two, and returns the ids in their order.
func (sh *shop) found(f Filter) []int64 {
	sh.t.Helper()
	ids := []int64{}
	for after := (store.Cursor{}); ; {
		views, next, err := sh.ListAfter(sh.t.Context(), f, after, 2)
		if err != nil {
			sh.t.Fatal(err)
		}
		for _, v := range views {
			ids = append(ids, v.ID)
		}
		if next == nil {
			return ids
		}
		after = *next
	}
}

// Every filter, alone and together, finds the merchant's orders that it means, newest first, and nobody else's.
func TestOrdersAreFound(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		sh.insert(&model.Merchant{ID: 2, Name: "m2", Version: 1, CreatedAt: sh.Now(), UpdatedAt: sh.Now()})
		tea, cup := sh.sku(product{price: 100, stock: 99, virtual: true}), sh.sku(product{price: 700, stock: 99, virtual: true})
		other := sh.sku(product{merchant: 2, price: 100, stock: 99, virtual: true})
		var o []*model.Order // 0 tea, 1 tea ×3, 2 cup, 3 tea, 4 another merchant's; a second apart
		for _, part := range []Item{{SKUID: tea, Quantity: 1}, {SKUID: tea, Quantity: 3}, {SKUID: cup, Quantity: 1}, {SKUID: tea, Quantity: 1}, {SKUID: other, Quantity: 1}} {
			o = append(o, sh.order(part.SKUID, part.Quantity))
			sh.advance(time.Second)
		}
		exec := func(query string, args ...any) {
			if err := sh.Store.Read(t.Context()).Exec(query, args...).Error; err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE orders SET state = 'closed', close_reason = 'timeout' WHERE id = ?", o[0].ID)
		exec("UPDATE orders SET state = 'closed', close_reason = 'merchant' WHERE id = ?", o[1].ID)
		exec("UPDATE shoppers SET nickname = '小明' WHERE id IN ?", []int64{o[0].ShopperID, o[2].ShopperID, o[4].ShopperID})
		exec("UPDATE orders SET shopper_id = ? WHERE id = ?", o[0].ShopperID, o[3].ID)
		for id, state := range map[int]model.AftersaleState{1: model.AftersaleRequested, 2: model.AftersaleRejected, 3: model.AftersaleApproved, 4: model.AftersaleRequested} {
			sh.insert(&model.Aftersale{
				ID: int64(id), OrderID: o[id].ID, MerchantID: o[id].MerchantID, ShopperID: o[id].ShopperID, Type: model.AftersaleRefundOnly, State: state,
				Version: 1, CreatedAt: sh.Now(), UpdatedAt: sh.Now(),
			})
		}
		exec("UPDATE orders SET receiver_phone_tail = '4321' WHERE id IN ?", []int64{o[0].ID, o[2].ID, o[4].ID})
		teaProduct := sh.number("SELECT product_id FROM skus WHERE id = ?", tea)
		for name, c := range map[string]struct {
			f    Filter
			want []int
		}{
			"all":                        {Filter{}, []int{3, 2, 1, 0}},
			"closed for a reason":        {Filter{CloseReason: model.CloseTimeout}, []int{0}},
			"a reason of another state":  {Filter{State: model.OrderPending, CloseReason: model.CloseTimeout}, nil},
			"the shopper":                {Filter{ShopperID: o[0].ShopperID}, []int{3, 0}},
			"the shopper, another shop":  {Filter{ShopperID: o[4].ShopperID}, nil},
			"the shopper and a state":    {Filter{ShopperID: o[0].ShopperID, State: model.OrderClosed}, []int{0}},
			"namesakes":                  {Filter{Nickname: "小明"}, []int{3, 2, 0}},
			"nobody of the name":         {Filter{Nickname: "小红"}, nil},
			"namesakes and a product":    {Filter{Nickname: "小明", ProductID: teaProduct}, []int{3, 0}},
			"a product":                  {Filter{ProductID: teaProduct}, []int{3, 1, 0}},
			"a product and a state":      {Filter{ProductID: teaProduct, State: model.OrderClosed}, []int{1, 0}},
			"a product in time":          {Filter{ProductID: teaProduct, From: o[1].CreatedAt, To: o[3].CreatedAt}, []int{1}},
			"an SKU":                     {Filter{SKUID: cup}, []int{2}},
			"another merchant's SKU":     {Filter{SKUID: other}, nil},
			"an SKU of another product":  {Filter{ProductID: teaProduct, SKUID: cup}, nil},
			"from an amount":             {Filter{MinFen: 300}, []int{2, 1}},
			"between amounts":            {Filter{MinFen: 100, MaxFen: 300}, []int{3, 1, 0}},
			"open after-sales":           {Filter{AftersaleOpen: true}, []int{3, 1}},
			"open after-sales, a state":  {Filter{AftersaleOpen: true, State: model.OrderClosed}, []int{1}},
			"open after-sales, a name":   {Filter{AftersaleOpen: true, Nickname: "小明"}, []int{3}},
			"a number":                   {Filter{Query: o[2].No}, []int{2}},
			"a number and another state": {Filter{Query: o[2].No, State: model.OrderClosed}, nil},
			"a tail":                     {Filter{Query: "4321"}, []int{2, 0}},
			"a tail and a state":         {Filter{Query: "4321", State: model.OrderClosed}, []int{0}},
			"a tail and a product":       {Filter{Query: "4321", ProductID: teaProduct}, []int{0}},
			"a tail in time":             {Filter{Query: "4321", To: o[2].CreatedAt}, []int{0}},
			"a tail and the shopper":     {Filter{Query: "4321", ShopperID: o[0].ShopperID}, []int{0}},
			"another tail":               {Filter{Query: "1234"}, nil},
			"less than a tail":           {Filter{Query: "321"}, nil},
			"a number's beginning":       {Filter{Query: "t"}, []int{3, 2, 1, 0}},
		} {
			c.f.MerchantID = merchantID
			want := []int64{}
			for _, i := range c.want {
				want = append(want, o[i].ID)
			}
			if got := sh.found(c.f); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}

// A nickname that half the world has is not searched for.
func TestTooManyNamesakes(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		for i := range maxNamesakes + 1 {
			sh.insert(&model.Shopper{OpenID: fmt.Sprint("same", i), Nickname: "微信用户", CreatedAt: sh.Now(), UpdatedAt: sh.Now()})
		}
		_, _, err := sh.ListAfter(t.Context(), Filter{MerchantID: merchantID, Nickname: "微信用户"}, store.Cursor{}, 20)
		if fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%v", err)
		}
	})
}

// TestSearchesAreBounded asks a long list for what it hardly has, or not at all: each page looks at a bounded number of rows, at the
// beginning and deep in the list, and reading on finds what there is.
func TestSearchesAreBounded(t *testing.T) {
	sh := newShop(t, mysqlStore(t))
	o := sh.order(sh.sku(product{price: 100, stock: 10, virtual: true}), 1)
	sh.insertSQL("UPDATE orders SET receiver_phone_tail = '1234'")
	total := sh.multiply(14)
	sh.insertSQL("UPDATE orders SET payable_fen = 999 WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM orders WHERE created_at = (SELECT MIN(created_at) FROM orders)) oldest)")
	sh.Store.SQL().SetMaxOpenConns(1) // the counters are a connection's
	for name, f := range map[string]Filter{
		"amount":           {MerchantID: merchantID, MinFen: 900},
		"amount and state": {MerchantID: merchantID, State: model.OrderPending, MinFen: 900},
		"close reason":     {MerchantID: merchantID, CloseReason: model.CloseTimeout},
		"shopper, amount":  {MerchantID: merchantID, ShopperID: o.ShopperID, MinFen: 900},
		"short number":     {MerchantID: merchantID, Query: "z"},
		"overdue":          {MerchantID: merchantID, ShipOverdue: true},
		"tail and state":   {MerchantID: merchantID, Query: "1234", State: model.OrderPaid},
	} {
		pages, found := 0, 0
		for after := (store.Cursor{}); ; pages++ {
			var next *store.Cursor
			cost := sh.touched(func() {
				views, n, err := sh.ListAfter(context.Background(), f, after, 20)
				if err != nil {
					t.Fatal(err)
				}
				next, found = n, found+len(views)
			})
			if cost > 4*searchLook {
				t.Errorf("%s: page %d touches %d rows of %d", name, pages, cost, total)
			}
			if next == nil {
				break
			}
			after = *next
		}
		t.Logf("%s: %d found in %d pages of %d orders", name, found, pages+1, total)
	}
	if got := sh.found(Filter{MerchantID: merchantID, MinFen: 900}); len(got) != 1 {
		t.Errorf("found %d orders of the amount, want the oldest", len(got))
	}
}
