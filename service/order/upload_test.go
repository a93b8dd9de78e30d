package order

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// managed is an order as WeChat's shipping management believes it to be.
type managed struct {
	State     int `json:"order_state"`
	Uploads   int
	Corrected bool
	Shipping  struct {
		Mode      int  `json:"delivery_mode"`
		Logistics int  `json:"logistics_type"`
		Finished  bool `json:"finish_shipping"`
		List      []struct {
			TrackingNo string `json:"tracking_no"`
			Carrier    string `json:"express_company"`
			Desc       string `json:"goods_desc"`
			Contact    struct {
				Receiver string `json:"receiver_contact"`
			}
		} `json:"shipping_list"`
	}
	LastUpload json.RawMessage `json:"last_upload"`
}

// managed asks WeChat's shipping management for the order.
func (tl *till) managed(o *model.Order) managed {
	tl.t.Helper()
	var reply struct{ List []managed }
	if status := tl.control("GET", "/sandbox/shipping?out_trade_no="+o.No+"-1", nil, &reply); status != 200 || len(reply.List) != 1 {
		tl.t.Fatalf("shipping of %s: %d %+v", o.No, status, reply)
	}
	return reply.List[0]
}

func (tl *till) upload(o *model.Order) *model.ShippingUpload {
	tl.t.Helper()
	u, err := uploadOf(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil || u == nil {
		tl.t.Fatalf("upload of %s: %+v, %v", o.No, u, err)
	}
	return u
}

// uploadNow runs the upload task of the order, which must be due, and returns its outcome.
func (tl *till) uploadNow(o *model.Order) timeout.Outcome {
	tl.t.Helper()
	u := tl.upload(o)
	if u.NextAt == nil || *u.NextAt > tl.Now() {
		tl.t.Fatalf("the upload of %s is not due: %+v", o.No, u)
	}
	return tl.run(KindUpload, o.ID, *u.NextAt)
}

// wantUpload fails unless the upload of the order is "state calls corrections", and its parcels are in these states.
func (tl *till) wantUpload(o *model.Order, want string, parcels ...model.ParcelState) {
	tl.t.Helper()
	u := tl.upload(o)
	if got := fmt.Sprintf("%s calls=%d corrections=%d", u.State, u.Calls, u.Corrections); got != want {
		tl.t.Errorf("upload is %q (%s), want %q", got, u.Error, want)
	}
	var got []model.ParcelState
	if err := tl.Store.Read(tl.t.Context()).Model(&model.Parcel{}).Where("order_id = ?", o.ID).Order("id").Pluck("state", &got).Error; err != nil {
		tl.t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(parcels) {
		tl.t.Errorf("parcels are %v, want %v", got, parcels)
	}
}

// mustShip ships or fails the test.
func (tl *till) mustShip(o *model.Order, parcels ...ShipmentParcel) {
	tl.t.Helper()
	if err := tl.ship(o, parcels...); err != nil {
		tl.t.Fatal(err)
	}
}

// restock makes the SKU one that had so many pieces from the start; nothing of it was sold yet.
func (tl *till) restock(n int64) {
	tl.t.Helper()
	tl.exec("UPDATE skus SET stock = ? WHERE id = ?", n, tl.sku)
	tl.exec("UPDATE stock_ledger SET delta = ? WHERE sku_id = ?", n, tl.sku)
}

// addressed gives an order the address that goods without delivery lack.
func (tl *till) addressed(o *model.Order) *model.Order {
	tl.t.Helper()
	raw, err := json.Marshal(model.OrderAddress{Name: "张三", Phone: "138 0000-0000", Province: "浙江省", City: "杭州市", Detail: "文三路 1 号"})
	if err != nil {
		tl.t.Fatal(err)
	}
	tl.exec("UPDATE orders SET address = ? WHERE id = ?", string(raw), o.ID)
	return tl.reload(o)
}

// bought is a paid order of so many pieces of 50 fen, and its line.
func (tl *till) bought(n int64) (*model.Order, model.OrderLine) {
	tl.t.Helper()
	me := tl.buyer()
	tl.exec("UPDATE skus SET price_fen = 50 WHERE id = ?", tl.sku)
	o, err := tl.Place(tl.t.Context(), me, tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: n}))
	if err != nil {
		tl.t.Fatal(err)
	}
	tl.phone(tl.open(o))
	if err := tl.callback(o.No + "-1"); err != nil {
		tl.t.Fatal(err)
	}
	l, err := lines(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil {
		tl.t.Fatal(err)
	}
	return tl.reload(o), l[0]
}

func parcel(carrier, no string, lines ...RefundPart) ShipmentParcel {
	return ShipmentParcel{Delivery: model.DeliveryExpress, Carrier: carrier, TrackingNo: no, Lines: lines}
}

// The upload follows the shipping by itself, once, and says what WeChat wants to know.
func TestUploadFollowsShipping(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.addressed(tl.paid())
		tl.mustShip(o, parcel("SF", "SF1234567890"))
		if tasks := tl.scheduled(); tasks[len(tasks)-1].Kind != KindUpload {
			t.Errorf("the last task is %+v, want the upload", tasks[len(tasks)-1])
		}
		tl.wantUpload(o, "waiting calls=0 corrections=0", model.ParcelWaiting)
		if got := tl.uploadNow(o); got.String() != "done" {
			t.Errorf("%s: %v", got, got.Err())
		}
		tl.wantUpload(o, "uploaded calls=1 corrections=0", model.ParcelUploaded)
		got := tl.managed(o)
		if got.State != 2 || got.Shipping.Mode != 1 || got.Shipping.Logistics != 1 || len(got.Shipping.List) != 1 {
			t.Fatalf("WeChat has %+v", got)
		}
		p := got.Shipping.List[0]
		if p.Carrier != "SF" || p.TrackingNo != "SF1234567890" || !strings.HasPrefix(p.Desc, "商品") || !strings.HasSuffix(p.Desc, "*1") {
			t.Errorf("WeChat has the parcel %+v", p)
		}
		if strings.Contains(string(got.LastUpload), "0000-0000") || p.Contact.Receiver != "138****0000" {
			t.Errorf("the receiver's phone went out as %q", p.Contact.Receiver)
		}
		if due := tl.due(KindUpload); len(due) != 0 {
			t.Errorf("still due: %+v", due)
		}
		tl.audited()
	})
}

