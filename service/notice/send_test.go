package notice

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

// What shoppers are told of each event, to the letter.
func TestMessagesSayWhatHappened(t *testing.T) {
	// Of the name 17 characters have room beside the count; the last of them is a space, which goes too.
	const goodsText = "亚麻混纺宽松长袖连衣裙 夏季新款等2件"
	for event, c := range map[string]struct{ fields, want map[string]string }{
		EventPaid: {
			map[string]string{"character_string1": "order_no", "thing2": "goods", "amount3": "amount", "time4": "paid_at", "thing5": "text:我们会尽快为您发货", "number6": "quantity"},
			map[string]string{"character_string1": "T202601310123456789AB", "thing2": goodsText, "amount3": "99.00元", "time4": "2026年1月31日 15:01", "thing5": "我们会尽快为您发货", "number6": "2"},
		},
		EventShipped: {
			map[string]string{"thing1": "carrier", "character_string2": "tracking_no", "date3": "shipped_at", "name4": "merchant"},
			map[string]string{"thing1": "顺丰速运", "character_string2": "SF1234567890", "date3": "2026年1月31日 15:01", "name4": "潮汐家居"},
		},
		EventExpiring: {
			map[string]string{"phrase1": "status", "thing2": "remark", "amount3": "amount"},
			map[string]string{"phrase1": "待付款", "thing2": "无", "amount3": "99.00元"},
		},
		EventClosed: {
			map[string]string{"phrase1": "close_reason", "time2": "closed_at"},
			map[string]string{"phrase1": "超时未支付", "time2": "2026年1月31日 15:01"},
		},
		EventRefunded: {
			map[string]string{"amount1": "refund_amount", "time2": "refund_at", "character_string3": "refund_no", "thing4": "refund_reason"},
			map[string]string{"amount1": "49.50元", "time2": "2026年1月31日 15:01", "character_string3": "T202601310123456789AB-R1", "thing4": "缺货"},
		},
	} {
		t.Run(event, func(t *testing.T) {
			eachDesk(t, func(t *testing.T, d *desk) {
				d.template(event, c.fields)
				if event == EventClosed {
					d.exec("UPDATE orders SET state = 'closed', close_reason = 'timeout'")
				}
				m := d.run(d.hear(event))
				d.want(m, model.NoticeSent, 1, "")
				got := d.told()
				if len(got) != 1 {
					t.Fatalf("%d messages arrived (%s)", len(got), m.Error)
				}
				if diff := cmp.Diff(c.want, got[0].Values); diff != "" {
					t.Error(diff)
				}
				if got[0].Page != "pages/order/detail?no=T202601310123456789AB" || got[0].TemplateID != d.templateID(event) {
					t.Errorf("%+v", got[0])
				}
				d.audited()
			})
		})
	}
}

// Every source fills every kind of field that it says, also where there is nothing to say or far too much: the simulated WeChat,
// which has rules of its own, takes them all.
func TestEverySourceFitsItsFields(t *testing.T) {
	full := func(d *desk) {
		long := "😀 Überlänge 中文 " + goodsName(60)
		d.exec("UPDATE orders SET state = 'closed', close_reason = 'merchant', remark = ?, payable_fen = 10000000000", long)
		d.exec("UPDATE order_lines SET name = ?, quantity = 9999", "😀\n中文 "+goodsName(40))
		d.exec("UPDATE parcels SET carrier = ?, tracking_no = ?", "某某快运", "单号 1234567890-1234567890-1234567890-1234567890")
		d.exec("UPDATE refunds SET reason = ?, amount_fen = 1", "不想要了，"+goodsName(20))
		d.exec("UPDATE merchants SET name = ?", "潮汐家居生活好物旗舰店铺 Official Store")
	}
	empty := func(d *desk) {
		d.exec("UPDATE orders SET state = 'closed', paid_at = ?, close_reason = 'timeout'", at)
		d.exec("DELETE FROM parcels")
		d.exec("DELETE FROM order_lines")
		d.exec("UPDATE refunds SET reason = ''")
		d.exec("UPDATE merchants SET name = '123'")
	}
	for name, change := range map[string]func(*desk){"full": full, "empty": empty} {
		t.Run(name, func(t *testing.T) {
			eachDesk(t, func(t *testing.T, d *desk) {
				change(d)
				for _, e := range Events() {
					if e.Name == EventExpiring { // its order would have to be another; it has no source that others lack in form
						continue
					}
					for part := range slices.Chunk(fieldsOf(e), MaxFields) {
						fields := map[string]string{}
						for _, f := range part {
							fields[f[0]] = f[1]
						}
						d.exec("DELETE FROM subscribe_messages")
						d.template(e.Name, fields)
						if m := d.run(d.hear(e.Name)); m.State != model.NoticeSent {
							t.Errorf("%s %v: %s %s", e.Name, fields, m.State, m.Error)
						}
					}
				}
			})
		})
	}
}

