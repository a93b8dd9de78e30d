package catalog_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
)

func TestCategoriesMakeATree(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		a := sh.addCategory(t, sh.merchant, "数码", 0)
		b := sh.addCategory(t, sh.merchant, "手机", a)
		c := sh.addCategory(t, sh.merchant, "5G", b)
		if got := sh.CategoryPath(sh.merchant, c); !slices.Equal(got, []int64{c, b, a}) {
			t.Errorf("path is %v, want %v", got, []int64{c, b, a})
		}
		foreign := sh.addCategory(t, sh.other, "别家", 0)
		update := func(id, version int64, d catalog.CategoryDraft) error {
			_, err := sh.UpdateCategory(t.Context(), sh.merchant, id, version, d)
			return err
		}
		create := func(d catalog.CategoryDraft) error {
			_, err := sh.CreateCategory(t.Context(), sh.merchant, d)
			return err
		}
		for name, tc := range map[string]struct {
			err   error
			code  fault.Code
			field string
		}{
			"fourth level":           {create(catalog.CategoryDraft{Name: "x", ParentID: c}), fault.ValidationFailed, "parent_id"},
			"another's parent":       {create(catalog.CategoryDraft{Name: "x", ParentID: foreign}), fault.ValidationFailed, "parent_id"},
			"no name":                {create(catalog.CategoryDraft{Name: " "}), fault.ValidationFailed, "name"},
			"31 characters":          {create(catalog.CategoryDraft{Name: string(slices.Repeat([]rune("字"), 31))}), fault.ValidationFailed, "name"},
			"below itself":           {update(a, 1, catalog.CategoryDraft{Name: "数码", ParentID: a}), fault.ValidationFailed, "parent_id"},
			"below its grandchild":   {update(a, 1, catalog.CategoryDraft{Name: "数码", ParentID: c}), fault.ValidationFailed, "parent_id"},
			"subtree gets too deep":  {update(a, 1, catalog.CategoryDraft{Name: "数码", ParentID: sh.category}), fault.ValidationFailed, "parent_id"},
			"stale":                  {update(a, 7, catalog.CategoryDraft{Name: "数码"}), fault.StaleVersion, ""},
			"another's":              {update(foreign, 1, catalog.CategoryDraft{Name: "数码"}), fault.NotFoundError, ""},
			"delete with children":   {sh.DeleteCategory(t.Context(), sh.merchant, b), fault.InUse, ""},
			"delete another's":       {sh.DeleteCategory(t.Context(), sh.merchant, foreign), fault.NotFoundError, ""},
			"move a leaf to the top": {update(c, 1, catalog.CategoryDraft{Name: "5G 手机", Sort: 9}), "", ""},
			"stale after the move":   {update(c, 1, catalog.CategoryDraft{Name: "5G"}), fault.StaleVersion, ""},
		} {
			if fault.CodeOf(tc.err) != tc.code {
				t.Errorf("%s: got %v, want %q", name, tc.err, tc.code)
			}
			if _, ok := fields(tc.err)[tc.field]; tc.field != "" && !ok {
				t.Errorf("%s: got %v, want a problem with %s", name, tc.err, tc.field)
			}
		}
		tree, err := sh.Categories(t.Context(), sh.merchant)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree) != 3 || tree[0].Name != "5G 手机" || tree[1].ID != sh.category || tree[2].Children[0].ID != b {
			t.Errorf("tree is %v, want the moved one first, then by age", tree)
		}
		all, err := sh.Categories(t.Context(), 0)
		if err != nil || len(all) != 4 {
			t.Errorf("%d roots of all merchants (%v), want 4", len(all), err)
		}
	})
}

func TestCategoryWithProductsStays(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		p := sh.add(t, catalog.Draft{Name: "杯子"})
		if err := sh.DeleteCategory(t.Context(), sh.merchant, sh.category); !fault.Is(err, fault.InUse) {
			t.Errorf("got %v, want in_use", err)
		}
		next := sh.addCategory(t, sh.merchant, "新分类", 0)
		if _, err := sh.Update(t.Context(), sh.merchant, p.ID, p.Version, "admin:1", catalog.Draft{Name: "杯子", CategoryID: next, SKUs: []catalog.SKUDraft{{PriceFen: 1}}}); err != nil {
			t.Fatal(err)
		}
		if err := sh.DeleteCategory(t.Context(), sh.merchant, sh.category); err != nil {
			t.Errorf("got %v, want it removed once it is empty", err)
		}
		if err := sh.DeleteCategory(t.Context(), sh.merchant, sh.category); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("got %v, want not_found the second time", err)
		}
		if _, err := sh.Create(t.Context(), sh.merchant, "admin:1", catalog.Draft{Name: "杯子", CategoryID: sh.category}); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("got %v, want a removed category refused", err)
		}
	})
}

// Two moves at once must not close a circle, and a product must not end up in a category that is being removed.
func TestCategoryRaces(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		for range 5 {
			a, b := sh.addCategory(t, sh.merchant, "a", 0), sh.addCategory(t, sh.merchant, "b", 0)
			var wg sync.WaitGroup
			for id, parent := range map[int64]int64{a: b, b: a} {
				wg.Go(func() {
					_, err := sh.UpdateCategory(t.Context(), sh.merchant, id, 1, catalog.CategoryDraft{Name: "moved", ParentID: parent})
					if err != nil && !fault.Is(err, fault.ValidationFailed) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var moved int64
			if err := sh.store.Read(t.Context()).Raw("SELECT COUNT(*) FROM categories WHERE id IN (?, ?) AND parent_id <> 0", a, b).Scan(&moved).Error; err != nil || moved != 1 {
				t.Errorf("%d of two opposite moves happened (%v), want 1", moved, err)
			}
			leaf := sh.addCategory(t, sh.merchant, "leaf", 0)
			wg.Go(func() {
				_, err := sh.Create(t.Context(), sh.merchant, "admin:1", catalog.Draft{Name: "x", CategoryID: leaf})
				if err != nil && !fault.Is(err, fault.ValidationFailed) {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := sh.DeleteCategory(t.Context(), sh.merchant, leaf); err != nil && !fault.Is(err, fault.InUse) {
					t.Error(err)
				}
			})
			wg.Wait()
			var orphans int64
			err := sh.store.Read(t.Context()).Raw("SELECT COUNT(*) FROM products p JOIN categories c ON c.id = p.category_id WHERE c.deleted_at > 0").Scan(&orphans).Error
			if err != nil || orphans != 0 {
				t.Errorf("%d products are in a removed category (%v)", orphans, err)
			}
		}
	})
}
