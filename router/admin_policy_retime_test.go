package router

import (
	"fmt"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestRetimingOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h, _ := newPolicyShop(t, s)
		const policies = "/api/admin/v1/timeout-policies"
		global := fmt.Sprintf("%s/%.0f/retime", policies, as(t, h, "chief", "POST", policies, `{"stage":"pay","duration_ms":600000}`, 201).Body["id"])
		own := fmt.Sprintf("%s/%.0f/retime", policies, as(t, h, "one", "POST", policies, `{"stage":"pay","merchant_id":1,"duration_ms":60000}`, 201).Body["id"])
		ship := fmt.Sprintf("%s/%.0f/retime", policies, as(t, h, "chief", "POST", policies, `{"stage":"ship","duration_ms":600000}`, 201).Body["id"])
		for _, method := range []string{"POST", "GET", "DELETE"} {
			refused(t, h, "nobody", method, global, "", 401, fault.TokenInvalid, "")
			refused(t, h, "ann", method, global, "", 401, fault.TokenInvalid, "")
			refused(t, h, "idle", method, global, "", 403, fault.PermissionDenied, "")
			refused(t, h, "two", method, own, "", 404, fault.NotFoundError, "")
			refused(t, h, "chief", method, policies+"/424242/retime", "", 404, fault.NotFoundError, "")
		}
		refused(t, h, "one", "POST", global, "", 403, fault.PermissionDenied, "")
		refused(t, h, "one", "DELETE", global, "", 403, fault.PermissionDenied, "")
		refused(t, h, "chief", "POST", ship, "", 409, fault.StateConflict, "")
		refused(t, h, "chief", "DELETE", global, "", 409, fault.StateConflict, "")
		if n := count(t, s, "jobs"); n != 0 {
			t.Errorf("refused calls made %d jobs", n)
		}

		job := as(t, h, "chief", "POST", global, "", 202).Body
		if job["status"] != "waiting" || job["version"] != 1.0 || job["actor"] != "admin:9" || job["changed"] != 0.0 {
			t.Errorf("started %v", job)
		}
		refused(t, h, "chief", "POST", global, "", 409, fault.StateConflict, "")
		as(t, h, "one", "POST", own, "", 202)
		// What became of everybody's orders is not for a merchant.
		if jobs := list(as(t, h, "two", "GET", global, "", 200).Body["list"]); len(jobs) != 0 {
			t.Errorf("listed %v", jobs)
		}
		if jobs := list(as(t, h, "one", "GET", own, "", 200).Body["list"]); len(jobs) != 1 || jobs[0]["actor"] != "admin:1" {
			t.Errorf("listed %v", jobs)
		}
		as(t, h, "chief", "DELETE", global, "", 204)
		ended := list(as(t, h, "chief", "GET", global, "", 200).Body["list"])[0]
		if ended["status"] != "cancelled" || ended["id"] != job["id"] || ended["ended_at"] != "2027-01-15T08:00:00.000Z" {
			t.Errorf("cancelled %v", ended)
		}
	})
}
