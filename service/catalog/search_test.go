package catalog_test

import (
	"slices"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
)

func TestSearchFinds(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		digital := sh.addCategory(t, sh.merchant, "数码家电", 0)
		audio := sh.addCategory(t, sh.merchant, "影音 Audio", digital)
		clothes := sh.addCategory(t, sh.merchant, "服饰", 0)
		made := map[string]int64{}
		names := map[int64]string{}
		for key, d := range map[string]catalog.Draft{
			"phone":  {Name: "iPhone15 Pro 手机壳", Subtitle: "MagSafe case", CategoryID: digital},
			"buds":   {Name: "蓝牙无线耳机", Subtitle: "Bluetooth earbuds, USB-C", CategoryID: audio},
			"washer": {Name: "小型洗衣机", Subtitle: "3.5kg mini washer", CategoryID: digital},
			"tool":   {Name: "手工机械表", Subtitle: "Hand-made watch", CategoryID: clothes},
			"mobile": {Name: "老人手机", Subtitle: "ＬＡＲＧＥ keys", CategoryID: digital},
			"tee": {Name: "纯棉T恤", Subtitle: "Cotton tee", CategoryID: clothes, Options: shirtOptions, SKUs: []catalog.SKUDraft{
				{Specs: specs("白", "M"), PriceFen: 4900, Stock: new(int64(3))},
			}},
		} {
			made[key] = sh.add(t, d).ID
			names[made[key]] = key
		}
		for query, want := range map[string][]string{ // where the order matters, the first ones of want are checked in order
			"机":            {"buds?", "mobile?", "phone?", "tool?", "washer?"},
			"手机":           {"mobile", "phone", "tool"},
			"耳机":           {"buds"},
			"无线耳机":         {"buds"},
			"蓝牙耳机":         {"buds"},
			"iPh":          {"phone"},
			"IPHONE":       {"phone"},
			"iphone 15":    {"phone"},
			"15pro":        {"phone"},
			"ｉｐｈｏｎｅ":       {"phone"},
			"usb-c":        {"buds"},
			"t恤":           {"tee"},
			"blue":         {"buds"},
			"large":        {"mobile"},
			"3.5kg":        {"washer"},
			"白":            {"tee"},
			"服饰 棉":         {"tee"},
			"数码":           {"buds?", "mobile?", "phone?", "washer?"},
			"audio":        {"buds"},
			"数码 耳机":        {"buds"},
			"hone":         {},
			"冰箱":           {},
			"手机 冰箱":        {},
			"!!!":          {},
			`"*" OR (a:b)`: {},
		} {
			rows, total, err := sh.List(t.Context(), catalog.Filter{Query: query}, firstPage)
			if err != nil {
				t.Fatal(query, err)
			}
			var got []string
			for _, p := range rows {
				got = append(got, names[p.ID])
			}
			if len(want) > 0 && want[0][len(want[0])-1] == '?' {
				slices.Sort(got)
				for i := range want {
					want[i] = want[i][:len(want[i])-1]
				}
			} else if len(want) == 3 { // the two with the words together come before the other, in either order
				slices.Sort(got[:min(2, len(got))])
			}
			if !slices.Equal(got, want) || total != int64(len(want)) {
				t.Errorf("%s: found %v of %d, want %v", query, got, total, want)
			}
		}
	})
}