func goodsName(n int) string {
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = '货'
	}
	return string(runes)
}

// fieldsOf lists every source of an event in every kind of field that it fills.
func fieldsOf(e Event) (fields [][2]string) {
	for _, s := range e.Sources() {
		for _, kind := range s.Kinds {
			fields = append(fields, [2]string{kind + string(rune('1'+len(fields)%9)) + string(rune('0'+len(fields)/9%10)), s.Name})
		}
	}
	return fields
}

// What WeChat refuses for good is recorded and never asked again; what it asks to repeat, or does not answer for certain, is
// repeated after growing pauses and given up after the fifth call.
func TestOutcomesOfCalls(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventPaid, map[string]string{"thing1": "goods"})
		begin := func() *model.SubscribeMessage {
			d.exec("DELETE FROM subscribe_messages")
			return d.hear(EventPaid)
		}
		for _, code := range []string{"43101", "43107", "40003", "40037", "41030", "45168", "47003"} {
			m := begin()
			d.fault(map[string]any{"mode": "code", "code": code})
			m = d.run(m)
			d.want(m, model.NoticeRefused, 1, code)
			if m.Error == "" {
				t.Errorf("%s leaves no word", code)
			}
		}
		for _, code := range []string{"-1", "43108", "45009"} {
			m := begin()
			d.fault(map[string]any{"mode": "code", "code": code})
			m = d.run(m)
			d.want(m, model.NoticeWaiting, 1, code)
			if pause := m.NextAt.Sub(d.Now()); pause != 5*time.Second {
				t.Errorf("%s: again after %v", code, pause)
			}
			d.want(d.run(m), model.NoticeSent, 2, "")
		}
		before := len(d.told())
		for mode, state := range map[string]model.NoticeState{"reset": model.NoticeUnsure, "html": model.NoticeUnsure, "code": model.NoticeRefused} {
			m := begin()
			d.fault(map[string]any{"mode": mode, "code": "45009", "count": 5})
			var waited []time.Duration
			for m.State == model.NoticeWaiting {
				if m = d.run(m); m.NextAt != nil {
					waited = append(waited, m.NextAt.Sub(d.Now()))
				}
			}
			if m.State != state || m.Calls != 5 {
				t.Errorf("%s: %s after %d calls", mode, m.State, m.Calls)
			}
			if want := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}; !slices.Equal(waited, want) {
				t.Errorf("%s: pauses %v, want %v", mode, waited, want)
			}
			d.advance(2 * time.Second) // the breaker, which ten failures open, looks again after one
			d.awaitWeChat()
		}
		if n := len(d.told()); n != before {
			t.Errorf("%d messages arrived although no call went well", n-before)
		}
	})
}

// While WeChat takes nothing from this shop messages wait for the merchant to mend that, however often they were tried; a day after
// their event they are of no use any more.
func TestMessagesWaitForTheSetup(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventPaid, map[string]string{"thing1": "goods"})
		m := d.hear(EventPaid)
		for range 6 {
			d.fault(map[string]any{"mode": "code", "code": "40164"})
			m = d.run(m)
			d.want(m, model.NoticeWaiting, 0, "")
			if pause := m.NextAt.Sub(d.Now()); pause != 10*time.Minute || !strings.Contains(m.Error, "40164") {
				t.Fatalf("again after %v: %s", pause, m.Error)
			}
		}
		d.want(d.run(m), model.NoticeSent, 1, "")

		d.exec("DELETE FROM subscribe_messages")
		m = d.hear(EventPaid)
		d.fault(map[string]any{"mode": "code", "code": "40125"})
		m = d.run(m)
		d.advance(24*time.Hour + time.Second)
		d.want(d.run(m), model.NoticeSkipped, 0, "")
	})
}

