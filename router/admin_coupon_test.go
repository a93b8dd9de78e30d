package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestCouponTemplateOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCouponShop(s)
		fill(t, s, []model.Category{{ID: 5, MerchantID: 1, Name: "a"}, {ID: 6, MerchantID: 2, Name: "b"}})
		made := as(t, h, "one", "POST", "/api/admin/v1/coupons", couponJSON(`"scope":"category"`, `"scope_ids":[5]`), 201)
		id := int64(made.Body["id"].(float64))
		show := func(total, issued, version int) string {
			return fmt.Sprintf(`{"id":%d,"status":"running","name":"减 10","kind":"amount","amount_fen":1000,"threshold_fen":5000,"scope":"category","scope_ids":[5],"scoped":[{"id":5,"name":"a"}],`+
				`"total":%d,"per_shopper":1,"issued":%d,"figures":{"available":%[3]d,"locked":0,"used":0,"expired":0,"given_back":0},"starts_at":"2027-01-01T00:00:00.000Z","ends_at":"2027-01-31T16:00:00.000Z","version":%d,`+
				`"created_at":"2027-01-15T08:00:00.000Z","updated_at":"2027-01-15T08:00:00.000Z"}`, id, total, issued, version)
		}
		if got := strings.TrimSpace(made.Text); got != show(2, 0, 1) {
			t.Errorf("got  %s\nwant %s", got, show(2, 0, 1))
		}
		as(t, h, "ann", "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", id), "", 200)
		as(t, h, "bob", "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", id), "", 200)
		path := fmt.Sprintf("/api/admin/v1/coupons/%d", id)
		body := func(changes ...string) string {
			return couponJSON(append([]string{`"scope":"category"`, `"scope_ids":[5]`}, changes...)...)
		}
		for _, c := range []struct {
			who, method, path, body string
			status                  int
			code                    fault.Code
			fields                  string
		}{
			{"nobody", "GET", path, "", 401, fault.TokenInvalid, ""},
			{"ann", "GET", path, "", 401, fault.TokenInvalid, ""},
			{"idle", "GET", path, "", 403, fault.PermissionDenied, ""},
			{"idle", "PUT", path, body(`"version":1`), 403, fault.PermissionDenied, ""},
			{"two", "GET", path, "", 404, fault.NotFoundError, ""},
			{"two", "PUT", path, body(`"version":1`), 404, fault.NotFoundError, ""},
			{"one", "PUT", path, body(`"version":2`), 409, fault.StaleVersion, ""},
			{"one", "PUT", path, body(`"version":1`, `"total":1`), 409, fault.TotalBelowIssued, "total out_of_range"},
			{"one", "PUT", path, body(), 422, fault.ValidationFailed, "version required"},
			{"one", "PUT", path, body(`"version":1`, `"scope_ids":[5,6]`), 422, fault.ValidationFailed, "scope_ids[1] gone"},
			{"one", "PUT", path, body(`"version":1`, `"issued":0`), 422, fault.ValidationFailed, "issued unknown_field"},
		} {
			refused(t, h, c.who, c.method, c.path, c.body, c.status, c.code, c.fields)
		}
		if got := as(t, h, "one", "GET", path, "", 200); strings.TrimSpace(got.Text) != show(2, 2, 1) {
			t.Errorf("a refused change left %s", got.Text)
		}
		if got := as(t, h, "one", "PUT", path, body(`"version":1`, `"total":3`), 200); strings.TrimSpace(got.Text) != show(3, 2, 2) {
			t.Errorf("got  %s\nwant %s", got.Text, show(3, 2, 2))
		}
		if got := as(t, h, "one", "GET", "/api/admin/v1/coupons", "", 200); strings.TrimSpace(got.Text) != `{"list":[`+strings.Replace(show(3, 2, 2), `"scoped":[{"id":5,"name":"a"}],`, "", 1)+`],"total":1,"page":1,"limit":20}` {
			t.Errorf("list: %s", got.Text)
		}
		if got := as(t, h, "two", "GET", "/api/admin/v1/coupons", "", 200); !strings.Contains(got.Text, `"list":[],"total":0`) {
			t.Errorf("another merchant sees %s", got.Text)
		}
	})
}

func TestCouponTemplateIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCouponShop(s)
		for body, fields := range map[string]string{
			couponJSON(`"kind":"points"`):                             "kind not_a_choice",
			couponJSON(`"amount_fen":0`):                              "amount_fen out_of_range",
			couponJSON(`"amount_fen":-1`):                             "amount_fen out_of_range",
			couponJSON(`"amount_fen":1.5`):                            "amount_fen wrong_type",
			couponJSON(`"kind":"percent"`):                            "amount_fen out_of_range,percent_off out_of_range",
			couponJSON(`"percent_off":100`):                           "percent_off out_of_range",
			couponJSON(`"scope":"product"`):                           "scope_ids wrong_length",
			couponJSON(`"scope":"product"`, `"scope_ids":[0]`):        "scope_ids[0] out_of_range",
			couponJSON(`"scope":"product"`, `"scope_ids":[77]`):       "scope_ids[0] gone",
			couponJSON(`"total":0`):                                   "total out_of_range",
			couponJSON(`"per_shopper":1001`):                          "per_shopper out_of_range",
			couponJSON(`"valid_days":-1`):                             "valid_days out_of_range",
			couponJSON(`"ends_at":"2026-01-01T00:00:00Z"`):            "ends_at out_of_range",
			couponJSON(`"starts_at":"tomorrow"`):                      "starts_at wrong_format",
			couponJSON(`"starts_at":"Mon, 02 Jan 2006 15:04:05 GMT"`): "starts_at wrong_format",
			couponJSON(`"name":""`):                                   "name wrong_length",
			couponJSON(`"name":"   "`):                                "name wrong_length",
		} {
			refused(t, h, "one", "POST", "/api/admin/v1/coupons", body, 422, fault.ValidationFailed, fields)
		}
		if n := count(t, s, "coupon_templates"); n != 0 {
			t.Errorf("%d templates were stored", n)
		}
	})
}
