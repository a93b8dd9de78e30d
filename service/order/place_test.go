package order

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// together runs n functions at the same instant and returns their errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func succeeded(errs []error) (n int) {
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}

// wantCode fails the test unless every error is nil or has the code.
func wantCode(t *testing.T, errs []error, code fault.Code) {
	t.Helper()
	for _, err := range errs {
		if err != nil && !fault.Is(err, code) {
			t.Errorf("got %v, want code %s", err, code)
		}
	}
}

// sound checks what must hold of stock after everything: never negative, the sum of its ledger, no order without its reserve.
func (sh *shop) sound() {
	sh.t.Helper()
	if n := sh.number("SELECT COUNT(*) FROM skus k WHERE stock < 0 OR stock <> (SELECT COALESCE(SUM(delta), 0) FROM stock_ledger l WHERE l.sku_id = k.id)"); n != 0 {
		sh.t.Errorf("%d SKUs are not the sum of their ledger", n)
	}
	if n := sh.number("SELECT COUNT(*) FROM order_lines l WHERE (SELECT COUNT(*) FROM stock_ledger e WHERE e.line_id = l.id AND e.kind = 'reserve' AND e.delta = -l.quantity) <> 1"); n != 0 {
		sh.t.Errorf("%d lines have not exactly one reserve entry", n)
	}
	if n := sh.number("SELECT COUNT(*) FROM orders o WHERE version <> (SELECT COUNT(*) FROM order_events e WHERE e.order_id = o.id) OR version <> (SELECT COUNT(*) FROM messages m WHERE m.msg_key = CONCAT('order:', o.id))"); n != 0 {
		sh.t.Errorf("%d orders have not one event and one message a version", n)
	}
}

func TestPlaceWritesTheOrder(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me := sh.shopper()
		shirt, hat := sh.sku(product{price: 9900, stock: 10}), sh.sku(product{price: 3300, stock: 5})
		c := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 1000, ThresholdFen: 10000})
		sh.insert(&model.FreightRule{MerchantID: merchantID, Name: "默认", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, FirstFen: 800, StepUnits: 1, StepFen: 100, Version: 1, CreatedAt: 1, UpdatedAt: 1})
		p := sh.basket(me, c, Item{SKUID: shirt, Quantity: 2}, Item{SKUID: hat, Quantity: 1})
		o, err := sh.Place(t.Context(), me, p)
		if err != nil {
			t.Fatal(err)
		}
		// 2 × 9900 + 3300 = 23100 goods; 1000 off: 857 + 143 by 19800 : 3300; freight 800 + 2 × 100.
		v, err := sh.Get(t.Context(), me, o.No)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintln(v.State, v.GoodsFen, v.DiscountFen, v.FreightFen, v.PayableFen, v.Lines[0].DiscountFen, v.Lines[1].DiscountFen)
		if want := "pending_payment 23100 1000 1000 23100 857 143\n"; got != want {
			t.Errorf("order is %s, want %s", got, want)
		}
		if sh.stock(shirt) != 8 || sh.stock(hat) != 4 || sh.couponState(c) != model.CouponLocked {
			t.Errorf("stock %d and %d, coupon %s", sh.stock(shirt), sh.stock(hat), sh.couponState(c))
		}
		tasks := sh.scheduled()
		if len(tasks) != 1 || tasks[0].Kind != KindPay || tasks[0].Key != fmt.Sprint(o.ID) || tasks[0].Due != int64(o.CreatedAt.Add(30*time.Minute)) {
			t.Errorf("scheduled %+v", tasks)
		}
		sh.sound()
	})
}

