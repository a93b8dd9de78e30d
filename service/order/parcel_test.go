package order

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// parcelOf returns the id of the order's latest parcel.
func (tl *till) parcelOf(o *model.Order) int64 {
	return tl.number("SELECT MAX(id) FROM parcels WHERE order_id = ?", o.ID)
}

func (tl *till) change(o *model.Order, carrier, no string) error {
	return tl.ChangeParcel(context.Background(), merchantID, o.No, tl.parcelOf(o), "admin:1", ParcelChange{Carrier: carrier, TrackingNo: no})
}

// A parcel is corrected once WeChat has it; a second correction is refused before WeChat or the shop changes.
func TestOneCorrection(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		if err := tl.change(o, "YTO", "YT2"); err != nil { // WeChat has nothing yet
			t.Fatal(err)
		}
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=1 corrections=0", model.ParcelUploaded)
		if err := tl.change(o, "YTO", " YT2 "); err != nil || tl.upload(o).State != model.UploadDone {
			t.Errorf("nothing changed: %v, %+v", err, tl.upload(o))
		}
		if err := tl.change(o, "ZTO", "ZT3"); err != nil {
			t.Fatal(err)
		}
		tl.wantUpload(o, "waiting calls=0 corrections=0", model.ParcelWaiting)
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=1 corrections=1", model.ParcelUploaded)
		if got := tl.managed(o); got.Shipping.List[0].TrackingNo != "ZT3" || got.Shipping.List[0].Carrier != "ZTO" || !got.Corrected {
			t.Errorf("WeChat has %+v", got)
		}
		before := tl.reload(o)
		tl.wantCode(tl.change(o, "SF", "SF4"), fault.CorrectionUsed)
		if now := tl.reload(o); now.Version != before.Version || tl.number("SELECT COUNT(*) FROM parcels WHERE tracking_no = 'SF4'") != 0 {
			t.Error("a refused correction changed something")
		}
		if before.Version != o.Version+3 { // shipped, changed, corrected
			t.Errorf("version %d", before.Version)
		}
		tl.audited()
	})
}

// The answer to the correction is lost, and WeChat says to its repetition that the correction was used: by this very one.
func TestLostAnswerToTheCorrection(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		const path = "/wxa/sec/order/upload_shipping_info"
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.uploadNow(o)
		if err := tl.change(o, "YTO", "YT2"); err != nil {
			t.Fatal(err)
		}
		tl.silent(path, true)
		if got := tl.uploadNow(o); got.String() != "again" {
			t.Errorf("a lost answer: %s", got)
		}
		tl.fault(m{"path": path, "mode": "code", "code": 10060003})
		tl.advance(time.Second)
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=2 corrections=1", model.ParcelUploaded)
		tl.audited()
	})
}

// A parcel is corrected, the answer is lost, and the correction is taken back: whether WeChat took it nobody knows, so that what it
// has from before is uploaded again. Where it took the correction it takes no other, and the merchant sees that.
func TestCorrectionTakenBackAfterALostAnswer(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		corrected := func(mode string) (o *model.Order, up *upload) {
			o = tl.paid()
			tl.mustShip(o, parcel("YTO", "YT1"))
			tl.uploadNow(o)
			if err := tl.change(o, "YTO", "YT2"); err != nil {
				t.Fatal(err)
			}
			up, err := tl.claimUpload(t.Context(), o.ID, *tl.upload(o).NextAt)
			if err != nil {
				t.Fatal(err)
			}
			if mode == "taken" {
				err = tl.callUpload(t.Context(), up) // the answer is on its way
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := tl.change(o, "YTO", "YT1"); err != nil {
				t.Fatal(err)
			}
			return o, up
		}
		taken, late := corrected("taken")
		tl.uploadNow(taken)
		tl.wantUpload(taken, "refused calls=1 corrections=1", model.ParcelRefused)
		if u, got := tl.upload(taken), tl.managed(taken); !strings.Contains(u.Error, wechat.CodeCorrectionUsed) || got.Shipping.List[0].TrackingNo != "YT2" {
			t.Errorf("WeChat has %+v, the upload says %q", got, u.Error)
		}
		if err := tl.uploadTaken(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		tl.wantUpload(taken, "refused calls=1 corrections=1", model.ParcelRefused)

		lost, late := corrected("lost")
		before := tl.line.calls("upload")
		tl.line.onceAfter("upload", func(error) error { return &wechat.Error{Kind: wechat.KindUnknown} })
		if got := tl.uploadNow(lost); got.String() != "again" { // the answer to what is called with now is lost as well
			t.Errorf("a lost answer: %s", got)
		}
		tl.advance(time.Second)
		tl.uploadNow(lost)
		if n := tl.line.calls("upload") - before; n != 2 {
			t.Errorf("%d calls", n)
		}
		tl.wantUpload(lost, "uploaded calls=2 corrections=0", model.ParcelUploaded)
		if err := tl.uploadTaken(t.Context(), late); err != nil { // overtaken
			t.Fatal(err)
		}
		tl.wantUpload(lost, "uploaded calls=2 corrections=0", model.ParcelUploaded)
		if got := tl.managed(lost); got.Uploads != 1 || got.Shipping.List[0].TrackingNo != "YT1" {
			t.Errorf("WeChat has %+v", got)
		}
		tl.audited()
	})
}

