package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func newFreightShop(s *store.Store) *Router {
	svc := shipping.New(s, func() model.Time { return 1_800_000_000_000 })
	return New(Deps{Auth: people{}, Operations: Operations{AdminFreight: &admin.Freight{Service: svc}, AdminCarriers: &admin.Carriers{}}})
}

func TestFreightRuleOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newFreightShop(s)
		const rules = "/api/admin/v1/freight-rules"
		const good = `{"name":"全国","kind":"piece","first_units":1,"first_fen":800}`
		made := as(t, h, "one", "POST", rules, good, 201)
		id := int64(made.Body["id"].(float64))
		show := func(kind, regions string, step, version int) string {
			return fmt.Sprintf(`{"id":%d,"name":"全国","kind":"%s","regions":[%s],"first_units":1,"first_fen":800,"step_units":%d,"step_fen":0,`+
				`"free_over_fen":0,"sort":0,"version":%d,"created_at":"2027-01-15T08:00:00.000Z","updated_at":"2027-01-15T08:00:00.000Z"}`, id, kind, regions, step, version)
		}
		if got := strings.TrimSpace(made.Text); got != show("piece", "", 0, 1) {
			t.Errorf("got  %s\nwant %s", got, show("piece", "", 0, 1))
		}
		path := fmt.Sprintf("%s/%d", rules, id)
		change := `{"name":"全国","kind":"weight","regions":["广东"],"first_units":1,"first_fen":800,"step_units":5,"version":1}`
		for _, c := range []struct {
			who, method, path, body string
			status                  int
			code                    fault.Code
			fields                  string
		}{
			{"nobody", "GET", rules, "", 401, fault.TokenInvalid, ""},
			{"ann", "POST", rules, good, 401, fault.TokenInvalid, ""},
			{"idle", "GET", rules, "", 403, fault.PermissionDenied, ""},
			{"idle", "POST", rules, good, 403, fault.PermissionDenied, ""},
			{"idle", "PUT", path, change, 403, fault.PermissionDenied, ""},
			{"idle", "DELETE", path, "", 403, fault.PermissionDenied, ""},
			{"two", "GET", path, "", 404, fault.NotFoundError, ""},
			{"two", "PUT", path, change, 404, fault.NotFoundError, ""},
			{"two", "DELETE", path, "", 404, fault.NotFoundError, ""},
			{"one", "PUT", path, strings.Replace(change, `"version":1`, `"version":7`, 1), 409, fault.StaleVersion, ""},
			{"one", "PUT", path, good, 422, fault.ValidationFailed, "version required"},
			{"one", "POST", rules, strings.Replace(good, "800", "-90", 1), 422, fault.ValidationFailed, "first_fen out_of_range"},
			{"one", "POST", rules, strings.Replace(good, "piece", "volume", 1), 422, fault.ValidationFailed, "kind not_a_choice"},
			{"one", "POST", rules, strings.Replace(good, `"first_units":1`, `"first_units":1,"step_fen":5`, 1), 422, fault.ValidationFailed, "step_units required"},
			{"one", "POST", rules, strings.Replace(good, `"first_units":1`, `"first_units":1,"regions":["广东","x"]`, 1), 422, fault.ValidationFailed, "regions[1] wrong_format"},
		} {
			refused(t, h, c.who, c.method, c.path, c.body, c.status, c.code, c.fields)
		}
		if got := as(t, h, "one", "GET", path, "", 200); strings.TrimSpace(got.Text) != show("piece", "", 0, 1) || count(t, s, "freight_rules") != 1 {
			t.Errorf("a refused change left %s", got.Text)
		}
		if got := as(t, h, "one", "PUT", path, change, 200); strings.TrimSpace(got.Text) != show("weight", `"广东"`, 5, 2) {
			t.Errorf("got  %s\nwant %s", got.Text, show("weight", `"广东"`, 5, 2))
		}
		if got := as(t, h, "one", "GET", rules, "", 200); strings.TrimSpace(got.Text) != `{"list":[`+show("weight", `"广东"`, 5, 2)+`]}` {
			t.Errorf("list: %s", got.Text)
		}
		if got := as(t, h, "two", "GET", rules, "", 200); strings.TrimSpace(got.Text) != `{"list":[]}` {
			t.Errorf("another merchant sees %s", got.Text)
		}
		as(t, h, "one", "DELETE", path, "", 204)
		refused(t, h, "one", "DELETE", path, "", 404, fault.NotFoundError, "")
	})
}

func TestCarrierList(t *testing.T) {
	h := New(Deps{Auth: people{}, Operations: Operations{AdminCarriers: &admin.Carriers{}}})
	refused(t, h, "nobody", "GET", "/api/admin/v1/carriers", "", 401, fault.TokenInvalid, "")
	zh := as(t, h, "idle", "GET", "/api/admin/v1/carriers", "", 200)
	if first := list(zh.Body["list"])[0]; first["code"] != "SF" || first["name"] != "顺丰速运" || first["needs_contact"] != true {
		t.Errorf("the first carrier is %v", first)
	}
	en := call(t, h, "GET", "/api/admin/v1/carriers", "", "Authorization", "Bearer idle", "Accept-Language", "en")
	if first := list(en.Body["list"])[0]; first["name"] != "SF Express" {
		t.Errorf("the first carrier is %v", first)
	}
}
