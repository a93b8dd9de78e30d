package order

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// withStages is the till with a deadline for every stage, in the order in which they come.
func withStages(t *testing.T, test func(t *testing.T, tl *till)) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.stages = map[string]time.Duration{
			policy.StageRemind: 10 * time.Minute, policy.StageShip: 48 * time.Hour, policy.StageConfirm: 7 * 24 * time.Hour, policy.StageAftersale: 24 * time.Hour,
		}
		test(t, tl)
	})
}

// messages counts the messages of a topic about the order.
func (tl *till) messages(topic string, o *model.Order) int64 {
	return tl.number("SELECT COUNT(*) FROM messages WHERE topic = ? AND msg_key = ?", topic, fmt.Sprintf("order:%d", o.ID))
}

func (tl *till) wantOutcome(got timeout.Outcome, want string) {
	tl.t.Helper()
	if got.String() != want {
		tl.t.Errorf("outcome %s (%v), want %s", got, got.Err(), want)
	}
}

// wantScheduled fails unless the last task of the kind for the order is for this time.
func (tl *till) wantScheduled(kind string, o *model.Order, at model.Time) {
	tl.t.Helper()
	for _, task := range slices.Backward(tl.scheduled()) {
		if task.Kind == kind && task.Key == fmt.Sprint(o.ID) {
			if task.Due != int64(at) {
				tl.t.Errorf("%s is scheduled for %d, want %d", kind, task.Due, at)
			}
			return
		}
	}
	tl.t.Errorf("%s is not scheduled", kind)
}

// wantDue fails unless the deadline is there and the source gives it from then on, and not a millisecond before.
func (tl *till) wantDue(kind string, o *model.Order, deadline *model.Time, want model.Time) {
	tl.t.Helper()
	if deadline == nil || *deadline != want {
		tl.t.Fatalf("%s is due at %v, want %v", kind, deadline, want)
	}
	tl.wantScheduled(kind, o, want)
	there := func() bool {
		return slices.Contains(tl.due(kind), timeout.Task{Kind: kind, Key: fmt.Sprint(o.ID), Due: int64(want)})
	}
	tl.clock.Store(int64(want) - 1)
	if there() {
		tl.t.Errorf("%s is due a millisecond early", kind)
	}
	tl.advance(time.Millisecond)
	if !there() {
		tl.t.Errorf("%s is not due at its time", kind)
	}
}

func TestReminderComesOnceBeforeTheDeadline(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.wantDue(KindRemind, o, tl.reload(o).RemindAt, o.PayDeadline.Add(-10*time.Minute))
		together(10, func(int) error { tl.run(KindRemind, o.ID, *o.RemindAt); return nil })
		tl.wantOutcome(tl.run(KindRemind, o.ID, *o.RemindAt), "done")
		now := tl.reload(o)
		if n := tl.messages(TopicReminder, o); n != 1 || now.RemindAt != nil || now.Version != 2 || now.State != model.OrderPending {
			t.Errorf("%d reminders, order %+v", n, now)
		}
		if n := tl.number("SELECT COUNT(*) FROM order_events WHERE order_id = ? AND version = 2 AND actor = 'timeout'", o.ID); n != 1 {
			t.Errorf("%d events", n)
		}
		if len(tl.due(KindRemind)) != 0 {
			t.Error("still due")
		}
		tl.audited()
		tl.toDeadline(o)
		tl.tick()
		tl.want(o, closedByTimeout)
		tl.audited()
	})
}

