package catalog_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
)

func specs(color, size string) map[string]string {
	return map[string]string{"颜色": color, "尺码": size}
}

var shirtOptions = []model.ProductOption{{Name: "颜色", Values: []string{"白", "黑"}}, {Name: "尺码", Values: []string{"S", "M"}}}

func shirt(sh *shop) catalog.Draft {
	return catalog.Draft{
		CategoryID: sh.category, Name: " T恤 ", Subtitle: "Cotton tee", Options: shirtOptions, Sort: -3,
		DetailHTML: `<p onclick="x()">棉</p><script>alert(1)</script><img src="javascript:x"><p style="text-align:center;position:fixed">中</p>`,
		Images:     []model.Image{{Key: "stored-1", ThumbKey: "stored-1t", Width: 8, Height: 9}},
		SKUs: []catalog.SKUDraft{
			{Specs: specs("白", "S"), PriceFen: 5900, Stock: new(int64(7)), WeightG: 200},
			{Specs: specs("白", "M"), PriceFen: 4900, Stock: new(int64(0)), Image: "stored-2"},
			{Specs: specs("黑", "S"), PriceFen: 6900, Stock: new(int64(3))},
		},
	}
}

func TestCreateStoresWhatWasEntered(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		made, err := sh.Create(t.Context(), sh.merchant, "admin:1", shirt(sh))
		if err != nil {
			t.Fatal(err)
		}
		read, err := sh.Product(t.Context(), sh.merchant, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read, made); diff != "" {
			t.Errorf("what was answered differs from what is stored:\n%s", diff)
		}
		if read.Name != "T恤" || read.MinPriceFen != 4900 || read.Published || read.Version != 1 || read.Sort != -3 {
			t.Errorf("got %+v", read.Product)
		}
		if read.DetailHTML != `<p>棉</p><p style="text-align: center">中</p>` {
			t.Errorf("detail is %s", read.DetailHTML)
		}
		if diff := cmp.Diff(read.Options, shirtOptions); diff != "" {
			t.Error(diff)
		}
		if len(read.SKUs) != 3 || read.SKUs[0].Stock != 7 || read.SKUs[1].Stock != 0 || read.SKUs[1].Image != "stored-2" || read.SKUs[0].WeightG != 200 {
			t.Errorf("SKUs are %+v", read.SKUs)
		}
		sh.ledger(t)
		if _, err := sh.Product(t.Context(), sh.other, made.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant got %v, want not_found", err)
		}
	})
}

