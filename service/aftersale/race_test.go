package aftersale

import (
	"context"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

const rounds = 6

// Of requests for the same last pieces, as many are taken as there are pieces.
func TestRaceOfTwoRequests(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		for range rounds {
			o := d.paid(0, 0, good{3, 50})
			made := 0
			for _, err := range together(6, func(i int) error {
				if i%3 == 2 { // and the merchant, for the same
					return second(d.orders.Refund(context.Background(), merchantID, o.No, "", order.RefundRequest{
						Reason: "缺货", Lines: []order.RefundPart{{LineID: d.lines(o)[0].ID, Quantity: 2}},
					}))
				}
				return second(d.tryAsk(o, model.AftersaleRefundOnly, 2))
			}) {
				if err == nil {
					made++
				} else {
					d.wantCode(err, fault.RefundTooMuch)
				}
			}
			if made != 1 {
				t.Errorf("%d times two of three pieces", made)
			}
		}
		d.audited()
	})
}

// race does both at once, many times, and returns how often each was done. Who comes second is told so.
func (d *desk) race(one, other string, ready func() *View) map[string]int {
	done := map[string]int{}
	for i := range rounds {
		v := ready()
		verbs := []string{one, other}
		if i%2 == 1 {
			verbs = []string{other, one}
		}
		won := 0
		for j, err := range together(2, func(j int) error { return second(d.answers(verbs[j], v)) }) {
			switch {
			case err == nil:
				done[verbs[j]]++
				won++
			case !fault.Is(err, fault.StaleVersion) && !fault.Is(err, fault.StateConflict):
				d.t.Errorf("%s: %v", verbs[j], err)
			}
		}
		if won != 1 {
			d.t.Errorf("%s × %s: %d were done", one, other, won)
		}
	}
	return done
}

func TestRaceOfApprovalAndWithdrawal(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		done := d.race("approve", "withdraw", func() *View { return d.ask(d.paid(0, 0, good{1, 50}), model.AftersaleRefundOnly, 1) })
		if n := d.number("SELECT COUNT(*) FROM refunds"); n != int64(done["approve"]) || done["approve"]+done["withdraw"] != rounds {
			t.Errorf("%v with %d refunds", done, n)
		}
		d.audited()
	})
}

func TestRaceOfReceiptAndRejection(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		done := d.race("receive", "reject", func() *View {
			o := d.paid(0, 0, good{1, 50})
			d.must(d.ship(o))
			return d.does("return", d.does("approve", d.ask(o, model.AftersaleReturn, 1), model.AftersaleApproved), model.AftersaleReturning)
		})
		if n := d.number("SELECT COUNT(*) FROM refunds"); n != int64(done["receive"]) {
			t.Errorf("%v with %d refunds", done, n)
		}
		d.audited()
	})
}

// Case T63: two admins approve at once, and WeChat's word comes twice at once.
func TestT63_TwoAdminsApprove(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		for range rounds {
			o := d.paid(0, 0, good{2, 50})
			v := d.ask(o, model.AftersaleRefundOnly, 1)
			won := 0
			for _, err := range together(4, func(int) error { return second(d.answers("approve", v)) }) {
				if err == nil {
					won++
				} else {
					d.wantCode(err, fault.StaleVersion)
				}
			}
			if n := d.number("SELECT COUNT(*) FROM refunds WHERE order_id = ?", o.ID); won != 1 || n != 1 {
				t.Errorf("%d approvals, %d refunds", won, n)
			}
			r := d.fresh(v).Refund
			for _, err := range together(4, func(int) error {
				return d.orders.RefundResult(context.Background(), wechat.Refund{OutRefundNo: r.OutRefundNo, Status: wechat.RefundSuccess, AmountRefund: 50, AmountTotal: 100})
			}) {
				d.must(err)
			}
			if v = d.fresh(v); v.State != model.AftersaleRefunded || v.Version != 3 || d.stock(o)[0] != 9 {
				t.Errorf("%+v, stock %v", v.Aftersale, d.stock(o))
			}
		}
		d.audited()
	})
}
