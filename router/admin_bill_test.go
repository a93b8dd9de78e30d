package router

import (
	"context"
	"log/slog"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

// unscheduled takes deadlines and forgets them: the database has them.
type unscheduled struct{}

func (unscheduled) Schedule(context.Context, ...timeout.Task) error { return nil }

func TestBillOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const now = model.Time(1_800_000_000_000) // 2027-01-15 16:00 in China
		bills := reconcile.New(reconcile.Deps{Store: s, Now: func() model.Time { return now }, Log: slog.New(slog.DiscardHandler), Tasks: unscheduled{}})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminBills: &admin.Bills{Bills: bills}}})
		fill(t, s, []model.Bill{
			{ID: 20270112, State: model.BillNone, Version: 1, CreatedAt: now, EndedAt: now},
			{ID: 20270113, State: model.BillCompared, Payments: 3, PaymentFen: 600, Refunds: 1, RefundFen: 5, Differences: 2, Hash: "ab", Calls: 1, Version: 1, CreatedAt: now, EndedAt: now},
		})
		fill(t, s, []model.BillDifference{
			{Day: 20270113, Kind: "bill_payment_missing", Ref: "42", ShopFen: 100, FoundAt: now},
			{Day: 20270113, Kind: "payment_found", Ref: "43", BillFen: 100, ShopFen: 100, FoundAt: now},
		})
		fill(t, s, []model.Anomaly{{MerchantID: 1, Kind: "bill_payment_missing", Ref: "42", Detail: "d", State: model.AnomalyOpen, Seen: 1, CreatedAt: now}})
		const path = "/api/admin/v1/bills"
		for _, c := range []struct {
			who, method, path string
			status            int
			code              fault.Code
		}{
			{"nobody", "GET", path, 401, fault.TokenInvalid},
			{"one", "GET", path, 403, fault.PermissionDenied}, // a merchant's
			{"one", "GET", path + "/2027-01-13", 403, fault.PermissionDenied},
			{"one", "POST", path + "/2027-01-13/run", 403, fault.PermissionDenied},
			{"chief", "GET", path + "/2027-01-11", 404, fault.NotFoundError},
			{"chief", "GET", path + "/2027-02-30", 404, fault.NotFoundError},
			{"chief", "POST", path + "/2027-02-30/run", 404, fault.NotFoundError},
		} {
			refused(t, h, c.who, c.method, c.path, "", c.status, c.code, "")
		}
		for _, day := range []string{"2027-01-16", "2026-10-01"} { // tomorrow, and over three months ago
			refused(t, h, "chief", "POST", path+"/"+day+"/run", "", 422, fault.ValidationFailed, "day out_of_range")
		}
		refused(t, h, "chief", "GET", path+"?from=yesterday", "", 422, fault.ValidationFailed, "from wrong_format")
		if got := as(t, h, "chief", "GET", path+"?from=2027-01-13&to=2027-01-13", "", 200); got.Body["total"] != 1.0 {
			t.Errorf("a day: %s", got.Text)
		}
		if got := as(t, h, "chief", "GET", path+"?status=none", "", 200); got.Body["total"] != 1.0 {
			t.Errorf("days without a bill: %s", got.Text)
		}
		want := `{"list":[{"day":"2027-01-13","status":"compared","payments":3,"payment_fen":600,"refunds":1,"refund_fen":5,"difference_count":2,"hash":"ab","calls":1,` +
			`"created_at":"2027-01-15T08:00:00.000Z","ended_at":"2027-01-15T08:00:00.000Z"}],"total":2,"page":1,"limit":1}` + "\n"
		if got := as(t, h, "chief", "GET", path+"?limit=1", "", 200); got.Text != want {
			t.Errorf("got  %swant %s", got.Text, want)
		}
		one := as(t, h, "chief", "GET", path+"/2027-01-13?limit=1", "", 200)
		differences, _ := one.Body["differences"].(map[string]any)
		list, _ := differences["list"].([]any)
		if differences["total"] != 2.0 || len(list) != 1 || list[0].(map[string]any)["status"] != "open" || list[0].(map[string]any)["detail"] != "d" {
			t.Errorf("%s", one.Text)
		}
		for _, day := range []string{"/2027-01-13", "/2027-01-13", "/2027-01-01"} { // twice the same, and one that was not there
			if got := as(t, h, "chief", "POST", path+day+"/run", "", 202); got.Body["status"] != "waiting" || got.Body["next_at"] != "2027-01-15T08:00:00.000Z" {
				t.Errorf("%s: %s", day, got.Text)
			}
		}
	})
}
