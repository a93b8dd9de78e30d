package cart_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/cart"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// shop has shoppers 7 and 8, merchants 1 and 2, product 10 of merchant 1 with SKUs 100 (stock 5) and 101 (stock 9), product 20 of
// merchant 2 with SKU 200 (stock 1). Its clock goes on by a millisecond with every look at it.
type shop struct {
	*cart.Service
	store *store.Store
	clock atomic.Int64
}

func newShop(t *testing.T, s *store.Store) *shop {
	t.Helper()
	h := &shop{store: s}
	h.clock.Store(1_800_000_000_000)
	h.Service = cart.New(s, func() model.Time { return model.Time(h.clock.Add(1)) })
	product := func(id, merchant int64, name string) model.Product {
		return model.Product{ID: id, MerchantID: merchant, Name: name, Published: true, Images: []model.Image{{Key: name + ".jpg"}}, Options: []model.ProductOption{}}
	}
	sku := func(id, product, merchant, stock int64, price model.Fen, image, spec string) model.SKU {
		return model.SKU{ID: id, ProductID: product, MerchantID: merchant, Stock: stock, PriceFen: price, Image: image, SpecKey: spec, Specs: map[string]string{"颜色": spec}}
	}
	for _, rows := range []any{
		[]model.Shopper{{ID: 7, OpenID: "a"}, {ID: 8, OpenID: "b"}},
		[]model.Merchant{{ID: 1, Name: "潮汐"}, {ID: 2, Name: "海风"}},
		[]model.Product{product(10, 1, "mug"), product(20, 2, "hat")},
		[]model.SKU{sku(100, 10, 1, 5, 1990, "red.jpg", "红"), sku(101, 10, 1, 9, 2990, "", "蓝"), sku(200, 20, 2, 1, 500, "", "白")},
	} {
		if err := s.Read(t.Context()).Create(rows).Error; err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *shop) exec(t *testing.T, q string, args ...any) {
	t.Helper()
	if err := h.store.Read(t.Context()).Exec(q, args...).Error; err != nil {
		t.Fatal(err)
	}
}

func (h *shop) add(t *testing.T, shopper, sku, quantity int64) cart.Item {
	t.Helper()
	item, err := h.Add(t.Context(), shopper, sku, quantity)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func (h *shop) groups(t *testing.T, shopper int64) []cart.Group {
	t.Helper()
	groups, err := h.Groups(t.Context(), shopper)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// quantities is the shopper's cart as SKU → quantity.
func (h *shop) quantities(t *testing.T, shopper int64) map[int64]int64 {
	t.Helper()
	got := map[int64]int64{}
	for _, g := range h.groups(t, shopper) {
		for _, i := range g.Items {
			got[i.SKUID] += i.Quantity
		}
	}
	return got
}

func TestCartShowsWhatIsSoldNow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		if groups := h.groups(t, 7); len(groups) != 0 {
			t.Errorf("an empty cart has %+v", groups)
		}
		red, hat, blue := h.add(t, 7, 100, 2), h.add(t, 7, 200, 1), h.add(t, 7, 101, 3)
		h.add(t, 8, 100, 4)
		want := []cart.Group{
			{MerchantID: 1, MerchantName: "潮汐", Items: []cart.Item{
				{ID: blue.ID, SKUID: 101, ProductID: 10, Name: "mug", Image: "mug.jpg", Specs: map[string]string{"颜色": "蓝"}, Quantity: 3, PriceFen: 2990, Stock: 9},
				{ID: red.ID, SKUID: 100, ProductID: 10, Name: "mug", Image: "red.jpg", Specs: map[string]string{"颜色": "红"}, Quantity: 2, PriceFen: 1990, Stock: 5},
			}},
			{MerchantID: 2, MerchantName: "海风", Items: []cart.Item{
				{ID: hat.ID, SKUID: 200, ProductID: 20, Name: "hat", Image: "hat.jpg", Specs: map[string]string{"颜色": "白"}, Quantity: 1, PriceFen: 500, Stock: 1},
			}},
		}
		if diff := cmp.Diff(want, h.groups(t, 7)); diff != "" {
			t.Error(diff)
		}
		h.exec(t, "UPDATE skus SET price_fen = 2590 WHERE id = 101")
		h.exec(t, "UPDATE products SET name = 'cup' WHERE id = 10")
		want[0].Items[0].PriceFen, want[0].Items[0].Name, want[0].Items[1].Name = 2590, "cup", "cup"
		if diff := cmp.Diff(want, h.groups(t, 7)); diff != "" {
			t.Errorf("after the product changed: %s", diff)
		}
	})
}

func TestAddingASKUThatIsThereAddsUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		first := h.add(t, 7, 100, 2)
		second := h.add(t, 7, 100, 3)
		if second.ID != first.ID || second.Quantity != 5 || second.Reason != "" {
			t.Errorf("got %+v, want the item %d with 5", second, first.ID)
		}
		// More than there is in stock may wait in a cart, and says so.
		if short := h.add(t, 7, 100, 1); short.Quantity != 6 || short.Reason != cart.ReasonStockShort {
			t.Errorf("got %+v, want 6 and stock_short", short)
		}
		if diff := cmp.Diff(map[int64]int64{100: 6}, h.quantities(t, 7)); diff != "" {
			t.Error(diff)
		}
	})
}

// Case T22.
func TestT22_QuantityOutOfRangeStoresNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		item := h.add(t, 7, 100, 2)
		h.add(t, 7, 101, 9999)
		for _, q := range []int64{-5, 0, 10_000, 99_999_999, -1 << 62, 1 << 62} {
			_, add := h.Add(t.Context(), 7, 200, q)
			_, more := h.Add(t.Context(), 7, 100, q)
			_, set := h.SetItem(t.Context(), 7, item.ID, 0, q)
			for name, err := range map[string]error{"add": add, "add more": more, "set": set} {
				if !fault.Is(err, fault.ValidationFailed) {
					t.Errorf("%s %d: %v, want validation_failed", name, q, err)
				}
			}
		}
		if _, err := h.Add(t.Context(), 7, 101, 1); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("9999 + 1: %v, want validation_failed", err)
		}
		if _, err := h.SetItem(t.Context(), 7, item.ID, 101, 1); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("1 turned into a SKU of which there are 9999: %v, want validation_failed", err)
		}
		if diff := cmp.Diff(map[int64]int64{100: 2, 101: 9999}, h.quantities(t, 7)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSetItem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		red := h.add(t, 7, 100, 2)
		for _, sku := range []int64{0, 100} { // the same twice is no error either
			if got, err := h.SetItem(t.Context(), 7, red.ID, sku, 4); err != nil || got.ID != red.ID || got.Quantity != 4 {
				t.Errorf("got %+v (%v), want 4 of item %d", got, err, red.ID)
			}
		}
		blue, err := h.SetItem(t.Context(), 7, red.ID, 101, 3)
		if err != nil || blue.SKUID != 101 || blue.Quantity != 3 {
			t.Errorf("other specs: %+v (%v)", blue, err)
		}
		red = h.add(t, 7, 100, 2)
		if merged, err := h.SetItem(t.Context(), 7, red.ID, 101, 2); err != nil || merged.ID != blue.ID || merged.Quantity != 5 {
			t.Errorf("specs that are there: %+v (%v), want 5 of item %d", merged, err, blue.ID)
		}
		if diff := cmp.Diff(map[int64]int64{101: 5}, h.quantities(t, 7)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestItemsOfOthersAreNotThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		item := h.add(t, 7, 100, 2)
		_, set := h.SetItem(t.Context(), 8, item.ID, 0, 1)
		_, unknown := h.SetItem(t.Context(), 7, item.ID+1, 0, 1)
		for name, err := range map[string]error{"set": set, "set unknown": unknown, "remove": h.Remove(t.Context(), 8, item.ID)} {
			if !fault.Is(err, fault.NotFoundError) {
				t.Errorf("%s: %v, want not_found", name, err)
			}
		}
		if err := s.Tx(t.Context(), func(tx *store.Tx) error { return cart.RemoveItems(tx, 8, []int64{item.ID}) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[int64]int64{100: 2}, h.quantities(t, 7)); diff != "" {
			t.Error(diff)
		}
		if err := h.Remove(t.Context(), 7, item.ID); err != nil {
			t.Error(err)
		}
		if err := h.Remove(t.Context(), 7, item.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("removed twice: %v, want not_found", err)
		}
	})
}

func TestT59_OnlyTheNamedItemsAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		red, blue := h.add(t, 7, 100, 2), h.add(t, 7, 101, 1)
		h.add(t, 7, 200, 1)
		err := s.Tx(t.Context(), func(tx *store.Tx) error {
			if err := cart.RemoveItems(tx, 7, nil); err != nil {
				return err
			}
			return cart.RemoveItems(tx, 7, []int64{red.ID, blue.ID, 999})
		})
		if diff := cmp.Diff(map[int64]int64{200: 1}, h.quantities(t, 7)); diff != "" || err != nil {
			t.Errorf("%s (%v)", diff, err)
		}
	})
}

