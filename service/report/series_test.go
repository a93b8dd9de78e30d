package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/report"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func at(zone *time.Location, text string) model.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		panic(err)
	}
	return model.At(t)
}

// Days of 23 and of 25 hours are days; what lies on a border belongs to what begins there.
func TestSeries(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		// 2026-03-29 has 23 hours in Berlin, 2026-10-25 has 25.
		placed := []model.Time{
			at(berlin, "2026-03-28 23:59"), at(berlin, "2026-03-29 00:00"), at(berlin, "2026-03-29 23:59"), at(berlin, "2026-03-30 00:00"),
			at(berlin, "2026-10-25 23:30"), at(berlin, "2026-10-26 00:00"),
		}
		for i, created := range placed {
			o := model.Order{
				ID: int64(i + 1), No: fmt.Sprint("T", i), IdemKey: fmt.Sprint("k", i), MerchantID: 1, CreatedAt: created, State: model.OrderPaid,
				PaidAt: created, PayableFen: 100,
			}
			if err := s.Read(t.Context()).Create(&o).Error; err != nil {
				t.Fatal(err)
			}
		}
		r := report.Report{Store: s}
		for _, c := range []struct {
			from, to string
			by       report.By
			want     []int64 // orders placed
		}{
			{"2026-03-28 00:00", "2026-03-31 00:00", report.ByDay, []int64{1, 2, 1}},
			{"2026-10-25 00:00", "2026-10-27 00:00", report.ByDay, []int64{1, 1}},
			{"2026-03-29 00:00", "2026-03-29 04:00", report.ByHour, []int64{1, 0, 0}},
			{"2026-05-01 00:00", "2026-05-03 00:00", report.ByDay, []int64{0, 0}},
		} {
			points, err := r.Series(t.Context(), 1, at(berlin, c.from), at(berlin, c.to), c.by, berlin)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, len(points))
			for i, p := range points {
				got[i] = p.Placed
				if p.Paid != p.Placed || p.PaidFen != model.Fen(100*p.Placed) {
					t.Errorf("%s: %+v", c.from, p)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s to %s by %s: %s", c.from, c.to, c.by, diff)
			}
			if points[0].Start != at(berlin, c.from) {
				t.Errorf("%s begins at %v", c.from, points[0].Start.Std())
			}
		}
	})
}