// The answer to the upload is lost, or the process with it: it is uploaded again, WeChat says that it has it, and it has it once.
// Cases S01, S02.
func TestS01_S02_LostAnswers(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("ZTO", "ZT1"))
		tl.silent("/wxa/sec/order/upload_shipping_info", true)
		if got := tl.uploadNow(o); got.String() != "again" {
			t.Errorf("a lost answer: %s", got)
		}
		if u := tl.upload(o); u.State != model.UploadWaiting || u.Error == "" {
			t.Errorf("upload %+v", u)
		}
		tl.advance(time.Second)
		tl.uploadNow(o) // 10060023
		tl.wantUpload(o, "uploaded calls=2 corrections=0", model.ParcelUploaded)

		killed := tl.paid()
		tl.mustShip(killed, parcel("ZTO", "ZT2"))
		up, err := tl.claimUpload(t.Context(), killed.ID, *tl.upload(killed).NextAt)
		if err != nil {
			t.Fatal(err)
		}
		if err := tl.callUpload(t.Context(), up); err != nil { // and the process is gone
			t.Fatal(err)
		}
		if got := tl.run(KindUpload, killed.ID, tl.Now()); got.String() != "reschedule" {
			t.Errorf("while another has it: %s", got)
		}
		tl.advance(uploadCall)
		tl.uploadNow(killed)
		tl.wantUpload(killed, "uploaded calls=2 corrections=0", model.ParcelUploaded)

		already := tl.paid()
		tl.mustShip(already, parcel("ZTO", "ZT3"))
		tl.fault(m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "code", "code": 10060002})
		tl.uploadNow(already)
		tl.wantUpload(already, "uploaded calls=1 corrections=0", model.ParcelUploaded)
		for _, o := range []*model.Order{o, killed} {
			if got := tl.managed(o); got.Uploads != 1 || got.Corrected {
				t.Errorf("WeChat took %d uploads, corrected: %v", got.Uploads, got.Corrected)
			}
		}
		tl.audited()
	})
}