// A search is narrowed, ordered and counted by the database, so that it agrees with what is on the shelf.
func TestSearchCombines(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		other := sh.addCategory(t, sh.merchant, "其他", 0)
		cheap := sh.add(t, catalog.Draft{Name: "杯子 小", SKUs: price(100)})
		dear := sh.add(t, catalog.Draft{Name: "杯子 大", SKUs: price(900)})
		middle := sh.add(t, catalog.Draft{Name: "杯子 中", SKUs: price(500), CategoryID: other})
		for name, tc := range map[string]struct {
			filter catalog.Filter
			want   []int64
		}{
			"by price":      {catalog.Filter{Query: "杯子", Sort: catalog.SortPrice}, []int64{cheap.ID, middle.ID, dear.ID}},
			"price down":    {catalog.Filter{Query: "杯子", Sort: catalog.SortPriceDown}, []int64{dear.ID, middle.ID, cheap.ID}},
			"in a category": {catalog.Filter{Query: "杯子", CategoryID: sh.category, Sort: catalog.SortPrice}, []int64{cheap.ID, dear.ID}},
			"only spaces":   {catalog.Filter{Query: "  ", Sort: catalog.SortPrice}, []int64{cheap.ID, middle.ID, dear.ID}},
		} {
			rows, total, err := sh.List(t.Context(), tc.filter, firstPage)
			if err != nil || !slices.Equal(ids(rows), tc.want) || total != int64(len(tc.want)) {
				t.Errorf("%s: got %v of %d (%v), want %v", name, ids(rows), total, err, tc.want)
			}
		}
		rows, total, err := sh.List(t.Context(), catalog.Filter{Query: "杯子", Sort: catalog.SortPrice}, pageOf(2, 2))
		if err != nil || !slices.Equal(ids(rows), []int64{dear.ID}) || total != 3 {
			t.Errorf("second page: got %v of %d (%v), want the last of 3", ids(rows), total, err)
		}
	})
}

// Every replica finds what another one wrote, and a writer finds its own write at once.
func TestSearchFollowsTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		writer, reader := sh.Catalog, replicaOf(t, sh)
		found := func(c *catalog.Catalog, query string) int64 {
			_, total, err := c.List(t.Context(), catalog.Filter{Query: query}, firstPage)
			if err != nil {
				t.Fatal(err)
			}
			return total
		}
		p := sh.add(t, catalog.Draft{Name: "旧名字"})
		if found(writer, "旧名") != 1 {
			t.Error("the writer does not find its own product")
		}
		if err := reader.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found(reader, "旧名") != 1 {
			t.Error("another replica does not find it after reading on")
		}
		sh.now++
		edited, err := writer.Update(t.Context(), sh.merchant, p.ID, p.Version, "admin:1", catalog.Draft{CategoryID: sh.category, Name: "新叫法", SKUs: []catalog.SKUDraft{{PriceFen: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		renamed, err := writer.UpdateCategory(t.Context(), sh.merchant, sh.category, 1, catalog.CategoryDraft{Name: "厨房"})
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]*catalog.Catalog{"writer": writer, "reader": reader} {
			if found(c, "旧名") != 0 || found(c, "新叫法") != 1 || found(c, renamed.Name) != 1 {
				t.Errorf("%s: old name %d, new name %d, category %d; want 0, 1, 1", name, found(c, "旧名"), found(c, "新叫法"), found(c, renamed.Name))
			}
		}
		if _, err := writer.Unpublish(t.Context(), sh.merchant, edited.ID); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]*catalog.Catalog{"writer": writer, "reader, before it reads on": reader} {
			if found(c, "新叫法") != 0 {
				t.Errorf("%s: a product off the shelf is found", name)
			}
		}
		if started := replicaOf(t, sh); found(started, "新叫法") != 0 {
			t.Error("a replica that starts later finds what is off the shelf")
		}
	})
}

func TestIndexIsBuiltInPages(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		const many = 1203
		rows := make([]model.Product, many)
		for i := range rows {
			rows[i] = model.Product{
				MerchantID: sh.merchant, CategoryID: sh.category, Name: "批量商品", Images: []model.Image{}, Options: []model.ProductOption{},
				Published: i != 7, Version: 1, CreatedAt: start, ChangedAt: start,
			}
		}
		if err := sh.store.Read(t.Context()).CreateInBatches(rows, 200).Error; err != nil {
			t.Fatal(err)
		}
		_, total, err := replicaOf(t, sh).List(t.Context(), catalog.Filter{Query: "批量"}, pageOf(13, 100))
		if err != nil || total != many-1 {
			t.Errorf("found %d (%v), want %d", total, err, many-1)
		}
	})
}
