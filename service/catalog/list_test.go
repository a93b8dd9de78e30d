package catalog_test

import (
	"slices"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/store"
)

var firstPage = store.Page{Number: 1, Limit: 20}

func price(fen model.Fen) []catalog.SKUDraft {
	return []catalog.SKUDraft{{PriceFen: fen, Stock: new(int64(5))}}
}

func TestListSortsPagesAndNarrows(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		below := sh.addCategory(t, sh.merchant, "下级", sh.category)
		elsewhere := sh.addCategory(t, sh.merchant, "别处", 0)
		var made []int64
		for i, d := range []catalog.Draft{
			{Name: "一", SKUs: price(300), Sort: 0},
			{Name: "二", SKUs: price(100), Sort: 5, CategoryID: below},
			{Name: "三", SKUs: price(200), Sort: -5, CategoryID: elsewhere},
			{Name: "四", SKUs: price(300), Sort: 0},
		} {
			sh.now = start + model.Time(i)
			p := sh.add(t, d)
			made = append(made, p.ID)
			if err := sh.store.Read(t.Context()).Exec("UPDATE products SET sales = ? WHERE id = ?", []int64{2, 9, 2, 4}[i], p.ID).Error; err != nil {
				t.Fatal(err)
			}
		}
		hidden := sh.add(t, catalog.Draft{Name: "五"})
		if _, err := sh.Unpublish(t.Context(), sh.merchant, hidden.ID); err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			filter catalog.Filter
			page   store.Page
			want   []int // positions in made
			total  int64
		}{
			"default":          {catalog.Filter{}, firstPage, []int{1, 3, 0, 2}, 4},
			"sales":            {catalog.Filter{Sort: catalog.SortSales}, firstPage, []int{1, 3, 2, 0}, 4},
			"newest":           {catalog.Filter{Sort: catalog.SortNewest}, firstPage, []int{3, 2, 1, 0}, 4},
			"price":            {catalog.Filter{Sort: catalog.SortPrice}, firstPage, []int{1, 2, 0, 3}, 4},
			"price down":       {catalog.Filter{Sort: catalog.SortPriceDown}, firstPage, []int{3, 0, 2, 1}, 4},
			"second page":      {catalog.Filter{Sort: catalog.SortNewest}, store.Page{Number: 2, Limit: 3}, []int{0}, 4},
			"past the end":     {catalog.Filter{}, store.Page{Number: 3, Limit: 20}, nil, 4},
			"category, below":  {catalog.Filter{CategoryID: sh.category, Sort: catalog.SortNewest}, firstPage, []int{3, 1, 0}, 3},
			"leaf":             {catalog.Filter{CategoryID: below}, firstPage, []int{1}, 1},
			"unknown category": {catalog.Filter{CategoryID: 1 << 40}, firstPage, nil, 0},
			"merchant":         {catalog.Filter{MerchantID: sh.other}, firstPage, nil, 0},
		} {
			got, total, err := sh.List(t.Context(), tc.filter, tc.page)
			if err != nil {
				t.Fatal(err)
			}
			var want []int64
			for _, at := range tc.want {
				want = append(want, made[at])
			}
			if !slices.Equal(ids(got), want) || total != tc.total {
				t.Errorf("%s: got %v of %d, want %v of %d", name, ids(got), total, want, tc.total)
			}
		}

		listed, total, err := sh.AdminList(t.Context(), sh.merchant, catalog.AdminFilter{}, firstPage)
		if err != nil || total != 5 || len(listed) != 5 || listed[0].ID != hidden.ID || len(listed[4].SKUs) != 1 {
			t.Errorf("admin sees %d of %d (%v), want all five with their SKUs, the newest first", len(listed), total, err)
		}
		_, total, err = sh.AdminList(t.Context(), sh.merchant, catalog.AdminFilter{Published: new(false), Query: "五", CategoryID: sh.category}, firstPage)
		if err != nil || total != 1 {
			t.Errorf("admin finds %d (%v), want the one off the shelf", total, err)
		}
		_, total, err = sh.AdminList(t.Context(), sh.merchant, catalog.AdminFilter{Query: "%"}, firstPage)
		if err != nil || total != 0 {
			t.Errorf("%% finds %d (%v), want it taken as a character", total, err)
		}

		if err := sh.store.Read(t.Context()).Exec("UPDATE merchants SET disabled = ? WHERE id = ?", true, sh.merchant).Error; err != nil {
			t.Fatal(err)
		}
		_, total, err = sh.List(t.Context(), catalog.Filter{}, firstPage)
		if err != nil || total != 0 {
			t.Errorf("%d products of a disabled merchant are listed (%v)", total, err)
		}
	})
}