// The answer to an upload is lost, and before it is made again the whole order is refunded: WeChat takes no more uploads then, but
// has this one.
func TestUploadLostAndRefunded(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("ZTO", "ZT1"))
		tl.silent("/wxa/sec/order/upload_shipping_info", true)
		if got := tl.uploadNow(o); got.String() != "again" {
			t.Errorf("a lost answer: %s", got)
		}
		tl.run(KindRefund, tl.refund(o).ID, tl.Now().Add(refundStart))
		tl.advance(time.Second)
		tl.uploadNow(o) // 10060004
		tl.wantUpload(o, "uploaded calls=2 corrections=0", model.ParcelUploaded)

		never := tl.paid()
		tl.mustShip(never, parcel("ZTO", "ZT2"))
		tl.run(KindRefund, tl.refund(never).ID, tl.Now().Add(refundStart))
		tl.uploadNow(never)
		tl.wantUpload(never, "refused calls=1 corrections=0", model.ParcelRefused)
		tl.audited()
	})
}

// WeChat is down while the order is shipped: shipping does not wait, the upload goes out when WeChat is back.
// Cases S12, T71.
func TestS12_T71_WeChatDownWhileShipping(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.fault(m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "reset", "count": 3})
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.want(o, "shipped stock=9 coupon=used")
		for range 3 {
			if got := tl.uploadNow(o); got.String() != "again" {
				t.Errorf("WeChat is down: %s", got)
			}
			tl.advance(time.Second)
		}
		tl.wantUpload(o, "waiting calls=3 corrections=0", model.ParcelWaiting)
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=4 corrections=0", model.ParcelUploaded)
		if got := tl.managed(o); got.Uploads != 1 {
			t.Errorf("WeChat took %d uploads", got.Uploads)
		}
		tl.audited()
	})
}

// What may yet be taken is called again, later and later; WeChat's order may lag the payment, but not for days.
func TestUploadsThatAreTriedAgain(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		long := uploadPauses[len(uploadPauses)-1]
		for code, pause := range map[int]time.Duration{-1: long, 10060012: long, 10060019: long, 45009: uploadMended, 48001: uploadMended} {
			o := tl.paid()
			tl.mustShip(o, parcel("YTO", "YT1"))
			tl.advance(2 * uploadGiveUp)
			tl.fault(m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "code", "code": code})
			if got := tl.uploadNow(o); got.String() != "reschedule" {
				t.Errorf("%d: %s", code, got)
			}
			tl.wantUpload(o, "waiting calls=1 corrections=0", model.ParcelWaiting)
			tl.advance(pause - time.Millisecond)
			if u := tl.upload(o); *u.NextAt <= tl.Now() {
				t.Errorf("%d: called again before %v", code, pause)
			}
			tl.advance(time.Millisecond)
			tl.uploadNow(o)
			tl.wantUpload(o, "uploaded calls=2 corrections=0", model.ParcelUploaded)
		}
		tl.settings(m{"shipping_lag": true})
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.uploadNow(o)
		tl.wantUpload(o, "waiting calls=1 corrections=0", model.ParcelWaiting)
		if next := *tl.upload(o).NextAt; next != tl.Now().Add(uploadPauses[0]) {
			t.Errorf("the first pause is %v", next.Sub(tl.Now()))
		}
		tl.advance(uploadGiveUp + time.Second)
		tl.uploadNow(o)
		tl.wantUpload(o, "refused calls=2 corrections=0", model.ParcelRefused)
		tl.want(o, "shipped stock=4 coupon=used")
		if u := tl.upload(o); !strings.Contains(u.Error, wechat.CodeShippingNoPay) || u.NextAt != nil {
			t.Errorf("upload %+v", u)
		}
		tl.audited()
	})
}

// The parcels of a shipment that names no lines: WeChat wants to be told what is in each, and is told what is in all of them.
func TestUploadOfParcelsWithoutLines(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		tl.mustShip(o, parcel("YTO", "YT1", RefundPart{l.ID, 1}))
		tl.advance(time.Minute)
		tl.mustShip(o, parcel("YTO", "YT2"), parcel("ZTO", "ZT3"))
		tl.uploadNow(o)
		tl.wantUpload(o, "uploaded calls=1 corrections=0", model.ParcelUploaded, model.ParcelUploaded, model.ParcelUploaded)
		got := tl.managed(o).Shipping.List
		if len(got) != 3 {
			t.Fatalf("WeChat has %+v", got)
		}
		for i, pieces := range []string{"*1", "*2", "*2"} {
			if !strings.HasSuffix(got[i].Desc, pieces) {
				t.Errorf("parcel %d is said to have %q", i, got[i].Desc)
			}
		}
		tl.audited()
	})
}