func TestNoReminder(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		tl.payFor = 10 * time.Minute // begins when the reminder would come
		if o := tl.unpaid(); tl.reload(o).RemindAt != nil {
			t.Error("a reminder at once")
		}
		tl.payFor = 30 * time.Minute
		for name, end := range map[string]func(o *model.Order){
			"paid":          func(o *model.Order) { tl.phone(tl.open(o)); _ = tl.callback(o.No + "-1") },
			"closed":        func(o *model.Order) { _, _ = tl.Cancel(t.Context(), o.ShopperID, o.No) },
			"past its time": func(o *model.Order) { tl.toDeadline(o) },
			"closing": func(o *model.Order) {
				tl.open(o)
				tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1", "mode": "status", "count": 1})
				_, _ = tl.Cancel(t.Context(), o.ShopperID, o.No)
			},
		} {
			o := tl.unpaid()
			end(o)
			tl.wantOutcome(tl.run(KindRemind, o.ID, *o.RemindAt), "done")
			if n := tl.messages(TopicReminder, o); n != 0 || tl.reload(o).RemindAt != nil {
				t.Errorf("%s: %d reminders, next %v", name, n, tl.reload(o).RemindAt)
			}
			tl.clock.Store(max(tl.clock.Load(), int64(*o.RemindAt)))
			if slices.ContainsFunc(tl.due(KindRemind), func(task timeout.Task) bool { return task.Key == fmt.Sprint(o.ID) }) {
				t.Errorf("%s: the source still has it", name)
			}
		}
		tl.wantOutcome(tl.run(KindRemind, 424242, 1), "done") // no such order
	})
}

// A replica of a version that knows nothing of stages ends them without clearing their deadlines; the deadline itself does.
func TestStrayDeadlinesAreCleared(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.shipped()
		at := tl.Now()
		tl.exec("UPDATE orders SET remind_at = ?, ship_due_at = ? WHERE id = ?", at, at, o.ID)
		for _, kind := range []string{KindRemind, KindShip} {
			tl.wantOutcome(tl.run(kind, o.ID, at), "done")
			if n := len(tl.due(kind)); n != 0 {
				t.Errorf("%s is still due", kind)
			}
		}
		if now := tl.reload(o); now.RemindAt != nil || now.ShipDueAt != nil || now.ShipOverdueAt != nil || now.Version != o.Version || now.ConfirmDueAt == nil {
			t.Errorf("order %+v", now)
		}
		tl.audited()
	})
}

// A task that is not the row's says so: an early one waits, and one that comes late, after a backoff, acts.
func TestReminderGoesByTheColumn(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.wantOutcome(tl.run(KindRemind, o.ID, o.RemindAt.Add(-time.Millisecond)), "reschedule")
		if n := tl.messages(TopicReminder, o); n != 0 {
			t.Errorf("%d reminders too early", n)
		}
		// Somebody changes the price meanwhile.
		err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
			locked, err := tl.lock(tx, o.ID)
			if err == nil {
				_, err = claim(tx, locked, tl.Now())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tl.wantOutcome(tl.run(KindRemind, o.ID, *o.RemindAt), "reschedule")
		tl.advance(claimLife)
		tl.wantOutcome(tl.run(KindRemind, o.ID, o.RemindAt.Add(time.Second)), "done")
		if n := tl.messages(TopicReminder, o); n != 1 {
			t.Errorf("%d reminders", n)
		}
	})
}

func TestOverdueOrderIsMarkedUntilItIsShipped(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		if o.RemindAt != nil {
			t.Error("a paid order is to be reminded")
		}
		tl.wantDue(KindShip, o, o.ShipDueAt, o.PaidAt.Add(48*time.Hour))
		together(10, func(int) error { tl.run(KindShip, o.ID, *o.ShipDueAt); return nil })
		tl.wantOutcome(tl.run(KindShip, o.ID, *o.ShipDueAt), "done")
		late := tl.reload(o)
		if n := tl.messages(TopicOverdue, o); n != 1 || late.ShipOverdueAt == nil || *late.ShipOverdueAt != tl.Now() || late.ShipDueAt != nil || late.State != model.OrderPaid {
			t.Errorf("%d alerts, order %+v", n, late)
		}
		tl.deliver(TopicOverdue) // the subscriber understands it
		overdue := func() int64 {
			views, n, err := tl.List(t.Context(), Filter{MerchantID: merchantID, ShipOverdue: true}, store.Page{Number: 1, Limit: 20})
			if err != nil || int64(len(views)) != n {
				t.Fatal(views, n, err)
			}
			return n
		}
		if d, err := tl.GetForMerchant(t.Context(), merchantID, o.No); err != nil || !d.ShipOverdue() || !d.ForMerchant || overdue() != 1 {
			t.Errorf("the merchant is shown %+v, %v", d, err)
		}
		tl.audited()
		if err := tl.ship(o, ShipmentParcel{Delivery: model.DeliveryVirtual}); err != nil {
			t.Fatal(err)
		}
		if now := tl.reload(o); now.ShipOverdueAt != nil || now.ConfirmDueAt == nil || overdue() != 0 {
			t.Errorf("shipped %+v, %d overdue", now, overdue())
		}
		tl.wantOutcome(tl.run(KindShip, o.ID, *o.ShipDueAt), "done")
		if n := tl.messages(TopicOverdue, o); n != 1 {
			t.Errorf("%d alerts after shipping", n)
		}
		tl.audited()
	})
}

