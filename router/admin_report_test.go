package router

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/report"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// What figures cost grows with the time that they are of, so each has a longest one.
func TestFiguresAreOfABoundedTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const now model.Time = 1_800_000_000_000 // 2027-01-15
		db := s.Read(t.Context())
		for i, at := range []model.Time{now - 1000, now.Add(-400 * 24 * time.Hour)} {
			if err := db.Create(&model.Order{ID: int64(i + 1), No: fmt.Sprint("T", i), IdemKey: fmt.Sprint(i), MerchantID: 1, State: model.OrderPaid, PaidAt: at, CreatedAt: at}).Error; err != nil {
				t.Fatal(err)
			}
		}
		h := New(Deps{Auth: people{}, Operations: Operations{AdminReports: &admin.Reports{Service: report.Report{Store: s}, Now: func() model.Time { return now }}}})
		const path = "/api/admin/v1/report/"
		for query, placed := range map[string]float64{"": 1, "?from=2026-01-15": 1, "?from=2025-12-01&to=2026-11-30": 1, "?from=2026-06-01&to=2026-07-01": 0} {
			if got := as(t, h, "one", "GET", path+"overview"+query, "", 200); got.Body["placed_orders"] != placed {
				t.Errorf("%q: %s", query, got.Text)
			}
		}
		as(t, h, "one", "GET", path+"series?by=hour&from=2026-12-16", "", 200)
		for _, of := range []string{
			"overview?from=2025-12-01", "overview?to=2026-12-01", "best-sellers?from=1990-01-01", "series?from=2025-12-01", "series?by=hour&from=2026-12-01",
		} {
			refused(t, h, "one", "GET", path+of, "", 422, fault.ValidationFailed, "from out_of_range")
		}
	})
}