func TestCreateNamesEveryWrongField(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		foreign := sh.addCategory(t, sh.other, "别家", 0)
		many := make([]catalog.SKUDraft, catalog.MaxSKUs+1)
		for i := range many {
			many[i] = catalog.SKUDraft{Specs: map[string]string{"号": fmt.Sprint(i)}, PriceFen: 1}
		}
		for name, tc := range map[string]struct {
			change func(d *catalog.Draft)
			field  string
			code   fault.Code
		}{
			"no name":              {func(d *catalog.Draft) { d.Name = "  " }, "name", fault.FieldRequired},
			"61 characters":        {func(d *catalog.Draft) { d.Name = strings.Repeat("名", 61) }, "name", fault.FieldLength},
			"control character":    {func(d *catalog.Draft) { d.Name = "a\x00b" }, "name", fault.FieldFormat},
			"long subtitle":        {func(d *catalog.Draft) { d.Subtitle = strings.Repeat("a", 101) }, "subtitle", fault.FieldLength},
			"long detail":          {func(d *catalog.Draft) { d.DetailHTML = strings.Repeat("长", 100_001) }, "detail_html", fault.FieldLength},
			"another's category":   {func(d *catalog.Draft) { d.CategoryID = foreign }, "category_id", fault.FieldChoice},
			"no category":          {func(d *catalog.Draft) { d.CategoryID = 0 }, "category_id", fault.FieldChoice},
			"ten images":           {func(d *catalog.Draft) { d.Images = make([]model.Image, 10) }, "images", fault.FieldLength},
			"unknown image":        {func(d *catalog.Draft) { d.Images = []model.Image{{Key: "elsewhere"}} }, "images[0].url", fault.FieldChoice},
			"foreign image":        {func(d *catalog.Draft) { d.Images = []model.Image{{}} }, "images[0].url", fault.FieldChoice},
			"unknown SKU image":    {func(d *catalog.Draft) { d.SKUs[2].Image = "elsewhere" }, "skus[2].image", fault.FieldChoice},
			"four options":         {func(d *catalog.Draft) { d.Options = make([]model.ProductOption, 4) }, "options", fault.FieldLength},
			"option without value": {func(d *catalog.Draft) { d.Options[1].Values = nil }, "options[1].values", fault.FieldRequired},
			"option twice":         {func(d *catalog.Draft) { d.Options[1].Name = "颜色" }, "options[1].name", fault.FieldDup},
			"value twice":          {func(d *catalog.Draft) { d.Options[0].Values[1] = "白" }, "options[0].values[1]", fault.FieldDup},
			"201 SKUs":             {func(d *catalog.Draft) { d.SKUs, d.Options = many, nil }, "skus", fault.FieldLength},
			"SKU lacks an option":  {func(d *catalog.Draft) { delete(d.SKUs[1].Specs, "尺码") }, "skus[1].specs", fault.FieldRequired},
			"unknown value":        {func(d *catalog.Draft) { d.SKUs[1].Specs["尺码"] = "XXL" }, "skus[1].specs", fault.FieldChoice},
			"unknown option":       {func(d *catalog.Draft) { d.SKUs[1].Specs["材质"] = "棉" }, "skus[1].specs", fault.FieldUnknown},
			"specs twice":          {func(d *catalog.Draft) { d.SKUs[2].Specs = specs("白", "M ") }, "skus[2].specs", fault.FieldDup},
			"specs without option": {func(d *catalog.Draft) { d.Options = []model.ProductOption{} }, "skus[0].specs", fault.FieldUnknown},
			"free":                 {func(d *catalog.Draft) { d.SKUs[0].PriceFen = 0 }, "skus[0].price_fen", fault.FieldRange},
			"too dear":             {func(d *catalog.Draft) { d.SKUs[0].PriceFen = model.MaxFen + 1 }, "skus[0].price_fen", fault.FieldRange},
			"negative stock":       {func(d *catalog.Draft) { d.SKUs[0].Stock = new(int64(-1)) }, "skus[0].stock", fault.FieldRange},
			"negative weight":      {func(d *catalog.Draft) { d.SKUs[0].WeightG = -1 }, "skus[0].weight_g", fault.FieldRange},
			"id of nothing":        {func(d *catalog.Draft) { d.SKUs[0].ID = 99 }, "skus[0].id", fault.FieldChoice},
			"sort":                 {func(d *catalog.Draft) { d.Sort = catalog.MaxSort + 1 }, "sort", fault.FieldRange},
		} {
			d := shirt(sh)
			d.Options = []model.ProductOption{{Name: "颜色", Values: []string{"白", "黑"}}, {Name: "尺码", Values: []string{"S", "M"}}}
			tc.change(&d)
			_, err := sh.Create(t.Context(), sh.merchant, "admin:1", d)
			if !fault.Is(err, fault.ValidationFailed) || fields(err)[tc.field] != tc.code {
				t.Errorf("%s: got %v, want %s %s", name, err, tc.field, tc.code)
			}
		}
		var left int64
		if err := sh.store.Read(t.Context()).Raw("SELECT (SELECT COUNT(*) FROM products) + (SELECT COUNT(*) FROM skus)").Scan(&left).Error; err != nil || left != 0 {
			t.Errorf("%d rows were left behind (%v)", left, err)
		}
	})
}