func TestAdminListNarrowsAndSorts(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		elsewhere := sh.addCategory(t, sh.merchant, "别处", 0)
		var made []int64
		for _, d := range []struct {
			catalog.Draft
			stock, sales int64
		}{
			{catalog.Draft{Name: "白衬衫", Code: "SHIRT-1", Sort: 1}, 9, 3},
			{catalog.Draft{Name: "黑衬衫", Code: "SHIRT-2", Sort: 9, CategoryID: elsewhere}, 0, 7},
			{catalog.Draft{Name: "袜子", Subtitle: "十双装", Sort: -1}, 5, 7},
		} {
			d.SKUs = []catalog.SKUDraft{{PriceFen: 100, Stock: &d.stock}}
			p := sh.add(t, d.Draft)
			made = append(made, p.ID)
			if err := sh.store.Read(t.Context()).Exec("UPDATE products SET sales = ? WHERE id = ?", d.sales, p.ID).Error; err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sh.Unpublish(t.Context(), sh.merchant, made[2]); err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			filter catalog.AdminFilter
			want   []int // positions in made
		}{
			"newest":           {catalog.AdminFilter{}, []int{2, 1, 0}},
			"own order":        {catalog.AdminFilter{Sort: catalog.SortDefault}, []int{1, 0, 2}},
			"sales, then new":  {catalog.AdminFilter{Sort: catalog.SortSales}, []int{2, 1, 0}},
			"least stock":      {catalog.AdminFilter{Sort: catalog.SortStock}, []int{1, 2, 0}},
			"part of the code": {catalog.AdminFilter{Query: "SHIRT"}, []int{1, 0}},
			"part of the name": {catalog.AdminFilter{Query: "衬衫"}, []int{1, 0}},
			"subtitle":         {catalog.AdminFilter{Query: " 十双 "}, []int{2}},
			"sold out":         {catalog.AdminFilter{StockAtMost: new(int64(0))}, []int{1}},
			"low":              {catalog.AdminFilter{StockAtMost: new(int64(5))}, []int{2, 1}},
			"low and on sale":  {catalog.AdminFilter{StockAtMost: new(int64(5)), Published: new(true)}, []int{1}},
			"category":         {catalog.AdminFilter{CategoryID: elsewhere}, []int{1}},
		} {
			got, total, err := sh.AdminList(t.Context(), sh.merchant, tc.filter, firstPage)
			if err != nil {
				t.Fatal(err)
			}
			var want, have []int64
			for _, at := range tc.want {
				want = append(want, made[at])
			}
			for _, p := range got {
				have = append(have, p.ID)
			}
			if !slices.Equal(have, want) || total != int64(len(want)) {
				t.Errorf("%s: got %v of %d, want %v", name, have, total, want)
			}
			if _, total, err := sh.AdminList(t.Context(), sh.other, tc.filter, firstPage); err != nil || total != 0 {
				t.Errorf("%s: another merchant sees %d (%v)", name, total, err)
			}
		}
	})
}

func TestListAndDetailTakeFewQueries(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		d := shirt(sh)
		var last catalog.Product
		for range 12 {
			last = sh.add(t, d)
		}
		for name, tc := range map[string]struct {
			most int64
			run  func() (rows int, err error)
		}{
			"list": {3, func() (int, error) {
				rows, _, err := sh.List(t.Context(), catalog.Filter{}, firstPage)
				return len(rows), err
			}},
			"list of a category": {3, func() (int, error) {
				rows, _, err := sh.List(t.Context(), catalog.Filter{CategoryID: sh.category}, firstPage)
				return len(rows), err
			}},
			"search": {3, func() (int, error) {
				rows, _, err := sh.List(t.Context(), catalog.Filter{Query: "恤", Sort: catalog.SortPrice}, firstPage)
				return len(rows), err
			}},
			"admin's list": {3, func() (int, error) {
				rows, _, err := sh.AdminList(t.Context(), sh.merchant, catalog.AdminFilter{}, firstPage)
				return len(rows), err
			}},
			"detail": {3, func() (int, error) { p, err := sh.Detail(t.Context(), last.ID); return 4 * len(p.SKUs), err }},
			"sellables": {1, func() (int, error) {
				rows, err := sh.Sellables(sh.store.Read(t.Context()), []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
				return len(rows), err
			}},
		} {
			n := countQueries(t, sh.store, func() {
				if rows, err := tc.run(); err != nil || rows != 12 {
					t.Errorf("%s: %d rows (%v), want 12", name, rows, err)
				}
			})
			if n < 1 || n > tc.most {
				t.Errorf("%s takes %d queries, want at most %d", name, n, tc.most)
			}
		}
	})
}
