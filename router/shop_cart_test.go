package router

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/cart"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// people is an authenticator for tests of ownership: shoppers "ann" (7) and "bob" (8); admins "one" and "two" of the merchants 1
// and 2 with every permission, "idle" of merchant 1 with none.
type people struct{}

func (people) AuthenticateShopper(_ context.Context, token string) (api.ShopperIdentity, error) {
	switch token {
	case "ann":
		return api.ShopperIdentity{ID: 7}, nil
	case "bob":
		return api.ShopperIdentity{ID: 8}, nil
	}
	return api.ShopperIdentity{}, fault.New(fault.TokenInvalid)
}

func (people) AuthenticateAdmin(_ context.Context, token string, _ int64) (api.AdminIdentity, error) {
	var all []account.Permission
	for _, p := range account.Permissions() {
		all = append(all, p.Permission)
	}
	switch token {
	case "one":
		return api.AdminIdentity{ID: 1, MerchantID: 1, Permissions: all}, nil
	case "two":
		return api.AdminIdentity{ID: 2, MerchantID: 2, Permissions: all}, nil
	case "idle":
		return api.AdminIdentity{ID: 3, MerchantID: 1}, nil
	}
	return api.AdminIdentity{}, fault.New(fault.TokenInvalid)
}

type keys struct{}

func (keys) URL(key string) string {
	if key == "" {
		return ""
	}
	return "http://shop.test/files/" + key
}

// as sends a JSON request with somebody's token and checks the status.
func as(t *testing.T, h http.Handler, who, method, path, body string, want int) reply {
	t.Helper()
	got := call(t, h, method, path, body, "Authorization", "Bearer "+who, "Content-Type", "application/json")
	if got.StatusCode != want {
		t.Fatalf("%s %s %s as %s: %d %s, want %d", method, path, body, who, got.StatusCode, got.Text, want)
	}
	return got
}

// refused sends a request that fails and checks the status, the code and, joined by a comma, "field code" of its errors.
func refused(t *testing.T, h http.Handler, who, method, path, body string, want int, code fault.Code, fields string) {
	t.Helper()
	got := as(t, h, who, method, path, body, want)
	var errs []string
	for _, e := range list(got.Body["errors"]) {
		errs = append(errs, fmt.Sprintf("%s %s", e["field"], e["code"]))
	}
	if got.Body["code"] != string(code) || strings.Join(errs, ",") != fields {
		t.Errorf("%s %s %s as %s: %s, want %s with %q", method, path, body, who, got.Text, code, fields)
	}
}

func fill(t *testing.T, s *store.Store, rows ...any) {
	t.Helper()
	for _, r := range rows {
		if err := s.Read(t.Context()).Create(r).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, s *store.Store, table string) (n int64) {
	t.Helper()
	if err := s.Read(t.Context()).Table(table).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func newCartShop(t *testing.T, s *store.Store) *Router {
	t.Helper()
	fill(
		t, s,
		[]model.Shopper{{ID: 7, OpenID: "a"}, {ID: 8, OpenID: "b"}},
		[]model.Merchant{{ID: 1, Name: "潮汐"}},
		[]model.Product{{ID: 10, MerchantID: 1, Name: "杯子", Published: true, Images: []model.Image{{Key: "mug.jpg"}}, Options: []model.ProductOption{}}},
		[]model.SKU{
			{ID: 100, ProductID: 10, MerchantID: 1, Stock: 5, PriceFen: 1990, SpecKey: "红", Specs: map[string]string{"颜色": "红"}},
			{ID: 101, ProductID: 10, MerchantID: 1, Stock: 5, PriceFen: 1990, SpecKey: "蓝", Specs: map[string]string{"颜色": "蓝"}},
			{ID: 102, ProductID: 10, MerchantID: 1, SpecKey: "绿", Specs: map[string]string{}, DeletedAt: 1},
		},
	)
	svc := cart.New(s, func() model.Time { return 1_800_000_000_000 })
	return New(Deps{Auth: people{}, Operations: Operations{ShopCart: &shop.Carts{Service: svc, Pictures: keys{}}}})
}

func TestCartOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCartShop(t, s)
		if got := as(t, h, "ann", "GET", "/api/v1/cart", "", 200); strings.TrimSpace(got.Text) != `{"groups":[]}` {
			t.Errorf("an empty cart is %s", got.Text)
		}
		added := as(t, h, "ann", "POST", "/api/v1/cart/items", `{"sku_id":100,"quantity":2}`, 200)
		id := int64(added.Body["id"].(float64))
		item := fmt.Sprintf(`{"id":%d,"sku_id":100,"product_id":10,"name":"杯子","image":"http://shop.test/files/mug.jpg","specs":{"颜色":"红"},`+
			`"quantity":2,"price_fen":1990,"stock":5,"available":true}`, id)
		whole := `{"groups":[{"merchant":{"id":1,"name":"潮汐"},"items":[` + item + `]}]}`
		if got := as(t, h, "ann", "GET", "/api/v1/cart", "", 200); strings.TrimSpace(got.Text) != whole {
			t.Errorf("got  %s\nwant %s", got.Text, whole)
		}
		if got, want := strings.TrimSpace(added.Text), strings.TrimSuffix(item, "}")+","+whole[1:]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		path := fmt.Sprintf("/api/v1/cart/items/%d", id)
		set := as(t, h, "ann", "PUT", path, `{"quantity":6}`, 200)
		if set.Body["quantity"] != 6.0 || set.Body["available"] != false || set.Body["reason"] != "stock_short" || set.Body["reason_text"] == nil {
			t.Errorf("got %s, want 6 and stock_short", set.Text)
		}
		as(t, h, "ann", "DELETE", path, "", 204)
		if n := count(t, s, "cart_items"); n != 0 {
			t.Errorf("%d items are left", n)
		}
	})
}

