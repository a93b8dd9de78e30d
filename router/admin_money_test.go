package router

import (
	"log/slog"
	"testing"
	"time"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const moneyNow = model.Time(1_800_000_000_000)

// moneyShop has a closed order of merchant 1 that was paid twice too late, and one of merchant 2.
func moneyShop(t *testing.T, s *store.Store) {
	t.Helper()
	order := model.Order{
		ID: 7, MerchantID: 1, ShopperID: 1, No: someOrder, State: model.OrderClosed, CloseReason: model.CloseTimeout, PayableFen: 100,
		Version: 2, CreatedAt: 1, UpdatedAt: 1,
	}
	fill(t, s, []model.Order{order})
	late := func(id, orderID, merchant int64, transaction string) model.Payment {
		return model.Payment{
			ID: id, OrderID: orderID, MerchantID: merchant, OutTradeNo: someOrder + "-1", TransactionID: transaction, AmountFen: 100, PayerFen: 100,
			Currency: "CNY", RefundedFen: 100, PaidAt: moneyNow, CreatedAt: moneyNow + model.Time(id),
		}
	}
	settled := late(4, 9, 1, "44")
	settled.Settled, settled.SettledOrder = true, new(int64(9))
	fill(t, s, []model.Payment{late(1, 7, 1, "41"), late(2, 7, 1, "42"), late(3, 8, 2, "43"), settled})
	fill(t, s, []model.Refund{{
		ID: 5, OrderID: 7, PaymentID: 1, MerchantID: 1, OutRefundNo: "L" + someOrder + "-1", Kind: model.RefundLate, State: model.RefundProcessing,
		AmountFen: 100, TotalFen: 100, NextAt: new(moneyNow), Version: 1, CreatedAt: moneyNow,
	}})
	fill(t, s, []model.PaymentAttempt{{ID: 1, OrderID: 7, MerchantID: 1, OutTradeNo: someOrder + "-1", State: model.AttemptClosed, AmountFen: 100}})
	fill(t, s, []model.Anomaly{
		{ID: 1, MerchantID: 1, Kind: payment.AnomalyLate, Ref: "41", OrderID: 7, PaymentID: 1, RefundID: 5, State: model.AnomalyOpen, Seen: 1, CreatedAt: moneyNow},
		{ID: 2, MerchantID: 1, Kind: payment.AnomalyMismatch + "amount", Ref: someOrder + "-1", OrderID: 7, Detail: "got 99, want 100", State: model.AnomalyOpen, Seen: 1, CreatedAt: moneyNow},
		{ID: 3, MerchantID: 0, Kind: payment.AnomalyUnknownPayment, Ref: "49", State: model.AnomalyOpen, Seen: 1, CreatedAt: moneyNow},
	})
	fill(t, s, []model.BillDifference{{Day: 20270113, Kind: payment.AnomalyUnknownPayment, Ref: "49", BillFen: 5, FoundAt: moneyNow}})
}

func field(t *testing.T, body map[string]any, path ...string) any {
	t.Helper()
	var at any = body
	for _, p := range path {
		m, _ := at.(map[string]any)
		at = m[p]
	}
	return at
}

func TestAnomalyFacts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		moneyShop(t, s)
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminAnomalies: &admin.Anomalies{List: payment.Anomalies{Store: s}}}})
		const path = "/api/admin/v1/anomalies/"
		refused(t, h, "two", "GET", path+"1", "", 404, fault.NotFoundError, "")
		refused(t, h, "one", "GET", path+"3", "", 404, fault.NotFoundError, "") // the platform's
		for _, c := range []struct {
			id   string
			path []string
			want any
		}{
			{"1", []string{"order", "no"}, someOrder},
			{"1", []string{"order", "close_reason"}, "timeout"},
			{"1", []string{"payment", "amount_fen"}, 100.0},
			{"1", []string{"payment", "settled"}, false},
			{"1", []string{"refund", "status"}, "processing"},
			{"1", []string{"attempt"}, nil},
			{"2", []string{"attempt", "amount_fen"}, 100.0},
			{"2", []string{"detail"}, "got 99, want 100"},
			{"2", []string{"payment"}, nil},
			{"3", []string{"difference", "bill_fen"}, 5.0},
			{"3", []string{"difference", "day"}, "2027-01-13"},
			{"3", []string{"order"}, nil},
		} {
			if got := field(t, as(t, h, "chief", "GET", path+c.id, "", 200).Body, c.path...); got != c.want {
				t.Errorf("%s of anomaly %s is %v, want %v", c.path, c.id, got, c.want)
			}
		}
	})
}

func TestLatePaymentOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		moneyShop(t, s)
		h := New(Deps{Auth: people{}, Operations: Operations{AdminLatePayments: &admin.LatePayments{Service: payment.LatePayments{Store: s}}}})
		const path = "/api/admin/v1/late-payments"
		refused(t, h, "nobody", "GET", path, "", 401, fault.TokenInvalid, "")
		refused(t, h, "idle", "GET", path, "", 403, fault.PermissionDenied, "")
		first := as(t, h, "one", "GET", path+"?limit=1", "", 200)
		want := `{"list":[{"id":2,"order_no":"` + someOrder + `","order_status":"closed","close_reason":"timeout","out_trade_no":"` + someOrder + `-1","transaction_id":"42",` +
			`"amount_fen":100,"paid_at":"2027-01-15T08:00:00.000Z","created_at":"2027-01-15T08:00:00.002Z"}],"next":"` + store.Cursor{At: moneyNow + 2, ID: 2}.String() + `"}` + "\n"
		if first.Text != want {
			t.Errorf("got  %swant %s", first.Text, want)
		}
		rest := as(t, h, "one", "GET", path+"?limit=1&after="+first.Body["next"].(string), "", 200)
		want = `{"list":[{"id":1,"order_no":"` + someOrder + `","order_status":"closed","close_reason":"timeout","out_trade_no":"` + someOrder + `-1","transaction_id":"41",` +
			`"amount_fen":100,"paid_at":"2027-01-15T08:00:00.000Z","created_at":"2027-01-15T08:00:00.001Z","refund":{"id":5,"out_refund_no":"L` + someOrder + `-1","amount_fen":100,` +
			`"status":"processing","next_at":"2027-01-15T08:00:00.000Z","created_at":"2027-01-15T08:00:00.000Z"},"anomaly_id":1}]}` + "\n"
		if rest.Text != want {
			t.Errorf("got  %swant %s", rest.Text, want)
		}
	})
}

func TestCallbackOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		moneyShop(t, s)
		now := func() model.Time { return moneyNow.Add(30 * time.Minute) }
		recorder := callback.New(callback.Deps{Store: s, Now: now, Log: slog.New(slog.DiscardHandler)})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminCallbacks: &admin.Callbacks{Service: recorder, Now: now}}})
		row := func(id, merchant int64, verdict model.CallbackVerdict, reason string) model.Callback {
			return model.Callback{
				ID: id, MerchantID: merchant, OrderID: 7 * merchant, Kind: model.CallbackPay, NoticeID: string(verdict), Verdict: verdict, Reason: reason,
				OutTradeNo: someOrder + "-1", AmountFen: 99, Status: 400, Count: 2, CreatedAt: moneyNow, LastAt: moneyNow,
			}
		}
		fill(t, s, []model.Callback{row(1, 1, model.CallbackRefused, callback.Misfit("amount")), row(2, 0, model.CallbackRefused, callback.ReasonUnknown), row(3, 1, model.CallbackAccepted, "")})
		hour := model.Time(time.Hour.Milliseconds())
		fill(t, s, []model.CallbackRefusals{
			{Hour: moneyNow - 24*hour, Kind: model.CallbackPay, Reason: callback.RefusedStale, Count: 9, LastAt: 1, LastIP: "a"},
			{Hour: moneyNow - hour, Kind: model.CallbackPay, Reason: callback.RefusedSignature, Count: 2, LastAt: moneyNow - 5, LastIP: "b"},
			{Hour: moneyNow, Kind: model.CallbackPay, Reason: callback.RefusedSignature, Count: 3, LastAt: moneyNow + 5, LastIP: "c"},
		})
		const path = "/api/admin/v1/callbacks"
		refused(t, h, "one", "GET", path+"/refused", "", 403, fault.PermissionDenied, "")
		refused(t, h, "one", "GET", path+"?kind=odd", "", 422, fault.ValidationFailed, "kind not_a_choice")
		for _, c := range []struct {
			who, query string
			want       int
		}{
			{"one", "", 2},
			{"one", "?verdict=refused", 1},
			{"one", "?out_trade_no=" + someOrder + "-1", 2},
			{"two", "", 0},
			{"chief", "", 3},
			{"chief", "?verdict=refused", 2},
			{"chief", "?kind=push", 0},
		} {
			got := as(t, h, c.who, "GET", path+c.query, "", 200)
			if list, _ := got.Body["list"].([]any); len(list) != c.want {
				t.Errorf("%s %s: %s", c.who, c.query, got.Text)
			}
		}
		want := `{"list":[{"id":1,"kind":"pay","notice_id":"refused","out_trade_no":"` + someOrder + `-1","amount_fen":99,"order_no":"` + someOrder + `","verdict":"refused","reason":"misfit_amount",` +
			`"status":400,"took_ms":0,"request_id":"","count":2,"received_at":"2027-01-15T08:00:00.000Z","last_at":"2027-01-15T08:00:00.000Z"}]}` + "\n"
		if got := as(t, h, "one", "GET", path+"?verdict=refused", "", 200); got.Text != want {
			t.Errorf("got  %swant %s", got.Text, want)
		}
		want = `{"from":"2027-01-14T09:00:00.000Z","to":"2027-01-15T08:30:00.000Z","sums":[{"kind":"pay","reason":"signature","count":5,"last_at":"2027-01-15T08:00:00.005Z","last_ip":"c"}],` +
			`"hours":[{"hour":"2027-01-15T07:00:00.000Z","kind":"pay","reason":"signature","count":2},{"hour":"2027-01-15T08:00:00.000Z","kind":"pay","reason":"signature","count":3}]}` + "\n"
		if got := as(t, h, "chief", "GET", path+"/refused", "", 200); got.Text != want {
			t.Errorf("got  %swant %s", got.Text, want)
		}
	})
}