// A lost answer is repeated: the shopper may read it twice. Where they agreed to one message only WeChat refuses the second, and
// the record says what is known.
func TestLostAnswers(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventPaid, map[string]string{"thing1": "goods"})
		d.fault(map[string]any{"mode": "timeout_after", "delay_ms": 1}) // the connection is lost then
		m := d.run(d.hear(EventPaid))
		d.want(m, model.NoticeWaiting, 1, "")
		d.want(d.run(m), model.NoticeSent, 2, "")
		if n := len(d.told()); n != 2 {
			t.Errorf("%d messages arrived, want 2", n)
		}

		d.control("POST", "/sandbox/settings", map[string]any{"subscribe_grants": true}, nil)
		d.control("POST", "/sandbox/subscriptions", map[string]any{"name": d.name, "template_id": d.templateID(EventPaid), "grants": 1}, nil)
		d.exec("DELETE FROM subscribe_messages")
		d.fault(map[string]any{"mode": "timeout_after", "delay_ms": 1})
		m = d.run(d.hear(EventPaid))
		d.want(m, model.NoticeWaiting, 1, "")
		d.want(d.run(m), model.NoticeUnsure, 2, "43101")
		if n := len(d.told()); n != 3 {
			t.Errorf("%d messages arrived, want 3", n)
		}
	})
}

// Many who run the same task at once, as two replicas do after a lost lease, send one message; so does one who runs it with an old
// deadline.
func TestSendersAtOnce(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventPaid, map[string]string{"thing1": "goods"})
		m := d.hear(EventPaid)
		d.fault(map[string]any{"mode": "delay", "delay_ms": 100}) // long enough for all to meet
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				<-start
				d.due(t.Context(), m.ID, *m.NextAt)
			})
		}
		close(start)
		wg.Wait()
		now, err := d.byID(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		d.want(now, model.NoticeSent, 1, "")
		if out := d.due(t.Context(), m.ID, *m.NextAt); out.String() != "done" {
			t.Errorf("a task of a message that was sent: %v", out)
		}
		if n := len(d.told()); n != 1 {
			t.Errorf("%d messages arrived, want 1", n)
		}
		d.audited()
	})
}

// Who was killed between claim and record leaves the message due when the claim has ended, which the source shows.
func TestAClaimEnds(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventPaid, map[string]string{"thing1": "goods"})
		m := d.hear(EventPaid)
		was := *m.NextAt
		mine, err := d.claim(t.Context(), m, d.Now().Add(callLimit))
		if err != nil || !mine {
			t.Fatal(mine, err)
		}
		if out := d.due(t.Context(), m.ID, was); out.String() != "reschedule" {
			t.Errorf("while it is claimed: %v", out)
		}
		tasks, err := d.TimeoutKind().Source.Due(t.Context(), timeout.Cursor{}, int64(d.Now().Add(callLimit)), 10)
		if err != nil || len(tasks) != 1 || tasks[0].Due != int64(*m.NextAt) {
			t.Errorf("%v %v", tasks, err)
		}
		d.want(d.run(m), model.NoticeSent, 2, "")
	})
}

// A message whose result cannot be written stays the task that it was, whose failures are counted.
func TestFailedMessageIsTheSameTask(t *testing.T) {
	d := newDesk(t, sqlite(t))
	d.template(EventPaid, map[string]string{"thing1": "goods"})
	m := d.hear(EventPaid)
	d.exec("CREATE TRIGGER poison BEFORE UPDATE OF state ON subscribe_messages BEGIN SELECT RAISE(ABORT, 'poison'); END")
	for range 2 {
		d.advance(time.Second)
		if out := d.due(t.Context(), m.ID, *m.NextAt); out.String() != "failed" {
			t.Errorf("%s, %v", out, out.Err())
		}
	}
	if now := d.rows()[0]; *now.NextAt != *m.NextAt || now.Calls != 2 {
		t.Errorf("%+v", now)
	}
}

