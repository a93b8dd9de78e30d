package demo_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/demo"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const now model.Time = 1_767_225_600_000

// newReplica returns a filler with a catalogue over the database and a folder of its own.
func newReplica(t *testing.T, s *store.Store, dir string) (*demo.Filler, *catalog.Catalog) {
	t.Helper()
	bucket, err := file.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := file.New(bucket, "http://shop.test")
	clock := func() model.Time { return now }
	log := slog.New(slog.DiscardHandler)
	c, err := catalog.New(s, clock, log, files)
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.New(account.Options{Store: s, Secret: strings.Repeat("s", 32), Now: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.Stop() != nil || files.Close() != nil {
			t.Error("the replica does not stop")
		}
	})
	return &demo.Filler{Store: s, Now: clock, Log: log, Catalog: c, Merchants: accounts, Pictures: files}, c
}

func count(t *testing.T, s *store.Store, query string) (n int64) {
	t.Helper()
	if err := s.Read(t.Context()).Raw(query).Scan(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFillMakesAShop(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		dir := t.TempDir()
		filler, c := newReplica(t, s, dir)
		if filled, err := filler.Fill(t.Context()); !filled || err != nil {
			t.Fatalf("filled %v (%v), want it done", filled, err)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		page := store.Page{Number: 1, Limit: 100}
		products, total, err := c.List(t.Context(), catalog.Filter{}, page)
		if err != nil || total < 30 || products[0].Name != "潮汐纯棉圆领T恤" {
			t.Fatalf("%d products (%v), first %s", total, err, products[0].Name)
		}
		rating, err := review.New(review.Deps{Store: s}).RatingOf(t.Context(), products[0].ID)
		if want := (review.Rating{Stars: [5]int64{2: 1, 3: 1, 4: 2}, Pictured: 1}); err != nil || rating != want || rating.Average() != 43 {
			t.Errorf("the first product's rating is %+v (%v), want %+v", rating, err, want)
		}
		tree, err := c.Categories(t.Context(), 0)
		if err != nil || len(tree) != 6 || len(tree[0].Children) != 3 {
			t.Errorf("tree is %v (%v), want six roots", tree, err)
		}
		var virtual, soldOut, twoOptions int
		for _, p := range products {
			full, err := c.Detail(t.Context(), p.ID)
			if err != nil || len(full.SKUs) == 0 || len(full.Images) == 0 || full.DetailHTML == "" || full.Subtitle == "" {
				t.Errorf("%s: %+v (%v)", p.Name, full, err)
			}
			for _, img := range full.Images {
				info, err := os.Stat(filepath.Join(dir, img.Key))
				if err != nil || info.Size() > 60_000 {
					t.Errorf("%s: picture of %v bytes (%v)", p.Name, info, err)
				}
			}
			if full.Virtual {
				virtual++
			}
			if len(full.Options) == 2 {
				twoOptions++
			}
			if !slices.ContainsFunc(full.SKUs, func(k model.SKU) bool { return k.Stock > 0 }) {
				soldOut++
			}
		}
		if virtual != 1 || soldOut != 1 || twoOptions < 4 {
			t.Errorf("%d virtual, %d sold out, %d with two options; want 1, 1, several", virtual, soldOut, twoOptions)
		}
		if _, found, err := c.List(t.Context(), catalog.Filter{Query: "蓝牙"}, page); err != nil || found != 2 {
			t.Errorf("蓝牙 finds %d (%v)", found, err)
		}
		if n := count(t, s, "SELECT COUNT(DISTINCT kind) + COUNT(DISTINCT scope) FROM coupon_templates"); n != 6 {
			t.Errorf("%d kinds and scopes of coupons, want all 6", n)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM skus k WHERE stock <> (SELECT SUM(delta) FROM stock_ledger l WHERE l.sku_id = k.id)"); n != 0 {
			t.Errorf("%d SKUs do not agree with their ledger", n)
		}
		rules, err := shipping.Rules(s.Read(t.Context()), products[0].MerchantID)
		if err != nil {
			t.Fatal(err)
		}
		for province, want := range map[string]model.Fen{"浙江省": 1000, "新疆": 2400} {
			freight, err := shipping.Freight(rules, model.OrderAddress{Province: province}, 2, 400)
			if err != nil {
				t.Fatal(err)
			}
			if fen := freight(5000); fen != want {
				t.Errorf("freight to %s is %d, want %d", province, fen, want)
			}
		}
	})
}

func TestFillHappensOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var wg sync.WaitGroup
		done := make(chan bool, 2)
		var dirs [2]string
		for i := range dirs {
			dirs[i] = t.TempDir()
			filler, _ := newReplica(t, s, dirs[i])
			wg.Go(func() {
				filled, err := filler.Fill(t.Context())
				if err != nil {
					t.Error(err)
				}
				done <- filled
			})
		}
		wg.Wait()
		if a, b := <-done, <-done; a == b {
			t.Errorf("both replicas say %v, want one to have filled", a)
		}
		products, merchants := count(t, s, "SELECT COUNT(*) FROM products"), count(t, s, "SELECT COUNT(*) FROM merchants")
		if products != count(t, s, "SELECT COUNT(DISTINCT name) FROM products") || merchants != 1 {
			t.Errorf("%d products of %d merchants: filled twice", products, merchants)
		}
		first, err := os.ReadDir(dirs[0])
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadDir(dirs[1])
		if err != nil || len(first) != len(second) || len(first) < 60 {
			t.Errorf("%d and %d pictures (%v), want the same on both replicas", len(first), len(second), err)
		}

		if err := s.Read(t.Context()).Exec("DELETE FROM products").Error; err != nil {
			t.Fatal(err)
		}
		late := t.TempDir()
		filler, _ := newReplica(t, s, late)
		if filled, err := filler.Fill(t.Context()); filled || err != nil {
			t.Errorf("filled again: %v (%v)", filled, err)
		}
		if pictures, err := os.ReadDir(late); err != nil || len(pictures) != len(first) {
			t.Errorf("a later replica has %d pictures (%v), want %d", len(pictures), err, len(first))
		}
	})
}

func TestFillLeavesOtherDatabasesAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := []model.Merchant{{Name: "甲", Version: 1}, {Name: "乙", Version: 1}}
		if err := s.Read(t.Context()).Create(&rows).Error; err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		filler, _ := newReplica(t, s, dir)
		if filled, err := filler.Fill(t.Context()); filled || err != nil {
			t.Errorf("filled %v (%v) beside two merchants", filled, err)
		}
		if err := s.Read(t.Context()).Exec("DELETE FROM merchants WHERE id = ?", rows[1].ID).Error; err != nil {
			t.Fatal(err)
		}
		category := model.Category{MerchantID: rows[0].ID, Name: "自己的", Version: 1}
		if err := s.Read(t.Context()).Create(&category).Error; err != nil {
			t.Fatal(err)
		}
		if filled, err := filler.Fill(t.Context()); filled || err != nil {
			t.Errorf("filled %v (%v) beside a category", filled, err)
		}
		if pictures, err := os.ReadDir(dir); err != nil || len(pictures) > 0 || count(t, s, "SELECT COUNT(*) FROM settings WHERE name = 'demo'") != 0 {
			t.Errorf("%d pictures or a mark were left (%v)", len(pictures), err)
		}
		if err := s.Read(t.Context()).Delete(&category).Error; err != nil {
			t.Fatal(err)
		}
		if filled, err := filler.Fill(t.Context()); !filled || err != nil {
			t.Errorf("filled %v (%v), want it done for the one merchant there is", filled, err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM products WHERE merchant_id = (SELECT id FROM merchants)"); n < 30 {
			t.Errorf("%d products of the merchant", n)
		}
	})
}