// T17: stock 1, 200 shoppers order at once: one order.
func TestT17_LastUnitUnder200Orders(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		k := sh.sku(product{price: 100, stock: 1})
		baskets, shoppers := make([]Placement, 200), make([]int64, 200)
		for i := range baskets {
			shoppers[i] = sh.shopper()
			baskets[i] = sh.basket(shoppers[i], 0, Item{SKUID: k, Quantity: 1})
		}
		errs := together(200, func(i int) error {
			_, err := sh.Place(context.Background(), shoppers[i], baskets[i])
			return err
		})
		if n := succeeded(errs); n != 1 {
			t.Errorf("%d orders succeeded, want 1", n)
		}
		wantCode(t, errs, fault.StockInsufficient)
		if sh.stock(k) != 0 || sh.number("SELECT COUNT(*) FROM orders") != 1 {
			t.Errorf("stock %d, orders %d", sh.stock(k), sh.number("SELECT COUNT(*) FROM orders"))
		}
		sh.sound()
	})
}

// T19: stock 1, bought, then ordered again: refused. T20 and T24: two at the same instant: the loser leaves nothing behind.
func TestT19_T20_T24_SecondBuyerIsRefused(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		k, other := sh.sku(product{price: 100, stock: 1}), sh.sku(product{price: 100, stock: 100})
		shoppers := []int64{sh.shopper(), sh.shopper()}
		var baskets []Placement
		var coupons []int64
		for _, who := range shoppers {
			c := sh.coupon(who, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 10})
			coupons = append(coupons, c)
			baskets = append(baskets, sh.basket(who, c, Item{SKUID: other, Quantity: 3}, Item{SKUID: k, Quantity: 1}))
		}
		errs := together(2, func(i int) error {
			_, err := sh.Place(context.Background(), shoppers[i], baskets[i])
			return err
		})
		if succeeded(errs) != 1 {
			t.Fatalf("want one success: %v", errs)
		}
		wantCode(t, errs, fault.StockInsufficient)
		loser := 0
		if errs[0] == nil {
			loser = 1
		}
		var e *fault.Error
		if errors.As(errs[loser], &e); len(e.Fields) != 1 || e.Fields[0].Field != "items[1].quantity" {
			t.Errorf("the error names %v, want items[1].quantity", e.Fields)
		}
		if sh.stock(k) != 0 || sh.stock(other) != 97 || sh.couponState(coupons[loser]) != model.CouponAvailable {
			t.Errorf("stock %d and %d, loser's coupon %s", sh.stock(k), sh.stock(other), sh.couponState(coupons[loser]))
		}
		if _, err := sh.Place(t.Context(), shoppers[loser], baskets[loser]); !fault.Is(err, fault.StockInsufficient) {
			t.Errorf("again: %v, want stock_insufficient", err)
		}
		sh.sound()
	})
}

// T25 and T29: stock that changes between quote and submit is looked at again.
func TestT25_T29_StockIsCheckedAgainAtSubmit(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		k := sh.sku(product{price: 100, stock: 3})
		a := sh.shopper()
		p := sh.basket(a, 0, Item{SKUID: k, Quantity: 1})
		sh.order(k, 3)
		if _, err := sh.Place(t.Context(), a, p); !fault.Is(err, fault.StockInsufficient) {
			t.Errorf("got %v, want stock_insufficient", err)
		}
		if _, err := sh.Quote(t.Context(), a, p.Basket); !fault.Is(err, fault.StockInsufficient) {
			t.Errorf("quote: got %v, want stock_insufficient", err)
		}
		sh.sound()
	})
}