// Without options in the input they are made from the SKUs; a single SKU has none.
func TestOptionsMayBeLeftOut(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		d := shirt(sh)
		d.Options = nil
		made, err := sh.Create(t.Context(), sh.merchant, "admin:1", d)
		if err != nil {
			t.Fatal(err)
		}
		want := []model.ProductOption{{Name: "尺码", Values: []string{"S", "M"}}, {Name: "颜色", Values: []string{"白", "黑"}}}
		if diff := cmp.Diff(made.Options, want); diff != "" {
			t.Error(diff)
		}
		single, err := sh.Create(t.Context(), sh.merchant, "admin:1", catalog.Draft{CategoryID: sh.category, Name: "杯子", SKUs: []catalog.SKUDraft{{PriceFen: 1, Stock: new(int64(1))}}})
		if err != nil || len(single.Options) != 0 || single.SKUs[0].Specs == nil {
			t.Errorf("got %+v (%v), want no options and empty specs", single, err)
		}
	})
}

// Case T60.
func TestT60_ProductIsEditedAndASKURemoved(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		made := sh.add(t, shirt(sh))
		whiteS, whiteM, blackS := made.SKUs[0], made.SKUs[1], made.SKUs[2]
		edit := shirt(sh)
		edit.Subtitle, edit.Sort, edit.Virtual, edit.Images = "", 0, true, nil
		edit.SKUs = []catalog.SKUDraft{
			{Specs: specs("黑", "M"), PriceFen: 100, Stock: new(int64(4))},
			{Specs: specs("白", "S"), PriceFen: 9900},
		}
		edited, err := sh.Update(t.Context(), sh.merchant, made.ID, made.Version, "admin:1", edit)
		if err != nil {
			t.Fatal(err)
		}
		if edited.Subtitle != "" || edited.Sort != 0 || !edited.Virtual || len(edited.Images) != 0 || edited.MinPriceFen != 100 || edited.Version != made.Version+1 || !edited.Published {
			t.Errorf("zero values were not stored: %+v", edited.Product)
		}
		if len(edited.SKUs) != 2 || edited.SKUs[0].Stock != 4 || edited.SKUs[1].ID != whiteS.ID || edited.SKUs[1].Stock != 7 || edited.SKUs[1].WeightG != 0 || edited.SKUs[1].PriceFen != 9900 {
			t.Errorf("SKUs are %+v, want the new one and 白/S with its stock", edited.SKUs)
		}
		all, err := sh.Sellables(sh.store.Read(t.Context()), []int64{whiteS.ID, whiteM.ID, blackS.ID, 1 << 40})
		if err != nil || len(all) != 3 || !all[0].OnSale || all[1].OnSale || all[2].OnSale || all[2].Stock != 3 {
			t.Errorf("sellables are %+v (%v), want 白/S on sale and the removed ones not", all, err)
		}

		back := shirt(sh) // 白/M and 黑/S come back: one keeps the stock it had, one is given another
		back.SKUs[0].Stock, back.SKUs[1].Stock, back.SKUs[2].Stock = nil, new(int64(12)), nil
		restored, err := sh.Update(t.Context(), sh.merchant, made.ID, edited.Version, "admin:2", back)
		if err != nil {
			t.Fatal(err)
		}
		if len(restored.SKUs) != 3 || restored.SKUs[1].ID != whiteM.ID || restored.SKUs[1].Stock != 12 || restored.SKUs[2].ID != blackS.ID || restored.SKUs[2].Stock != 3 {
			t.Errorf("SKUs are %+v, want the removed ones back under their ids", restored.SKUs)
		}
		sh.ledger(t)
	})
}

