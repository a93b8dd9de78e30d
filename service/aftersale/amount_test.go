package aftersale

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
)

// However an order is cut into after-sales, what was said before is what is given back, and all of them together give back what
// was paid to the fen: without freight if something was shipped, with freight if nothing was.
// Case R08.
func TestR08_AftersalesAddUpProperty(t *testing.T) {
	d := newDesk(t, storetest.SQLite(t))
	rapid.Check(t, func(rt *rapid.T) {
		d.t = rt
		var goods []good
		for range rapid.IntRange(1, 3).Draw(rt, "lines") {
			goods = append(goods, good{rapid.Int64Range(1, 4).Draw(rt, "quantity"), model.Fen(rapid.Int64Range(1, 60).Draw(rt, "price"))})
		}
		o := d.paid(model.Fen(rapid.Int64Range(0, 40).Draw(rt, "coupon")), model.Fen(rapid.Int64Range(0, 9).Draw(rt, "freight")), goods...)
		shipped, kind := rapid.Bool().Draw(rt, "shipped"), model.AftersaleRefundOnly
		if shipped {
			d.must(d.ship(o))
			kind = rapid.SampledFrom([]model.AftersaleType{kind, model.AftersaleReturn}).Draw(rt, "type")
		}
		verb := map[model.AftersaleType]string{model.AftersaleRefundOnly: "approve", model.AftersaleReturn: "receive"}[kind]
		var open []*View
		for left := d.lines(o); ; {
			var parts []order.RefundPart
			for i := range left {
				if left[i].Quantity > 0 && rapid.Bool().Draw(rt, "take") {
					n := rapid.Int64Range(1, left[i].Quantity).Draw(rt, "pieces")
					left[i].Quantity -= n
					parts = append(parts, order.RefundPart{LineID: left[i].ID, Quantity: n})
				}
			}
			if len(parts) > 0 {
				v, err := d.Ask(t.Context(), o.ShopperID, o.No, "", Request{Type: kind, Reason: "x", Lines: parts})
				d.must(err)
				open = append(open, v)
			}
			if whole(left) {
				break
			}
		}
		var back model.Fen
		for _, v := range open { // in the order in which they were asked for
			said := v.AmountFen
			if kind == model.AftersaleReturn {
				v = d.does("approve", v, model.AftersaleApproved)
			}
			v, err := d.answers(verb, v)
			d.must(err)
			v = d.wechatSays(v, wechat.RefundSuccess)
			if v.AmountFen != said || v.State != model.AftersaleRefunded {
				rt.Fatalf("%d fen were said, %d given back; %s", said, v.AmountFen, v.State)
			}
			back += v.AmountFen
		}
		want := o.PayableFen
		if shipped {
			want -= o.FreightFen
		}
		if now := d.reload(o); back != want || now.RefundedFen != want {
			rt.Fatalf("%d of %d fen were given back, the order says %d", back, want, now.RefundedFen)
		}
		if !shipped && d.reload(o).State != model.OrderClosed {
			rt.Fatalf("the order is %s", d.reload(o).State)
		}
		for i, n := range d.stock(o) {
			if n != 10 && (!shipped || kind == model.AftersaleReturn) {
				rt.Fatalf("line %d: stock %d", i, n)
			}
		}
	})
	d.t = t
	d.audited()
}

// whole reports whether nothing is left to ask for.
func whole(left []model.OrderLine) bool {
	for _, l := range left {
		if l.Quantity > 0 {
			return false
		}
	}
	return true
}