func TestRefundedOrderIsNotOverdue(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.clock.Store(int64(*o.ShipDueAt))
		tl.run(KindShip, o.ID, *o.ShipDueAt)
		if _, err := tl.Refund(t.Context(), merchantID, o.No, "", RefundRequest{Reason: "缺货"}); err != nil {
			t.Fatal(err)
		}
		tl.refunded(o)
		if now := tl.reload(o); now.State != model.OrderClosed || now.ShipOverdueAt != nil || now.ShipDueAt != nil {
			t.Errorf("refunded %+v", now)
		}
		tl.audited()
	})
}

// shipped is an order that was shipped.
func (tl *till) shipped() *model.Order {
	tl.t.Helper()
	o := tl.paid()
	if err := tl.ship(o, ShipmentParcel{Delivery: model.DeliveryVirtual}); err != nil {
		tl.t.Fatal(err)
	}
	return tl.reload(o)
}

func TestShippedOrderCompletesByItself(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.shipped()
		if o.ShipDueAt != nil {
			t.Error("a shipped order is to be shipped")
		}
		tl.wantDue(KindConfirm, o, o.ConfirmDueAt, o.ShippedAt.Add(7*24*time.Hour))
		// The shopper confirms at the same moment.
		together(10, func(i int) error {
			if i == 0 {
				_, err := tl.Confirm(context.Background(), o.ShopperID, o.No)
				return err
			}
			tl.run(KindConfirm, o.ID, *o.ConfirmDueAt)
			return nil
		})
		tl.wantOutcome(tl.run(KindConfirm, o.ID, *o.ConfirmDueAt), "done")
		if now := tl.reload(o); now.State != model.OrderCompleted || now.ConfirmDueAt != nil || now.CompletedAt != tl.Now() || now.Version != o.Version+1 {
			t.Errorf("order %+v", now)
		}
		if n := tl.messages(TopicCompleted, o); n != 1 {
			t.Errorf("%d messages", n)
		}
		tl.audited()

		alone := tl.shipped()
		tl.clock.Store(int64(*alone.ConfirmDueAt))
		tl.wantOutcome(tl.run(KindConfirm, alone.ID, *alone.ConfirmDueAt), "done")
		if n := tl.number("SELECT COUNT(*) FROM order_events WHERE order_id = ? AND to_state = 'completed' AND actor = 'timeout' AND reason = 'auto'", alone.ID); n != 1 {
			t.Errorf("%d events of the timeout", n)
		}
		tl.audited()
	})
}

// While money is on its way back, or the shopper waits for an answer, the order is not completed: it is looked at a day later.
func TestDisputedOrderWaitsToComplete(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		refund, aftersale, late := tl.shipped(), tl.shipped(), tl.shipped()
		if _, err := tl.Refund(t.Context(), merchantID, refund.No, "", RefundRequest{Reason: "破损"}); err != nil {
			t.Fatal(err)
		}
		tl.aftersale(aftersale, 7)
		tl.paidLate(late.No + "-1") // known already: nothing is refunded, and nothing disputed
		var tasks []timeout.Task
		for _, o := range []*model.Order{refund, aftersale, late} {
			tl.clock.Store(max(tl.clock.Load(), int64(*o.ConfirmDueAt)))
			tasks = append(tasks, stageTask(KindConfirm, o.ID, *o.ConfirmDueAt))
		}
		out := tl.autoConfirm().Handle(t.Context(), tasks)
		if got := fmt.Sprint(out); got != "[reschedule reschedule done]" {
			t.Fatalf("outcomes %s", got)
		}
		tomorrow := tl.Now().Add(24 * time.Hour)
		for _, o := range []*model.Order{refund, aftersale} {
			if now := tl.reload(o); now.State != model.OrderShipped || *now.ConfirmDueAt != tomorrow || now.Version != o.Version {
				t.Errorf("disputed order %+v", now)
			}
		}
		if now := tl.reload(late); now.State != model.OrderCompleted {
			t.Errorf("the other one is %s", now.State)
		}
		// The old task again, as after a kill before it was acknowledged.
		tl.wantOutcome(tl.run(KindConfirm, refund.ID, *refund.ConfirmDueAt), "reschedule")

		tl.refunded(refund)
		tl.exec("UPDATE aftersales SET state = 'withdrawn' WHERE id = 7")
		tl.clock.Store(max(tl.clock.Load(), int64(tomorrow)))
		for _, o := range []*model.Order{refund, aftersale} {
			tl.wantOutcome(tl.run(KindConfirm, o.ID, *tl.reload(o).ConfirmDueAt), "done")
			if now := tl.reload(o); now.State != model.OrderCompleted {
				t.Errorf("%s after the dispute", now.State)
			}
		}
		tl.audited()
	})
}