// T59: a submit re-prices; the shopper is told and nothing is written. Only the bought items leave the cart.
func TestT59_SubmitRePricesAndRemovesOnlyWhatWasBought(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me := sh.shopper()
		k, other := sh.sku(product{price: 100, stock: 9}), sh.sku(product{price: 700, stock: 9})
		mine := &model.CartItem{ShopperID: me, SKUID: k, Quantity: 1, CreatedAt: 1, UpdatedAt: 1}
		stays := &model.CartItem{ShopperID: me, SKUID: other, Quantity: 1, CreatedAt: 1, UpdatedAt: 1}
		foreign := &model.CartItem{ShopperID: sh.shopper(), SKUID: k, Quantity: 1, CreatedAt: 1, UpdatedAt: 1}
		sh.insert(mine)
		sh.insert(stays)
		sh.insert(foreign)
		p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1, CartItemID: mine.ID})
		p.Items = append([]Item(nil), p.Items...)
		if err := sh.Store.Read(t.Context()).Exec("UPDATE skus SET price_fen = 120 WHERE id = ?", k).Error; err != nil {
			t.Fatal(err)
		}
		_, err := sh.Place(t.Context(), me, p)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.PriceChanged {
			t.Fatalf("got %v, want price_changed", err)
		}
		if q, ok := e.Extra["quote"].(*Quote); !ok || q.PayableFen != 120 {
			t.Errorf("the new quote is %+v, want payable 120", e.Extra["quote"])
		}
		if sh.number("SELECT COUNT(*) FROM orders") != 0 || sh.stock(k) != 9 {
			t.Error("a refused submit left something behind")
		}
		p.ExpectedPayableFen = 120
		p.Items[0].CartItemID = mine.ID
		if _, err := sh.Place(t.Context(), me, p); err != nil {
			t.Fatal(err)
		}
		if n := sh.number("SELECT COUNT(*) FROM cart_items WHERE id IN ?", []int64{stays.ID, foreign.ID}); n != 2 {
			t.Error("items that were not bought left a cart")
		}
		if n := sh.number("SELECT COUNT(*) FROM cart_items WHERE id = ?", mine.ID); n != 0 {
			t.Error("the bought item is still in the cart")
		}
		if err := sh.Store.Read(t.Context()).Exec("UPDATE products SET published = ?", false).Error; err != nil {
			t.Fatal(err)
		}
		p.Key = "another-key"
		if _, err := sh.Place(t.Context(), me, p); !fault.Is(err, fault.ProductUnavailable) {
			t.Errorf("off the shelf: got %v, want product_unavailable", err)
		}
		sh.sound()
	})
}

// T66: the same submit twice in 50 ms, or from two replicas at once: one order. Another body under the key is refused.
func TestT66_IdempotencyKey(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		replica := New(sh.Deps)
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
		nos := make([]string, 6)
		errs := together(6, func(i int) error {
			svc := sh.Service
			if i%2 == 1 {
				svc = replica
			}
			o, err := svc.Place(context.Background(), me, p)
			if err == nil {
				nos[i] = o.No
			}
			return err
		})
		for i, no := range nos {
			if errs[i] != nil || no != nos[0] {
				t.Errorf("submit %d: order %q, error %v; want %q", i, no, errs[i], nos[0])
			}
		}
		if sh.number("SELECT COUNT(*) FROM orders") != 1 || sh.stock(k) != 8 {
			t.Errorf("orders %d, stock %d", sh.number("SELECT COUNT(*) FROM orders"), sh.stock(k))
		}
		p.Remark = "另一个请求"
		if _, err := sh.Place(t.Context(), me, p); !fault.Is(err, fault.IdempotencyKeyReused) {
			t.Errorf("another body: %v, want idempotency_key_reused", err)
		}
		other := sh.shopper()
		q := sh.basket(other, 0, Item{SKUID: k, Quantity: 1})
		q.Key = p.Key
		if o, err := sh.Place(t.Context(), other, q); err != nil || o.No == nos[0] {
			t.Errorf("the same key of another shopper: %v, %v", o, err)
		}
		sh.sound()
	})
}

// A failed submit does not bind the key.
func TestFailureDoesNotBindTheKey(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
		p.ExpectedPayableFen = 1
		if _, err := sh.Place(t.Context(), me, p); !fault.Is(err, fault.PriceChanged) {
			t.Fatal(err)
		}
		p.ExpectedPayableFen = 100
		if _, err := sh.Place(t.Context(), me, p); err != nil {
			t.Errorf("the corrected submit under the same key: %v", err)
		}
	})
}

