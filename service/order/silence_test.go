package order

import (
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
)

// rounds has a task run three times, a second apart, with the same outcome.
func (tl *till) rounds(kind string, id int64, due model.Time, want string) {
	tl.t.Helper()
	for range 3 {
		tl.advance(time.Second)
		if got := tl.run(kind, id, due); got.String() != want {
			tl.t.Errorf("%s: %s, %v; want %s", kind, got, got.Err(), want)
		}
	}
}

// While WeChat is silent a task stays the one that it was: the timeout module counts its rounds by its deadline, and makes the pauses
// longer, up to 30 s. A column that moved on made a task of every round, which began with the shortest pause again.
func TestSilenceIsTheSameTasksForAsLongAsItLasts(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		again := func(kind string, id int64, due model.Time) { t.Helper(); tl.rounds(kind, id, due, "again") }
		down := func(path string) { tl.fault(m{"path": path, "mode": "status", "count": 3}) }

		o := tl.unpaid()
		tl.open(o)
		down("/v3/pay/transactions/out-trade-no/" + o.No + "-1")
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		again(KindClosing, o.ID, *tl.reload(o).ClosingNextAt)

		shipped := tl.paid()
		tl.mustShip(shipped, parcel("YTO", "YT1"))
		down("/wxa/sec/order/upload_shipping_info")
		again(KindUpload, shipped.ID, *tl.upload(shipped).NextAt)

		r := tl.refund(tl.paid())
		down("/v3/refund/domestic/refunds")
		down("/v3/refund/domestic/refunds/" + r.OutRefundNo)
		tl.advance(refundStart)
		due := *tl.refundNow(r.ID).NextAt
		again(KindRefund, r.ID, due)

		// The answer behind the silence is the first one: WeChat is asked again as soon as after any other.
		tl.control("DELETE", "/sandbox/faults", nil, nil)
		tl.run(KindRefund, r.ID, due)
		if got := tl.refundNow(r.ID); got.State != model.RefundProcessing || got.Calls != 4 || *got.NextAt != tl.Now().Add(3*time.Second) {
			t.Errorf("refund %+v, asked about next in %v", got, got.NextAt.Sub(tl.Now()))
		}
	})
}

// A task that fails each time stays the one that it was, too: the timeout module counts its failures by its deadline, and it is dead
// after the fifth. A column that stayed where the claim had put it made a task without failures of every round. Case T06.
func TestFailedTaskIsTheSame(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		fails := func(kind string, id int64, due model.Time) { t.Helper(); tl.rounds(kind, id, due, "failed") }
		poison := func(o *model.Order) {
			tl.exec("UPDATE order_lines SET sku_id = sku_id + 424242 WHERE order_id = ?", o.ID)
		}
		mend := func(o *model.Order) {
			tl.exec("UPDATE order_lines SET sku_id = sku_id - 424242 WHERE order_id = ?", o.ID)
		}

		o := tl.unpaid()
		tl.open(o)
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		due := *tl.reload(o).ClosingNextAt
		poison(o)
		fails(KindClosing, o.ID, due)
		if now := tl.reload(o); *now.ClosingNextAt != due || now.ClaimToken != "" || now.ClosingReason == nil || now.ClosingNote != "" {
			t.Errorf("the order %+v", now)
		}
		mend(o)
		tl.run(KindClosing, o.ID, due)
		tl.want(o, "closed/timeout stock=10 coupon=available")

		o = tl.paid()
		r := tl.refund(o)
		tl.called()
		tl.bankSays(r.OutRefundNo, "SUCCESS")
		due = *tl.refundNow(r.ID).NextAt
		tl.advance(time.Minute)
		poison(o)
		fails(KindRefund, r.ID, due)
		mend(o)
		tl.run(KindRefund, r.ID, due)
		tl.want(o, "closed/refunded stock=10 coupon=available")

		shipped := tl.paid()
		tl.mustShip(shipped, parcel("YTO", "YT1"))
		due = *tl.upload(shipped).NextAt
		for range 3 {
			tl.line.onceAfter("upload", func(err error) error {
				tl.exec("ALTER TABLE parcels RENAME TO lost")
				return err
			})
			tl.advance(time.Second)
			if got := tl.run(KindUpload, shipped.ID, due); got.String() != "failed" {
				t.Errorf("upload: %s, %v", got, got.Err())
			}
			tl.exec("ALTER TABLE lost RENAME TO parcels")
		}
		tl.run(KindUpload, shipped.ID, due)
		tl.wantUpload(shipped, "uploaded calls=4 corrections=0", model.ParcelUploaded)
		tl.audited()
	})
}