func TestUpdateRefuses(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		made := sh.add(t, shirt(sh))
		foreign := sh.add(t, catalog.Draft{Name: "杯子"})
		draft := func(change func(d *catalog.Draft)) catalog.Draft {
			d := shirt(sh)
			for i := range d.SKUs {
				d.SKUs[i].Stock = nil
			}
			change(&d)
			return d
		}
		for name, tc := range map[string]struct {
			merchant, version int64
			draft             catalog.Draft
			code              fault.Code
			field             string
		}{
			"stock of an existing SKU":  {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs[1].Stock = new(int64(0)) }), fault.ValidationFailed, "skus[1].stock"},
			"the same by id":            {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs[0].ID, d.SKUs[0].Stock = made.SKUs[0].ID, new(int64(7)) }), fault.ValidationFailed, "skus[0].stock"},
			"another product's SKU":     {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs[0].ID = foreign.SKUs[0].ID }), fault.ValidationFailed, "skus[0].id"},
			"a published one's last":    {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs = nil }), fault.ValidationFailed, "skus"},
			"an old version":            {sh.merchant, made.Version - 1, draft(func(*catalog.Draft) {}), fault.StaleVersion, ""},
			"another merchant's":        {sh.other, made.Version, draft(func(*catalog.Draft) {}), fault.NotFoundError, ""},
			"an id that appears twice":  {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs[0].ID, d.SKUs[1].ID = made.SKUs[0].ID, made.SKUs[0].ID }), fault.ValidationFailed, "skus[1].id"},
			"a picture that is nowhere": {sh.merchant, made.Version, draft(func(d *catalog.Draft) { d.SKUs[0].Image = "x" }), fault.ValidationFailed, "skus[0].image"},
		} {
			_, err := sh.Update(t.Context(), tc.merchant, made.ID, tc.version, "admin:1", tc.draft)
			if _, ok := fields(err)[tc.field]; fault.CodeOf(err) != tc.code || tc.field != "" && !ok {
				t.Errorf("%s: got %v, want %s %s", name, err, tc.code, tc.field)
			}
		}
		read, err := sh.Product(t.Context(), sh.merchant, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read, made); diff != "" {
			t.Errorf("a refused update left a trace:\n%s", diff)
		}
	})
}

// SKUs named by id keep it whatever their specs become, even when two change places.
func TestSpecsChangeHands(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		made := sh.add(t, shirt(sh))
		whiteS, whiteM, blackS := made.SKUs[0], made.SKUs[1], made.SKUs[2]
		d := shirt(sh)
		d.SKUs = []catalog.SKUDraft{
			{ID: whiteS.ID, Specs: specs("白", "M"), PriceFen: 1},
			{ID: whiteM.ID, Specs: specs("白", "S"), PriceFen: 2},
			{Specs: specs("黑", "M"), PriceFen: 3, Stock: new(int64(2))},
		}
		swapped, err := sh.Update(t.Context(), sh.merchant, made.ID, made.Version, "admin:1", d)
		if err != nil {
			t.Fatal(err)
		}
		d.SKUs = []catalog.SKUDraft{ // 黑/M takes the specs of the removed 黑/S; a new SKU takes those it had
			{ID: swapped.SKUs[2].ID, Specs: specs("黑", "S"), PriceFen: 4},
			{Specs: specs("黑", "M"), PriceFen: 5, Stock: new(int64(9))},
		}
		taken, err := sh.Update(t.Context(), sh.merchant, made.ID, swapped.Version, "admin:1", d)
		if err != nil {
			t.Fatal(err)
		}
		if swapped.SKUs[0].ID != whiteS.ID || swapped.SKUs[0].Specs["尺码"] != "M" || swapped.SKUs[0].Stock != 7 || swapped.SKUs[1].ID != whiteM.ID {
			t.Errorf("after the swap SKUs are %+v", swapped.SKUs)
		}
		if taken.SKUs[0].ID != swapped.SKUs[2].ID || taken.SKUs[0].Stock != 2 || taken.SKUs[1].Stock != 9 || taken.SKUs[1].ID == blackS.ID {
			t.Errorf("after the second edit SKUs are %+v", taken.SKUs)
		}
		sh.ledger(t)
	})
}