// The shop does not know of a correction that WeChat counts, as one made in WeChat's console: its word is terminal, shown, and the
// shop's own state stays.
// Case S03.
func TestS03_CorrectionThatWeChatRefuses(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.uploadNow(o)
		if err := tl.change(o, "YTO", "YT2"); err != nil {
			t.Fatal(err)
		}
		tl.fault(m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "code", "code": 10060003})
		if got := tl.uploadNow(o); got.String() != "done" {
			t.Errorf("%s: %v", got, got.Err())
		}
		tl.wantUpload(o, "refused calls=1 corrections=1", model.ParcelRefused)
		u, d := tl.upload(o), tl.reload(o)
		if u.NextAt != nil || !strings.Contains(u.Error, wechat.CodeCorrectionUsed) || d.State != model.OrderShipped {
			t.Errorf("upload %+v of an order that is %s", u, d.State)
		}
		if tl.number("SELECT COUNT(*) FROM parcels WHERE order_id = ? AND tracking_no = 'YT2'", o.ID) != 1 {
			t.Error("the parcel is not as the merchant said")
		}
		tl.wantCode(tl.change(o, "YTO", "YT3"), fault.CorrectionUsed)
		rows, n, err := tl.Uploads(t.Context(), UploadFilter{MerchantID: merchantID, State: model.UploadRefused}, store.Page{Number: 1, Limit: 20})
		if err != nil || n != 1 || rows[0].OrderNo != o.No {
			t.Errorf("refused uploads: %+v, %d, %v", rows, n, err)
		}
		tl.audited()
	})
}

// A list of uploads that is read by cursor has each once, also where orders were shipped in the same millisecond.
func TestUploadsByCursor(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		var want []string
		for i := range 5 {
			o := tl.paid()
			tl.mustShip(o, parcel("YTO", "YT1"))
			want = append([]string{o.No}, want...)
			if i%2 == 1 {
				tl.advance(time.Second)
			}
		}
		f := UploadFilter{MerchantID: merchantID, State: model.UploadWaiting}
		var got []string
		for after := new(store.Cursor); after != nil; {
			rows, next, err := tl.UploadsAfter(t.Context(), f, *after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				got = append(got, r.OrderNo)
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("by cursor %v, want %v", got, want)
		}
		if rows, _, err := tl.UploadsAfter(t.Context(), UploadFilter{MerchantID: merchantID + 1, State: model.UploadWaiting}, store.Cursor{}, 2); err != nil || len(rows) != 0 {
			t.Errorf("another merchant reads %v, %v", rows, err)
		}
	})
}

// "Shipped already" is no answer to a correction: WeChat is asked what it has.
func TestCorrectionOfWhatIsShippedAlready(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		fault := m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "code", "code": 10060002}
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.uploadNow(o)
		if err := tl.change(o, "YTO", "YT2"); err != nil {
			t.Fatal(err)
		}
		tl.fault(fault)
		tl.uploadNow(o)
		tl.wantUpload(o, "refused calls=1 corrections=0", model.ParcelRefused)
		if err := tl.RetryUpload(t.Context(), merchantID, o.No); err != nil {
			t.Fatal(err)
		}
		tl.wantUpload(o, "waiting calls=0 corrections=0", model.ParcelWaiting)
		tl.silent("/wxa/sec/order/upload_shipping_info", true) // taken, and the answer lost
		tl.uploadNow(o)
		tl.advance(time.Second)
		tl.fault(fault)
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=2 corrections=1", model.ParcelUploaded)
		if got := tl.managed(o); got.Uploads != 2 || got.Shipping.List[0].TrackingNo != "YT2" {
			t.Errorf("WeChat has %+v", got)
		}
		tl.audited()
	})
}

