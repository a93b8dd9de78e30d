package router

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

const someOrder = "T202601310123456789AB"

// till writes down what the operations ask of the service, and fails where a test says so.
type till struct {
	asked []string
	fail  error
}

func (f *till) ask(format string, args ...any) (*order.View, error) {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	if f.fail != nil {
		return nil, f.fail
	}
	return f.view(), nil
}

func (f *till) view() *order.View {
	reason := model.CloseShopper
	return &order.View{Order: model.Order{No: someOrder, State: model.OrderPending, ClosingReason: &reason, CreatedAt: 1, PayDeadline: 2}, ReadAt: 1}
}

func (f *till) Pay(_ context.Context, shopper int64, no string) (wechat.RequestPayment, error) {
	_, err := f.ask("pay %d %s", shopper, no)
	return wechat.RequestPayment{TimeStamp: "1", NonceStr: "n", Package: "prepay_id=x", SignType: "RSA", PaySign: "s"}, err
}

func (f *till) Verify(_ context.Context, shopper int64, no string) (*order.View, error) {
	return f.ask("verify %d %s", shopper, no)
}

func (f *till) Cancel(_ context.Context, shopper int64, no string) (*order.View, error) {
	return f.ask("cancel %d %s", shopper, no)
}

func (f *till) SetMerchantRemark(_ context.Context, merchant int64, no, actor, text string, version int64) error {
	_, err := f.ask("remark %d %s %s %q %d", merchant, no, actor, text, version)
	return err
}

func (f *till) Confirm(_ context.Context, shopper int64, no string) (*order.View, error) {
	return f.ask("confirm %d %s", shopper, no)
}

func (f *till) ConfirmAtWeChat(_ context.Context, shopper int64, no string) (*order.View, error) {
	return f.ask("confirm at wechat %d %s", shopper, no)
}

func (f *till) ChangeParcel(_ context.Context, merchant int64, no string, id int64, actor string, c order.ParcelChange) error {
	_, err := f.ask("parcel %d %s %d %s %+v", merchant, no, id, actor, c)
	return err
}

func (f *till) RetryUpload(_ context.Context, merchant int64, no string) error {
	_, err := f.ask("retry %d %s", merchant, no)
	return err
}

func (f *till) UploadsAfter(_ context.Context, filter order.UploadFilter, _ store.Cursor, limit int) ([]order.OrderUpload, *store.Cursor, error) {
	_, err := f.ask("uploads after %+v %d", filter, limit)
	return []order.OrderUpload{{OrderNo: someOrder}}, nil, err
}

func (f *till) Uploads(_ context.Context, filter order.UploadFilter, p store.Page) ([]order.OrderUpload, int64, error) {
	_, err := f.ask("uploads %+v %+v", filter, p)
	return []order.OrderUpload{{OrderNo: someOrder}}, 1, err
}

func (f *till) Ship(_ context.Context, merchant int64, no, key, actor string, sh order.Shipment) (*order.View, error) {
	return f.ask("ship %d %s %q %s %+v", merchant, no, key, actor, sh)
}

func (f *till) Close(_ context.Context, merchant int64, no, actor string) (*order.View, error) {
	return f.ask("close %d %s %s", merchant, no, actor)
}

func (f *till) Reprice(_ context.Context, merchant int64, no, actor string, r order.Repricing) (*order.View, error) {
	return f.ask("price %d %s %s %+v", merchant, no, actor, r)
}

func (f *till) Refund(_ context.Context, merchant int64, no, key string, req order.RefundRequest) (*model.Refund, error) {
	_, err := f.ask("refund %d %s %q %s %v %s", merchant, no, key, req.Actor, req.Lines, req.Reason)
	return &model.Refund{}, err
}

