package router

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestMessageOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := event.NewRelay(s, func() model.Time { return 1_800_000_000_000 }, slog.New(slog.DiscardHandler), nil)
		h := New(Deps{Auth: people{}, Operations: Operations{AdminMessages: &admin.Messages{Relay: r}}})
		message := func(id, merchant int64, state model.MessageState) model.Message {
			return model.Message{
				ID: id, Topic: "order.paid", Key: fmt.Sprint("order:", id), Seq: 2, MerchantID: merchant, Payload: `{"order_id":5}`,
				State: state, DueAt: 253_402_300_799_000, Attempts: 5, Error: "no", CreatedAt: 1_800_000_000_000,
			}
		}
		fill(t, s, []model.Message{message(1, 1, model.MessageDead), message(2, 1, model.MessageDead), message(3, 1, model.MessageSent), message(4, 2, model.MessageDead)})
		const messages = "/api/admin/v1/messages"
		for _, c := range []struct {
			who, method, path string
			status            int
			code              fault.Code
		}{
			{"nobody", "GET", messages, 401, fault.TokenInvalid},
			{"ann", "POST", messages + "/1/skip", 401, fault.TokenInvalid},
			{"idle", "GET", messages, 403, fault.PermissionDenied},
			{"idle", "POST", messages + "/1/retry", 403, fault.PermissionDenied},
			{"two", "POST", messages + "/1/retry", 404, fault.NotFoundError},
			{"two", "POST", messages + "/1/skip", 404, fault.NotFoundError},
			{"one", "POST", messages + "/99/skip", 404, fault.NotFoundError},
			{"one", "POST", messages + "/3/skip", 409, fault.StateConflict},
			{"one", "POST", messages + "/3/retry", 409, fault.StateConflict},
		} {
			refused(t, h, c.who, c.method, c.path, "", c.status, c.code, "")
		}
		refused(t, h, "one", "GET", messages+"?status=lost", "", 422, fault.ValidationFailed, "status not_a_choice")
		dead := as(t, h, "one", "GET", messages+"?status=dead&limit=1", "", 200)
		want := `{"list":[{"id":2,"topic":"order.paid","key":"order:2","seq":2,"status":"dead","attempts":5,"error":"no","payload":{"order_id":5},` +
			`"created_at":"2027-01-15T08:00:00.000Z"}],"next":"` + store.Cursor{At: 1_800_000_000_000, ID: 2}.String() + `","total":2,"page":1,"limit":1}` + "\n"
		if dead.Text != want {
			t.Errorf("got  %swant %s", dead.Text, want)
		}
		if got := as(t, h, "one", "POST", messages+"/1/retry", "", 200); got.Body["status"] != "pending" || got.Body["attempts"] != 0.0 || got.Body["due_at"] != "2027-01-15T08:00:00.000Z" {
			t.Errorf("retried: %s", got.Text)
		}
		if got := as(t, h, "one", "POST", messages+"/2/skip", "", 200); got.Body["status"] != "skipped" {
			t.Errorf("skipped: %s", got.Text)
		}
		if got := as(t, h, "one", "GET", messages, "", 200); got.Body["total"] != 3.0 {
			t.Errorf("all: %s", got.Text)
		}
	})
}

func TestMessageFilters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := event.NewRelay(s, func() model.Time { return 1_800_000_000_000 }, slog.New(slog.DiscardHandler), nil)
		h := New(Deps{Auth: people{}, Operations: Operations{AdminMessages: &admin.Messages{Relay: r}}})
		message := func(id int64, topic, key string, seq int64, state model.MessageState) model.Message {
			return model.Message{ID: id, Topic: topic, Key: key, Seq: seq, MerchantID: 1, Payload: "{}", State: state, CreatedAt: model.Time(id)}
		}
		fill(t, s, []model.Message{
			message(1, "order.placed", "order:1", 1, model.MessageSent), message(2, "order.paid", "order:1", 2, model.MessageDead),
			message(3, "order.shipped", "order:1", 3, model.MessagePending), message(4, "order.completed", "order:1", 4, model.MessagePending),
			message(5, "order.paid", "order:2", 2, model.MessageDead), message(6, "order.paid", "order:3", 2, model.MessageSent),
		})
		type page struct {
			List []struct{ ID, Blocks int64 }
			Next string
		}
		for query, want := range map[string]string{
			"topic=order.paid":           "[{6 0} {5 0} {2 2}]",
			"key=order:1":                "[{4 0} {3 0} {2 2} {1 0}]",
			"status=dead&key=order:2":    "[{5 0}]",
			"status=dead&topic=order.ok": "[]",
		} {
			for _, limit := range []string{"1", "20"} {
				var got page
				for after := ""; ; {
					var one page
					if err := json.Unmarshal([]byte(as(t, h, "one", "GET", "/api/admin/v1/messages?"+query+"&limit="+limit+"&after="+after, "", 200).Text), &one); err != nil {
						t.Fatal(err)
					}
					if got.List = append(got.List, one.List...); one.Next == "" {
						break
					}
					after = one.Next
				}
				if fmt.Sprint(got.List) != want {
					t.Errorf("%s by %s: %v, want %s", query, limit, got.List, want)
				}
			}
		}
	})
}
