package catalog_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const start model.Time = 1_767_225_600_000

// shop is a catalogue over a database of its own, with a clock that stands still.
type shop struct {
	*catalog.Catalog

	store    *store.Store
	now      model.Time
	merchant int64
	other    int64 // another merchant
	category int64
}

// stored is a file store that holds the keys that begin with "stored".
type stored struct{}

func (stored) Exists(_ context.Context, key string) (bool, error) {
	return strings.HasPrefix(key, "stored"), nil
}

func open(t *testing.T, s *store.Store) *shop {
	t.Helper()
	sh := &shop{store: s, now: start}
	sh.merchant, sh.other = sh.addMerchant(t, "甲店"), sh.addMerchant(t, "乙店")
	sh.Catalog = replicaOf(t, sh)
	sh.category = sh.addCategory(t, sh.merchant, "分类", 0)
	return sh
}

// replicaOf starts another catalogue over the same database.
func replicaOf(t *testing.T, sh *shop) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(sh.store, func() model.Time { return sh.now }, slog.New(slog.DiscardHandler), stored{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func each(t *testing.T, test func(t *testing.T, sh *shop)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, open(t, s)) })
}

func (sh *shop) addMerchant(t *testing.T, name string) int64 {
	t.Helper()
	m := model.Merchant{Name: name, Version: 1, CreatedAt: start, UpdatedAt: start}
	if err := sh.store.Read(t.Context()).Create(&m).Error; err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func (sh *shop) addCategory(t *testing.T, merchantID int64, name string, parentID int64) int64 {
	t.Helper()
	c, err := sh.CreateCategory(t.Context(), merchantID, catalog.CategoryDraft{Name: name, ParentID: parentID})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// add makes a product and publishes it.
func (sh *shop) add(t *testing.T, d catalog.Draft) catalog.Product {
	t.Helper()
	if d.CategoryID == 0 {
		d.CategoryID = sh.category
	}
	if d.SKUs == nil {
		d.SKUs = []catalog.SKUDraft{{PriceFen: 100, Stock: new(int64(5))}}
	}
	p, err := sh.Create(t.Context(), sh.merchant, "admin:1", d)
	if err != nil {
		t.Fatal(err)
	}
	p, err = sh.Publish(t.Context(), sh.merchant, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ledger checks A1: the stock of every SKU is the sum of its ledger.
func (sh *shop) ledger(t *testing.T) {
	t.Helper()
	var wrong []int64
	err := sh.store.Read(t.Context()).Raw(`SELECT k.id FROM skus k WHERE k.stock <> (SELECT COALESCE(SUM(l.delta), 0) FROM stock_ledger l WHERE l.sku_id = k.id)
		OR (SELECT COUNT(*) FROM stock_ledger l WHERE l.sku_id = k.id AND l.kind = 'initial') <> 1`).Scan(&wrong).Error
	if err != nil || len(wrong) > 0 {
		t.Errorf("SKUs %v do not agree with their ledger (%v)", wrong, err)
	}
}

func ids(products []model.Product) []int64 {
	out := make([]int64, len(products))
	for i, p := range products {
		out[i] = p.ID
	}
	return out
}

func fields(err error) map[string]fault.Code {
	out := map[string]fault.Code{}
	if e, ok := err.(*fault.Error); ok { //nolint:errorlint // services return it unwrapped
		for _, f := range e.Fields {
			out[f.Field] = f.Code
		}
	}
	return out
}

// countQueries counts the statements that fn sends.
func countQueries(t *testing.T, s *store.Store, fn func()) int64 {
	t.Helper()
	var n atomic.Int64
	count := func(*gorm.DB) { n.Add(1) }
	callbacks := s.Read(t.Context()).Callback()
	for name, err := range map[string]error{
		"query": callbacks.Query().Before("*").Register("count", count),
		"raw":   callbacks.Raw().Before("*").Register("count", count),
		"row":   callbacks.Row().Before("*").Register("count", count),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	fn()
	for name, err := range map[string]error{
		"query": callbacks.Query().Remove("count"), "raw": callbacks.Raw().Remove("count"), "row": callbacks.Row().Remove("count"),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	return n.Load()
}

func pageOf(number, limit int) store.Page { return store.Page{Number: number, Limit: limit} }