func (f *till) List(_ context.Context, filter payment.AnomalyFilter, p store.Page) ([]model.Anomaly, int64, error) {
	_, err := f.ask("anomalies %+v %+v", filter, p)
	return []model.Anomaly{{ID: 3, Kind: payment.AnomalyLate, Ref: "42", RefundID: 9, State: model.AnomalyOpen, Seen: 1, CreatedAt: 1}}, 1, err
}

func (f *till) Get(_ context.Context, filter payment.AnomalyFilter, id int64) (*payment.AnomalyFacts, error) {
	_, err := f.ask("anomaly %+v %d", filter, id)
	return &payment.AnomalyFacts{Anomaly: model.Anomaly{ID: id}}, err
}

func (f *till) ResolveAnomaly(_ context.Context, filter payment.AnomalyFilter, id int64, note, actor string) (*model.Anomaly, error) {
	_, err := f.ask("resolve %+v %d %s %s", filter, id, note, actor)
	return &model.Anomaly{ID: id, State: model.AnomalyResolved, Note: note}, err
}

// reading shows the order after a change.
type reading struct {
	api.OrderLister
	view *order.View
}

func (r reading) GetForMerchant(context.Context, int64, string) (*order.Detail, error) {
	return &order.Detail{View: *r.view}, nil
}

func (r reading) Timeline(context.Context, int64, string) ([]order.Moment, int64, error) {
	return nil, 0, nil
}

func newTillRouter(f *till) *Router {
	orders := &admin.Orders{Service: reading{view: f.view()}, Pictures: keys{}}
	return New(Deps{Auth: people{}, Operations: Operations{
		ShopPayments:      &shop.Payments{Service: f, Pictures: keys{}},
		AdminOrderChanges: &admin.OrderChanges{Service: f, Orders: orders},
		AdminUploads:      &admin.Uploads{Service: f, Orders: orders},
		AdminAnomalies:    &admin.Anomalies{List: f, Resolver: f},
	}})
}

