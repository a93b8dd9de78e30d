package router

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestSessionsOfAnAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := newAccounts(t, s)
		const path = "/api/admin/v1/auth/sessions"
		second := call(t, a, "POST", "/api/admin/v1/auth/login", fmt.Sprintf(`{"username":"admin","password":%q}`, password),
			"User-Agent", "Firefox", "Content-Type", "application/json").Body["token"].(string)
		list := as(t, a, a.boss, "GET", path, "", 200)
		if strings.Contains(list.Text, "jti") {
			t.Errorf("%s", list.Text)
		}
		rows := list.Body["list"].([]any)
		if len(rows) != 2 {
			t.Fatalf("%s", list.Text)
		}
		other, own := rows[0].(map[string]any), rows[1].(map[string]any)
		if own["current"] != true || other["current"] != false || other["user_agent"] != "Firefox" || other["ip"] == nil {
			t.Errorf("%s", list.Text)
		}
		as(t, a, a.boss, "DELETE", fmt.Sprintf("%s/%d", path, int64(other["id"].(float64))), "", 204)
		refused(t, a, second, "GET", path, "", 401, "token_invalid", "")
		refused(t, a, a.boss, "DELETE", path+"/999", "", 404, "not_found", "")
		third := a.admin(t, "admin")
		as(t, a, third, "POST", path+"/end-others", "", 204)
		refused(t, a, a.boss, "GET", path, "", 401, "token_invalid", "")
		as(t, a, third, "POST", path+"/end-all", "", 204)
		refused(t, a, third, "GET", path, "", 401, "token_invalid", "")
	})
}

func TestLoginWithASecondFactor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := newAccounts(t, s)
		const path = "/api/admin/v1/auth/totp"
		setup := as(t, a, a.boss, "POST", path, "", 200).Body
		code := func(after time.Duration) string {
			t.Helper()
			c, err := totp.GenerateCode(setup["secret"].(string), time.UnixMilli(a.clock.Load()).Add(after))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		confirm := func(password, code string) string { return fmt.Sprintf(`{"password":%q,"code":%q}`, password, code) }
		refused(t, a, a.boss, "POST", path+"/confirm", fmt.Sprintf(`{"code":%q}`, code(0)), 422, "validation_failed", "password required")
		refused(t, a, a.boss, "POST", path+"/confirm", confirm(password, "12345x"), 422, "validation_failed", "code wrong_format")
		refused(t, a, a.boss, "POST", path+"/confirm", confirm("wrong one", code(0)), 422, "validation_failed", "password wrong_format")
		codes := as(t, a, a.boss, "POST", path+"/confirm", confirm(password, code(0)), 200).Body["recovery_codes"].([]any)
		login := func(extra string) string {
			return fmt.Sprintf(`{"username":"admin","password":%q%s}`, password, extra)
		}
		refused(t, a, "", "POST", "/api/admin/v1/auth/login", login(""), 401, "totp_required", "")
		refused(t, a, "", "POST", "/api/admin/v1/auth/login", login(`,"totp":"nonsense"`), 401, "totp_invalid", "")
		as(t, a, "", "POST", "/api/admin/v1/auth/login", login(fmt.Sprintf(`,"totp":%q`, code(30*time.Second))), 200)
		as(t, a, "", "POST", "/api/admin/v1/auth/login", login(fmt.Sprintf(`,"totp":%q`, codes[0])), 200)
		state := as(t, a, a.boss, "GET", path, "", 200)
		if state.Body["enabled"] != true || state.Body["recovery_left"] != 9.0 || strings.Contains(state.Text, setup["secret"].(string)) {
			t.Errorf("%s", state.Text)
		}
		refused(t, a, a.boss, "POST", path+"/disable", fmt.Sprintf(`{"password":"wrong one","code":%q}`, codes[1]), 422, "validation_failed", "password wrong_format")
		refused(t, a, a.boss, "POST", path+"/disable", fmt.Sprintf(`{"password":%q,"code":%q}`, password, codes[0]), 422, "validation_failed", "code wrong_format")
		fresh := as(t, a, a.boss, "POST", path+"/recovery-codes", fmt.Sprintf(`{"password":%q,"code":%q}`, password, codes[1]), 200).Body["recovery_codes"].([]any)
		as(t, a, a.boss, "POST", path+"/disable", fmt.Sprintf(`{"password":%q,"code":%q}`, password, fresh[0]), 204)
		as(t, a, "", "POST", "/api/admin/v1/auth/login", login(""), 200)
		refused(t, a, a.boss, "POST", path+"/confirm", confirm(password, code(0)), 409, "state_conflict", "")
	})
}

func TestAMerchantComesWithItsFirstAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := newAccounts(t, s)
		const path = "/api/admin/v1/merchants"
		body := func(name, username string) string {
			return fmt.Sprintf(`{"name":%q,"admin":{"username":%q,"password":%q}}`, name, username, password)
		}
		refused(t, a, a.boss, "POST", path, body("alpha", "admin"), 409, "name_taken", "admin.username duplicate")
		refused(t, a, a.boss, "POST", path, body("alpha", "a b c"), 422, "validation_failed", "admin.username wrong_format")
		if n := a.rows(t, "merchants"); n != 0 {
			t.Errorf("%d merchants are left of what was refused", n)
		}
		made := as(t, a, a.boss, "POST", path, body("alpha", "Alpha.Owner"), 201)
		refused(t, a, a.boss, "POST", path, body("alpha", "second"), 409, "name_taken", "name duplicate")
		owner := a.admin(t, "alpha.owner")
		me := as(t, a, owner, "GET", "/api/admin/v1/auth/me", "", 200)
		if me.Body["merchant_id"] != made.Body["id"] || !strings.Contains(me.Text, `"account:write"`) || strings.Contains(me.Text, "merchant:") {
			t.Errorf("%s", me.Text)
		}
		one := as(t, a, a.boss, "GET", fmt.Sprintf("%s/%v", path, made.Body["id"]), "", 200)
		if one.Body["name"] != "alpha" || one.Body["version"] != 1.0 {
			t.Errorf("%s", one.Text)
		}
		// Who adds merchants but has less than an owner cannot make one.
		role := as(t, a, a.boss, "POST", "/api/admin/v1/roles", `{"name":"招商","permissions":["merchant:read","merchant:write"]}`, 201).Body["id"]
		as(t, a, a.boss, "POST", "/api/admin/v1/admins", fmt.Sprintf(`{"username":"scout","password":%q,"role_id":%v}`, password, role), 201)
		refused(t, a, a.admin(t, "scout"), "POST", path, body("beta", "beta.owner"), 403, "permission_denied", "")
		as(t, a, a.admin(t, "scout"), "POST", path, `{"name":"beta"}`, 201)
	})
}

func TestRolesKnowWhoHasThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := newAccounts(t, s)
		_, _, owner := a.merchant(t, "alpha")
		_, _, beta := a.merchant(t, "beta")
		role := as(t, a, owner, "POST", "/api/admin/v1/roles", `{"name":"客服","permissions":["order:read"]}`, 201).Body["id"]
		var clerk any
		for _, name := range []string{"clerk.one", "clerk.two"} {
			clerk = as(t, a, owner, "POST", "/api/admin/v1/admins", fmt.Sprintf(`{"username":%q,"password":%q,"role_id":%v}`, name, password, role), 201).Body["id"]
		}
		path := fmt.Sprintf("/api/admin/v1/roles/%v", role)
		if got := as(t, a, owner, "GET", path, "", 200); got.Body["admins"] != 2.0 || got.Body["name"] != "客服" {
			t.Errorf("%s", got.Text)
		}
		if got := as(t, a, owner, "PUT", path, `{"version":1,"name":"客服组","permissions":["order:read"]}`, 200); got.Body["admins"] != 2.0 {
			t.Errorf("%s", got.Text)
		}
		list := as(t, a, owner, "GET", fmt.Sprintf("/api/admin/v1/admins?role_id=%v", role), "", 200)
		if list.Body["total"] != 2.0 || strings.Contains(list.Text, "alpha.owner") {
			t.Errorf("%s", list.Text)
		}
		if got := as(t, a, beta, "GET", fmt.Sprintf("/api/admin/v1/admins?role_id=%v", role), "", 200); got.Body["total"] != 0.0 {
			t.Errorf("%s", got.Text)
		}
		if got := as(t, a, owner, "GET", fmt.Sprintf("/api/admin/v1/admins/%v", clerk), "", 200); got.Body["username"] != "clerk.two" || got.Body["totp"] != false {
			t.Errorf("%s", got.Text)
		}
		refused(t, a, beta, "GET", fmt.Sprintf("/api/admin/v1/admins/%v", clerk), "", 404, "not_found", "")
		refused(t, a, beta, "GET", path, "", 404, "not_found", "")
	})
}
