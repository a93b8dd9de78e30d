package router

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/job"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// withChief is people, and "chief" of the platform.
type withChief struct{ people }

func (w withChief) AuthenticateAdmin(ctx context.Context, token string, named int64) (api.AdminIdentity, error) {
	if token != "chief" {
		return w.people.AuthenticateAdmin(ctx, token, named)
	}
	id := api.AdminIdentity{ID: 9, Platform: true, MerchantID: max(named, 1), Named: named}
	for _, p := range account.Permissions() {
		id.Permissions = append(id.Permissions, p.Permission)
	}
	return id, nil
}

func newPolicyShop(t *testing.T, s *store.Store) (*Router, *policy.Policies) {
	t.Helper()
	fill(t, s, []model.Merchant{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}})
	now, log := func() model.Time { return 1_800_000_000_000 }, slog.New(slog.DiscardHandler)
	p := policy.New(s, now, log)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return New(Deps{Auth: withChief{}, Operations: Operations{AdminPolicies: &admin.Policies{
		Service: p, Jobs: job.New(job.Deps{Store: s, Now: now, Log: log, Policies: p}),
	}}}), p
}

func TestPolicyOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h, p := newPolicyShop(t, s)
		const policies = "/api/admin/v1/timeout-policies"
		made := as(t, h, "chief", "POST", policies, `{"stage":"pay","duration_ms":600000}`, 201)
		global := fmt.Sprintf("%s/%.0f", policies, made.Body["id"])
		want := fmt.Sprintf(`{"id":%.0f,"stage":"pay","duration_ms":600000,"enabled":true,"rollout_percent":100,"version":1,`+
			`"created_at":"2027-01-15T08:00:00.000Z","updated_at":"2027-01-15T08:00:00.000Z"}`, made.Body["id"])
		if got := strings.TrimSpace(made.Text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if d := p.Resolve(policy.StagePay, policy.Query{OrderNo: "1"}); d.Duration != 10*time.Minute {
			t.Errorf("live at once is %v, want 10 minutes", d.Duration)
		}
		own := as(t, h, "one", "POST", policies, `{"stage":"pay","merchant_id":1,"order_type":"virtual","duration_ms":60000,"enabled":false,"rollout_percent":0}`, 201)
		ours := fmt.Sprintf("%s/%.0f", policies, own.Body["id"])
		if own.Body["enabled"] != false || own.Body["rollout_percent"] != 0.0 {
			t.Errorf("explicit zeros became %s", own.Text)
		}
		for _, c := range []struct {
			who, method, path, body string
			status                  int
			code                    fault.Code
			fields                  string
		}{
			{"nobody", "GET", policies, "", 401, fault.TokenInvalid, ""},
			{"ann", "POST", policies, `{"stage":"pay","duration_ms":60000}`, 401, fault.TokenInvalid, ""},
			{"idle", "GET", policies, "", 403, fault.PermissionDenied, ""},
			{"idle", "PUT", ours, `{"version":1}`, 403, fault.PermissionDenied, ""},
			{"one", "POST", policies, `{"stage":"pay","duration_ms":60000}`, 403, fault.PermissionDenied, ""},
			{"two", "PUT", ours, `{"version":1,"duration_ms":1000}`, 404, fault.NotFoundError, ""},
			{"two", "GET", ours + "/versions", "", 404, fault.NotFoundError, ""},
			{"two", "POST", ours + "/rollback", "", 404, fault.NotFoundError, ""},
			{"two", "DELETE", ours + "?version=1", "", 404, fault.NotFoundError, ""},
			{"one", "PUT", global, `{"version":1,"duration_ms":1000}`, 403, fault.PermissionDenied, ""},
			{"one", "PUT", ours, `{"version":2,"duration_ms":1000}`, 409, fault.StaleVersion, ""},
			{"one", "PUT", ours, `{"duration_ms":1000}`, 422, fault.ValidationFailed, "version required"},
			{"one", "PUT", ours, `{"version":1,"order_type":"goods"}`, 422, fault.ValidationFailed, "order_type not_a_choice"},
			{"one", "PUT", ours, `{"version":1,"id":999}`, 422, fault.ValidationFailed, "id not_a_choice"},
			{"one", "POST", ours + "/rollback", "", 409, fault.StateConflict, ""},
			{"one", "DELETE", ours, "", 422, fault.ValidationFailed, "version required"},
			{"chief", "POST", policies, `{"stage":"pay","merchant_id":77,"duration_ms":60000}`, 422, fault.ValidationFailed, "merchant_id gone"},
			{"chief", "POST", policies, `{"stage":"pay"}`, 422, fault.ValidationFailed, "duration_ms required"},
			{"chief", "POST", policies, `{"stage":"payment","duration_ms":60000}`, 422, fault.ValidationFailed, "stage not_a_choice"},
			{"chief", "POST", policies, `{"stage":"pay","duration":60000,"duration_ms":60000}`, 422, fault.ValidationFailed, "duration unknown_field"},
		} {
			refused(t, h, c.who, c.method, c.path, c.body, c.status, c.code, c.fields)
		}
		if got := as(t, h, "one", "GET", policies, "", 200); got.Body["total"] != 2.0 || list(got.Body["list"])[0]["merchant_id"] != 1.0 {
			t.Errorf("merchant 1 sees %s", got.Text)
		}
		if got := as(t, h, "two", "GET", policies, "", 200); got.Body["total"] != 1.0 {
			t.Errorf("merchant 2 sees %s", got.Text)
		}
		if got := as(t, h, "chief", "GET", policies, "", 200); got.Body["total"] != 2.0 {
			t.Errorf("the platform sees %s", got.Text)
		}
		named := as(t, h, "chief", "POST", policies+"?merchant_id=2", `{"stage":"pay","duration_ms":60000}`, 201)
		if named.Body["merchant_id"] != 2.0 {
			t.Errorf("made for merchant 2: %s", named.Text)
		}
		changed := as(t, h, "chief", "PUT", global, `{"stage":"pay","duration_ms":1200000,"enabled":true,"rollout_percent":100,"version":1}`, 200)
		if changed.Body["version"] != 2.0 || changed.Body["duration_ms"] != 1_200_000.0 {
			t.Errorf("changed: %s", changed.Text)
		}
		for _, body := range []string{"", `{}`, `{"version":4,"to_version":1}`} {
			as(t, h, "chief", "POST", global+"/rollback", body, 200)
		}
		got := as(t, h, "chief", "GET", global+"/versions", "", 200)
		var versions []string
		for _, v := range list(got.Body["list"]) {
			versions = append(versions, fmt.Sprintf("%.0f:%.0f:%s:%s:%v", v["version"], v["duration_ms"], v["actor"], v["action"], v["from_version"]))
		}
		if text := strings.Join(versions, " "); text != "5:600000:admin:9:rollback:1 4:1200000:admin:9:rollback:2 "+
			"3:600000:admin:9:rollback:1 2:1200000:admin:9:update:<nil> 1:600000:admin:9:create:<nil>" {
			t.Errorf("versions are %s", text)
		}
		for _, stage := range []string{"remind", "ship", "confirm", "aftersale"} {
			off := as(t, h, "one", "POST", policies, `{"stage":"`+stage+`","merchant_id":1,"duration_ms":0}`, 201)
			if off.Body["stage"] != stage || off.Body["duration_ms"] != 0.0 {
				t.Errorf("%s without a deadline: %s", stage, off.Text)
			}
		}
		as(t, h, "chief", "DELETE", global+"?version=5", "", 204)
		refused(t, h, "chief", "PUT", global, `{"version":5}`, 404, fault.NotFoundError, "")
	})
}