// Codes that no further call would change end the upload, visibly; the order stays shipped.
func TestUploadsThatWeChatRefuses(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, code := range []int{10060004, 10060031, 10060014, 268485226} {
			o := tl.paid()
			tl.mustShip(o, parcel("YTO", "YT1"))
			tl.fault(m{"path": "/wxa/sec/order/upload_shipping_info", "mode": "code", "code": code})
			if got := tl.uploadNow(o); got.String() != "done" {
				t.Errorf("%d: %s", code, got)
			}
			tl.wantUpload(o, "refused calls=1 corrections=0", model.ParcelRefused)
			if now := tl.reload(o); now.State != model.OrderShipped || !strings.Contains(tl.upload(o).Error, fmt.Sprint(code)) {
				t.Errorf("%d: order is %s, upload says %q", code, now.State, tl.upload(o).Error)
			}
		}
		tl.audited()
	})
}

// Case S04.
func TestS04_SFWithoutThePhone(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.exec("UPDATE orders SET address = NULL WHERE id = ?", o.ID) // goods that need no delivery
		tl.mustShip(o, parcel("SF", "SF1"))
		before := tl.line.calls("upload")
		tl.uploadNow(o)
		tl.wantUpload(o, "refused calls=0 corrections=0", model.ParcelRefused)
		if !strings.Contains(tl.upload(o).Error, "phone") || tl.line.calls("upload") != before || tl.managed(o).Uploads != 0 {
			t.Errorf("upload says %q after %d calls", tl.upload(o).Error, tl.line.calls("upload")-before)
		}
		tl.want(o, "shipped stock=9 coupon=used")
		tl.audited()
	})
}

// The parcels of one order are 15 at most, also in several shipments.
// Case S05.
func TestS05_SixteenParcelsInTwoShipments(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.restock(30)
		o, l := tl.bought(16)
		parcels := make([]ShipmentParcel, 15)
		for i := range parcels {
			parcels[i] = parcel("YTO", fmt.Sprint("YT", i), RefundPart{l.ID, 1})
		}
		tl.mustShip(o, parcels[:14]...)
		wrong := tl.ship(o, parcels[:2]...)
		if wrong == nil || tl.number("SELECT COUNT(*) FROM parcels WHERE order_id = ?", o.ID) != 14 {
			t.Errorf("a sixteenth parcel: %v", wrong)
		}
		tl.mustShip(o, parcel("YTO", "YT99", RefundPart{l.ID, 2}))
		tl.uploadNow(o)
		if got := tl.managed(o); len(got.Shipping.List) != 15 || got.Shipping.Mode != 2 || !got.Shipping.Finished || got.Uploads != 1 {
			t.Errorf("WeChat has %+v", got)
		}
		tl.audited()
	})
}

