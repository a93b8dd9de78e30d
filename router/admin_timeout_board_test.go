package router

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

func (f *failing) Now() time.Time { return time.UnixMilli(1_800_000_030_000) }

func (f *failing) History(_ context.Context, q timeout.HistoryQuery) (timeout.History, error) {
	f.asked = q
	l := &timeout.Lateness{Fired: 3204, Max: 4 * time.Millisecond}
	return timeout.History{Points: map[int64]*timeout.Lateness{q.From: l}, Kinds: map[string]*timeout.Lateness{"refund": l, "pay": {}}, Total: *l}, nil
}

func (f *failing) Replicas(context.Context) ([]timeout.Replica, int, error) {
	return []timeout.Replica{
		{Node: "n1", Live: true, StartedAt: 1_800_000_000_000, BeatAt: 1_800_000_000_000, Shards: 63, Feed: "redis", InFlight: 2, ClockOffset: -1500 * time.Microsecond, ClockSource: "redis"},
		{Node: "n2", BeatAt: 1_800_000_000_000},
	}, 64, nil
}

func (f *failing) Ahead(context.Context) ([]timeout.Ahead, error) {
	return []timeout.Ahead{{Kind: "pay", Next: 1_800_000_060_000, Minute: 1, Hour: 5}, {Kind: "refund"}}, nil
}

func (f *failing) Waiting(_ context.Context, kind string, after timeout.Cursor, limit int) (out []timeout.Task, err error) {
	if kind == "none" {
		return nil, timeout.ErrUnknownKind
	}
	for _, t := range f.waits {
		if t.Kind == kind && (t.Due > after.Due || t.Due == after.Due && after.Key == "") && len(out) < limit {
			out = append(out, t)
		}
	}
	return out, nil
}

func TestTimeoutBoardOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		engine := &failing{}
		board := deadline.New(s, engine, map[string]string{"refund": "refunds", "pay": "orders"})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminTimeouts: &admin.Timeouts{Board: board}}})
		const timeouts = "/api/admin/v1/timeouts"
		for _, path := range []string{"/lateness", "/replicas", "/ahead", "/pay/waiting"} {
			refused(t, h, "nobody", "GET", timeouts+path, "", 401, fault.TokenInvalid, "")
			refused(t, h, "ann", "GET", timeouts+path, "", 401, fault.TokenInvalid, "")
			refused(t, h, "idle", "GET", timeouts+path, "", 403, fault.PermissionDenied, "")
		}
		refused(t, h, "one", "GET", timeouts+"/lateness?range=2y", "", 422, fault.ValidationFailed, "range not_a_choice")
		refused(t, h, "one", "GET", timeouts+"/none/waiting", "", 404, fault.NotFoundError, "")
		for text, c := range map[string]struct {
			grain time.Duration
			n     int
		}{"1h": {time.Minute, 60}, "24h": {5 * time.Minute, 288}, "7d": {time.Hour, 168}} {
			got := as(t, h, "one", "GET", timeouts+"/lateness?kind=pay&range="+text, "", 200).Body
			points := list(got["list"])
			if len(points) != c.n || engine.asked.Grain != c.grain || engine.asked.Kind != "pay" || got["grain_ms"] != float64(c.grain.Milliseconds()) {
				t.Errorf("%s: %d points by %v", text, len(points), engine.asked.Grain)
			}
			if points[0]["fired"] != 3204.0 || points[1]["fired"] != 0.0 || got["fired"] != 3204.0 || got["max_ms"] != 4.0 || len(list(got["kinds"])) != 2 {
				t.Errorf("%s: %v", text, got)
			}
			if end := int64(1_800_000_030_000); engine.asked.To <= end || engine.asked.To > end+c.grain.Milliseconds() || engine.asked.To%c.grain.Milliseconds() != 0 {
				t.Errorf("%s ends at %d", text, engine.asked.To)
			}
		}
		want := `{"list":[{"id":"n1","live":true,"since":"2027-01-15T08:00:00.000Z","beat_at":"2027-01-15T08:00:00.000Z","shards":63,"feed":"redis","in_flight":2,` +
			`"clock_offset_ms":-1.5,"clock_source":"redis","clock_difference_ms":0},{"id":"n2","live":false,"beat_at":"2027-01-15T08:00:00.000Z","shards":0,` +
			`"in_flight":0,"clock_offset_ms":0,"clock_difference_ms":0}],"shards":64,"served":63}`
		if got := strings.TrimSpace(as(t, h, "one", "GET", timeouts+"/replicas", "", 200).Text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		want = `{"list":[{"kind":"pay","next_at":"2027-01-15T08:01:00.000Z","within_minute":1,"within_hour":5},{"kind":"refund","within_minute":0,"within_hour":0}]}`
		if got := strings.TrimSpace(as(t, h, "one", "GET", timeouts+"/ahead", "", 200).Text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// A merchant reads its own tasks page by page, with the orders that they are about.
func TestWaitingTasksOfAMerchant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		engine := &failing{}
		var refunds []model.Refund
		for id := int64(1); id <= 600; id++ { // every tenth is merchant 2's
			merchant := int64(1)
			if id%10 == 0 {
				merchant = 2
			}
			refunds = append(refunds, model.Refund{ID: id, MerchantID: merchant, OrderID: id, OutRefundNo: fmt.Sprint("R", id)})
			engine.waits = append(engine.waits, timeout.Task{Kind: "refund", Key: fmt.Sprint(id), Due: 1_800_000_000_000 + id})
		}
		fill(t, s, refunds)
		fill(t, s, []model.Order{{ID: 10, MerchantID: 2, No: "T10", State: model.OrderPaid}})
		engine.rows = []timeout.Failure{{Kind: "refund", Key: "10", DeadAt: 1}}
		board := deadline.New(s, engine, map[string]string{"refund": "refunds", "pay": "orders"})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminTimeouts: &admin.Timeouts{Board: board}}})
		const waiting = "/api/admin/v1/timeouts/refund/waiting"
		for who, want := range map[string]int{"one": 540, "two": 60, "chief": 600} {
			seen, pages := map[any]bool{}, 0
			for path := waiting + "?limit=50"; ; {
				got := as(t, h, who, "GET", path, "", 200).Body
				for _, row := range list(got["list"]) {
					if seen[row["key"]] {
						t.Errorf("%s sees %v twice", who, row["key"])
					}
					seen[row["key"]] = true
				}
				next, more := got["next"]
				if pages++; !more || pages > 20 {
					break
				}
				path = fmt.Sprintf("%s?limit=50&after=%s", waiting, next)
			}
			if len(seen) != want {
				t.Errorf("%s sees %d tasks, want %d", who, len(seen), want)
			}
		}
		first := list(as(t, h, "two", "GET", waiting, "", 200).Body["list"])[0]
		if first["key"] != "10" || first["order_no"] != "T10" || first["due_at"] != "2027-01-15T08:00:00.010Z" {
			t.Errorf("the first is %v", first)
		}
		if failed := list(as(t, h, "two", "GET", "/api/admin/v1/timeouts", "", 200).Body["list"]); len(failed) != 1 || failed[0]["order_no"] != "T10" {
			t.Errorf("failed are %v", failed)
		}
	})
}