// What would be of no use is not sent, and says why.
func TestUselessMessagesAreSkipped(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		fields := map[string]string{"thing1": "goods"}
		for name, c := range map[string]struct {
			event  string
			change func()
		}{
			"paid meanwhile":     {EventExpiring, func() { d.exec("UPDATE orders SET state = 'paid'") }},
			"closing meanwhile":  {EventExpiring, func() { d.exec("UPDATE orders SET closing_reason = 'timeout'") }},
			"deadline is past":   {EventExpiring, func() { d.exec("UPDATE orders SET pay_deadline = ?", d.Now()) }},
			"a day late":         {EventPaid, func() { d.advance(24*time.Hour + time.Second) }},
			"template taken off": {EventPaid, func() { d.exec("UPDATE subscribe_templates SET enabled = ?", false) }},
		} {
			d.exec("DELETE FROM subscribe_messages")
			d.exec("UPDATE orders SET state = 'pending_payment', closing_reason = NULL, pay_deadline = ?", d.Now().Add(time.Hour))
			d.template(c.event, fields)
			m := d.hear(c.event)
			c.change()
			m = d.run(m)
			if m.State != model.NoticeSkipped || m.Calls != 0 || m.Error == "" {
				t.Errorf("%s: %s after %d calls (%s)", name, m.State, m.Calls, m.Error)
			}
		}
		if n := len(d.told()); n != 0 {
			t.Errorf("%d messages arrived", n)
		}
	})
}

// A message of the local table that is delivered twice, or to two replicas at once, writes one message to the shopper; nobody is
// told of their own cancelling, of an order closed by its refunds, and of events without a template.
func TestMessagesAreWrittenOnce(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		if err := d.heard(EventPaid); err != nil || len(d.rows()) != 0 {
			t.Fatalf("without a template: %v, %d messages", err, len(d.rows()))
		}
		for _, e := range Events() {
			d.template(e.Name, map[string]string{"thing1": "goods"})
		}
		for _, reason := range []model.CloseReason{model.CloseShopper, model.CloseRefunded} {
			if err := d.heard(EventClosed, func(c *order.Changed) { c.CloseReason = reason }); err != nil || len(d.rows()) != 0 {
				t.Errorf("closed by %s: %v, %d messages", reason, err, len(d.rows()))
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			for _, e := range Events() {
				wg.Go(func() {
					if err := d.heard(e.Name, func(c *order.Changed) { c.CloseReason = model.CloseMerchant }); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		rows := d.rows()
		keys := map[string]bool{}
		for _, r := range rows {
			keys[r.Key] = true
		}
		if len(rows) != 5 || len(keys) != 5 || len(d.scheduled) != 5 {
			t.Errorf("%d messages, %d tasks, want 5 of each: %v", len(rows), len(d.scheduled), keys)
		}
		d.audited()
	})
}

// awaitWeChat waits until the breaker lets calls through again.
func (d *desk) awaitWeChat() {
	d.t.Helper()
	client := d.WeChat.(interface{ MiniAvailable() bool })
	storetest.Await(d.t, 5*time.Second, "the breaker's closing", client.MiniAvailable)
}

// A refund of goods that cost nothing moves no money, and nobody is told of some.
func TestNobodyIsToldOfNoMoney(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.template(EventRefunded, map[string]string{"thing1": "goods"})
		for _, amount := range []model.Fen{0, 1} {
			raw, err := json.Marshal(payment.RefundChanged{RefundID: 41, OrderID: 11, MerchantID: 1, AmountFen: amount, At: d.Now()})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.aboutRefund(t.Context(), event.Message{ID: 1, Topic: payment.TopicRefundSucceeded, Payload: raw}); err != nil {
				t.Fatal(err)
			}
			if n := len(d.rows()); n != int(amount) {
				t.Errorf("%d fen: %d messages", amount, n)
			}
		}
	})
}