// T11 and T53: nothing left to pay: paid at once, never scheduled, no payment; the coupon is used.
func TestT11_T53_NothingToPay(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		for _, off := range []model.Fen{100, 5000} {
			me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
			c := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: off})
			before := len(sh.scheduled())
			o, err := sh.Place(t.Context(), me, sh.basket(me, c, Item{SKUID: k, Quantity: 1}))
			if err != nil {
				t.Fatal(err)
			}
			o = sh.reload(o)
			if o.State != model.OrderPaid || o.PaidAt == 0 || o.DiscountFen != 100 || o.PayableFen != 0 || o.Version != 2 {
				t.Errorf("%d off: order %+v", off, o)
			}
			if sh.couponState(c) != model.CouponUsed || len(sh.scheduled()) != before || sh.number("SELECT COUNT(*) FROM payments") != 0 {
				t.Errorf("coupon %s, %d tasks more", sh.couponState(c), len(sh.scheduled())-before)
			}
		}
		sh.sound()
	})
}

// T50: somebody else's coupon, a used one, a locked one. T52: a coupon larger than the goods is capped.
func TestT50_T52_Coupons(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		foreign := sh.coupon(sh.shopper(), model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 10})
		used := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 10})
		if err := sh.Store.Read(t.Context()).Exec("UPDATE coupons SET state = 'used' WHERE id = ?", used).Error; err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]int64{"foreign": foreign, "used": used, "no such": 99999} {
			p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
			p.CouponID, p.ExpectedPayableFen = c, 90
			if _, err := sh.Place(t.Context(), me, p); !fault.Is(err, fault.CouponUnusable) {
				t.Errorf("%s coupon: %v, want coupon_unusable", name, err)
			}
		}
		sh.insert(&model.FreightRule{MerchantID: merchantID, Name: "默认", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, FirstFen: 800, StepUnits: 1, StepFen: 100, Version: 1, CreatedAt: 1, UpdatedAt: 1})
		big := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 5000})
		o, err := sh.Place(t.Context(), me, sh.basket(me, big, Item{SKUID: k, Quantity: 1}))
		if err != nil || o.DiscountFen != 100 || o.PayableFen != 800 {
			t.Errorf("order %+v, %v; want 100 off and 800 to pay", o, err)
		}
		again := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
		again.CouponID = big
		if _, err := sh.Place(t.Context(), me, again); !fault.Is(err, fault.CouponUnusable) {
			t.Errorf("locked coupon: %v, want coupon_unusable", err)
		}
	})
}

// T51: one coupon, two orders at once: one order.
func TestT51_OneCouponTwoOrders(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		replica := New(sh.Deps)
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		c := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 10})
		baskets := []Placement{sh.basket(me, c, Item{SKUID: k, Quantity: 1}), sh.basket(me, c, Item{SKUID: k, Quantity: 1})}
		errs := together(2, func(i int) error {
			_, err := []*Service{sh.Service, replica}[i].Place(context.Background(), me, baskets[i])
			return err
		})
		wantCode(t, errs, fault.CouponUnusable)
		if succeeded(errs) != 1 || sh.stock(k) != 8 {
			t.Errorf("errors %v, stock %d", errs, sh.stock(k))
		}
		sh.sound()
	})
}

// T61: the freight is the server's; a body has no field for it, and rules with negative amounts cannot lower a price.
func TestT61_FreightIsTheServers(t *testing.T) {
	var b Basket
	if err := json.Unmarshal([]byte(`{"items":[],"freight_fen":-90}`), &b); err != nil {
		t.Fatal(err)
	}
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
		p.ExpectedPayableFen = 10
		if _, err := sh.Place(t.Context(), me, p); !fault.Is(err, fault.PriceChanged) {
			t.Errorf("got %v, want price_changed", err)
		}
	})
}

