package order

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestTailOf(t *testing.T) {
	for phone, want := range map[string]string{"13812345678": "5678", "+86 138-1234-56 78": "5678", "021-62345678 转 9": "6789", "911": "911", "": ""} {
		if got := tailOf(&model.OrderAddress{Phone: phone}); got != want {
			t.Errorf("%q: %q, want %q", phone, got, want)
		}
	}
	if got := tailOf(nil); got != "" {
		t.Errorf("no address: %q", got)
	}
}

// An order is found by its receiver's phone from its placing on; what is delivered to nobody has no tail, and is none that lacks one.
func TestOrdersArePlacedWithATail(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		o := sh.order(sh.sku(product{price: 100, stock: 9}), 1)
		sh.order(sh.sku(product{price: 100, stock: 9, virtual: true}), 1)
		if got := sh.found(Filter{MerchantID: merchantID, Query: "0000"}); len(got) != 1 || got[0] != o.ID {
			t.Errorf("found %v, want %d alone", got, o.ID)
		}
		if n := sh.number("SELECT COUNT(*) FROM orders WHERE receiver_phone_tail IS NULL"); n != 0 {
			t.Errorf("%d orders lack a tail", n)
		}
	})
}

// Orders of a version that knows no tails get theirs in bounded steps, whoever takes them, and what has one keeps it.
func TestTailsAreFilledIn(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		sh.insert(&model.Merchant{ID: 2, Name: "m2", Version: 1, CreatedAt: sh.Now(), UpdatedAt: sh.Now()})
		goods, other := sh.sku(product{price: 1, stock: 9}), sh.sku(product{merchant: 2, price: 1, stock: 9})
		kept, old, theirs := sh.order(goods, 1), sh.order(goods, 1), sh.order(other, 1)
		none := sh.order(sh.sku(product{price: 1, stock: 9, virtual: true}), 1)
		exec := func(query string, args ...any) {
			if err := sh.Store.Read(t.Context()).Exec(query, args...).Error; err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE orders SET receiver_phone_tail = NULL WHERE id <> ?", kept.ID)
		exec("UPDATE orders SET receiver_phone_tail = '9999' WHERE id = ?", kept.ID)
		filler := &TailFiller{Store: sh.Store, Log: slog.New(slog.DiscardHandler)}
		if n, err := filler.fill(t.Context()); n != 3 || err != nil {
			t.Errorf("first: %d, %v", n, err)
		}
		if n, err := filler.fill(t.Context()); n != 0 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		for o, want := range map[*model.Order]string{kept: "9999", old: "0000", theirs: "0000", none: ""} {
			if got := sh.reload(o); got.ReceiverPhoneTail == nil || *got.ReceiverPhoneTail != want || got.Version != o.Version {
				t.Errorf("order of merchant %d: %v, want %q", o.MerchantID, got.ReceiverPhoneTail, want)
			}
		}
	})
}

// A long history is filled in to its end by itself; each step touches a bounded number of rows, and looking when all is done few.
func TestFillingIsBounded(t *testing.T) {
	sh := newShop(t, storetest.MySQL(t))
	sh.order(sh.sku(product{price: 1, stock: 9}), 1)
	total := sh.multiply(12)
	sh.insertSQL("UPDATE orders SET receiver_phone_tail = NULL WHERE id % 4 = 0")
	lacking := sh.number("SELECT COUNT(*) FROM orders WHERE receiver_phone_tail IS NULL")
	sh.Store.SQL().SetMaxOpenConns(1) // the counters are a connection's
	filler := &TailFiller{Store: sh.Store, Log: slog.New(slog.DiscardHandler)}
	step := func() (n int, cost int64) {
		cost = sh.touched(func() {
			var err error
			if n, err = filler.fill(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		return n, cost
	}
	if n, cost := step(); n != tailRows || cost > 3*tailRows {
		t.Errorf("a step fills %d of %d orders, of %d, and touches %d rows", n, lacking, total, cost)
	}
	if err := filler.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, time.Minute, "the last tail", func() bool {
		return sh.number("SELECT COUNT(*) FROM orders WHERE receiver_phone_tail IS NULL") == 0
	})
	if err := filler.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n, cost := step(); n != 0 || cost > 10 {
		t.Errorf("when all is done a look finds %d and touches %d rows", n, cost)
	}
}