// Case T22.
func TestT22_QuantitiesOutOfRangeAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCartShop(t, s)
		id := as(t, h, "ann", "POST", "/api/v1/cart/items", `{"sku_id":100,"quantity":2}`, 200).Body["id"].(float64)
		path := fmt.Sprintf("/api/v1/cart/items/%d", int64(id))
		for quantity, code := range map[string]string{
			"-5": "out_of_range", "0": "out_of_range", "1.5": "wrong_type", "99999999": "out_of_range", "10000": "out_of_range",
			`"2"`: "wrong_type", "null": "wrong_type", "1e30": "out_of_range",
		} {
			for _, c := range []struct{ method, path, body string }{
				{"POST", "/api/v1/cart/items", `{"sku_id":101,"quantity":` + quantity + `}`},
				{"POST", "/api/v1/cart/items", `{"sku_id":100,"quantity":` + quantity + `}`},
				{"PUT", path, `{"quantity":` + quantity + `}`},
			} {
				refused(t, h, "ann", c.method, c.path, c.body, 422, fault.ValidationFailed, "quantity "+code)
			}
		}
		refused(t, h, "ann", "POST", "/api/v1/cart/items", `{"sku_id":100,"quantity":9998}`, 422, fault.ValidationFailed, "quantity out_of_range")
		if got := as(t, h, "ann", "GET", "/api/v1/cart", "", 200); !strings.Contains(got.Text, `"quantity":2,`) || count(t, s, "cart_items") != 1 {
			t.Errorf("something was stored: %s", got.Text)
		}
	})
}

func TestCartRefusals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCartShop(t, s)
		id := as(t, h, "ann", "POST", "/api/v1/cart/items", `{"sku_id":100,"quantity":2}`, 200).Body["id"].(float64)
		path := fmt.Sprintf("/api/v1/cart/items/%d", int64(id))
		const items, good = "/api/v1/cart/items", `{"sku_id":101,"quantity":1}`
		for _, c := range []struct {
			who, method, path, body string
			status                  int
			code                    fault.Code
			fields                  string
		}{
			{"nobody", "GET", "/api/v1/cart", "", 401, fault.TokenInvalid, ""},
			{"nobody", "POST", items, good, 401, fault.TokenInvalid, ""},
			{"nobody", "PUT", path, `{"quantity":1}`, 401, fault.TokenInvalid, ""},
			{"nobody", "DELETE", path, "", 401, fault.TokenInvalid, ""},
			{"one", "GET", "/api/v1/cart", "", 401, fault.TokenInvalid, ""},
			{"bob", "PUT", path, `{"quantity":1}`, 404, fault.NotFoundError, ""},
			{"bob", "DELETE", path, "", 404, fault.NotFoundError, ""},
			{"ann", "PUT", path + "9", `{"quantity":1}`, 404, fault.NotFoundError, ""},
			{"ann", "POST", items, `{"sku_id":999,"quantity":1}`, 409, fault.ProductUnavailable, "sku_id gone"},
			{"ann", "POST", items, `{"sku_id":102,"quantity":1}`, 409, fault.ProductUnavailable, "sku_id gone"},
			{"ann", "PUT", path, `{"sku_id":102,"quantity":1}`, 409, fault.ProductUnavailable, "sku_id gone"},
			{"ann", "POST", items, `{"quantity":1}`, 422, fault.ValidationFailed, "sku_id required"},
			{"ann", "POST", items, `{"sku_id":100}`, 422, fault.ValidationFailed, "quantity required"},
			{"ann", "POST", items, `{"sku_id":0,"quantity":1}`, 422, fault.ValidationFailed, "sku_id out_of_range"},
			{"ann", "POST", items, `{"sku_id":100,"quantity":1,"price_fen":1}`, 422, fault.ValidationFailed, "price_fen unknown_field"},
			{"ann", "PUT", path, `{}`, 422, fault.ValidationFailed, "quantity required"},
			{"ann", "POST", items, ``, 400, fault.MissingBody, ""},
		} {
			refused(t, h, c.who, c.method, c.path, c.body, c.status, c.code, c.fields)
		}
		if got := as(t, h, "ann", "GET", "/api/v1/cart", "", 200); !strings.Contains(got.Text, `"quantity":2,`) || count(t, s, "cart_items") != 1 {
			t.Errorf("something else happened: %s", got.Text)
		}
	})
}