// A shipment in parts is uploaded as it goes; the last one says that nothing follows, also when the rest was refunded.
// Case T71.
func TestT71_SplitShipments(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		tl.mustShip(o, parcel("YTO", "YT1", RefundPart{l.ID, 1}))
		tl.uploadNow(o)
		if got := tl.managed(o); got.State != 1 || got.Shipping.Mode != 2 || got.Shipping.Finished || len(got.Shipping.List) != 1 {
			t.Errorf("WeChat has %+v", got)
		}
		tl.mustShip(o, parcel("ZTO", "ZT1", RefundPart{l.ID, 2}))
		tl.wantUpload(o, "waiting calls=0 corrections=0", model.ParcelUploaded, model.ParcelWaiting)
		tl.uploadNow(o)
		got := tl.managed(o)
		if got.State != 2 || !got.Shipping.Finished || len(got.Shipping.List) != 2 || got.Corrected || !strings.HasSuffix(got.Shipping.List[1].Desc, "*2") {
			t.Errorf("WeChat has %+v", got)
		}
		tl.wantUpload(o, "uploaded calls=1 corrections=0", model.ParcelUploaded, model.ParcelUploaded)

		rest, l := tl.three()
		tl.mustShip(rest, parcel("YTO", "YT2", RefundPart{l.ID, 2}))
		tl.uploadNow(rest)
		tl.refund(rest, RefundPart{l.ID, 1})
		tl.refunded(rest)
		if now := tl.reload(rest); now.State != model.OrderShipped {
			t.Fatalf("order is %s", now.State)
		}
		tl.tick()
		if got := tl.managed(rest); got.State != 2 || got.Uploads != 2 || !got.Shipping.Finished || len(got.Shipping.List) != 1 || got.Corrected {
			t.Errorf("WeChat has %+v", got)
		}
		tl.wantUpload(rest, "uploaded calls=1 corrections=0", model.ParcelUploaded)

		picked, l := tl.three() // pick-up cannot be uploaded in parts
		tl.mustShip(picked, ShipmentParcel{Delivery: model.DeliveryPickup, Lines: []RefundPart{{l.ID, 1}}})
		tl.uploadNow(picked)
		tl.wantUpload(picked, "waiting calls=0 corrections=0", model.ParcelWaiting)
		tl.mustShip(picked, ShipmentParcel{Delivery: model.DeliveryPickup})
		tl.uploadNow(picked)
		if got := tl.managed(picked); got.State != 2 || got.Shipping.Logistics != 4 || got.Shipping.Mode != 1 || !strings.HasSuffix(got.Shipping.List[0].Desc, "*3") {
			t.Errorf("WeChat has %+v", got)
		}
		tl.wantUpload(picked, "uploaded calls=1 corrections=0", model.ParcelUploaded, model.ParcelUploaded)
		tl.audited()
	})
}

// A part sent and the rest picked up: WeChat takes one way for an order, so the parcels stand for the whole.
func TestUploadOfTwoWays(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for _, first := range []model.Delivery{model.DeliveryExpress, model.DeliveryPickup} {
			o, l := tl.three()
			sent, picked := parcel("YTO", "YT1"), ShipmentParcel{Delivery: model.DeliveryPickup}
			parcels := []ShipmentParcel{sent, picked}
			if first == model.DeliveryPickup {
				parcels = []ShipmentParcel{picked, sent}
			}
			parcels[0].Lines = []RefundPart{{l.ID, 1}}
			for _, p := range parcels {
				tl.mustShip(o, p)
				tl.uploadNow(o)
			}
			got := tl.managed(o)
			if got.State != 2 || got.Shipping.Logistics != 1 || !got.Shipping.Finished || len(got.Shipping.List) != 1 || got.Corrected {
				t.Errorf("%s first: WeChat has %+v", first, got)
			}
			tl.wantUpload(o, "uploaded calls=1 corrections=0", model.ParcelUploaded, model.ParcelUploaded)
		}
		tl.audited()
	})
}

// Where every upload after the first is a correction, WeChat refuses the third: the merchant sees it, and ships on.
func TestSplitShipmentsWhereEveryUploadCounts(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.settings(m{"shipping_split_counts": true})
		o, l := tl.three()
		for i := range 3 {
			tl.mustShip(o, parcel("YTO", fmt.Sprint("YT", i), RefundPart{l.ID, 1}))
			tl.uploadNow(o)
		}
		tl.wantUpload(o, "refused calls=1 corrections=1", model.ParcelUploaded, model.ParcelUploaded, model.ParcelRefused)
		if now := tl.reload(o); now.State != model.OrderShipped || !strings.Contains(tl.upload(o).Error, wechat.CodeCorrectionUsed) {
			t.Errorf("order is %s, upload says %q", now.State, tl.upload(o).Error)
		}
		tl.audited()
	})
}

// Case S14.
func TestS14_WhatIsNotTracked(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for delivery, logistics := range map[model.Delivery]int{model.DeliverySameCity: 2, model.DeliveryVirtual: 3, model.DeliveryPickup: 4} {
			o := tl.paid()
			tl.mustShip(o, ShipmentParcel{Delivery: delivery})
			tl.uploadNow(o)
			got := tl.managed(o)
			if got.State != 2 || got.Shipping.Logistics != logistics || got.Shipping.Mode != 1 || len(got.Shipping.List) != 1 ||
				got.Shipping.List[0].TrackingNo+got.Shipping.List[0].Carrier != "" {
				t.Errorf("%s: WeChat has %+v", delivery, got)
			}
		}
		tl.audited()
	})
}

