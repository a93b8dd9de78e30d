package notify_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/store"
)

// written has the recorder write what it has, and stops it.
func (s *shop) written() {
	s.Helper()
	if err := s.records.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := s.records.Stop(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// callbacks are those that an admin of the merchant, and of the platform, sees.
func (s *shop) callbacks(f callback.Filter) []callback.Listed {
	s.Helper()
	rows, _, err := s.records.List(s.Context(), f, store.Cursor{}, 100)
	if err != nil {
		s.Fatal(err)
	}
	return rows
}

// What WeChat signed is a row for each thing that became of it; what anybody may have sent is a figure and nothing more.
func TestCallbacksAreRecorded(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		s.wantStatus("less", s.notice(m{"to": "pay", "out_trade_no": no, "override": m{"amount_total": 99}}), 400)
		s.wantStatus("strange", s.notice(m{"to": "pay", "out_trade_no": no, "override": m{"out_trade_no": "T20260101AAAAAAAAAAAA-1"}}), 500)
		s.wantStatus("paid, three times", s.notice(m{"to": "pay", "out_trade_no": no, "times": 3}), 204, 204, 204)
		for reason, order := range map[string]m{
			callback.RefusedSignature: {"tamper": "signature"}, callback.RefusedUnsigned: {"tamper": "missing_header"},
			callback.RefusedProbe: {"tamper": "signtest"}, callback.RefusedStale: {"timestamp_offset_s": -301},
			callback.RefusedUnreadable: {"tamper": "bad_nonce"},
		} {
			order["to"], order["out_trade_no"] = "pay", no
			for _, a := range s.notice(order) {
				if a.Status < 400 {
					s.Errorf("%s: answered %d", reason, a.Status)
				}
			}
		}
		s.written()

		type seen struct {
			Verdict         model.CallbackVerdict
			Reason, OrderNo string
			Amount          model.Fen
			Status          int
		}
		var got []seen
		times := int64(0)
		for _, c := range s.callbacks(callback.Filter{MerchantID: merchantID, Unowned: true}) {
			got = append(got, seen{c.Verdict, c.Reason, c.OrderNo, c.AmountFen, c.Status})
			times += c.Count
			if c.Kind != model.CallbackPay || c.NoticeID == "" || c.EventType != "TRANSACTION.SUCCESS" || c.CreatedAt == 0 {
				s.Errorf("%+v", c)
			}
			if c.Reason != "" && !slices.Contains(callback.Reasons(), c.Reason) {
				s.Errorf("the reason %q is not listed", c.Reason)
			}
		}
		slices.SortFunc(got, func(a, b seen) int { return a.Status - b.Status })
		got = slices.CompactFunc(got, func(a, b seen) bool { return a == b }) // WeChat may number what it sends again anew
		want := []seen{
			{model.CallbackAccepted, "", o.No, 100, 204},
			{model.CallbackDuplicate, "", o.No, 100, 204},
			{model.CallbackRefused, callback.Misfit("amount"), o.No, 99, 400},
			{model.CallbackRefused, callback.ReasonUnknown, "", 100, 500},
		}
		slices.SortStableFunc(got, func(a, b seen) int { return len(a.Verdict) - len(b.Verdict) })
		slices.SortStableFunc(want, func(a, b seen) int { return len(a.Verdict) - len(b.Verdict) })
		if d := cmp.Diff(want, got); d != "" {
			s.Errorf("callbacks (-want +got):\n%s", d)
		}
		if times != 5 {
			s.Errorf("%d callbacks in all, want 5", times)
		}
		if n := len(s.callbacks(callback.Filter{MerchantID: merchantID + 1})); n != 0 {
			s.Errorf("another merchant sees %d", n)
		}

		figures, err := s.records.Refused(s.Context(), now()-3_600_000)
		if err != nil {
			s.Fatal(err)
		}
		reasons := map[string]int64{}
		for _, f := range figures {
			reasons[f.Reason] += f.Count
			if f.Kind != model.CallbackPay || f.LastIP != "127.0.0.1" || f.LastAt == 0 {
				s.Errorf("%+v", f)
			}
		}
		for _, reason := range []string{callback.RefusedSignature, callback.RefusedUnsigned, callback.RefusedProbe, callback.RefusedStale, callback.RefusedUnreadable} {
			if reasons[reason] != 1 {
				s.Errorf("%d refusals for %s, want 1", reasons[reason], reason)
			}
		}
	})
}
