package router

import (
	"context"
	"fmt"
	"slices"
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

// failing is a timeout engine as the board sees it.
type failing struct {
	rows    []timeout.Failure
	retried []string
	waits   []timeout.Task
	asked   timeout.HistoryQuery
}

func (f *failing) Stats(context.Context) (timeout.Stats, error) {
	return timeout.Stats{Feed: "redis", Node: "n1", Live: []string{"n1", "n2"}, Now: time.UnixMilli(1_800_000_000_000), Kinds: []timeout.KindStats{
		{Kind: "pay", Waiting: 7, InFlight: 1, Fired: 90, LatenessP50: 300 * time.Microsecond, LatenessP99: 2500 * time.Microsecond},
		{Kind: "refund", Waiting: 2, Dead: 2, LatenessP50: 100 * time.Microsecond, LatenessP99: 4 * time.Millisecond},
	}}, nil
}

func (f *failing) Failures(_ context.Context, p timeout.Page) ([]timeout.Failure, int64, error) {
	rows := slices.DeleteFunc(slices.Clone(f.rows), func(r timeout.Failure) bool {
		return p.Kind != "" && r.Kind != p.Kind || p.Dead && r.DeadAt == 0
	})
	from := min(p.Offset, len(rows))
	return rows[from:min(from+p.Limit, len(rows))], int64(len(rows)), nil
}

func (f *failing) RetryDead(_ context.Context, kind, key string) error {
	for _, r := range f.rows {
		if r.Kind == kind && r.Key == key && r.DeadAt != 0 {
			f.retried = append(f.retried, kind+"/"+key)
			return nil
		}
	}
	return timeout.ErrNotDead
}

func (f *failing) RetryAllDead(ctx context.Context, kind string) (n int, err error) {
	for _, r := range f.rows {
		if (kind == "" || r.Kind == kind) && f.RetryDead(ctx, r.Kind, r.Key) == nil {
			n++
		}
	}
	return n, nil
}

// Case T06.
func TestT06_RetryAllDeadTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		engine := &failing{rows: []timeout.Failure{{Kind: "upkeep", Key: "x", DeadAt: 1}, {Kind: "pay", Key: "7", DeadAt: 1}, {Kind: "pay", Key: "8"}}}
		var refunds []model.Refund
		for id := int64(1); id <= 120; id++ { // more than the board reads at once; every second is merchant 2's
			refunds = append(refunds, model.Refund{ID: id, MerchantID: 1 + id%2, OutRefundNo: fmt.Sprint("R", id)})
			engine.rows = append(engine.rows, timeout.Failure{Kind: "refund", Key: fmt.Sprint(id), DeadAt: 1})
		}
		fill(t, s, refunds)
		fill(t, s, []model.Order{{ID: 7, MerchantID: 2, No: "7", State: model.OrderPending}})
		board := deadline.New(s, engine, map[string]string{"refund": "refunds", "pay": "orders"})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminTimeouts: &admin.Timeouts{Board: board}}})
		const all = "/api/admin/v1/timeouts/retry-all"
		refused(t, h, "nobody", "POST", all, "", 401, fault.TokenInvalid, "")
		refused(t, h, "ann", "POST", all, "", 401, fault.TokenInvalid, "")
		refused(t, h, "idle", "POST", all, "", 403, fault.PermissionDenied, "")
		refused(t, h, "chief", "POST", all, `{"kind":"PAY!"}`, 422, fault.ValidationFailed, "kind wrong_format")
		if len(engine.retried) != 0 {
			t.Errorf("refused calls retried %v", engine.retried)
		}
		for _, c := range []struct {
			who, query, body string
			want             float64
		}{
			{"one", "", `{"kind":"pay"}`, 0},
			{"one", "", "", 60},
			{"two", "", `{"kind":"refund"}`, 60},
			{"two", "", `{}`, 61},
			{"chief", "?merchant_id=1", "", 60},
			{"chief", "", `{"kind":"upkeep"}`, 1},
			{"chief", "", "", 122},
			{"chief", "", `{"kind":"nothing"}`, 0},
		} {
			engine.retried = nil
			got := as(t, h, c.who, "POST", all+c.query, c.body, 200)
			if got.Body["retried"] != c.want || len(engine.retried) != int(c.want) {
				t.Errorf("%s %s %s: %s, %d retried, want %v", c.who, c.query, c.body, got.Text, len(engine.retried), c.want)
			}
		}
	})
}

func TestTimeoutOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		engine := &failing{}
		var refunds []model.Refund
		for id := int64(1); id <= 150; id++ { // more than the board reads at once; every third is merchant 2's
			merchant := 1 + id%3/2
			refunds = append(refunds, model.Refund{ID: id, MerchantID: merchant, OutRefundNo: fmt.Sprint("R", id)})
			row := timeout.Failure{Kind: "refund", Key: fmt.Sprint(id), Due: 1_800_000_000_000, Attempts: 5, NextAt: 1_800_000_060_000, Error: "no", UpdatedAt: 1_800_000_000_000}
			if id%2 == 0 {
				row.DeadAt = 1_800_000_000_000
			}
			engine.rows = append(engine.rows, row)
		}
		engine.rows = append(engine.rows, timeout.Failure{Kind: "upkeep", Key: "x", DeadAt: 1})
		fill(t, s, refunds)
		board := deadline.New(s, engine, map[string]string{"refund": "refunds", "pay": "orders"})
		h := New(Deps{Auth: withChief{}, Operations: Operations{AdminTimeouts: &admin.Timeouts{Board: board}}})
		const timeouts = "/api/admin/v1/timeouts"

		got := as(t, h, "one", "GET", timeouts+"?limit=1&status=dead", "", 200)
		want := `{"feed":"redis","node":"n1","live":["n1","n2"],"server_time":"2027-01-15T08:00:00.000Z","waiting":9,"overdue":0,"in_flight":1,"dead":2,` +
			`"backing_off":0,"fired":90,"retries":0,"rescued":0,"lateness_p50_ms":0.3,"lateness_p99_ms":4,"kinds":[{"kind":"pay","waiting":7,"overdue":0,` +
			`"in_flight":1,"dead":0,"backing_off":0,"fired":90,"retries":0,"rescued":0,"lateness_p50_ms":0.3,"lateness_p99_ms":2.5},{"kind":"refund",` +
			`"waiting":2,"overdue":0,"in_flight":0,"dead":2,"backing_off":0,"fired":0,"retries":0,"rescued":0,"lateness_p50_ms":0.1,"lateness_p99_ms":4}],` +
			`"list":[{"kind":"refund","key":"4","status":"dead","due_at":"2027-01-15T08:00:00.000Z","attempts":5,"waits":0,` +
			`"dead_at":"2027-01-15T08:00:00.000Z","error":"no","updated_at":"2027-01-15T08:00:00.000Z"}],"total":50,"page":1,"limit":1}`
		if text := strings.TrimSpace(got.Text); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
		for who, total := range map[string]float64{"one": 100, "two": 50, "chief": 151} {
			if got := as(t, h, who, "GET", timeouts, "", 200); got.Body["total"] != total {
				t.Errorf("%s sees %v tasks, want %v", who, got.Body["total"], total)
			}
		}
		if got := as(t, h, "chief", "GET", timeouts+"?merchant_id=2&kind=refund&page=3", "", 200); got.Body["total"] != 50.0 || len(list(got.Body["list"])) != 10 {
			t.Errorf("page 3 of merchant 2: %s", got.Text)
		}
		for _, c := range []struct {
			who, path string
			status    int
			code      fault.Code
		}{
			{"nobody", "/refund/4/retry", 401, fault.TokenInvalid},
			{"ann", "/refund/4/retry", 401, fault.TokenInvalid},
			{"idle", "/refund/4/retry", 403, fault.PermissionDenied},
			{"two", "/refund/4/retry", 404, fault.NotFoundError},
			{"one", "/upkeep/x/retry", 404, fault.NotFoundError},
			{"one", "/refund/04/retry", 404, fault.NotFoundError},
			{"one", "/refund/999/retry", 404, fault.NotFoundError},
			{"chief", "/refund/999/retry", 404, fault.NotFoundError},
			{"chief", "/upkeep/y/retry", 404, fault.NotFoundError},
			{"chief", "/REFUND/4/retry", 404, fault.NotFoundError},
			{"one", "/refund/3/retry", 409, fault.StateConflict},
		} {
			refused(t, h, c.who, "POST", timeouts+c.path, "", c.status, c.code, "")
		}
		if len(engine.retried) != 0 {
			t.Errorf("refused calls retried %v", engine.retried)
		}
		if got := as(t, h, "one", "POST", timeouts+"/refund/4/retry", "", 200); strings.TrimSpace(got.Text) != `{"kind":"refund","key":"4","status":"waiting"}` {
			t.Errorf("retried: %s", got.Text)
		}
		as(t, h, "chief", "POST", timeouts+"/upkeep/x/retry", "", 200)
		if !slices.Equal(engine.retried, []string{"refund/4", "upkeep/x"}) {
			t.Errorf("retried are %v", engine.retried)
		}
	})
}