// Case S15, and an order that cost nothing.
func TestS15_NothingToUpload(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.refund(o)
		tl.refunded(o)
		if err := tl.ship(o, parcel("YTO", "YT1")); err == nil {
			t.Error("a refunded order was shipped")
		}
		if tl.number("SELECT COUNT(*) FROM shipping_uploads WHERE id = ?", o.ID) != 0 || tl.managed(o).Uploads != 0 {
			t.Error("a refunded order has an upload")
		}

		free := tl.unpaid()
		if _, err := tl.Reprice(t.Context(), merchantID, free.No, "admin:1", Repricing{AdjustFen: -100, Version: 1}); err != nil {
			t.Fatal(err)
		}
		tl.mustShip(free, parcel("YTO", "YT1"))
		tl.wantUpload(free, "skipped calls=0 corrections=0", model.ParcelSkipped)

		late := tl.paid() // refunded between shipping and upload: WeChat's word ends it
		tl.mustShip(late, parcel("YTO", "YT1"))
		tl.refund(late)
		tl.called()
		tl.wantUpload(late, "refused calls=1 corrections=0", model.ParcelRefused)
		if !strings.Contains(tl.upload(late).Error, "10060004") {
			t.Errorf("upload says %q", tl.upload(late).Error)
		}
		tl.audited()
	})
}

// Case T72.
func TestT72_EveryCarriersCodeIsUploaded(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.restock(100)
		for _, c := range shipping.Carriers() {
			o := tl.addressed(tl.paid())
			tl.mustShip(o, parcel(c.Code, "NO-"+c.Code))
			tl.uploadNow(o)
			if got := tl.managed(o).Shipping.List; len(got) != 1 || got[0].Carrier != c.Code || got[0].TrackingNo != "NO-"+c.Code {
				t.Errorf("%s: WeChat has %+v", c.Code, got)
			}
		}
		tl.audited()
	})
}

// What a call came to is no failure where another replica's came to the same within the same millisecond.
func TestUploadsThatEndAlike(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.mustShip(o, parcel("YTO", "YT1"))
		up, err := tl.claimUpload(t.Context(), o.ID, tl.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := tl.callUpload(t.Context(), up); err != nil {
			t.Fatal(err)
		}
		silent := &wechat.Error{Kind: wechat.KindUnknown}
		for range 2 {
			if got := tl.uploadFailed(t.Context(), up, silent); got.String() == "failed" {
				t.Fatal(got.Err())
			}
		}
		for range 2 {
			if err := tl.uploadTaken(t.Context(), up); err != nil {
				t.Fatal(err)
			}
		}
		if u := tl.upload(o); u.State != model.UploadDone || u.Corrections != 0 || u.SentHash != up.hash {
			t.Errorf("upload %+v", u)
		}
		tl.audited()
	})
}

// Eight replicas find the upload due at once while the rest is shipped: WeChat ends up with everything, and nothing is corrected.
func TestUploadsAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		tl.mustShip(o, parcel("YTO", "YT1", RefundPart{l.ID, 1}))
		due := tl.Now()
		for _, err := range together(9, func(i int) error {
			if i == 0 {
				return tl.ship(o, parcel("ZTO", "ZT1", RefundPart{l.ID, 2}))
			}
			got := tl.run(KindUpload, o.ID, due)
			if got.String() == "failed" {
				return errors.Join(errors.New("failed"), got.Err())
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			tl.advance(uploadCall)
			tl.tick()
		}
		if got := tl.managed(o); got.State != 2 || len(got.Shipping.List) != 2 || !got.Shipping.Finished || got.Corrected || got.Uploads > 2 {
			t.Errorf("WeChat has %+v", got)
		}
		if u := tl.upload(o); u.State != model.UploadDone || u.Corrections != 0 || !u.Finished {
			t.Errorf("upload %+v", u)
		}
		tl.audited()
	})
}
