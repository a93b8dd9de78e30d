package router

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// crystal says what it was asked for.
type crystal struct{ recentOf, waitingOf int64 }

func (c *crystal) Preview(_ context.Context, _ *policy.Trial, recentOf, waitingOf int64) (order.Preview, error) {
	c.recentOf, c.waitingOf = recentOf, waitingOf
	return order.Preview{Orders: 8, Applies: 1, Since: 1_800_000_000_000, Complete: true, Waiting: 3, Retimes: 2, WaitingComplete: true}, nil
}

func TestPolicyPreviewOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		_, p := newPolicyShop(t, s)
		ball := &crystal{}
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminPolicies: &admin.Policies{Service: p, Previews: ball}}})
		const policies, preview = "/api/admin/v1/timeout-policies", "/api/admin/v1/timeout-policies/preview"
		id := as(t, h, "chief", "POST", policies, `{"stage":"pay","duration_ms":600000}`, 201).Body["id"]
		own := as(t, h, "one", "POST", policies, `{"stage":"pay","merchant_id":1,"duration_ms":60000}`, 201).Body["id"]
		const draft = `{"stage":"pay","merchant_id":1,"order_type":"virtual","duration_ms":60000,"rollout_percent":12}`
		for _, c := range []struct {
			who, body string
			status    int
			code      fault.Code
			fields    string
		}{
			{"nobody", draft, 401, fault.TokenInvalid, ""},
			{"ann", draft, 401, fault.TokenInvalid, ""},
			{"idle", draft, 403, fault.PermissionDenied, ""},
			{"two", draft, 403, fault.PermissionDenied, ""},
			{"two", fmt.Sprintf(`{"id":%v}`, own), 404, fault.NotFoundError, ""},
			{"chief", `{"id":424242}`, 404, fault.NotFoundError, ""},
			{"chief", `{"stage":"pay","duration_ms":999}`, 422, fault.ValidationFailed, "duration_ms out_of_range"},
		} {
			refused(t, h, c.who, "POST", preview, c.body, c.status, c.code, c.fields)
		}
		got := as(t, h, "one", "POST", preview, draft, 200)
		want := fmt.Sprintf(`{"orders":8,"applies":1,"percent":12.5,"since":"2027-01-15T08:00:00.000Z","complete":true,"waiting":3,"retimes":2,"waiting_complete":true,`+
			`"effects":[{"order_type":"goods","before":[{"policy_id":%v,"duration_ms":60000,"percent":100}],"after":[{"policy_id":%v,"duration_ms":60000,"percent":100}]},`+
			`{"order_type":"virtual","before":[{"policy_id":%v,"duration_ms":60000,"percent":100}],"after":[{"draft":true,"duration_ms":60000,"percent":12},`+
			`{"policy_id":%v,"duration_ms":60000,"percent":88}]}]}`, own, own, own, own)
		if text := strings.TrimSpace(got.Text); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
		for _, c := range []struct {
			who, query     string
			recent, waited int64
		}{{"chief", "", 0, 0}, {"chief", "?merchant_id=2", 2, 0}, {"two", "", 2, 2}} {
			as(t, h, c.who, "POST", preview+c.query, fmt.Sprintf(`{"id":%v,"duration_ms":3000}`, id), 200)
			if ball.recentOf != c.recent || ball.waitingOf != c.waited {
				t.Errorf("%s%s looks at orders of %d and unpaid ones of %d, want %d and %d", c.who, c.query, ball.recentOf, ball.waitingOf, c.recent, c.waited)
			}
		}
		for who, status := range map[string]int{"chief": 200, "one": 200, "two": 404} {
			if got := call(t, h, "GET", fmt.Sprintf("%s/%v", policies, own), "", "Authorization", "Bearer "+who); got.StatusCode != status {
				t.Errorf("%s reads the policy of merchant 1: %d, want %d", who, got.StatusCode, status)
			}
		}
		if got := as(t, h, "two", "GET", fmt.Sprintf("%s/%v", policies, id), "", 200).Body; got["id"] != id || got["duration_ms"] != 600000.0 {
			t.Errorf("everybody's is %v", got)
		}
		stages := list(as(t, h, "one", "GET", policies+"/stages", "", 200).Body["list"])
		if len(stages) != 5 || stages[2]["stage"] != "pay" || stages[2]["built_in_ms"] != 1_800_000.0 || stages[2]["min_ms"] != 1000.0 ||
			stages[2]["max_ms"] != 2_592_000_000.0 || stages[2]["optional"] != false {
			t.Errorf("stages are %v", stages)
		}
		if n := count(t, s, "timeout_policies"); n != 2 {
			t.Errorf("previews left %d policies", n)
		}
	})
}