// aftersale writes an after-sale of the order that was asked for now.
func (tl *till) aftersale(o *model.Order, id int64) *model.Aftersale {
	tl.t.Helper()
	a := &model.Aftersale{
		ID: id, OrderID: o.ID, MerchantID: o.MerchantID, ShopperID: o.ShopperID, Type: model.AftersaleRefundOnly, Reason: "不合适",
		CreatedAt: tl.Now(), UpdatedAt: tl.Now(),
	}
	goods, err := lines(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil {
		tl.t.Fatal(err)
	}
	about := []model.AftersaleLine{{AftersaleID: id, LineID: goods[0].ID, Quantity: 1}}
	if err := tl.Store.Tx(tl.t.Context(), func(tx *store.Tx) error { return tl.CreateAftersale(tx, o, a, about) }); err != nil {
		tl.t.Fatal(err)
	}
	return a
}

func (tl *till) answers(id int64) (a model.Aftersale, messages int64) {
	tl.t.Helper()
	if err := tl.Store.Read(tl.t.Context()).Where("id = ?", id).Take(&a).Error; err != nil {
		tl.t.Fatal(err)
	}
	return a, tl.number("SELECT COUNT(*) FROM messages WHERE topic = ? AND msg_key = ?", TopicAnswerOverdue, fmt.Sprintf("aftersale:%d", id))
}

func TestUnansweredAftersaleIsMarkedOnce(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		a, answered := tl.aftersale(o, 7), tl.aftersale(o, 8)
		tl.exec("UPDATE aftersales SET state = 'rejected' WHERE id = ?", answered.ID) // by a version that leaves the deadline
		if want := tl.Now().Add(24 * time.Hour); *a.AnswerDeadline != want {
			t.Fatalf("to be answered by %v, want %v", a.AnswerDeadline, want)
		}
		tl.clock.Store(int64(*a.AnswerDeadline) - 1)
		if n := len(tl.due(KindAftersale)); n != 0 {
			t.Errorf("%d due a millisecond early", n)
		}
		tl.wantOutcome(tl.run(KindAftersale, a.ID, *a.AnswerDeadline-1), "reschedule")
		tl.advance(time.Millisecond)
		if got := tl.due(KindAftersale); len(got) != 1 || got[0].Key != "7" {
			t.Errorf("due are %v, want the one that waits for an answer", got)
		}
		together(10, func(int) error { tl.run(KindAftersale, a.ID, *a.AnswerDeadline); return nil })
		for _, id := range []int64{a.ID, answered.ID, 424242} {
			tl.wantOutcome(tl.run(KindAftersale, id, *a.AnswerDeadline), "done")
		}
		now, n := tl.answers(a.ID)
		if n != 1 || now.AnswerOverdueAt == nil || *now.AnswerOverdueAt != tl.Now() || now.AnswerDeadline != nil || now.State != model.AftersaleRequested || now.Version != 2 {
			t.Errorf("%d alerts, after-sale %+v", n, now)
		}
		if other, n := tl.answers(answered.ID); n != 0 || other.AnswerOverdueAt != nil {
			t.Errorf("an answered one: %d alerts, %+v", n, other)
		}
		tl.deliver(TopicAnswerOverdue)
		if d, err := tl.GetForMerchant(t.Context(), merchantID, o.No); err != nil || len(d.Aftersales) != 2 || d.Aftersales[0].AnswerOverdueAt == nil {
			t.Errorf("the merchant is shown %+v, %v", d, err)
		}
		if tl.number("SELECT COUNT(*) FROM refunds") != 0 {
			t.Error("money moved")
		}
		tl.audited()
	})
}

