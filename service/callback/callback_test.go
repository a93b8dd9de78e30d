package callback

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const start = model.Time(1_800_000_000_000) // the beginning of an hour

// world is a recorder with a clock that a test moves.
type world struct {
	*Recorder
	*testing.T

	clock atomic.Int64
}

func eachWorld(t *testing.T, test func(w *world)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := &world{T: t}
		w.clock.Store(int64(start))
		w.Recorder = New(Deps{Store: s, Now: func() model.Time { return model.Time(w.clock.Load()) }, Log: slog.New(slog.DiscardHandler)})
		test(w)
	})
}

func (w *world) insert(rows any) {
	w.Helper()
	if err := w.Store.Read(w.Context()).Create(rows).Error; err != nil {
		w.Fatal(err)
	}
}

func (w *world) flushed() {
	w.Helper()
	if _, err := w.flush(w.Context(), nil); err != nil {
		w.Fatal(err)
	}
}

func (w *world) list(f Filter, after store.Cursor, limit int) ([]string, *store.Cursor) {
	w.Helper()
	rows, next, err := w.List(w.Context(), f, after, limit)
	if err != nil {
		w.Fatal(err)
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.NoticeID
	}
	return ids, next
}

func (w *world) count(table string) (n int64) {
	w.Helper()
	if err := w.Store.Read(w.Context()).Table(table).Count(&n).Error; err != nil {
		w.Fatal(err)
	}
	return n
}

func paid(id, no string, verdict model.CallbackVerdict) model.Callback {
	return model.Callback{Kind: model.CallbackPay, NoticeID: id, OutTradeNo: no, Verdict: verdict, Status: 204, TookMS: 3}
}

func TestResendsAreCountedOnTheRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		refused := paid("a", "", model.CallbackRefused)
		refused.Reason, refused.Status = ReasonFailed, 500
		w.Record(refused)
		w.clock.Add(1000)
		w.Record(refused)
		w.flushed()
		w.clock.Add(1000)
		w.Record(refused)
		w.Record(paid("a", "", model.CallbackAccepted))
		w.flushed()
		rows, _, err := w.List(w.Context(), Filter{Verdict: model.CallbackRefused}, store.Cursor{}, 10)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if r := rows[0]; r.Count != 3 || r.CreatedAt != start || r.LastAt != start+2000 || r.Status != 500 {
			t.Errorf("%+v", r)
		}
		if n := w.count("wechat_callbacks"); n != 2 {
			t.Errorf("%d rows, want one for each outcome", n)
		}
	})
}

// The list in any filter and cut into pages of any size is the list in order.
func TestListIsInOrder(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.insert([]model.PaymentAttempt{
			{ID: 1, OrderID: 7, MerchantID: 1, OutTradeNo: "T1-1", State: model.AttemptOpen},
			{ID: 2, OrderID: 8, MerchantID: 2, OutTradeNo: "T2-1", State: model.AttemptOpen},
		})
		numbers := []string{"T1-1", "T2-1", "strange"}
		for i := range 24 {
			c := paid(strconv.Itoa(i), numbers[i%3], model.CallbackVerdicts[i/3%3])
			c.Kind = model.CallbackKinds[i%2]
			w.Record(c)
			if i%4 == 3 { // some have the same time
				w.clock.Add(1)
			}
			w.flushed()
		}
		for name, c := range map[string]struct {
			filter Filter
			has    func(i int) bool
		}{
			"a merchant's":       {Filter{MerchantID: 1}, func(i int) bool { return i%3 == 0 }},
			"another's":          {Filter{MerchantID: 2}, func(i int) bool { return i%3 == 1 }},
			"and the platform's": {Filter{MerchantID: 1, Unowned: true}, func(i int) bool { return i%3 != 1 }},
			"of a kind":          {Filter{MerchantID: 1, Unowned: true, Kind: model.CallbackRefund}, func(i int) bool { return i%3 != 1 && i%2 == 1 }},
			"of a verdict":       {Filter{MerchantID: 1, Verdict: model.CallbackDuplicate}, func(i int) bool { return i%3 == 0 && i/3%3 == 1 }},
			"of a number":        {Filter{MerchantID: 1, Unowned: true, OutTradeNo: "T1-1"}, func(i int) bool { return i%3 == 0 }},
			"of a stranger's":    {Filter{MerchantID: 2, OutTradeNo: "T1-1"}, func(int) bool { return false }},
		} {
			var want []string
			for i := 23; i >= 0; i-- {
				if c.has(i) {
					want = append(want, strconv.Itoa(i))
				}
			}
			for _, limit := range []int{1, 5, 100} {
				var got []string
				for after := (store.Cursor{}); ; {
					page, next := w.list(c.filter, after, limit)
					if got = append(got, page...); next == nil {
						break
					}
					after = *next
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s by %d: %v, want %v", name, limit, got, want)
				}
			}
		}
	})
}