func TestUnpaidLimitAndAddress(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		sh.MaxUnpaid = 2
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 9})
		for i := range 3 {
			_, err := sh.Place(t.Context(), me, sh.basket(me, 0, Item{SKUID: k, Quantity: 1}))
			if i < 2 && err != nil || i == 2 && !fault.Is(err, fault.UnpaidLimit) {
				t.Errorf("order %d: %v", i+1, err)
			}
		}
		other := sh.shopper()
		p := sh.basket(other, 0, Item{SKUID: k, Quantity: 1})
		p.AddressID = 0
		if _, err := sh.Place(t.Context(), other, p); !fault.Is(err, fault.AddressRequired) {
			t.Errorf("without an address: %v, want address_required", err)
		}
		virtual := sh.sku(product{price: 100, stock: 9, virtual: true})
		p.Items = []Item{{SKUID: virtual, Quantity: 1}}
		if o, err := sh.Place(t.Context(), other, p); err != nil || o.OrderType != model.OrderTypeVirtual || o.FreightFen != 0 {
			t.Errorf("virtual goods without an address: %+v, %v", o, err)
		}
		foreign := sh.sku(product{merchant: 2, price: 100, stock: 9})
		sh.insert(&model.Merchant{ID: 2, Name: "m2", Version: 1, CreatedAt: 1, UpdatedAt: 1})
		p.Key, p.Items = "mixed-merchants", []Item{{SKUID: virtual, Quantity: 1}, {SKUID: foreign, Quantity: 1}}
		if _, err := sh.Place(t.Context(), other, p); !fault.Is(err, fault.MixedMerchants) {
			t.Errorf("two merchants: %v, want mixed_merchants", err)
		}
	})
}

// T67: 10,000 numbers of one second are unique, have the form, and fit WeChat's 32 characters with an attempt's suffix.
func TestT67_OrderNumbers(t *testing.T) {
	numberRegexp := regexp.MustCompile(NumberPattern)
	at := time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC)
	seen := map[string]bool{}
	for range 10_000 {
		no := newNumber(at)
		if seen[no] || len(no) != 21 || !numberRegexp.MatchString(no) {
			t.Fatalf("number %q", no)
		}
		seen[no] = true
	}
}

// Submits of one shopper queue, four at most.
func TestSubmitsOfOneShopperQueue(t *testing.T) {
	var q queues
	first, err := q.enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan func())
	for range 3 {
		go func() {
			leave, err := q.enter(context.Background(), 1)
			if err == nil {
				entered <- leave
			}
		}()
	}
	for waiting := 0; waiting < 4; { // until all three are counted
		q.mu.Lock()
		waiting = q.of[1].n
		q.mu.Unlock()
	}
	if _, err := q.enter(t.Context(), 1); !fault.Is(err, fault.RateLimited) {
		t.Errorf("the fifth: %v, want rate_limited", err)
	}
	if other, err := q.enter(t.Context(), 2); err != nil {
		t.Errorf("another shopper: %v", err)
	} else {
		other()
	}
	first()
	for range 3 {
		(<-entered)()
	}
	if len(q.of) != 0 {
		t.Errorf("%d queues are left", len(q.of))
	}
}

// T21: order and cancel, ten times over: the stock and the coupon are as before.
func TestT21_OrderAndCancelTenTimes(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k := sh.shopper(), sh.sku(product{price: 100, stock: 5})
		c := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 10})
		for i := range 10 {
			o, err := sh.Place(t.Context(), me, sh.basket(me, c, Item{SKUID: k, Quantity: 3}))
			if err != nil {
				t.Fatalf("order %d: %v", i+1, err)
			}
			if sh.stock(k) != 2 || sh.couponState(c) != model.CouponLocked {
				t.Fatalf("order %d: stock %d, coupon %s", i+1, sh.stock(k), sh.couponState(c))
			}
			v, err := sh.Cancel(t.Context(), me, o.No)
			if err != nil || v.State != model.OrderClosed || v.CloseReason != model.CloseShopper {
				t.Fatalf("cancel %d: %+v, %v", i+1, v, err)
			}
			if sh.stock(k) != 5 || sh.couponState(c) != model.CouponAvailable {
				t.Fatalf("cancel %d: stock %d, coupon %s", i+1, sh.stock(k), sh.couponState(c))
			}
		}
		sh.sound()
	})
}
