package reconcile_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/store"
)

// A day of a big shop is reconciled in steps that each end in time, in a heap that does not grow with it.
func TestBigDay(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		rows := 30_000
		if tl.store.Dialect() == store.SQLite {
			rows = 4_000
		}
		day := tl.day.Add(-3)
		var batch []model.Payment
		for i := range rows {
			no := fmt.Sprintf("F%s%08d", day.Date().Format("20060102"), i)
			batch = append(batch, model.Payment{
				ID: int64(1_000_000 + i), OrderID: int64(1_000_000 + i), MerchantID: merchantID, OutTradeNo: no, TransactionID: "42" + no, AmountFen: 100, PayerFen: 100,
				Currency: "CNY", Settled: true, PaidAt: day.Start().Add(2*time.Hour + time.Duration(i)*time.Millisecond),
			})
		}
		batch[7].AmountFen = 99
		batch = append(batch, model.Payment{ID: 9_999_999, MerchantID: merchantID, TransactionID: "unbilled", AmountFen: 5, PaidAt: day.Start().Add(9 * time.Hour)})
		for from := 0; from < len(batch); from += 1000 {
			part := batch[from:min(from+1000, len(batch))]
			tl.insert(&part)
		}
		tl.settings(m{"bill_filler": rows})
		if _, err := tl.bills.Run(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		tl.run()
		took := time.Since(start)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b := tl.bill(day)
		grew := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 10
		t.Logf("%d payments imported and compared in %v and %d steps; the heap grew by %d KiB", rows, took, b.Calls, grew)
		if grew > 4<<10 {
			t.Errorf("the heap grew by %d KiB", grew)
		}
		if b.State != model.BillCompared || b.Payments != int64(rows) || b.PaymentFen != model.Fen(100*rows) {
			t.Errorf("%+v", b)
		}
		tl.wantDifferences(day, open(payment.AnomalyBillPayment, fmt.Sprintf("42F%s%08d", day.Date().Format("20060102"), 7), 100, 99),
			open(payment.AnomalyUnbilledPayment, "unbilled", 0, 5))
		if tl.store.Dialect() == store.MySQL {
			tl.wantIndexed(int64(day))
		}
	})
}

// wantIndexed fails where a query of a page reads a whole table.
func (tl *till) wantIndexed(day int64) {
	tl.Helper()
	for _, q := range []string{
		fmt.Sprintf("SELECT b.number, p.id FROM bill_rows b LEFT JOIN payments p ON p.transaction_id = b.number WHERE b.day = %d AND b.kind = 'payment' AND b.number > '42' ORDER BY b.number LIMIT 1000", day),
		fmt.Sprintf("SELECT b.number, r.id FROM bill_rows b LEFT JOIN refunds r ON r.out_refund_no = b.number WHERE b.day = %d AND b.kind = 'payment' AND b.number > '42' ORDER BY b.number LIMIT 1000", day),
		fmt.Sprintf("SELECT p.id, EXISTS (SELECT 1 FROM bill_rows b WHERE b.number = p.transaction_id AND b.kind = 'payment' AND b.day BETWEEN %d AND %d), EXISTS (SELECT 1 FROM bill_differences d WHERE d.day IN (%d, %d) AND d.kind = 'bill_payment_missing' AND d.ref = p.transaction_id) FROM payments p WHERE p.paid_at >= 5 AND p.paid_at < 6 AND (p.paid_at > 5 OR p.id > 0) ORDER BY p.paid_at, p.id LIMIT 1000", day-1, day+1, day-1, day+1),
		"SELECT r.id FROM refunds r WHERE r.ended_at >= 5 AND r.ended_at < 6 AND (r.ended_at > 5 OR r.id > 0) ORDER BY r.ended_at, r.id LIMIT 1000",
	} {
		var plan []struct{ Table, Type, Key, Extra string }
		if err := tl.store.Read(tl.Context()).Raw("EXPLAIN " + q).Scan(&plan).Error; err != nil {
			tl.Fatal(err)
		}
		for _, p := range plan {
			if p.Type == "ALL" || p.Key == "" || strings.Contains(p.Extra, "filesort") {
				tl.Errorf("%s\nreads %s by %q with key %q, %s", q, p.Table, p.Type, p.Key, p.Extra)
			}
		}
	}
}

// An import that stops where its time is up goes on behind what is stored, unless WeChat has another file by then.
func TestAnImportGoesOn(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		day := tl.day.Add(-3)
		tl.settings(m{"bill_filler": 1200})
		if _, err := tl.bills.Run(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		step := func(run, imported int64, whole bool) {
			t.Helper()
			got, err := tl.bills.Fetch(t.Context(), tl.bill(day), func() bool { return false })
			if b := tl.bill(day); err != nil || got != whole || b.Run != run || b.Imported != imported {
				t.Fatalf("%+v, whole %v, %v", b, got, err)
			}
			if n := tl.number("SELECT COUNT(*) FROM bill_rows WHERE day = ? AND run = ?", day, run); n != imported {
				t.Fatalf("%d rows of run %d are stored, want %d", n, run, imported)
			}
		}
		step(1, 500, false)
		step(1, 1000, false)
		tl.settings(m{"bill_filler": 1100})
		step(2, 500, false)
		step(2, 1000, false)
		step(2, 1100, true)
		if n := tl.number("SELECT COUNT(*) FROM bill_rows"); n != 1100 {
			t.Errorf("%d rows are stored", n)
		}
	})
}

// A comparison that stops where its time is up goes on behind what it has settled, also in the middle of a page.
func TestAComparisonGoesOn(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		const each = 3
		for range each {
			tl.paidAtWeChat()
			tl.refunded(false)
		}
		var edits []m
		for range 2 {
			_, differs := tl.paid()
			edits = append(edits, m{"out_trade_no": differs.OutTradeNo, "set": m{"订单金额": "99.00"}})
		}
		tl.settings(m{"bill_edits": edits})
		tl.until(tl.day)
		found := func() int64 {
			return tl.number("SELECT COUNT(*) FROM bill_differences WHERE kind IN (?, ?)", reconcile.FoundPayment, reconcile.FoundRefund)
		}
		run := func(finds int64) {
			t.Helper()
			if _, err := tl.bills.Run(t.Context(), tl.day); err != nil {
				t.Fatal(err)
			}
			if whole, err := tl.bills.Fetch(t.Context(), tl.bill(tl.day), func() bool { return true }); err != nil || !whole {
				t.Fatal(whole, err)
			}
			for steps := 0; tl.bill(tl.day).State == model.BillComparing; steps++ {
				had := found()
				if err := tl.bills.Compare(t.Context(), tl.bill(tl.day), func() bool { return false }); err != nil || steps > 5*each+10 {
					t.Fatal(steps, err)
				}
				if now := found(); now > had+1 {
					t.Fatalf("step %d went from %d to %d", steps, had, now)
				}
				if n := tl.number("SELECT COUNT(*) FROM anomalies WHERE state <> 'open'"); n != 0 {
					t.Fatalf("step %d cleared up %d that it had not looked at", steps, n)
				}
			}
			if n := found(); n != finds {
				t.Errorf("%d are found, want %d", n, finds)
			}
			if all := tl.differences(tl.day); len(all) != int(finds)+len(edits) {
				t.Errorf("%v", all)
			}
		}
		run(2 * each)
		run(0) // they are the shop's now; what differs still does
		tl.audited()
	})
}