func TestRefusalsAreFigures(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i := range 10_000 {
			w.Refuse(model.CallbackPay, RefusedSignature, "10.0.0."+strconv.Itoa(i%250))
		}
		w.flushed()
		w.clock.Add(5)
		w.Refuse(model.CallbackPay, RefusedSignature, "10.0.1.1")
		w.Refuse(model.CallbackPush, RefusedUnsigned, "10.0.1.2")
		w.flushed()
		w.clock.Add(time.Hour.Milliseconds())
		w.Refuse(model.CallbackPay, RefusedSignature, "10.0.1.3")
		w.flushed()
		rows, err := w.Refused(w.Context(), start)
		if err != nil || len(rows) != 3 {
			t.Fatal(rows, err)
		}
		if r := rows[0]; r.Count != 10_001 || r.LastAt != start+5 || r.LastIP != "10.0.1.1" || r.Hour != start {
			t.Errorf("%+v", r)
		}
		later, err := w.Refused(w.Context(), start+model.Time(time.Hour.Milliseconds()))
		if err != nil || len(later) != 1 {
			t.Error(later, err)
		}
	})
}

// A database that does not answer delays no callback; what does not fit the queue is counted, and what was counted is not lost.
func TestDatabaseAway(t *testing.T) {
	eachWorld(t, func(w *world) {
		away, cancel := context.WithCancel(t.Context())
		cancel()
		w.Refuse(model.CallbackPay, RefusedStale, "10.0.0.1")
		for i := range queueRows + 3 {
			w.Record(paid(strconv.Itoa(i), "", model.CallbackAccepted))
		}
		if n := testutil.ToFloat64(w.dropped); n != 3 {
			t.Errorf("%v dropped, want 3", n)
		}
		if _, err := w.flush(away, nil); err == nil {
			t.Fatal("written without a database")
		}
		w.Refuse(model.CallbackPay, RefusedStale, "10.0.0.2")
		w.flushed()
		if n := w.count("wechat_callbacks"); n != queueRows {
			t.Errorf("%d rows", n)
		}
		rows, err := w.Refused(t.Context(), start)
		if err != nil || len(rows) != 1 || rows[0].Count != 2 || rows[0].LastIP != "10.0.0.2" {
			t.Error(rows, err)
		}
	})
}

func TestStopWritesWhatIsLeftAndOldOnesGo(t *testing.T) {
	eachWorld(t, func(w *world) {
		old := start.Add(-Retention)
		w.insert(&model.Callback{Kind: model.CallbackPay, NoticeID: "old", Verdict: model.CallbackAccepted, CreatedAt: old - 1})
		w.insert(&model.Callback{Kind: model.CallbackPay, NoticeID: "kept", Verdict: model.CallbackAccepted, CreatedAt: old})
		w.insert([]model.CallbackRefusals{{Hour: old - 1, Kind: model.CallbackPay, Reason: "x"}, {Hour: old, Kind: model.CallbackPay, Reason: "x"}})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		storetest.Await(t, 10*time.Second, "the old callback goes", func() bool { return w.count("wechat_callbacks") == 1 })
		w.Record(paid("last", "", model.CallbackAccepted))
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := w.list(Filter{}, store.Cursor{}, 10); fmt.Sprint(got) != "[last kept]" {
			t.Error(got)
		}
		if n := w.count("wechat_callback_refusals"); n != 1 {
			t.Errorf("%d figures", n)
		}
	})
}
