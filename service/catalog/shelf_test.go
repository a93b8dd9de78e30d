package catalog_test

import (
	"slices"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/store"
)

func TestShelveSaysWhatBecameOfEach(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		draft := catalog.Draft{Name: "杯子", CategoryID: sh.category, SKUs: price(100)}
		bare := draft
		bare.SKUs = nil
		create := func(merchantID int64, d catalog.Draft) int64 {
			p, err := sh.Create(t.Context(), merchantID, "admin:1", d)
			if err != nil {
				t.Fatal(err)
			}
			return p.ID
		}
		there, empty := create(sh.merchant, draft), create(sh.merchant, bare)
		on := sh.add(t, draft) // version 2
		theirs := draft
		theirs.CategoryID = sh.addCategory(t, sh.other, "分类", 0)
		foreign := create(sh.other, theirs)
		got, err := sh.Shelve(t.Context(), sh.merchant, []catalog.Pick{{there, 1}, {empty, 1}, {on.ID, 2}, {foreign, 1}, {there, 1}}, true)
		want := []catalog.ShelfResult{
			{Pick: catalog.Pick{ID: there, Version: 2}},
			{Pick: catalog.Pick{ID: empty, Version: 1}, Code: fault.StateConflict},
			{Pick: catalog.Pick{ID: on.ID, Version: 2}}, // as it was already
			{Pick: catalog.Pick{ID: foreign, Version: 1}, Code: fault.NotFoundError},
			{Pick: catalog.Pick{ID: there, Version: 1}, Code: fault.StaleVersion}, // changed by the first of this very list
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v (%v)\nwant %v", got, err, want)
		}
		found, total, err := sh.List(t.Context(), catalog.Filter{Query: "杯子"}, firstPage)
		if err != nil || total != 2 {
			t.Errorf("shoppers find %v (%v), want the two on the shelf", ids(found), err)
		}
		if got, err = sh.Shelve(t.Context(), sh.merchant, []catalog.Pick{{there, 2}}, false); err != nil || got[0].Code != "" || got[0].Version != 3 {
			t.Errorf("off the shelf: %v (%v)", got, err)
		}
		if _, err := sh.Shelve(t.Context(), sh.merchant, make([]catalog.Pick, catalog.MaxShelf+1), true); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("101 at once: %v", err)
		}
	})
}

func TestSetSort(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		p := sh.add(t, catalog.Draft{Name: "杯子"})
		for _, tc := range []struct {
			name     string
			merchant int64
			version  int64
			sort     int
			code     fault.Code
		}{
			{"set", sh.merchant, p.Version, 7, ""},
			{"stale", sh.merchant, p.Version, 8, fault.StaleVersion},
			{"another's", sh.other, p.Version + 1, 8, fault.NotFoundError},
			{"too large", sh.merchant, p.Version + 1, catalog.MaxSort + 1, fault.ValidationFailed},
		} {
			got, err := sh.SetSort(t.Context(), tc.merchant, p.ID, tc.version, tc.sort)
			if fault.CodeOf(err) != tc.code || err == nil && (got.Sort != tc.sort || len(got.SKUs) != 1) {
				t.Errorf("%s: got %+v, %v", tc.name, got, err)
			}
		}
		if seen, err := sh.Product(t.Context(), sh.merchant, p.ID); err != nil || seen.Sort != 7 || seen.Version != p.Version+1 || seen.Name != "杯子" {
			t.Errorf("stored %+v (%v)", seen, err)
		}
	})
}

func TestLedgerReadsOnByCursorAndNamesOrders(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		sku := sh.add(t, catalog.Draft{Name: "杯子"}).SKUs[0].ID // stock 5
		db := sh.store.Read(t.Context())
		order := model.Order{ID: 77, No: "T202601310123456789AB", MerchantID: sh.merchant, Version: 1, CreatedAt: start}
		if err := db.Create(&order).Error; err != nil {
			t.Fatal(err)
		}
		line := int64(1)
		reserved := model.LedgerEntry{MerchantID: sh.merchant, SKUID: sku, Kind: model.LedgerReserve, Delta: -1, OrderID: order.ID, LineID: &line, CreatedAt: start}
		if err := db.Create(&reserved).Error; err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := sh.ChangeStock(t.Context(), sh.merchant, "admin:1", "", catalog.StockChange{SKUID: sku, Delta: 1, Reason: "进货"}); err != nil {
				t.Fatal(err)
			}
		}
		whole, total, err := sh.Ledger(t.Context(), sh.merchant, sku, firstPage)
		if err != nil || total != 5 {
			t.Fatalf("%d entries (%v), want 5", total, err)
		}
		if whole[3].OrderNo != order.No || whole[0].OrderNo != "" {
			t.Errorf("numbers are %q and %q, want only the order's", whole[3].OrderNo, whole[0].OrderNo)
		}
		first, next, err := sh.LedgerAfter(t.Context(), sh.merchant, sku, store.Cursor{}, 3)
		if err != nil || len(first) != 3 || next == nil {
			t.Fatalf("first page %v, next %v (%v)", first, next, err)
		}
		second, end, err := sh.LedgerAfter(t.Context(), sh.merchant, sku, *next, 3)
		if err != nil || end != nil {
			t.Fatalf("second page ends at %v (%v)", end, err)
		}
		if got := slices.Concat(first, second); !slices.EqualFunc(got, whole, func(a, b inventory.Entry) bool { return a.ID == b.ID && a.OrderNo == b.OrderNo }) {
			t.Errorf("by cursor %v, by number %v", got, whole)
		}
		if _, _, err := sh.LedgerAfter(t.Context(), sh.other, sku, store.Cursor{}, 3); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant got %v", err)
		}
	})
}
