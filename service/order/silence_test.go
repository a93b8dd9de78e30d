package order

import (
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
)

// While WeChat is silent a task stays the one that it was: the timeout module counts its rounds by its deadline, and makes the pauses
// longer, up to 30 s. A column that moved on made a task of every round, which began with the shortest pause again.
func TestSilenceIsTheSameTasksForAsLongAsItLasts(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		rounds := func(kind string, id int64, due model.Time) {
			t.Helper()
			for range 3 {
				tl.advance(time.Second)
				if got := tl.run(kind, id, due); got.String() != "again" {
					t.Errorf("%s: %s", kind, got)
				}
			}
		}
		down := func(path string) { tl.fault(m{"path": path, "mode": "status", "count": 3}) }

		o := tl.unpaid()
		tl.open(o)
		down("/v3/pay/transactions/out-trade-no/" + o.No + "-1")
		tl.toDeadline(o)
		tl.run(KindPay, o.ID, o.PayDeadline)
		rounds(KindClosing, o.ID, *tl.reload(o).ClosingNextAt)

		shipped := tl.paid()
		tl.mustShip(shipped, parcel("YTO", "YT1"))
		down("/wxa/sec/order/upload_shipping_info")
		rounds(KindUpload, shipped.ID, *tl.upload(shipped).NextAt)

		r := tl.refund(tl.paid())
		down("/v3/refund/domestic/refunds")
		down("/v3/refund/domestic/refunds/" + r.OutRefundNo)
		tl.advance(refundStart)
		rounds(KindRefund, r.ID, *tl.refundNow(r.ID).NextAt)
	})
}