func TestOnlyOneOfTwoEditsWins(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		made := sh.add(t, catalog.Draft{Name: "杯子"})
		results := make(chan error, 6)
		var wg sync.WaitGroup
		for i := range cap(results) {
			wg.Go(func() {
				_, err := sh.Update(t.Context(), sh.merchant, made.ID, made.Version, "admin:1", catalog.Draft{
					CategoryID: sh.category, Name: fmt.Sprintf("杯子 %d", i), SKUs: []catalog.SKUDraft{{PriceFen: 5}},
				})
				results <- err
			})
		}
		wg.Wait()
		won := 0
		for range cap(results) {
			if err := <-results; err == nil {
				won++
			} else if !fault.Is(err, fault.StaleVersion) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d edits of one version won, want 1", won)
		}
	})
}

func TestPublish(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		empty, err := sh.Create(t.Context(), sh.merchant, "admin:1", catalog.Draft{CategoryID: sh.category, Name: "空"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sh.Publish(t.Context(), sh.merchant, empty.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("without a SKU: got %v, want state_conflict", err)
		}
		p := sh.add(t, catalog.Draft{Name: "杯子"})
		again, err := sh.Publish(t.Context(), sh.merchant, p.ID)
		if err != nil || again.Version != p.Version {
			t.Errorf("publishing again: version %d (%v), want %d", again.Version, err, p.Version)
		}
		if _, err := sh.Unpublish(t.Context(), sh.other, p.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant got %v, want not_found", err)
		}
		if _, err := sh.Detail(t.Context(), p.ID); err != nil {
			t.Errorf("on the shelf: %v", err)
		}
		if _, err := sh.Unpublish(t.Context(), sh.merchant, p.ID); err != nil {
			t.Error(err)
		}
		if _, err := sh.Detail(t.Context(), p.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("off the shelf: got %v, want not_found", err)
		}
	})
}

func TestProductCodeIsUniqueWithinAMerchant(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		draft := func(code string) catalog.Draft {
			return catalog.Draft{Name: "杯子", Code: code, CategoryID: sh.category, SKUs: []catalog.SKUDraft{{PriceFen: 100}}}
		}
		first := sh.add(t, draft(" CUP-1 "))
		if first.Code == nil || *first.Code != "CUP-1" {
			t.Errorf("code is %v, want it without the spaces", first.Code)
		}
		sh.add(t, draft(""))
		second := sh.add(t, draft("")) // as many without a code as one likes
		if second.Code != nil {
			t.Errorf("code is %q, want none", *second.Code)
		}
		taken := map[string]fault.Code{"code": fault.FieldDup}
		_, err := sh.Create(t.Context(), sh.merchant, "admin:1", draft("CUP-1"))
		if !fault.Is(err, fault.NameTaken) || !maps.Equal(fields(err), taken) {
			t.Errorf("the code again: %v", err)
		}
		_, err = sh.Update(t.Context(), sh.merchant, second.ID, second.Version, "admin:1", draft("CUP-1"))
		if !fault.Is(err, fault.NameTaken) || !maps.Equal(fields(err), taken) {
			t.Errorf("the code for another product: %v", err)
		}
		theirs := draft("CUP-1")
		theirs.CategoryID = sh.addCategory(t, sh.other, "分类", 0)
		if _, err := sh.Create(t.Context(), sh.other, "admin:2", theirs); err != nil {
			t.Errorf("another merchant's code: %v", err)
		}
		changed, err := sh.Update(t.Context(), sh.merchant, first.ID, first.Version, "admin:1", draft(""))
		if err != nil || changed.Code != nil {
			t.Errorf("left out: %v, %v, want no code", changed.Code, err)
		}
		if _, err := sh.Update(t.Context(), sh.merchant, second.ID, second.Version, "admin:1", draft("CUP-1")); err != nil {
			t.Errorf("a code that is free again: %v", err)
		}
		if _, err := sh.Create(t.Context(), sh.merchant, "admin:1", draft(strings.Repeat("码", catalog.MaxCode+1))); fields(err)["code"] != fault.FieldLength {
			t.Errorf("a long code: %v", err)
		}
	})
}
