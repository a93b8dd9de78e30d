package catalog_test

import (
	"sync"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
)

func TestChangeStock(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		sku := sh.add(t, catalog.Draft{Name: "杯子"}).SKUs[0].ID // stock 5
		for _, tc := range []struct {
			name     string
			merchant int64
			key      string
			change   catalog.StockChange
			stock    int64
			code     fault.Code
		}{
			{"add", sh.merchant, "", catalog.StockChange{SKUID: sku, Delta: 3, Reason: "进货"}, 8, ""},
			{"to zero", sh.merchant, "", catalog.StockChange{SKUID: sku, Delta: -8, Reason: "盘亏"}, 0, ""},
			{"below zero", sh.merchant, "", catalog.StockChange{SKUID: sku, Delta: -1, Reason: "盘亏"}, 0, fault.StockInsufficient},
			{"nothing", sh.merchant, "", catalog.StockChange{SKUID: sku, Reason: "x"}, 0, fault.ValidationFailed},
			{"no reason", sh.merchant, "", catalog.StockChange{SKUID: sku, Delta: 1, Reason: " "}, 0, fault.ValidationFailed},
			{"above the limit", sh.merchant, "", catalog.StockChange{SKUID: sku, Delta: catalog.MaxStock + 1, Reason: "x"}, 0, fault.ValidationFailed},
			{"another's", sh.other, "", catalog.StockChange{SKUID: sku, Delta: 1, Reason: "x"}, 0, fault.NotFoundError},
			{"with a key", sh.merchant, "key-12345", catalog.StockChange{SKUID: sku, Delta: 2, Reason: "x"}, 2, ""},
			{"the key again", sh.merchant, "key-12345", catalog.StockChange{SKUID: sku, Delta: 2, Reason: "x"}, 2, ""},
			{"the key for another", sh.merchant, "key-12345", catalog.StockChange{SKUID: sku, Delta: 3, Reason: "x"}, 0, fault.IdempotencyKeyReused},
			{"a failure binds nothing", sh.merchant, "key-67890", catalog.StockChange{SKUID: sku, Delta: -9, Reason: "x"}, 0, fault.StockInsufficient},
			{"so the key is free", sh.merchant, "key-67890", catalog.StockChange{SKUID: sku, Delta: 1, Reason: "x"}, 3, ""},
		} {
			stock, err := sh.ChangeStock(t.Context(), tc.merchant, "admin:1", tc.key, tc.change)
			if fault.CodeOf(err) != tc.code || err == nil && stock != tc.stock {
				t.Errorf("%s: got %d, %v, want %d, %q", tc.name, stock, err, tc.stock, tc.code)
			}
		}
		entries, total, err := sh.Ledger(t.Context(), sh.merchant, sku, pageOf(1, 2))
		if err != nil || total != 5 || len(entries) != 2 || entries[0].Delta != 1 || entries[0].Kind != model.LedgerAdjust {
			t.Errorf("ledger has %d entries, first %+v (%v), want 5, the newest first", total, entries, err)
		}
		if _, _, err := sh.Ledger(t.Context(), sh.other, sku, firstPage); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant got %v, want not_found", err)
		}
		sh.ledger(t)
	})
}

func TestChangeStockAtOnce(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		sku := sh.add(t, catalog.Draft{Name: "杯子"}).SKUs[0].ID // stock 5
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				key := ""
				if i%2 == 0 {
					key = "same-key" // six of these are one change
				}
				_, err := sh.ChangeStock(t.Context(), sh.merchant, "admin:1", key, catalog.StockChange{SKUID: sku, Delta: -1, Reason: "x"})
				if err != nil && !fault.Is(err, fault.StockInsufficient) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		p, err := sh.Detail(t.Context(), 1)
		if err != nil || p.SKUs[0].Stock != 0 {
			t.Errorf("stock is %v (%v), want 0: 5 − 7, never below zero", p.SKUs, err)
		}
		sh.ledger(t)
	})
}
