package wechat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

func TestPayQueryRefund(t *testing.T) {
	w := newWorld(t)
	no := "T00000001"
	id := w.prepay(no)
	tx, err := w.client.Query(t.Context(), no)
	if err != nil || tx.TradeState != wechat.TradeNotPay || tx.TransactionID != "" || tx.AmountTotal != 100 {
		t.Fatalf("unpaid: %+v, %v", tx, err)
	}
	params, err := w.client.PayParams(id)
	if err != nil {
		t.Fatal(err)
	}
	var reply m
	if status := w.control("POST", "/sandbox/pay", m{"prepay_id": id, "request_payment": params}, &reply); status != 200 || reply["trade_state"] != "SUCCESS" {
		t.Fatalf("%d %v", status, reply)
	}
	cb := w.nextCallback()
	notice, err := w.client.ParsePayNotice(t.Context(), cb.header, cb.body)
	if err != nil {
		t.Fatal(err)
	}
	tx, err = w.client.Query(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	if notice.Transaction != tx || tx.TradeState != wechat.TradeSuccess || tx.TransactionID == "" || tx.OpenID != sandbox.OpenID(openidName) ||
		tx.AppID != w.config.AppID || tx.MchID != w.config.MchID || tx.Currency != "CNY" || tx.SuccessTime.IsZero() || cb.path != "/notify/wechat/pay" {
		t.Errorf("notice %+v\nquery %+v", notice, tx)
	}
	r, err := w.client.Refund(t.Context(), wechat.RefundRequest{TransactionID: tx.TransactionID, OutRefundNo: "R1", RefundFen: 40, TotalFen: 100, Reason: "too salty"})
	if err != nil || r.Status != wechat.RefundProcessing || r.AmountRefund != 40 {
		t.Fatalf("%+v, %v", r, err)
	}
	cb = w.nextCallback()
	refunded, err := w.client.ParseRefundNotice(t.Context(), cb.header, cb.body)
	if err != nil || refunded.Status != wechat.RefundSuccess || refunded.AmountRefund != 40 || refunded.OutRefundNo != "R1" || cb.path != "/notify/wechat/refund" {
		t.Fatalf("%+v, %v", refunded, err)
	}
	if r, err = w.client.QueryRefund(t.Context(), "R1"); err != nil || r.Status != wechat.RefundSuccess || r.SuccessTime.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	if tx, err = w.client.Query(t.Context(), no); err != nil || tx.TradeState != wechat.TradeRefund || !tx.TradeState.Paid() {
		t.Fatalf("%+v, %v", tx, err)
	}
}

// C18: the deadline is sent in China's time whatever the zone of the process.
func TestC18_TimeExpireKeepsChinasZone(t *testing.T) {
	w := newWorld(t)
	req := prepayRequest("T00000001")
	req.TimeExpire = time.Date(2099, 6, 8, 2, 34, 56, 999e6, time.UTC)
	if _, err := w.client.Prepay(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var body m
	if err := json.Unmarshal(w.calls("/v3/pay/transactions/jsapi")[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if body["time_expire"] != "2099-06-08T10:34:56+08:00" {
		t.Errorf("time_expire %v", body["time_expire"])
	}
}

// C15, T47: the same parameters reuse the number, also when they come from another clock zone.
func TestC15_SameParametersReuseTheNumber(t *testing.T) {
	w := newWorld(t)
	req := prepayRequest("T00000001")
	first, err := w.client.Prepay(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.TimeExpire = req.TimeExpire.In(time.FixedZone("", -3600))
	second, err := w.client.Prepay(t.Context(), req)
	if err != nil || second == first {
		t.Fatalf("a fresh prepay_id is expected: %q, %v", second, err)
	}
	if a, b := w.calls("/v3/pay/transactions/jsapi")[0].Body, w.calls("/v3/pay/transactions/jsapi")[1].Body; string(a) != string(b) {
		t.Errorf("the bodies differ:\n%s\n%s", a, b)
	}
}

// T47: two taps at once open the number twice and charge once.
func TestT47_TwoTapsChargeOnce(t *testing.T) {
	w := newWorld(t)
	ids := make(chan string, 2)
	for range 2 {
		go func() {
			id, err := w.client.Prepay(t.Context(), prepayRequest("T00000001"))
			if err != nil {
				t.Error(err)
			}
			ids <- id
		}()
	}
	first, second := <-ids, <-ids
	if status := w.control("POST", "/sandbox/pay", m{"prepay_id": second}, nil); status != 200 {
		t.Errorf("%d", status)
	}
	var reply m
	if status := w.control("POST", "/sandbox/pay", m{"prepay_id": first}, &reply); status != 409 || reply["code"] != "ORDER_PAID" {
		t.Errorf("%d %v", status, reply)
	}
}

// T43: changed parameters under the same number are refused, and told apart from all else.
func TestT43_ChangedParametersNeedANewNumber(t *testing.T) {
	w := newWorld(t)
	w.prepay("T00000001")
	for _, change := range []func(*wechat.PrepayRequest){
		func(r *wechat.PrepayRequest) { r.AmountFen = 99 },
		func(r *wechat.PrepayRequest) { r.TimeExpire = r.TimeExpire.Add(time.Second) },
		func(r *wechat.PrepayRequest) { r.OpenID = sandbox.OpenID("bob") },
		func(r *wechat.PrepayRequest) { r.Description += "!" },
	} {
		req := prepayRequest("T00000001")
		change(&req)
		_, err := w.client.Prepay(t.Context(), req)
		wantKind(t, err, wechat.KindNumberUsed)
	}
}

func TestBothSpellingsOfCodes(t *testing.T) {
	for _, spelling := range []string{"new", "old", "random"} {
		w := newWorld(t)
		w.settings(m{"spelling": spelling})
		w.payNow("T00000001")
		w.prepay("T00000002")
		if err := w.client.Close(t.Context(), "T00000002"); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Close(t.Context(), "T00000002"); err != nil {
			t.Error("closing again must be fine:", err)
		}
		for range 8 {
			_, err := w.client.Prepay(t.Context(), prepayRequest("T00000001"))
			wantKind(t, err, wechat.KindPaid)
			wantKind(t, w.client.Close(t.Context(), "T00000001"), wechat.KindPaid)
			_, err = w.client.Prepay(t.Context(), prepayRequest("T00000002"))
			wantKind(t, err, wechat.KindClosed)
			_, err = w.client.Query(t.Context(), "T00000003")
			wantKind(t, err, wechat.KindNotFound)
			wantKind(t, w.client.Close(t.Context(), "T00000003"), wechat.KindNotFound)
			_, err = w.client.QueryRefund(t.Context(), "R1")
			wantKind(t, err, wechat.KindNotFound)
		}
	}
}

// C02: ORDERPAID without underscore, with status 403.
func TestC02_PaidInAnySpellingAndStatus(t *testing.T) {
	w := newWorld(t)
	for _, code := range []string{"ORDERPAID", "ORDER_PAID", "order_paid", "OrderPaid"} {
		for _, status := range []int{400, 403} {
			w.fault(m{"path": "/close", "mode": "code", "code": code, "status": status})
			err := w.client.Close(t.Context(), "T00000001")
			wantKind(t, err, wechat.KindPaid)
			if e := asError(t, err); e.Status != status || e.Code != code {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestKindsOfPayErrors(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		fault m
		want  wechat.Kind
	}{
		{m{"mode": "status", "status": 500}, wechat.KindUnknown},
		{m{"mode": "status", "status": 503}, wechat.KindUnknown},
		{m{"mode": "status", "status": 202}, wechat.KindUnknown},
		{m{"mode": "status", "status": 429}, wechat.KindFrequency},
		{m{"mode": "code", "code": "SYSTEMERROR", "status": 400}, wechat.KindUnknown},
		{m{"mode": "code", "code": "OPENID_MISMATCH"}, wechat.KindRejected},
		{m{"mode": "code", "code": "PARAM_ERROR"}, wechat.KindRejected},
		{m{"mode": "code", "code": "SIGNERROR"}, wechat.KindSetup},
		{m{"mode": "code", "code": "NO_AUTH", "status": 403}, wechat.KindSetup},
		{m{"mode": "code", "code": "RATELIMIT_EXCEEDED"}, wechat.KindFrequency},
		{m{"mode": "code", "code": 268498688, "status": 400}, wechat.KindNumberUsed},
		{m{"mode": "html"}, wechat.KindUnknown},
		{m{"mode": "html", "status": 403}, wechat.KindUnknown},
		{m{"mode": "html", "status": 404}, wechat.KindUnknown},
		{m{"mode": "html", "status": 200}, wechat.KindUnknown},
		{m{"mode": "empty"}, wechat.KindUnknown},
		{m{"mode": "bad_signature"}, wechat.KindUnknown},
		{m{"mode": "reset"}, wechat.KindUnknown},
	} {
		c.fault["path"] = "/v3/pay/transactions/out-trade-no/{out_trade_no}"
		w.prepay("T00000001") // an answer in between keeps the breaker shut
		w.fault(c.fault)
		_, err := w.client.Query(t.Context(), "T00000001")
		if wechat.KindOf(err) != c.want {
			t.Errorf("%v: %v, want %s", c.fault, err, c.want)
		}
		if err != nil {
			w.secretFree(err.Error())
		}
	}
	w.secretFree(w.logs.String())
}

// C10: the request was not answered, yet WeChat has it; a repeat with the same parameters works.
func TestC10_TimedOutPrepayIsThere(t *testing.T) {
	w := newWorld(t)
	req := prepayRequest("T00000001")
	w.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": "timeout_after", "delay_ms": 1}) // the connection is lost then
	_, err := w.client.Prepay(t.Context(), req)
	wantKind(t, err, wechat.KindUnknown)
	if tx, err := w.client.Query(t.Context(), req.OutTradeNo); err != nil || tx.TradeState != wechat.TradeNotPay {
		t.Fatalf("%+v, %v", tx, err)
	}
	w.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": "timeout", "delay_ms": 1})
	other := prepayRequest("T00000002")
	_, err = w.client.Prepay(t.Context(), other)
	wantKind(t, err, wechat.KindUnknown)
	_, err = w.client.Query(t.Context(), other.OutTradeNo)
	wantKind(t, err, wechat.KindNotFound)
	if _, err := w.client.Prepay(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func TestTheCallersOwnEndIsVisible(t *testing.T) {
	w := newWorld(t)
	w.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": "timeout", "count": -1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := w.client.Prepay(ctx, prepayRequest("T00000001"))
	wantKind(t, err, wechat.KindUnknown)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not say that the deadline passed", err)
	}
}

func TestWhatWeChatWouldRefuseIsNotSent(t *testing.T) {
	w := newWorld(t)
	for _, change := range []func(*wechat.PrepayRequest){
		func(r *wechat.PrepayRequest) { r.OutTradeNo = "" },
		func(r *wechat.PrepayRequest) { r.OutTradeNo = "../../x" },
		func(r *wechat.PrepayRequest) { r.AmountFen = 0 },
		func(r *wechat.PrepayRequest) { r.AmountFen = -1 },
		func(r *wechat.PrepayRequest) { r.OpenID = "" },
		func(r *wechat.PrepayRequest) { r.Description = "" },
	} {
		req := prepayRequest("T00000001")
		change(&req)
		_, err := w.client.Prepay(t.Context(), req)
		wantKind(t, err, wechat.KindRejected)
	}
	for _, no := range []string{"", "short", "a/b/c/d", strings.Repeat("x", 33)} {
		_, err := w.client.Query(t.Context(), no)
		wantKind(t, err, wechat.KindRejected)
		wantKind(t, w.client.Close(t.Context(), no), wechat.KindRejected)
	}
	// R09: refunds of nothing, less than nothing, more than everything
	for _, fen := range []int64{0, -1, 101} {
		_, err := w.client.Refund(t.Context(), wechat.RefundRequest{OutTradeNo: "T00000001", OutRefundNo: "R1", RefundFen: fen, TotalFen: 100})
		wantKind(t, err, wechat.KindRejected)
	}
	_, err := w.client.QueryRefund(t.Context(), "")
	wantKind(t, err, wechat.KindRejected)
	if calls := w.calls(""); len(calls) != 0 {
		t.Errorf("WeChat was called: %+v", calls)
	}
}

func TestLongDescriptionsAreCutAtACharacter(t *testing.T) {
	w := newWorld(t)
	req := prepayRequest("T00000001")
	req.Description = strings.Repeat("潮", 100)
	if _, err := w.client.Prepay(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var body struct{ Description string }
	if err := json.Unmarshal(w.calls("/v3/pay/transactions/jsapi")[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Description) > 127 || len(body.Description) < 125 || !utf8.ValidString(body.Description) {
		t.Errorf("%d bytes: %q", len(body.Description), body.Description)
	}
}

func TestRefundRules(t *testing.T) {
	w := newWorld(t)
	w.settings(m{"refund_balance_fen": 50, "refund_delay_ms": 0})
	w.payNow("T00000001")
	refund := func(no string, fen int64) error {
		_, err := w.client.Refund(t.Context(), wechat.RefundRequest{OutTradeNo: "T00000001", OutRefundNo: no, RefundFen: fen, TotalFen: 100})
		return err
	}
	// R10, T62: no balance keeps the number; it works when there is some
	wantKind(t, refund("R1", 60), wechat.KindNotEnough)
	w.settings(m{"refund_balance_fen": 1000})
	if err := refund("R1", 60); err != nil {
		t.Fatal(err)
	}
	if err := refund("R1", 60); err != nil {
		t.Error("the same refund again must be fine:", err)
	}
	wantKind(t, refund("R1", 59), wechat.KindRejected)
	wantKind(t, refund("R2", 41), wechat.KindRejected)
	w.settings(m{"refund_min_interval_ms": 60000})
	wantKind(t, refund("R2", 40), wechat.KindFrequency)
	w.settings(m{"refund_min_interval_ms": 0})
	if err := refund("R2", 40); err != nil {
		t.Error(err)
	}
	w.prepay("T00000002")
	_, err := w.client.Refund(t.Context(), wechat.RefundRequest{OutTradeNo: "T00000002", OutRefundNo: "R3", RefundFen: 1, TotalFen: 100})
	wantKind(t, err, wechat.KindNotFound)
}

func TestBreakerOpensOnSilenceAndNotOnRefusals(t *testing.T) {
	w := newWorld(t)
	for range 30 {
		_, err := w.client.Query(t.Context(), "T00000001")
		wantKind(t, err, wechat.KindNotFound)
	}
	w.fault(m{"path": "/v3/", "mode": "status", "status": 500, "count": -1})
	for range 10 {
		_, err := w.client.Query(t.Context(), "T00000001")
		wantKind(t, err, wechat.KindUnknown)
	}
	shut := !w.client.PayAvailable()
	query := func() error {
		_, err := w.client.Query(t.Context(), "T00000001")
		shut = shut || !w.client.PayAvailable()
		return err
	}
	w.behindTheBreaker("/v3/", query)
	if !shut {
		t.Error("behind the open breaker WeChat Pay counts as available")
	}
	if _, err := w.client.Login(t.Context(), "demo-ann"); err != nil || !w.client.MiniAvailable() {
		t.Error("the other area must go on:", err)
	}
	w.control("DELETE", "/sandbox/faults", nil, nil)
	storetest.Await(t, 10*time.Second, "the breaker's closing", func() bool { return wechat.KindOf(query()) == wechat.KindNotFound })
}

// behindTheBreaker repeats a call until the open breaker ends it, and WeChat is not called then. A machine that stood still for as long
// as the breaker's pause lets one through; its failure opens the breaker again.
func (w *world) behindTheBreaker(path string, call func() error) {
	w.Helper()
	for range 20 {
		before := len(w.calls(path))
		err := call()
		after := len(w.calls(path))
		switch wechat.KindOf(err) {
		case wechat.KindUnknown:
			continue
		case wechat.KindUnavailable:
			if after != before {
				w.Errorf("%d calls behind the open breaker", after-before)
			}
		default:
			w.Errorf("behind the open breaker: %v", err)
		}
		return
	}
	w.Error("the breaker does not open")
}

func TestConfigIsChecked(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*wechat.Config){
		"app_id":            func(c *wechat.Config) { c.AppID = "" },
		"app_secret":        func(c *wechat.Config) { c.AppSecret = "s&x=1" },
		"mch_id":            func(c *wechat.Config) { c.MchID = "abc" },
		"mch_cert_serial":   func(c *wechat.Config) { c.MchCertSerial = "" },
		"api_v3_key":        func(c *wechat.Config) { c.APIv3Key = c.APIv3Key[:16] },
		"mch_private_key":   func(c *wechat.Config) { c.MchPrivateKey = c.PayPublicKey },
		"pay_public_key":    func(c *wechat.Config) { c.PayPublicKey = "" },
		"pay_public_key_id": func(c *wechat.Config) { c.PayPublicKeyID = "123" },
		"push_aes_key":      func(c *wechat.Config) { c.PushAESKey = "short" },
		"notify_base_url":   func(c *wechat.Config) { c.NotifyBaseURL = "shop.example" },
		"sandbox.url":       func(c *wechat.Config) { c.SandboxURL = "http://127.0.0.1:1/path" },
	} {
		cfg := w.config
		change(&cfg)
		_, err := wechat.New(cfg, wechat.Options{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w.secretFree(err.Error())
	}
	w.config.PushToken, w.config.PushAESKey = "", ""
	if _, err := w.newClient().ParsePush(wechat.PushQuery{}, nil); !errors.Is(err, wechat.ErrPushOff) {
		t.Error(err)
	}
}

func TestShippingUpload(t *testing.T) {
	w := newWorld(t)
	w.payNow("T00000001")
	up := wechat.ShippingUpload{
		OutTradeNo: "T00000001", OpenID: sandbox.OpenID(openidName), Logistics: wechat.LogisticsExpress,
		Parcels:    []wechat.ParcelInfo{{TrackingNo: "YT123456", ExpressCompany: "YTO", ItemDesc: "Tide tea"}},
		UploadTime: time.Now(),
	}
	// WeChat's order may lag the payment
	w.settings(m{"shipping_lag": true})
	wantKind(t, w.client.UploadShipping(t.Context(), up), wechat.KindBusy)
	w.settings(m{"shipping_lag": false})
	if err := w.client.UploadShipping(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	// S02: WeChat has it already
	if err := w.client.UploadShipping(t.Context(), up); err != nil {
		t.Error(err)
	}
	if o, err := w.client.QueryShipping(t.Context(), "T00000001"); err != nil || o.State != wechat.ShippingShipped || !o.Holds(up) {
		t.Errorf("%+v, %v", o, err)
	}
	up.Parcels[0].TrackingNo, up.UploadTime = "YT2", up.UploadTime.Add(time.Second)
	if err := w.client.UploadShipping(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	// S03: the one correction is used up
	up.Parcels[0].TrackingNo, up.UploadTime = "YT3", up.UploadTime.Add(time.Second)
	err := w.client.UploadShipping(t.Context(), up)
	wantKind(t, err, wechat.KindRejected)
	if e := asError(t, err); e.Code != "10060003" {
		t.Errorf("code %q", e.Code)
	}
}

// S04, S05, S14: what WeChat refuses is refused before calling.
func TestS05_ShippingUploadsAreCheckedFirst(t *testing.T) {
	w := newWorld(t)
	parcel := wechat.ParcelInfo{TrackingNo: "1", ExpressCompany: "YTO", ItemDesc: "tea"}
	for name, up := range map[string]wechat.ShippingUpload{
		"16 parcels":        {Logistics: wechat.LogisticsExpress, Split: true, Parcels: make([]wechat.ParcelInfo, 16)},
		"no parcel":         {Logistics: wechat.LogisticsExpress},
		"SF without phone":  {Logistics: wechat.LogisticsExpress, Parcels: []wechat.ParcelInfo{{TrackingNo: "1", ExpressCompany: "SF", ItemDesc: "tea"}}},
		"tracked virtual":   {Logistics: wechat.LogisticsVirtual, Parcels: []wechat.ParcelInfo{parcel}},
		"two, not split":    {Logistics: wechat.LogisticsExpress, Parcels: []wechat.ParcelInfo{parcel, parcel}},
		"untracked express": {Logistics: wechat.LogisticsExpress, Parcels: []wechat.ParcelInfo{{ItemDesc: "tea"}}},
	} {
		up.OutTradeNo, up.OpenID, up.UploadTime = "T00000001", "o", time.Now()
		if err := w.client.UploadShipping(t.Context(), up); wechat.KindOf(err) != wechat.KindRejected {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls := w.calls(""); len(calls) != 0 {
		t.Errorf("WeChat was called: %+v", calls)
	}
}