func TestBestSellersAndLowStock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		db := s.Read(t.Context())
		create := func(v any) {
			t.Helper()
			if err := db.Create(v).Error; err != nil {
				t.Fatal(err)
			}
		}
		for i, o := range []model.Order{
			{MerchantID: 1, CreatedAt: 1000, State: model.OrderPaid, PaidAt: 1500},
			{MerchantID: 1, CreatedAt: 1000, State: model.OrderPending},            // not paid
			{MerchantID: 1, CreatedAt: 2000, State: model.OrderPaid, PaidAt: 2500}, // too late
			{MerchantID: 2, CreatedAt: 1000, State: model.OrderPaid, PaidAt: 1500}, // another's
		} {
			o.ID, o.No, o.IdemKey = int64(i+1), fmt.Sprint("T", i), fmt.Sprint("k", i)
			create(&o)
			create(&model.OrderLine{ID: int64(10*i + 1), OrderID: o.ID, LineNo: 1, MerchantID: o.MerchantID, ProductID: 7, Name: "杯子", Quantity: 2, PriceFen: 500, DiscountFen: 100})
			create(&model.OrderLine{ID: int64(10*i + 2), OrderID: o.ID, LineNo: 2, MerchantID: o.MerchantID, ProductID: 8, Name: "盘子", Quantity: 3, PriceFen: 100, AdjustmentFen: -50})
		}
		create(&model.Product{ID: 7, MerchantID: 1, Name: "马克杯"}) // renamed since
		create(&model.Product{ID: 8, MerchantID: 1, Name: "盘子", DeletedAt: 3000})
		r := report.Report{Store: s}
		best, err := r.BestSellers(t.Context(), 1, 1000, 2000, 10)
		want := []report.BestSeller{{ProductID: 8, Name: "盘子", Quantity: 3, PaidFen: 250}, {ProductID: 7, Name: "马克杯", Quantity: 2, PaidFen: 900}}
		if err != nil || !cmp.Equal(want, best) {
			t.Errorf("%v: %s", err, cmp.Diff(want, best))
		}
		if one, err := r.BestSellers(t.Context(), 1, 1000, 2000, 1); err != nil || len(one) != 1 {
			t.Errorf("limited to one: %v, %v", one, err)
		}

		create(&model.Product{ID: 1, MerchantID: 1, Name: "杯子", Published: true})
		create(&model.Product{ID: 2, MerchantID: 1, Name: "未上架"})
		for i, k := range []model.SKU{
			{ProductID: 1, MerchantID: 1, Stock: 3},
			{ProductID: 1, MerchantID: 1, Stock: 0},
			{ProductID: 1, MerchantID: 1, Stock: 6},
			{ProductID: 1, MerchantID: 1, Stock: 1, DeletedAt: 5},
			{ProductID: 2, MerchantID: 1, Stock: 1},
			{ProductID: 1, MerchantID: 2, Stock: 1},
		} {
			k.ID, k.SpecKey, k.Specs = int64(i+1), fmt.Sprint(i), map[string]string{"色": fmt.Sprint(i)}
			create(&k)
		}
		low, err := r.LowStock(t.Context(), 1, 5, 10)
		wantLow := []report.LowStock{
			{SKUID: 2, ProductID: 1, Name: "杯子", Specs: map[string]string{"色": "1"}, Stock: 0},
			{SKUID: 1, ProductID: 1, Name: "杯子", Specs: map[string]string{"色": "0"}, Stock: 3},
		}
		if err != nil || !cmp.Equal(wantLow, low) {
			t.Errorf("%v: %s", err, cmp.Diff(wantLow, low))
		}
	})
}

func TestWaiting(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		db := s.Read(t.Context())
		create := func(v any) {
			t.Helper()
			if err := db.Create(v).Error; err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			id := int64(i + 1)
			state := []model.OrderState{model.OrderPaid, model.OrderPaid, model.OrderPending, model.OrderPaid}[i]
			create(&model.Order{ID: id, No: fmt.Sprint("T", i), IdemKey: fmt.Sprint("k", i), MerchantID: 1 + id/4, State: state})
			create(&model.Aftersale{ID: id, MerchantID: 1, State: []model.AftersaleState{
				model.AftersaleRequested, model.AftersaleReturning, model.AftersaleApproved, model.AftersaleRefunded,
			}[i]})
			create(&model.ContentHold{Kind: "remark", RefID: id, MerchantID: 1, State: []model.HoldState{model.HoldHeld, model.HoldPassed, model.HoldPassed, model.HoldPassed}[i]})
			create(&model.Anomaly{Kind: "k", Ref: fmt.Sprint(i), MerchantID: 1, State: []model.AnomalyState{model.AnomalyOpen, model.AnomalyOpen, model.AnomalyOpen, model.AnomalyResolved}[i]})
			create(&model.Message{Topic: "t", Key: fmt.Sprint(i), MerchantID: 1, State: []model.MessageState{model.MessageDead, model.MessageSent, model.MessagePending, model.MessageSkipped}[i]})
		}
		got, err := report.Report{Store: s}.Waiting(t.Context(), 1, false)
		want := report.Waiting{ToShip: 2, Aftersales: 2, ContentHolds: 1, Anomalies: 3, DeadMessages: 1}
		if err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		create(&model.ContentHold{Kind: "nickname", RefID: 9, State: model.HoldHeld})
		create(&model.Anomaly{Kind: "k", Ref: "nobody's", State: model.AnomalyOpen})
		create(&model.Anomaly{Kind: "k", Ref: "another's", MerchantID: 2, State: model.AnomalyOpen})
		got, err = report.Report{Store: s}.Waiting(t.Context(), 1, true)
		want.ContentHolds, want.Anomalies = 2, 4
		if err != nil || got != want {
			t.Errorf("of the platform: %+v, %v, want %+v", got, err, want)
		}
	})
}
