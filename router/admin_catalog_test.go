package router

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// newCatalogShop serves the catalogue and the pictures of the merchants 1 and 2.
func newCatalogShop(t *testing.T, s *store.Store) *Router {
	t.Helper()
	fill(t, s, []model.Merchant{{ID: 1, Name: "潮汐"}, {ID: 2, Name: "邻居"}})
	bucket, err := file.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := file.New(bucket, "http://shop.test")
	svc, err := catalog.New(s, func() model.Time { return 1_800_000_000_000 }, slog.New(slog.DiscardHandler), files)
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if svc.Stop() != nil || files.Close() != nil {
			t.Error("the catalogue does not stop")
		}
	})
	return New(Deps{Auth: people{}, Operations: Operations{
		Files: &api.Files{Service: files}, ShopCatalog: &shop.Catalog{Service: svc, Ratings: review.New(review.Deps{Store: s}), Pictures: files},
		AdminCategories: &admin.Categories{Service: svc}, AdminProducts: &admin.Products{Service: svc, Pictures: files}, AdminSKUs: &admin.SKUs{Service: svc},
	}})
}

func idOf(r reply) int64 { return int64(r.Body["id"].(float64)) }

const teeSKUs = `"skus":[{"specs":{"颜色":"白","尺码":"M"},"price_fen":5900,"stock":3},{"specs":{"颜色":"黑","尺码":"M"},"price_fen":4900,"stock":0}]`

func TestCategoryOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCatalogShop(t, s)
		const path = "/api/admin/v1/categories"
		top := idOf(as(t, h, "one", "POST", path, `{"name":"数码"}`, 201))
		below := as(t, h, "one", "POST", path, fmt.Sprintf(`{"name":"手机","parent_id":%d,"sort":0}`, top), 201)
		one := fmt.Sprintf("%s/%d", path, idOf(below))
		moved := as(t, h, "one", "PUT", one, fmt.Sprintf(`{"name":"手机壳","parent_id":%d,"sort":-1,"version":1}`, top), 200)
		if moved.Body["sort"] != -1.0 || moved.Body["version"] != 2.0 {
			t.Errorf("got %s", moved.Text)
		}
		refused(t, h, "one", "PUT", one, `{"name":"x","version":1}`, 409, fault.StaleVersion, "")
		refused(t, h, "one", "PUT", one, `{"name":"x"}`, 422, fault.ValidationFailed, "version required")
		refused(t, h, "one", "POST", path, `{"name":"x","color":"red"}`, 422, fault.ValidationFailed, "color unknown_field")
		refused(t, h, "one", "POST", path, `{"name":"x","parent_id":999}`, 422, fault.ValidationFailed, "parent_id not_a_choice")
		refused(t, h, "one", "DELETE", fmt.Sprintf("%s/%d", path, top), "", 409, fault.InUse, "")
		refused(t, h, "two", "PUT", one, `{"name":"x","version":2}`, 404, fault.NotFoundError, "")
		refused(t, h, "two", "DELETE", one, "", 404, fault.NotFoundError, "")
		refused(t, h, "idle", "GET", path, "", 403, fault.PermissionDenied, "")
		refused(t, h, "ann", "POST", path, `{"name":"x"}`, 401, fault.TokenInvalid, "")
		want := fmt.Sprintf(`{"list":[{"id":%d,"name":"数码","sort":0,"version":1,"children":[{"id":%d,"parent_id":%d,"name":"手机壳","sort":-1,"version":2,"children":[]}]}]}`, top, idOf(below), top)
		if got := as(t, h, "one", "GET", path, "", 200); strings.TrimSpace(got.Text) != want {
			t.Errorf("got  %s\nwant %s", got.Text, want)
		}
		refused(t, h, "one", "POST", one+"/move", `{"version":1}`, 409, fault.StaleVersion, "")
		refused(t, h, "one", "POST", one+"/move", `{"version":2,"after_id":999}`, 422, fault.ValidationFailed, "after_id not_a_choice")
		refused(t, h, "two", "POST", one+"/move", `{"version":2}`, 404, fault.NotFoundError, "")
		if got := as(t, h, "one", "POST", one+"/move", fmt.Sprintf(`{"version":2,"after_id":%d}`, top), 200); got.Body["parent_id"] != nil || got.Body["sort"] != -10.0 {
			t.Errorf("moved to the top: %s", got.Text)
		}
		as(t, h, "one", "DELETE", one, "", 204)
		as(t, h, "one", "DELETE", fmt.Sprintf("%s/%d", path, top), "", 204)
		if got := as(t, h, "two", "GET", path, "", 200); strings.TrimSpace(got.Text) != `{"list":[]}` {
			t.Errorf("the other merchant sees %s", got.Text)
		}
	})
}

func TestProductOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCatalogShop(t, s)
		const path = "/api/admin/v1/products"
		category := idOf(as(t, h, "one", "POST", "/api/admin/v1/categories", `{"name":"服饰"}`, 201))
		made := as(t, h, "one", "POST", path, fmt.Sprintf(`{"name":"T恤","category_id":%d,%s}`, category, teeSKUs), 201)
		one := fmt.Sprintf("%s/%d", path, idOf(made))
		skus := list(made.Body["skus"])
		if made.Body["published"] != false || made.Body["version"] != 1.0 || made.Body["min_price_fen"] != 4900.0 || len(skus) != 2 || skus[0]["stock"] != 3.0 {
			t.Errorf("got %s", made.Text)
		}
		public := fmt.Sprintf("/api/v1/products/%d", idOf(made))
		refused(t, h, "ann", "GET", public, "", 404, fault.NotFoundError, "")
		as(t, h, "one", "POST", one+"/publish", "", 200)
		seen := as(t, h, "ann", "GET", public, "", 200)
		if seen.Body["merchant_id"] != 1.0 || seen.Body["merchant_name"] != "潮汐" || len(list(seen.Body["options"])) != 2 || list(seen.Body["skus"])[1]["stock"] != 0.0 {
			t.Errorf("a shopper sees %s", seen.Text)
		}

		change := func(skus string, version int) string {
			return fmt.Sprintf(`{"name":"T恤 新","category_id":%d,"version":%d,"skus":[%s]}`, category, version, skus)
		}
		const kept, white = `{"specs":{"颜色":"黑","尺码":"M"},"price_fen":100}`, `{"specs":{"颜色":"白","尺码":"M"},"price_fen":200,"stock":9}`
		refused(t, h, "one", "PUT", one, change(kept+","+white, 2), 422, fault.ValidationFailed, "skus[1].stock unknown_field")
		refused(t, h, "one", "PUT", one, change(kept, 1), 409, fault.StaleVersion, "")
		refused(t, h, "two", "PUT", one, change(kept, 2), 404, fault.NotFoundError, "")
		edited := as(t, h, "one", "PUT", one, change(kept, 2), 200)
		if edited.Body["name"] != "T恤 新" || edited.Body["version"] != 3.0 || len(list(edited.Body["skus"])) != 1 || edited.Body["min_price_fen"] != 100.0 {
			t.Errorf("got %s", edited.Text)
		}
		as(t, h, "one", "POST", one+"/unpublish", "", 200)

		for body, fields := range map[string]string{
			`{"name":"x","category_id":1}`:                                                                                    "skus required",
			`{"name":"","category_id":1,"skus":[]}`:                                                                           "name wrong_length",
			`{"name":"x","category_id":999,"skus":[]}`:                                                                        "category_id not_a_choice",
			`{"name":"x","category_id":1,"skus":[{"specs":{},"price_fen":0}]}`:                                                "skus[0].price_fen out_of_range",
			`{"name":"x","category_id":1,"skus":[{"specs":{},"price_fen":1},{"specs":{},"price_fen":1}]}`:                     "skus[1].specs duplicate",
			`{"name":"x","category_id":1,"options":[{"name":"色","values":["红"]}],"skus":[{"specs":{"色":"蓝"},"price_fen":1}]}`: "skus[0].specs not_a_choice",
			`{"name":"x","category_id":1,"images":[{"url":"https://elsewhere.test/a.jpg"}],"skus":[]}`:                        "images[0].url not_a_choice",
			`{"name":"x","category_id":1,"published":true,"skus":[]}`:                                                         "published unknown_field",
		} {
			refused(t, h, "one", "POST", path, strings.Replace(body, `"category_id":1,`, fmt.Sprintf(`"category_id":%d,`, category), 1), 422, fault.ValidationFailed, fields)
		}
		for _, p := range []string{one, one + "/publish", one + "/unpublish"} {
			method := "POST"
			if p == one {
				method = "GET"
			}
			refused(t, h, "two", method, p, "", 404, fault.NotFoundError, "")
			refused(t, h, "idle", method, p, "", 403, fault.PermissionDenied, "")
		}
		refused(t, h, "one", "PUT", one+"/sort", `{"sort":5,"version":3}`, 409, fault.StaleVersion, "")
		if got := as(t, h, "one", "PUT", one+"/sort", `{"sort":5,"version":4}`, 200); got.Body["sort"] != 5.0 || got.Body["version"] != 5.0 {
			t.Errorf("sorted: %s", got.Text)
		}
		shelf := as(t, h, "one", "POST", path+"/shelf", fmt.Sprintf(`{"published":true,"products":[{"id":%d,"version":5},{"id":999,"version":1}]}`, idOf(made)), 200)
		want := fmt.Sprintf(`{"list":[{"id":%d,"version":6},{"id":999,"version":1,"code":"not_found"}]}`, idOf(made))
		if strings.TrimSpace(shelf.Text) != want {
			t.Errorf("got  %s\nwant %s", shelf.Text, want)
		}
		as(t, h, "one", "POST", one+"/unpublish", "", 200)
		refused(t, h, "one", "POST", path+"/shelf", `{"published":true,"products":[]}`, 422, fault.ValidationFailed, "products wrong_length")
		coded := fmt.Sprintf(`{"name":"x","code":"C1","category_id":%d,"skus":[{"specs":{},"price_fen":1,"stock":3}]}`, category)
		if got := as(t, h, "one", "POST", path, coded, 201); got.Body["code"] != "C1" {
			t.Errorf("got %s", got.Text)
		}
		refused(t, h, "one", "POST", path, coded, 409, fault.NameTaken, "code duplicate")
		if got := as(t, h, "one", "GET", path+"?q=C1&stock_at_most=3&sort=stock", "", 200); got.Body["total"] != 1.0 {
			t.Errorf("got %s, want the one with the code", got.Text)
		}
		if got := as(t, h, "one", "GET", path+"?stock_at_most=2&q=C1", "", 200); got.Body["total"] != 0.0 {
			t.Errorf("got %s, want none so low", got.Text)
		}
		if got := as(t, h, "one", "GET", path+"?status=unpublished&q=新", "", 200); got.Body["total"] != 1.0 {
			t.Errorf("got %s, want the one off the shelf", got.Text)
		}
		if got := as(t, h, "two", "GET", path, "", 200); got.Body["total"] != 0.0 {
			t.Errorf("the other merchant sees %s", got.Text)
		}
		if n := count(t, s, "products"); n != 2 {
			t.Errorf("%d products, want 2", n)
		}
	})
}

func TestStockOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCatalogShop(t, s)
		category := idOf(as(t, h, "one", "POST", "/api/admin/v1/categories", `{"name":"服饰"}`, 201))
		made := as(t, h, "one", "POST", "/api/admin/v1/products", fmt.Sprintf(`{"name":"杯子","category_id":%d,"skus":[{"specs":{},"price_fen":1,"stock":3}]}`, category), 201)
		sku := int64(list(made.Body["skus"])[0]["id"].(float64))
		path := fmt.Sprintf("/api/admin/v1/skus/%d/stock", sku)
		if got := as(t, h, "one", "POST", path, `{"delta":-2,"reason":"盘亏"}`, 200); strings.TrimSpace(got.Text) != fmt.Sprintf(`{"id":%d,"stock":1}`, sku) {
			t.Errorf("got %s", got.Text)
		}
		refused(t, h, "one", "POST", path, `{"delta":-2,"reason":"盘亏"}`, 409, fault.StockInsufficient, "delta stock_short")
		refused(t, h, "one", "POST", path, `{"delta":0,"reason":"盘亏"}`, 422, fault.ValidationFailed, "delta out_of_range")
		refused(t, h, "one", "POST", path, `{"delta":1}`, 422, fault.ValidationFailed, "reason required")
		refused(t, h, "two", "POST", path, `{"delta":1,"reason":"x"}`, 404, fault.NotFoundError, "")
		refused(t, h, "idle", "POST", path, `{"delta":1,"reason":"x"}`, 403, fault.PermissionDenied, "")
		for _, want := range []struct {
			key, body string
			status    int
		}{{"key-12345", `{"delta":4,"reason":"进货"}`, 200}, {"key-12345", `{"delta":4,"reason":"进货"}`, 200}, {"key-12345", `{"delta":5,"reason":"进货"}`, 422}, {"!", `{"delta":4,"reason":"进货"}`, 422}} {
			got := call(t, h, "POST", path, want.body, "Authorization", "Bearer one", "Content-Type", "application/json", "Idempotency-Key", want.key)
			if got.StatusCode != want.status || want.status == 200 && got.Body["stock"] != 5.0 {
				t.Errorf("key %s: %d %s, want %d and stock 5", want.key, got.StatusCode, got.Text, want.status)
			}
		}
		ledger := as(t, h, "one", "GET", fmt.Sprintf("/api/admin/v1/skus/%d/ledger?limit=2", sku), "", 200)
		entries := list(ledger.Body["list"])
		if ledger.Body["total"] != 3.0 || len(entries) != 2 || entries[0]["delta"] != 4.0 || entries[0]["actor"] != "admin:1" || entries[1]["reason"] != "盘亏" {
			t.Errorf("got %s", ledger.Text)
		}
		deep := as(t, h, "one", "GET", fmt.Sprintf("/api/admin/v1/skus/%d/ledger?limit=2&after=%s", sku, ledger.Body["next"]), "", 200)
		if entries := list(deep.Body["list"]); len(entries) != 1 || entries[0]["kind"] != "initial" || deep.Body["next"] != nil {
			t.Errorf("read on: %s", deep.Text)
		}
		refused(t, h, "two", "GET", fmt.Sprintf("/api/admin/v1/skus/%d/ledger", sku), "", 404, fault.NotFoundError, "")
	})
}