// Case T60.
func TestT60_CartSaysWhyAnItemCannotBeBought(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		item := h.add(t, 7, 100, 2)
		for _, c := range []struct {
			change, undo string
			want         cart.Reason
			addable      bool
		}{
			{"UPDATE skus SET deleted_at = 5 WHERE id = 100", "UPDATE skus SET deleted_at = 0 WHERE id = 100", cart.ReasonGone, false},
			{"UPDATE products SET deleted_at = 5 WHERE id = 10", "UPDATE products SET deleted_at = 0 WHERE id = 10", cart.ReasonGone, false},
			{"UPDATE products SET published = 0 WHERE id = 10", "UPDATE products SET published = 1 WHERE id = 10", cart.ReasonOffShelf, false},
			{"UPDATE merchants SET disabled = 1 WHERE id = 1", "UPDATE merchants SET disabled = 0 WHERE id = 1", cart.ReasonOffShelf, false},
			{"UPDATE skus SET stock = 0 WHERE id = 100", "UPDATE skus SET stock = 5 WHERE id = 100", cart.ReasonSoldOut, true},
			{"UPDATE skus SET stock = 1 WHERE id = 100", "UPDATE skus SET stock = 5 WHERE id = 100", cart.ReasonStockShort, true},
			{"UPDATE skus SET stock = 2 WHERE id = 100", "UPDATE skus SET stock = 5 WHERE id = 100", "", true},
		} {
			h.exec(t, c.change)
			groups := h.groups(t, 7)
			if len(groups) != 1 || len(groups[0].Items) != 1 || groups[0].Items[0].Reason != c.want || groups[0].Items[0].Name != "mug" {
				t.Errorf("%s: %+v, want reason %q", c.change, groups, c.want)
			}
			_, err := h.Add(t.Context(), 8, 100, 1)
			if c.addable != (err == nil) || (err != nil && !fault.Is(err, fault.ProductUnavailable)) {
				t.Errorf("%s: adding it: %v", c.change, err)
			}
			// What cannot be bought can still be changed and taken out.
			if _, err := h.SetItem(t.Context(), 7, item.ID, 0, 2); err != nil {
				t.Errorf("%s: setting its quantity: %v", c.change, err)
			}
			h.exec(t, c.undo)
		}
		if _, err := h.Add(t.Context(), 7, 999, 1); !fault.Is(err, fault.ProductUnavailable) {
			t.Errorf("unknown SKU: %v, want product_unavailable", err)
		}
		h.exec(t, "DELETE FROM skus WHERE id = 100")
		if groups := h.groups(t, 7); len(groups) != 1 || groups[0].Items[0].Reason != cart.ReasonGone || groups[0].MerchantID != 0 {
			t.Errorf("a SKU without a row: %+v", groups)
		}
	})
}

// T25: what is in a cart is not reserved; when another shopper buys it all, the cart says so.
func TestT25_CartReservesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		h.add(t, 7, 200, 1)
		var stock int64
		if err := s.Read(t.Context()).Raw("SELECT stock FROM skus WHERE id = 200").Scan(&stock).Error; err != nil || stock != 1 {
			t.Errorf("stock = %d (%v), want 1", stock, err)
		}
		h.exec(t, "UPDATE skus SET stock = 0 WHERE id = 200")
		if got := h.groups(t, 7)[0].Items[0]; got.Reason != cart.ReasonSoldOut || got.Stock != 0 {
			t.Errorf("got %+v, want sold_out", got)
		}
	})
}

func TestCartIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		for sku := int64(1000); sku < 1000+cart.MaxItems-1; sku++ {
			h.exec(t, "INSERT INTO cart_items (shopper_id, sku_id, quantity, created_at, updated_at) VALUES (7, ?, 1, 1, 1)", sku)
		}
		// Two that want the last place at once: one gets it.
		results := make(chan error, 2)
		for _, sku := range []int64{100, 101} {
			go func() {
				_, err := h.Add(context.WithoutCancel(t.Context()), 7, sku, 1)
				results <- err
			}()
		}
		a, b := <-results, <-results
		if (a == nil) == (b == nil) || (!fault.Is(a, fault.CartFull) && !fault.Is(b, fault.CartFull)) {
			t.Errorf("got %v and %v, want one cart_full", a, b)
		}
		if n := len(h.quantities(t, 7)); n != cart.MaxItems {
			t.Errorf("%d items, want %d", n, cart.MaxItems)
		}
		if _, err := h.Add(t.Context(), 7, 1000, 1); !fault.Is(err, fault.ProductUnavailable) {
			t.Errorf("got %v", err)
		}
		h.add(t, 8, 100, 1)
	})
}

func TestAddsInParallelAllCount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		results := make(chan error, 20)
		for range cap(results) {
			go func() {
				_, err := h.Add(context.WithoutCancel(t.Context()), 7, 100, 1)
				results <- err
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(map[int64]int64{100: 20}, h.quantities(t, 7)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAShopperWhoIsGoneHasNoCart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		if _, err := h.Add(t.Context(), 99, 100, 1); !fault.Is(err, fault.TokenInvalid) {
			t.Errorf("got %v, want token_invalid", err)
		}
	})
}