// Case T16.
func TestT16_PolicyInTheWrongUnitIs422(t *testing.T) {
	s := storetest.SQLite(t)
	h, _ := newPolicyShop(t, s)
	made := as(t, h, "chief", "POST", "/api/admin/v1/timeout-policies", `{"stage":"pay","duration_ms":1000}`, 201)
	for _, ms := range []string{"0", "-1", "30", "999", "2592000001", "1800000000000", "9223372036854775807"} {
		refused(t, h, "chief", "POST", "/api/admin/v1/timeout-policies", `{"stage":"pay","duration_ms":`+ms+`}`, 422, fault.ValidationFailed, "duration_ms out_of_range")
		refused(t, h, "chief", "PUT", fmt.Sprintf("/api/admin/v1/timeout-policies/%.0f", made.Body["id"]), `{"version":1,"duration_ms":`+ms+`}`, 422, fault.ValidationFailed, "duration_ms out_of_range")
	}
	for _, ms := range []string{"1000.5", `"30m"`, "null"} {
		refused(t, h, "chief", "POST", "/api/admin/v1/timeout-policies", `{"stage":"pay","duration_ms":`+ms+`}`, 422, fault.ValidationFailed, "duration_ms wrong_type")
	}
	if n := count(t, s, "timeout_policies"); n != 1 {
		t.Errorf("%d policies, want the first one only", n)
	}
}