func TestOrderChangeOperations(t *testing.T) {
	const mine, theirs = "/api/v1/orders/" + someOrder, "/api/admin/v1/orders/" + someOrder
	for _, c := range []struct {
		who, method, path, body string
		status                  int
		asked                   string // what reaches the service
	}{
		{"ann", "POST", mine + "/pay", "", 200, "pay 7 " + someOrder},
		{"ann", "POST", mine + "/verify", "", 200, "verify 7 " + someOrder},
		{"bob", "POST", mine + "/cancel", "{}", 200, "cancel 8 " + someOrder},
		{"ann", "POST", mine + "/confirm", "", 200, "confirm 7 " + someOrder},
		{"ann", "POST", mine + "/confirm", "{}", 200, "confirm 7 " + someOrder},
		{"ann", "POST", mine + "/confirm", `{"via":"wechat"}`, 200, "confirm at wechat 7 " + someOrder},
		{"ann", "POST", mine + "/confirm", `{"via":"phone"}`, 422, ""},
		{"one", "POST", mine + "/pay", "", 401, ""},
		{"nobody", "POST", mine + "/cancel", "", 401, ""},
		{"ann", "GET", mine + "/pay", "", 405, ""}, // T46
		{"ann", "POST", "/api/v1/orders/T1/pay", "", 404, ""},
		{"one", "POST", theirs + "/close", "", 200, "close 1 " + someOrder + " admin:1"},
		{"two", "POST", theirs + "/price", `{"adjust_fen":-5,"version":3}`, 200, "price 2 " + someOrder + " admin:2 {AdjustFen:-5 Version:3}"},
		{"one", "POST", theirs + "/price", `{"adjust_fen":-5}`, 422, ""},
		{"two", "PUT", theirs + "/remark", `{"text":" 先电话 ","version":0}`, 200, "remark 2 " + someOrder + ` admin:2 "先电话" 0`},
		{"one", "PUT", theirs + "/remark", `{"text":"","version":2}`, 200, "remark 1 " + someOrder + ` admin:1 "" 2`},
		{"one", "PUT", theirs + "/remark", `{"text":"x"}`, 422, ""},
		{"idle", "PUT", theirs + "/remark", `{"text":"x","version":0}`, 403, ""},
		{"one", "POST", theirs + "/price", `{"adjust_fen":1.5,"version":1}`, 422, ""},
		{
			"one", "POST", theirs + "/ship", `{"parcels":[{"delivery":"pickup","lines":[{"line_id":4,"quantity":2}]}]}`, 200,
			"ship 1 " + someOrder + ` "" admin:1 {Parcels:[{Delivery:pickup Carrier: TrackingNo: Lines:[{LineID:4 Quantity:2}]}]}`,
		},
		{"one", "POST", theirs + "/ship", `{"parcels":[]}`, 422, ""},
		{"one", "POST", theirs + "/ship", `{"parcels":[{"delivery":"pigeon"}]}`, 422, ""},
		{"one", "POST", theirs + "/ship", `{"parcels":[{"delivery":"pickup","lines":[]}]}`, 422, ""}, // no pieces are not all pieces
		{
			"one", "PUT", theirs + "/parcels/6", `{"carrier":"ZTO","tracking_no":"ZT1","version":2}`, 200,
			"parcel 1 " + someOrder + " 6 admin:1 {Carrier:ZTO TrackingNo:ZT1 Version:2}",
		},
		{"one", "PUT", theirs + "/parcels/6", `{"carrier":"ZTO","tracking_no":""}`, 422, ""},
		{"idle", "PUT", theirs + "/parcels/6", `{"carrier":"ZTO","tracking_no":"ZT1"}`, 403, ""},
		{"two", "POST", theirs + "/shipping-upload/retry", "", 200, "retry 2 " + someOrder},
		{"idle", "POST", theirs + "/shipping-upload/retry", "", 403, ""},
		{"one", "GET", "/api/admin/v1/shipping-uploads", "", 200, "uploads {MerchantID:1 State:refused} {Number:1 Limit:20}"},
		{"one", "GET", "/api/admin/v1/shipping-uploads?status=waiting&page=2", "", 200, "uploads {MerchantID:1 State:waiting} {Number:2 Limit:20}"},
		{"one", "GET", "/api/admin/v1/shipping-uploads?after=&limit=7", "", 200, "uploads after {MerchantID:1 State:refused} 7"},
		{"one", "GET", "/api/admin/v1/shipping-uploads?status=odd", "", 422, ""},
		{"one", "POST", theirs + "/refund", `{"lines":[{"line_id":4,"quantity":1}],"reason":"缺货"}`, 200, "refund 1 " + someOrder + ` "" admin:1 [{4 1}] 缺货`},
		{"one", "POST", theirs + "/refund", `{"reason":"缺货"}`, 200, "refund 1 " + someOrder + ` "" admin:1 [] 缺货`},
		{"one", "POST", theirs + "/refund", `{"reason":"缺\n\t货"}`, 200, "refund 1 " + someOrder + ` "" admin:1 [] ` + "缺\n\t货"},
		{"one", "POST", theirs + "/refund", `{"lines":[{"line_id":4,"quantity":0}],"reason":"x"}`, 422, ""}, // R09
		{"one", "POST", theirs + "/refund", `{"lines":[{"line_id":4,"quantity":-1}],"reason":"x"}`, 422, ""},
		{"one", "POST", theirs + "/refund", `{"lines":[],"reason":"x"}`, 422, ""}, // no pieces are not all pieces
		{"one", "POST", theirs + "/refund", `{"reason":"　 "}`, 422, ""},
		{"idle", "POST", theirs + "/refund", `{"reason":"x"}`, 403, ""},
		{"ann", "POST", theirs + "/close", "", 401, ""},
		{"one", "GET", "/api/admin/v1/anomalies?status=open&limit=5", "", 200, "anomalies {MerchantID:1 Unowned:false State:open Kind:} {Number:1 Limit:5}"},
		{"one", "GET", "/api/admin/v1/anomalies?kind=bill_failed", "", 200, "anomalies {MerchantID:1 Unowned:false State: Kind:bill_failed} {Number:1 Limit:20}"},
		{"one", "GET", "/api/admin/v1/anomalies?kind=odd", "", 422, ""},
		{"one", "GET", "/api/admin/v1/anomalies/3", "", 200, "anomaly {MerchantID:1 Unowned:false State: Kind:} 3"},
		{"one", "GET", "/api/admin/v1/anomalies?status=odd", "", 422, ""},
		{"one", "POST", "/api/admin/v1/anomalies/3/resolve", `{"note":"done"}`, 200, "resolve {MerchantID:1 Unowned:false State: Kind:} 3 done admin:1"},
		{"one", "POST", "/api/admin/v1/anomalies/3/resolve", `{"note":""}`, 422, ""},
		{"one", "POST", "/api/admin/v1/anomalies/3/resolve", `{"note":" "}`, 422, ""},
		{"idle", "POST", "/api/admin/v1/anomalies/3/resolve", `{"note":"x"}`, 403, ""},
	} {
		f := &till{}
		as(t, newTillRouter(f), c.who, c.method, c.path, c.body, c.status)
		if got := strings.Join(f.asked, "; "); got != c.asked {
			t.Errorf("%s %s as %s asked %q, want %q", c.method, c.path, c.who, got, c.asked)
		}
	}
}

