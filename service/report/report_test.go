package report_test

import (
	"fmt"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/report"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestOverview(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const from, to = 1000, 2000
		orders := []model.Order{
			{MerchantID: 1, CreatedAt: from, State: model.OrderPending, PayableFen: 500},
			{MerchantID: 1, CreatedAt: from, State: model.OrderPaid, PaidAt: 1500, PayableFen: 300},
			{MerchantID: 1, CreatedAt: to - 1, State: model.OrderClosed, CloseReason: model.CloseRefunded, PaidAt: 5000, PayableFen: 201, RefundedFen: 201},
			{MerchantID: 1, CreatedAt: 1500, State: model.OrderClosed, CloseReason: model.CloseTimeout, PayableFen: 100},
			{MerchantID: 1, CreatedAt: to, State: model.OrderPaid, PaidAt: to, PayableFen: 700},       // too late
			{MerchantID: 1, CreatedAt: from - 1, State: model.OrderPaid, PaidAt: to, PayableFen: 700}, // too early
			{MerchantID: 2, CreatedAt: from, State: model.OrderPaid, PaidAt: 1500, PayableFen: 900},   // another's
		}
		for i := range orders {
			orders[i].ID, orders[i].No, orders[i].IdemKey = int64(i+1), fmt.Sprint("T", i), fmt.Sprint("k", i)
			if err := s.Read(t.Context()).Create(&orders[i]).Error; err != nil {
				t.Fatal(err)
			}
		}
		r := report.Report{Store: s}
		got, err := r.Overview(t.Context(), 1, from, to)
		want := report.Overview{Placed: 4, Paid: 2, ClosedTimeout: 1, PaidFen: 501, RefundedFen: 201}
		if err != nil || got != want || got.AverageFen() != 250 {
			t.Errorf("got %+v, average %d (%v), want %+v, average 250", got, got.AverageFen(), err, want)
		}
		if got, err := r.Overview(t.Context(), 3, from, to); err != nil || got != (report.Overview{}) || got.AverageFen() != 0 {
			t.Errorf("a merchant without orders: %+v, %v", got, err)
		}
	})
}
