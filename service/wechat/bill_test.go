package wechat_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
)

var china = time.FixedZone("", 8*3600)

// bill reads a whole bill.
func (w *world) bill(day time.Time, kind wechat.BillType) ([]wechat.BillRow, error) {
	w.Helper()
	b, err := w.client.TradeBill(w.Context(), day, kind)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := b.Close(); err != nil {
			w.Error(err)
		}
	}()
	rows := []wechat.BillRow{}
	err = b.Rows(func(r wechat.BillRow) error {
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

// billed is a world with two payments and a refund of the second, and the day of its bill.
func billed(t *testing.T) (w *world, day time.Time, tx wechat.Transaction) {
	w = newWorld(t)
	w.settings(m{"bill_today": true, "payer_discount_fen": 20, "refund_hold": true}) // a bill is not to change between being announced and fetched
	req := prepayRequest("T00000001")
	req.Description = "tea, 茶,`quoted`\n`and a second line"
	id, err := w.client.Prepay(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	w.control("POST", "/sandbox/pay", m{"prepay_id": id, "notify": m{"times": 0}}, nil)
	w.payNow("T00000002")
	if _, err := w.client.Refund(t.Context(), wechat.RefundRequest{OutTradeNo: "T00000002", OutRefundNo: "R1", RefundFen: 7, TotalFen: 100}); err != nil {
		t.Fatal(err)
	}
	if tx, err = w.client.Query(t.Context(), "T00000001"); err != nil {
		t.Fatal(err)
	}
	return w, tx.SuccessTime.In(china), tx
}

func TestTradeBill(t *testing.T) {
	w, day, tx := billed(t)
	for name, set := range map[string]m{
		"packed":                       {},
		"plain though packed is asked": {"bill_plain": true},
		"hash of the packed file":      {"bill_hash": "packed"},
	} {
		w.settings(m{"bill_plain": false, "bill_hash": "unpacked"})
		w.settings(set)
		rows, err := w.bill(day, wechat.BillAll)
		if err != nil || len(rows) != 3 {
			t.Fatalf("%s: %+v, %v", name, rows, err)
		}
		want := wechat.BillRow{
			Line: 2, At: tx.SuccessTime, AppID: w.config.AppID, MchID: w.config.MchID, TransactionID: tx.TransactionID, OutTradeNo: "T00000001",
			State: "SUCCESS", Currency: "CNY", AmountFen: 100, CouponFen: 20,
		}
		if got := rows[0]; !got.At.Equal(want.At) {
			t.Errorf("%s: at %v, want %v", name, got.At, want.At)
		} else if got.At = want.At; got != want {
			t.Errorf("%s: got  %+v\nwant %+v", name, got, want)
		}
		if r := rows[2]; r.OutTradeNo != "T00000002" || r.State != "REFUND" || r.OutRefundNo != "R1" || r.RefundFen != 7 || r.AmountFen != 0 || !r.IsRefund() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for kind, want := range map[wechat.BillType]int{wechat.BillSuccess: 2, wechat.BillRefund: 1} {
		if rows, err := w.bill(day, kind); err != nil || len(rows) != want {
			t.Errorf("%s: %d rows, want %d: %v", kind, len(rows), want, err)
		}
	}
}

// B02: a day without trade has a kind of its own, and so has a bill that is not ready; both spellings of either.
func TestB02_NoBillAndNotYet(t *testing.T) {
	w := newWorld(t)
	today := time.Now().In(china)
	for _, spelling := range []string{"new", "old"} {
		w.settings(m{"spelling": spelling, "bill_today": false})
		_, err := w.bill(today, wechat.BillAll)
		wantKind(t, err, wechat.KindBusy)
		_, err = w.bill(today.AddDate(0, -1, 0), wechat.BillAll)
		wantKind(t, err, wechat.KindNoBill)
	}
	for _, status := range []int{200 + 204, 403, 500} { // the pages disagree on it
		w.fault(m{"path": "/v3/bill/tradebill", "mode": "code", "code": "NO_STATEMENT_EXIST", "status": status})
		_, err := w.bill(today, wechat.BillAll)
		wantKind(t, err, wechat.KindNoBill)
	}
	_, err := w.bill(today.AddDate(0, -4, 0), wechat.BillAll)
	wantKind(t, err, wechat.KindRejected)
}

// Nothing of a bill is believed before its hash fits, and nothing of it stays on the disk.
func TestBillThatIsNotWhatWasAnnounced(t *testing.T) {
	w, day, _ := billed(t)
	t.Setenv("TMPDIR", t.TempDir())
	w.settings(m{"bill_hash": "wrong"})
	_, err := w.bill(day, wechat.BillAll)
	wantKind(t, err, wechat.KindUnknown)
	w.settings(m{"bill_hash": "unpacked"})
	for _, f := range []m{{"mode": "html", "status": 200}, {"mode": "status", "status": 500}, {"mode": "reset"}, {"mode": "empty"}} {
		f["path"] = "/v3/billdownload/file"
		w.fault(f)
		_, err := w.bill(day, wechat.BillAll)
		wantKind(t, err, wechat.KindUnknown)
	}
	if rows, err := w.bill(day, wechat.BillAll); err != nil || len(rows) != 3 {
		t.Errorf("%v, %v", rows, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
}

// The error of the reader of rows comes back as it is.
func TestBillRowsStopWhereTheReaderDoes(t *testing.T) {
	w, day, _ := billed(t)
	b, err := w.client.TradeBill(t.Context(), day, wechat.BillAll)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	stop, seen := errors.New("enough"), 0
	for range 2 { // and a bill can be read again
		err = b.Rows(func(wechat.BillRow) error {
			seen++
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
	}
	if seen != 2 {
		t.Errorf("%d rows were handed on", seen)
	}
}

// A bill of a big shop passes through without being held: 200,000 rows, some 50 MB, in a heap that grows by little.
func TestBigBillIsStreamed(t *testing.T) {
	w := newWorld(t)
	const rows = 200_000
	w.settings(m{"bill_filler": rows})
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	b, err := w.client.TradeBill(t.Context(), time.Now().In(china).AddDate(0, 0, -2), wechat.BillAll)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	came := time.Since(start)
	var n, most uint64
	var sum int64
	err = b.Rows(func(r wechat.BillRow) error {
		if n++; n%20_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		sum += r.AmountFen
		return nil
	})
	if err != nil || n != rows || sum != 100*rows {
		t.Fatalf("%d rows, %d fen: %v", n, sum, err)
	}
	grown := int64(most) - int64(before.HeapAlloc)
	t.Logf("%d rows: made and fetched in %v, read in %v, heap grown by %d KiB", n, came, time.Since(start)-came, grown>>10)
	if grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	w.secretFree(strings.TrimSpace(fmt.Sprint(w.logs)))
}
