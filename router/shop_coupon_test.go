package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// newCouponShop serves coupons to both sides; it is 2027-01-15T08:00Z there.
func newCouponShop(s *store.Store) *Router {
	svc := coupon.New(s, func() model.Time { return 1_800_000_000_000 })
	return New(Deps{Auth: people{}, Operations: Operations{ShopCoupons: &shop.Coupons{Service: svc}, AdminCoupons: &admin.Coupons{Service: svc}}})
}

// template makes a coupon of merchant 1: the base with some members changed.
func template(t *testing.T, h *Router, change string) int64 {
	t.Helper()
	return int64(as(t, h, "one", "POST", "/api/admin/v1/coupons", couponJSON(change), 201).Body["id"].(float64))
}

// couponJSON is a right body, with the member of the same name replaced by the changes.
func couponJSON(changes ...string) string {
	members := []string{
		`"name":"减 10"`, `"kind":"amount"`, `"amount_fen":1000`, `"threshold_fen":5000`, `"scope":"all"`, `"total":2`, `"per_shopper":1`,
		`"starts_at":"2027-01-01T00:00:00Z"`, `"ends_at":"2027-02-01T00:00:00.000+08:00"`,
	}
	for _, c := range changes {
		name, _, _ := strings.Cut(c, ":")
		found := false
		for i, m := range members {
			if strings.HasPrefix(m, name+":") {
				members[i], found = c, true
			}
		}
		if !found && c != "" {
			members = append(members, c)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestCouponOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCouponShop(s)
		id := template(t, h, `"valid_days":7`)
		terms := `"merchant_id":1,"name":"减 10","kind":"amount","amount_fen":1000,"threshold_fen":5000,"scope":"all"`
		offer := func(left, claimed int, claimable bool) string {
			return fmt.Sprintf(`{"list":[{"id":%d,%s,"total":2,"left":%d,"per_shopper":1,"starts_at":"2027-01-01T00:00:00.000Z",`+
				`"ends_at":"2027-01-31T16:00:00.000Z","valid_days":7,"claimed":%d,"claimable":%v}],"total":1,"page":1,"limit":20}`, id, terms, left, claimed, claimable)
		}
		offers := func(headers ...string) string {
			return strings.TrimSpace(call(t, h, "GET", "/api/v1/coupons", "", headers...).Text)
		}
		if got := offers(); got != offer(2, 0, true) {
			t.Errorf("got  %s\nwant %s", got, offer(2, 0, true))
		}
		claimed := as(t, h, "ann", "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", id), "", 200)
		mine := fmt.Sprintf(`{"id":%v,"template_id":%d,"status":"available",%s,"starts_at":"2027-01-01T00:00:00.000Z",`+
			`"expires_at":"2027-01-22T08:00:00.000Z","claimed_at":"2027-01-15T08:00:00.000Z"}`, claimed.Body["id"], id, terms)
		if got := strings.TrimSpace(claimed.Text); got != mine {
			t.Errorf("got  %s\nwant %s", got, mine)
		}
		if got := offers("Authorization", "Bearer ann"); got != offer(1, 1, false) {
			t.Errorf("got  %s\nwant %s", got, offer(1, 1, false))
		}
		for query, want := range map[string]string{"": mine, "?status=available": mine, "?status=used": "", "?status=locked&page=2": "", "?status=expired": ""} {
			got := as(t, h, "ann", "GET", "/api/v1/my/coupons"+query, "", 200)
			if !strings.HasPrefix(got.Text, `{"list":[`+want+`]`) {
				t.Errorf("my coupons %s: %s", query, got.Text)
			}
		}
		if got := as(t, h, "bob", "GET", "/api/v1/my/coupons", "", 200); !strings.Contains(got.Text, `"list":[],"total":0`) {
			t.Errorf("another shopper has %s", got.Text)
		}
	})
}

func TestCouponRefusals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCouponShop(s)
		id, later := template(t, h, `"total":1`), template(t, h, `"starts_at":"2027-01-20T00:00:00Z"`)
		limited := template(t, h, "")
		claim := func(id int64) string { return fmt.Sprintf("/api/v1/coupons/%d/claim", id) }
		as(t, h, "ann", "POST", claim(id), "", 200)
		as(t, h, "ann", "POST", claim(limited), "", 200)
		for _, c := range []struct {
			who, method, path string
			status            int
			code              fault.Code
			fields            string
		}{
			{"nobody", "POST", claim(limited), 401, fault.TokenInvalid, ""},
			{"nobody", "GET", "/api/v1/my/coupons", 401, fault.TokenInvalid, ""},
			{"ann", "POST", claim(limited), 409, fault.CouponLimit, ""},
			{"bob", "POST", claim(id), 409, fault.CouponSoldOut, ""},
			{"bob", "POST", claim(later), 409, fault.CouponNotOpen, ""},
			{"bob", "POST", claim(999), 404, fault.NotFoundError, ""},
			{"bob", "POST", "/api/v1/coupons/x/claim", 404, fault.NotFoundError, ""},
			{"ann", "GET", "/api/v1/my/coupons?status=lost", 422, fault.ValidationFailed, "status not_a_choice"},
			{"ann", "GET", "/api/v1/coupons?limit=101", 422, fault.ValidationFailed, "limit out_of_range"},
			{"ann", "GET", "/api/v1/coupons?merchant_id=0", 422, fault.ValidationFailed, "merchant_id out_of_range"},
		} {
			refused(t, h, c.who, c.method, c.path, "", c.status, c.code, c.fields)
		}
		if n := count(t, s, "coupons"); n != 2 {
			t.Errorf("%d coupons, want 2", n)
		}
	})
}