func TestParcelsThatCannotBeChanged(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		id := tl.parcelOf(o)
		ctx := t.Context()
		tl.wantCode(tl.ChangeParcel(ctx, merchantID+1, o.No, id, "admin:1", ParcelChange{Carrier: "YTO", TrackingNo: "1"}), fault.NotFoundError)
		tl.wantCode(tl.ChangeParcel(ctx, merchantID, o.No, id+1000, "admin:1", ParcelChange{Carrier: "YTO", TrackingNo: "1"}), fault.NotFoundError)
		other := tl.paid()
		tl.mustShip(other, ShipmentParcel{Delivery: model.DeliveryPickup})
		tl.wantCode(tl.ChangeParcel(ctx, merchantID, o.No, tl.parcelOf(other), "admin:1", ParcelChange{Carrier: "YTO", TrackingNo: "1"}), fault.NotFoundError)
		tl.wantCode(tl.change(other, "YTO", "1"), fault.StateConflict)
		tl.wantCode(tl.change(o, "NOBODY", "1"), fault.ValidationFailed)
		tl.wantCode(tl.change(o, "YTO", " "), fault.ValidationFailed)
		tl.wantCode(tl.ChangeParcel(ctx, merchantID, o.No, id, "admin:1", ParcelChange{Carrier: "YTO", TrackingNo: "2", Version: 2}), fault.StaleVersion)
		changed := 0
		for _, err := range together(8, func(i int) error {
			return tl.ChangeParcel(context.Background(), merchantID, o.No, id, "admin:1", ParcelChange{Carrier: "YTO", TrackingNo: fmt.Sprint("YT", 2+i), Version: 3})
		}) {
			if err == nil {
				changed++
			} else {
				tl.wantCode(err, fault.StaleVersion)
			}
		}
		if changed != 1 {
			t.Errorf("changed %d times from one version", changed)
		}
		if _, err := tl.Confirm(ctx, o.ShopperID, o.No); err != nil {
			t.Fatal(err)
		}
		tl.wantCode(tl.change(o, "YTO", "YT99"), fault.OrderState)
		tl.wantCode(tl.RetryUpload(ctx, merchantID+1, o.No), fault.NotFoundError)
		tl.wantCode(tl.RetryUpload(ctx, merchantID, tl.paid().No), fault.StateConflict)
		tl.uploadNow(o)
		tl.wantCode(tl.RetryUpload(ctx, merchantID, o.No), fault.StateConflict)
		tl.audited()
	})
}

// The phone says that the shopper confirmed in WeChat's component; WeChat is asked.
func TestConfirmedAtWeChat(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		confirm := func(o *model.Order) error {
			_, err := tl.ConfirmAtWeChat(context.Background(), o.ShopperID, o.No)
			return err
		}
		o := tl.paid()
		tl.wantCode(confirm(o), fault.OrderState)
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.wantCode(confirm(o), fault.ReceiptUnconfirmed) // WeChat does not even know that it is shipped
		tl.uploadNow(o)
		tl.wantCode(confirm(o), fault.ReceiptUnconfirmed)
		_, err := tl.ConfirmAtWeChat(t.Context(), tl.buyer(), o.No)
		tl.wantCode(err, fault.NotFoundError)
		v, err := tl.Get(t.Context(), o.ShopperID, o.No)
		if err != nil || v.TransactionID != tl.word(o.No+"-1").TransactionID {
			t.Errorf("the shopper sees the transaction %q, %v", v.TransactionID, err)
		}
		for state, move := range map[int]string{3: "confirm", 6: "confirm", 4: "settle"} {
			o := tl.paid()
			tl.mustShip(o, parcel("YTO", "YT1"))
			tl.uploadNow(o)
			var reply m
			status := tl.control("POST", "/sandbox/shipping/"+o.No+"-1/"+move, m{"unsettled": state == 6, "push": 0}, &reply)
			if status != 200 || reply["order_state"] != float64(state) {
				t.Fatalf("%s: %d %v", move, status, reply)
			}
			tl.fault(m{"path": "/wxa/sec/order/get_order", "mode": "reset"})
			tl.wantCode(confirm(o), fault.WeChatUnavailable)
			for _, err := range together(4, func(int) error { return confirm(o) }) {
				if err != nil {
					t.Error(err)
				}
			}
			if now := tl.reload(o); now.State != model.OrderCompleted || now.Version != o.Version+2 {
				t.Errorf("order is %s, version %d", now.State, now.Version)
			}
		}
		tl.settings(m{"shipping_lag": true})
		tl.wantCode(confirm(o), fault.ReceiptUnconfirmed)
		tl.audited()
	})
}

// WeChat's order centre opens an order by the number of whichever attempt it shows; nobody else's.
func TestEveryAttemptOpensItsOrder(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		tl.open(o)
		if _, err := tl.Reprice(t.Context(), merchantID, o.No, "admin:1", Repricing{AdjustFen: -10, Version: 1}); err != nil {
			t.Fatal(err)
		}
		tl.open(o)
		numbers := tl.attempts(o)
		if len(numbers) != 2 {
			t.Fatalf("%d attempts, want 2", len(numbers))
		}
		for _, a := range numbers {
			if v, err := tl.GetByTradeNo(t.Context(), o.ShopperID, a.OutTradeNo); err != nil || v.ID != o.ID {
				t.Errorf("%s: %+v, %v", a.OutTradeNo, v, err)
			}
			_, err := tl.GetByTradeNo(t.Context(), tl.buyer(), a.OutTradeNo)
			tl.wantCode(err, fault.NotFoundError)
		}
		_, err := tl.GetByTradeNo(t.Context(), o.ShopperID, o.No+"-3")
		tl.wantCode(err, fault.NotFoundError)
	})
}
