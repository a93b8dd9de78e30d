package aftersale

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// The queue has what waits for the merchant: overdue ones, then by deadline, then what no policy gives one; by cursor and by number.
func TestQueueIsInTheOrderOfDeadlines(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{9, 50})
		ask := func(answer time.Duration) int64 {
			d.answer = answer
			d.advance(time.Second)
			return d.ask(o, model.AftersaleRefundOnly, 1).ID
		}
		never1, late2, soon, late1, far, never2 := ask(0), ask(2*time.Hour), ask(20*time.Hour), ask(time.Hour), ask(40*time.Hour), ask(0)
		d.does("reject", &View{Aftersale: model.Aftersale{ID: ask(time.Hour), Version: 1}}, model.AftersaleRejected)
		for range 3 { // each at its own instant, as it would be
			d.advance(time.Hour)
			d.run(order.KindAftersale)
		}
		want := []int64{late1, late2, soon, far, never1, never2}
		for size := 1; size <= 7; size++ {
			var seen []int64
			for after := (store.Cursor{}); ; {
				rows, next, err := d.ListAfter(t.Context(), Filter{MerchantID: merchantID, Queue: true}, after, size)
				d.must(err)
				for _, r := range rows {
					seen = append(seen, r.ID)
				}
				if next == nil {
					break
				}
				after = *next
			}
			if !slices.Equal(seen, want) {
				t.Errorf("by cursor, %d a page: %v, want %v", size, seen, want)
			}
		}
		rows, n, err := d.List(t.Context(), Filter{MerchantID: merchantID, Queue: true}, store.Page{Number: 2, Limit: 3})
		d.must(err)
		if n != 6 || len(rows) != 3 || rows[0].ID != far || rows[2].ID != never2 {
			t.Errorf("page 2 of %d: %v", n, rows)
		}
		if rows, _, err := d.ListAfter(t.Context(), Filter{MerchantID: merchantID + 1, Queue: true}, store.Cursor{}, 9); err != nil || len(rows) != 0 {
			t.Errorf("another merchant's queue has %v, %v", rows, err)
		}
	})
}

// Lists are narrowed by type and order, alone and with the rest.
func TestListsAreNarrowed(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o, other := d.paid(0, 0, good{4, 50}), d.paid(0, 0, good{4, 50})
		d.must(d.ship(other, order.RefundPart{LineID: d.lines(other)[0].ID, Quantity: 1}))
		a, b := d.ask(o, model.AftersaleRefundOnly, 1).ID, d.ask(other, model.AftersaleReturn, 1).ID
		for _, c := range []struct {
			f    Filter
			want []int64
		}{
			{Filter{Type: model.AftersaleReturn}, []int64{b}},
			{Filter{Type: model.AftersaleRefundOnly, State: model.AftersaleRequested}, []int64{a}},
			{Filter{OrderNo: o.No}, []int64{a}},
			{Filter{OrderNo: other.No, Type: model.AftersaleRefundOnly}, nil},
			{Filter{OrderNo: "T0"}, nil},
			{Filter{OrderNo: other.No, Queue: true}, []int64{b}},
			{Filter{Queue: true, State: model.AftersaleReturning}, nil},
		} {
			c.f.MerchantID = merchantID
			rows, n, err := d.List(t.Context(), c.f, store.Page{Number: 1, Limit: 9})
			d.must(err)
			after, _, err := d.ListAfter(t.Context(), c.f, store.Cursor{}, 9)
			d.must(err)
			for _, got := range [][]View{rows, after} {
				if len(got) != len(c.want) || int(n) != len(c.want) || len(got) > 0 && got[0].ID != c.want[0] {
					t.Errorf("%+v: %d of %d, want %v", c.f, len(got), n, c.want)
				}
			}
		}
	})
}

// Every change of an after-sale is kept as a step with who did it and what was said.
func TestStepsAreKept(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		o := d.paid(0, 0, good{3, 50})
		d.must(d.ship(o))
		me := order.ActorShopper(o.ShopperID)
		v := d.does("return", d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved), model.AftersaleReturning)
		v = d.wechatSays(d.does("receive", v, model.AftersaleRefunding), wechat.RefundClosed)
		again, err := d.Receive(t.Context(), merchantID, v.ID, true, Answer{Version: v.Version, Actor: "admin:4"}) // says nothing new
		d.must(err)
		v = d.wechatSays(again, wechat.RefundSuccess)
		var got []string
		for i, s := range v.Steps {
			if s.At < v.CreatedAt || i > 0 && s.At < v.Steps[i-1].At {
				t.Errorf("step %d is at %v", i, s.At)
			}
			got = append(got, fmt.Sprint(s.State, " ", s.Actor, " ", s.Failed, " ", s.Text, " ", s.Carrier, s.TrackingNo))
		}
		want := []string{
			"requested " + me + " false 不想要了 ", "approved admin:3 false approve ", "returning " + me + " false  ZTO7531999",
			"refunding admin:3 false receive ", "returning wechat true WeChat closed the refund ", "refunding admin:4 false  ", "refunded wechat false  ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("steps\n%q, want\n%q", got, want)
		}
		d.exec("UPDATE aftersales SET steps = NULL WHERE id = ?", v.ID) // one from before they were kept
		if v := d.fresh(v); len(v.Steps) != 0 {
			t.Errorf("steps %v", v.Steps)
		}
	})
}