// Two replicas get the same batch in different orders, some orders of it were paid meanwhile: each is reminded once or not at
// all, and what was counted as changed is what was to be changed.
func TestReminderBatchesThatMeet(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		sku := tl.shop.sku(product{price: 10, stock: 100, virtual: true})
		var tasks []timeout.Task
		for range 20 {
			o := tl.order(sku, 1)
			tasks = append(tasks, stageTask(KindRemind, o.ID, *o.RemindAt))
		}
		gone := tl.order(sku, 1)
		if _, err := tl.Cancel(t.Context(), gone.ShopperID, gone.No); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, stageTask(KindRemind, gone.ID, *gone.RemindAt))
		together(8, func(i int) error {
			mine := slices.Clone(tasks)
			if i%2 == 1 {
				slices.Reverse(mine)
			}
			tl.remind().Handle(context.Background(), mine)
			return nil
		})
		for _, got := range tl.remind().Handle(t.Context(), tasks) {
			tl.wantOutcome(got, "done")
		}
		if n := tl.number("SELECT COUNT(*) FROM messages WHERE topic = ?", TopicReminder); n != 20 {
			t.Errorf("%d reminders, want 20", n)
		}
		if got := tl.counts[KindRemind]; got[0] != got[1] || got[1] < 20 {
			t.Errorf("%d rows were to change, %d did", got[0], got[1])
		}
		tl.audited()
	})
}

// An order whose row somebody has locked is tried again; the others are reminded without it.
func TestReminderPassesOverLockedRows(t *testing.T) {
	tl := newTill(t, mysqlStore(t))
	tl.stages[policy.StageRemind] = time.Minute
	one, two := tl.unpaid(), tl.unpaid()
	err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
		if _, err := tl.lock(tx, one.ID); err != nil {
			return err
		}
		out := tl.remind().Handle(context.Background(), []timeout.Task{stageTask(KindRemind, one.ID, *one.RemindAt), stageTask(KindRemind, two.ID, *two.RemindAt)})
		if got := fmt.Sprint(out); got != "[again done]" {
			t.Errorf("outcomes %s", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tl.messages(TopicReminder, one) != 0 || tl.messages(TopicReminder, two) != 1 {
		t.Error("the locked one was reminded, or the other was not")
	}
}

// One order whose change always fails makes its batch fail and changes nothing; alone, as the timeout module halves the batch, the
// others are reminded.
// Case T06.
func TestT06_OnePoisonedReminderFailsAlone(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		sku := tl.shop.sku(product{price: 10, stock: 100, virtual: true})
		bad, good := tl.order(sku, 1), tl.order(sku, 1)
		// Its next version's message is there already.
		tl.exec("UPDATE messages SET seq = 2 WHERE msg_key = ?", fmt.Sprintf("order:%d", bad.ID))
		both := []timeout.Task{stageTask(KindRemind, bad.ID, *bad.RemindAt), stageTask(KindRemind, good.ID, *good.RemindAt)}
		for _, got := range tl.remind().Handle(t.Context(), both) {
			tl.wantOutcome(got, "failed")
		}
		if now := tl.reload(good); now.Version != 1 || now.RemindAt == nil || tl.messages(TopicReminder, good) != 0 {
			t.Errorf("half a batch was done: %+v", now)
		}
		tl.wantOutcome(tl.run(KindRemind, good.ID, *good.RemindAt), "done")
		tl.wantOutcome(tl.run(KindRemind, bad.ID, *bad.RemindAt), "failed")
		if tl.messages(TopicReminder, good) != 1 || tl.reload(bad).RemindAt == nil {
			t.Error("the good one was not reminded, or the bad one's deadline is lost")
		}
	})
}
