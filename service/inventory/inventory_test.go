package inventory_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// shelf is a database with two SKUs of merchant 1, 10 pieces each.
type shelf struct {
	*testing.T
	*store.Store
}

func eachShelf(t *testing.T, test func(s shelf)) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := shelf{t, db}
		skus := []model.SKU{
			{ID: 1, ProductID: 1, MerchantID: 1, SpecKey: "a", Specs: map[string]string{}, Stock: 10},
			{ID: 2, ProductID: 1, MerchantID: 1, SpecKey: "b", Specs: map[string]string{}, Stock: 10},
		}
		s.must(db.Tx(t.Context(), func(tx *store.Tx) error {
			if err := tx.Create(&skus).Error; err != nil {
				return err
			}
			return inventory.Open(tx, skus, "test", 1)
		}))
		test(s)
	})
}

func (s shelf) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s shelf) tx(f func(tx *store.Tx) error) error { return s.Tx(s.Context(), f) }

// holds checks the stock of both SKUs, and that each is the sum of its ledger.
func (s shelf) holds(one, two int64) {
	s.Helper()
	var rows []struct{ ID, Stock, Ledger int64 }
	s.must(s.Read(s.Context()).Raw(`SELECT id, stock, (SELECT SUM(delta) FROM stock_ledger WHERE sku_id = skus.id) AS ledger FROM skus ORDER BY id`).Scan(&rows).Error)
	if rows[0].Stock != one || rows[1].Stock != two || rows[0].Ledger != one || rows[1].Ledger != two {
		s.Errorf("stock and ledger are %+v, want %d and %d", rows, one, two)
	}
}

func line(id, sku, quantity int64) model.OrderLine {
	return model.OrderLine{ID: id, OrderID: 7, MerchantID: 1, SKUID: sku, Quantity: quantity}
}

func reserve(tx *store.Tx, lines ...model.OrderLine) error {
	var b store.Batch
	inventory.Reserve(&b, lines, "test", 2)
	return tx.Send(&b)
}

func TestReserveReleaseReturn(t *testing.T) {
	eachShelf(t, func(s shelf) {
		lines := []model.OrderLine{line(1, 2, 3), line(2, 1, 4), line(3, 2, 5)}
		s.must(s.tx(func(tx *store.Tx) error { return reserve(tx, lines...) }))
		s.holds(6, 2)
		// One piece too many of SKU 2: nothing is taken, of SKU 1 neither.
		err := s.tx(func(tx *store.Tx) error {
			return reserve(tx, line(4, 1, 1), line(5, 2, 3))
		})
		if !errors.Is(err, inventory.ErrShort) {
			t.Errorf("got %v, want ErrShort", err)
		}
		s.holds(6, 2)
		short, err := inventory.Short(s.Read(s.Context()), map[int64]int64{1: 6, 2: 3, 99: 1})
		if err != nil || len(short) != 2 || short[2] != 2 || short[99] != 0 {
			t.Errorf("short of %v, %v; want 2 left of SKU 2 and none of 99", short, err)
		}
		s.must(s.tx(func(tx *store.Tx) error {
			return inventory.Return(tx, 1, []model.OrderLine{line(1, 2, 1)}, "test", "", 3)
		}))
		s.holds(6, 3)
		s.must(s.tx(func(tx *store.Tx) error { return inventory.Release(tx, lines[1:2], "test", "closed", 3) }))
		s.holds(10, 3)
		// The same line again: the ledger refuses, and the stock stays.
		if err := s.tx(func(tx *store.Tx) error { return inventory.Release(tx, lines[1:2], "test", "closed", 4) }); !store.IsDuplicate(err) {
			t.Errorf("a second release: %v, want a duplicate", err)
		}
		s.holds(10, 3)
	})
}

func TestAdjust(t *testing.T) {
	eachShelf(t, func(s shelf) {
		adjust := func(merchantID, sku, delta int64) (stock int64, err error) {
			err = s.tx(func(tx *store.Tx) (err error) {
				stock, err = inventory.Adjust(tx, merchantID, sku, delta, "count", "test", 5)
				return err
			})
			return stock, err
		}
		if stock, err := adjust(1, 1, -10); err != nil || stock != 0 {
			t.Errorf("down to zero: %d, %v", stock, err)
		}
		if _, err := adjust(1, 1, -1); !fault.Is(err, fault.StockInsufficient) {
			t.Errorf("below zero: %v, want stock_insufficient", err)
		}
		if _, err := adjust(2, 1, 1); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant's: %v, want not_found", err)
		}
		s.holds(0, 10)
		entries, n, err := inventory.Ledger(s.Read(s.Context()), 1, 1, store.Page{Number: 1, Limit: 10})
		if err != nil || n != 2 || entries[0].Delta != -10 || entries[0].Reason != "count" || entries[1].Kind != model.LedgerInitial {
			t.Errorf("ledger %+v, %d entries, %v", entries, n, err)
		}
		if _, _, err := inventory.Ledger(s.Read(s.Context()), 2, 1, store.Page{Number: 1, Limit: 10}); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant's ledger: %v, want not_found", err)
		}
	})
}

// 40 callers take 1 of each SKU, half of them naming the SKUs in the other order: ten succeed, nobody deadlocks for good.
func TestReserveInParallel(t *testing.T) {
	eachShelf(t, func(s shelf) {
		errs := make([]error, 40)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				a, b := line(int64(100+2*i), 1, 1), line(int64(101+2*i), 2, 1)
				if i%2 == 1 {
					a, b = b, a
				}
				errs[i] = s.tx(func(tx *store.Tx) error { return reserve(tx, a, b) })
			})
		}
		wg.Wait()
		n := 0
		for _, err := range errs {
			switch {
			case err == nil:
				n++
			case !errors.Is(err, inventory.ErrShort):
				t.Error(err)
			}
		}
		if n != 10 {
			t.Errorf("%d reservations succeeded, want 10", n)
		}
		s.holds(0, 0)
	})
}