func TestOrderChangeRepliesAndFaults(t *testing.T) {
	f := &till{}
	h := newTillRouter(f)
	pay := as(t, h, "ann", "POST", "/api/v1/orders/"+someOrder+"/pay", "", 200)
	if want := `{"timeStamp":"1","nonceStr":"n","package":"prepay_id=x","signType":"RSA","paySign":"s"}`; strings.TrimSpace(pay.Text) != want {
		t.Errorf("pay: %s", pay.Text)
	}
	if got := as(t, h, "ann", "POST", "/api/v1/orders/"+someOrder+"/cancel", "", 200); got.Body["closing"] != true || got.Body["status"] != "pending_payment" {
		t.Errorf("cancel: %s", got.Text)
	}
	for code, status := range map[fault.Code]int{
		fault.OrderClosed: 409, fault.OrderClosing: 409, fault.OrderBusy: 409, fault.OrderAlreadyPaid: 409, fault.WeChatRefused: 409,
		fault.WeChatUnavailable: 503, fault.DatabaseUnavailable: 503, fault.NotFoundError: 404,
	} {
		f.fail = fault.New(code)
		refused(t, h, "ann", "POST", "/api/v1/orders/"+someOrder+"/pay", "", status, code, "")
	}
	f.fail = fault.New(fault.RefundOpen)
	refused(t, h, "one", "POST", "/api/admin/v1/orders/"+someOrder+"/ship", `{"parcels":[{"delivery":"pickup"}]}`, 409, fault.RefundOpen, "")

	// Control characters are refused wherever a body has them; line breaks are text.
	refused(t, h, "one", "POST", "/api/admin/v1/orders/"+someOrder+"/refund", `{"reason":"a\u0000b"}`, 422, fault.ValidationFailed, "reason wrong_format")
	refused(t, h, "one", "POST", "/api/admin/v1/orders/"+someOrder+"/ship", `{"parcels":[{"delivery":"pickup"},{"delivery":"express","tracking_no":"\u0085"}]}`, 422,
		fault.ValidationFailed, "parcels[1].tracking_no wrong_format")
	key := call(t, h, "POST", "/api/admin/v1/orders/"+someOrder+"/refund", `{"reason":"x"}`, "Authorization", "Bearer one", "Content-Type", "application/json", "Idempotency-Key", "short")
	if key.StatusCode != 422 || key.Body["code"] != string(fault.IdempotencyKeyNeeded) {
		t.Errorf("a malformed key: %d %s", key.StatusCode, key.Text)
	}
}
