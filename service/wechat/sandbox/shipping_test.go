package sandbox

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// mini calls an interface of the mini-program's and returns the reply.
func (r *rig) mini(path string, body any) object {
	r.Helper()
	_, token := r.control("POST", "/cgi-bin/stable_token", object{"grant_type": "client_credential", "appid": r.keys.AppID, "secret": r.keys.AppSecret})
	req, err := http.NewRequest("POST", fmt.Sprintf("%s%s?access_token=%v", r.url, path, token["access_token"]), bytes.NewReader(encode(body)))
	if err != nil {
		r.Fatal(err)
	}
	_, reply := r.send(req)
	return reply
}

func (r *rig) wantErrcode(what string, reply object, code float64) {
	r.Helper()
	if reply["errcode"] != code {
		r.Errorf("%s: %v, want %v", what, reply, code)
	}
}

// bought makes a payment; no callback is sent.
func (r *rig) bought(no string) {
	r.Helper()
	if status, reply := r.control("POST", "/sandbox/pay", object{"prepay_id": r.prepay(no), "notify": object{"times": 0}}); status != 200 {
		r.Fatalf("%d %v", status, reply)
	}
}

// shipment is an upload; parcels are tracking numbers.
func (r *rig) shipment(no string, at time.Time, all bool, parcels ...string) object {
	list := make([]object, len(parcels))
	for i, p := range parcels {
		list[i] = object{"tracking_no": p, "express_company": "YTO", "item_desc": "tea"}
	}
	mode := 2
	if len(parcels) == 1 && all {
		mode = 1
	}
	return object{
		"order_key": object{"order_number_type": 1, "mchid": r.keys.MchID, "out_trade_no": no}, "logistics_type": 1, "delivery_mode": mode,
		"is_all_delivered": all, "shipping_list": list, "upload_time": at.In(china).Truncate(time.Millisecond).Format(time.RFC3339Nano),
		"payer": object{"openid": OpenID("ann")},
	}
}

func (r *rig) shippingOf(no string) object {
	r.Helper()
	reply := r.mini("/wxa/sec/order/get_order", object{"merchant_id": r.keys.MchID, "merchant_trade_no": no})
	order, _ := reply["order"].(object)
	if order == nil {
		r.Fatalf("get_order: %v", reply)
	}
	return order
}

// pushed waits for the next push and returns what it says. Its address is the payment's, with another end.
func (r *rig) pushed(event string) object {
	r.Helper()
	said := r.nextPush()
	if said["Event"] != event {
		r.Fatalf("%v, want %s", said, event)
	}
	return said
}

// nextPush is what the next push says.
func (r *rig) nextPush() object {
	r.Helper()
	path, body, _ := strings.Cut(r.arrival(), " ")
	var envelope struct{ Encrypt string }
	if json.Unmarshal([]byte(body), &envelope) != nil || path != "/notify/wechat/push" {
		r.Fatalf("%s %s", path, body)
	}
	var said object
	if err := json.Unmarshal(openPush(r.T, r.keys.pushAES, envelope.Encrypt), &said); err != nil {
		r.Fatal(err)
	}
	return said
}

// A split order may grow until it is said to be complete; then there is one correction.
func TestShippingPartsAndCorrection(t *testing.T) {
	r := started(t)
	const upload = "/wxa/sec/order/upload_shipping_info"
	now := time.Now()
	r.wantErrcode("nobody's", r.mini(upload, r.shipment("T00000001", now, true, "1")), 10060001)
	r.bought("T00000001")
	for i := range 3 {
		numbers := []string{"1", "2", "3"}[:i+1]
		r.wantErrcode("a part", r.mini(upload, r.shipment("T00000001", now.Add(time.Duration(i)*time.Second), false, numbers...)), 0)
		if got := r.shippingOf("T00000001"); got["order_state"] != 1.0 || len(got["shipping"].(object)["shipping_list"].([]any)) != i+1 {
			t.Errorf("after part %d: %v", i, got)
		}
	}
	r.wantErrcode("older", r.mini(upload, r.shipment("T00000001", now, true, "1", "2", "3")), 268485216)
	all := r.shipment("T00000001", now.Add(4*time.Second), true, "1", "2", "3")
	r.wantErrcode("all", r.mini(upload, all), 0)
	r.wantErrcode("all again", r.mini(upload, r.shipment("T00000001", now.Add(5*time.Second), true, "1", "2", "3")), 10060023)
	stranger := r.shipment("T00000001", now.Add(6*time.Second), true, "9")
	stranger["payer"] = object{"openid": OpenID("bob")}
	r.wantErrcode("another payer", r.mini(upload, stranger), 10060031)
	r.wantErrcode("the correction", r.mini(upload, r.shipment("T00000001", now.Add(7*time.Second), true, "1", "2", "4")), 0)
	r.wantErrcode("one more", r.mini(upload, r.shipment("T00000001", now.Add(8*time.Second), true, "1", "2", "5")), 10060003)
	got := r.shippingOf("T00000001")
	if sh := got["shipping"].(object); got["order_state"] != 2.0 || sh["finish_shipping"] != true || sh["finish_shipping_count"] != 2.0 {
		t.Errorf("%v", got)
	}

	r.control("POST", "/sandbox/settings", object{"shipping_split_counts": true})
	r.bought("T00000002")
	for i, code := range []float64{0, 0, 10060003} {
		r.wantErrcode("where every upload counts", r.mini(upload, r.shipment("T00000002", now.Add(time.Duration(i)*time.Second), false, fmt.Sprint(i))), code)
	}
}

// Receipt and settlement, with the pushes that WeChat sends by itself, survive a restart.
func TestShippingReceipt(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	const no, event = "T00000001", "trade_manage_order_settlement"
	r.bought(no)
	at := time.Now()
	status, reply := r.control("POST", "/sandbox/shipping/"+no+"/confirm", nil)
	r.want("received before it was shipped", status, reply, 409, "NOT_SHIPPED")
	r.wantErrcode("upload", r.mini("/wxa/sec/order/upload_shipping_info", r.shipment(no, at, true, "1")), 0)
	said := r.pushed(event)
	if said["merchant_trade_no"] != no || said["confirm_receive_time"] != nil || said["estimated_settlement_time"] != float64(at.Add(settleExpress).Unix()) {
		t.Errorf("on shipping: %v", said)
	}
	drain(r)
	status, reply = r.control("POST", "/sandbox/shipping/"+no+"/remind", nil)
	r.want("reminded of a shipped order", status, reply, 409, "SHIPPED")
	if status, reply := r.control("POST", "/sandbox/shipping/"+no+"/confirm", object{"unsettled": true, "push": 1}); status != 200 || reply["order_state"] != 6.0 {
		t.Errorf("%d %v", status, reply)
	}
	if said := r.pushed(event); said["confirm_receive_method"] != 2.0 || said["settlement_time"] != nil {
		t.Errorf("on receipt: %v", said)
	}
	drain(r)
	r.wantErrcode("a received order", r.mini("/wxa/sec/order/upload_shipping_info", r.shipment(no, at.Add(time.Second), true, "2")), 10060004)
	stop()
	stop = r.start()
	defer stop()
	if got := r.shippingOf(no); got["order_state"] != 6.0 {
		t.Errorf("after a restart: %v", got)
	}
	if status, reply := r.control("POST", "/sandbox/shipping/"+no+"/settle", nil); status != 200 || reply["order_state"] != 4.0 {
		t.Errorf("%d %v", status, reply)
	}
	for r.pushed(event)["settlement_time"] == nil { // the last attempt of the former may be made once more
	}
}

// Pushes that were not taken, and reminders that were not due, come after the next start.
func TestPushesAreTakenUpAtStart(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	await := func(events ...string) {
		t.Helper()
		for len(events) > 0 {
			said, _ := r.nextPush()["Event"].(string)
			events = slices.DeleteFunc(events, func(e string) bool { return e == said })
		}
	}
	const settlement, verdict, reminder = "trade_manage_order_settlement", "wxa_media_check", "trade_manage_remind_shipping"
	r.control("POST", "/sandbox/settings", object{"shipping_remind_ms": 1000, "resend_scale": 1})
	r.bought("T00000001")
	r.bought("T00000002")
	r.wantErrcode("upload", r.mini("/wxa/sec/order/upload_shipping_info", r.shipment("T00000002", time.Now(), true, "1")), 0)
	r.wantErrcode("check", r.mini("/wxa/media_check_async", object{
		"version": 2, "scene": 1, "openid": OpenID("ann"), "media_type": 2, "media_url": "https://shop.example/a.jpg",
	}), 0)
	await(settlement, verdict)
	stop()
	r.start()
	await(settlement, verdict, reminder)
}

// drain takes the copies of a push that the rig's shop, which never says 200, is sent again.
func drain(r *rig) {
	for range pushAttempts - 1 {
		r.arrival()
	}
}

func TestShippingReminder(t *testing.T) {
	r := started(t)
	r.control("POST", "/sandbox/settings", object{"shipping_remind_ms": 1})
	r.bought("T00000001")
	if said := r.pushed("trade_manage_remind_shipping"); said["merchant_trade_no"] != "T00000001" || said["msg"] == "" {
		t.Errorf("%v", said)
	}
}

func TestTradeManagement(t *testing.T) {
	r := started(t)
	for _, no := range []string{"T00000001", "T00000002", "T00000003"} {
		r.bought(no)
	}
	r.wantErrcode("upload", r.mini("/wxa/sec/order/upload_shipping_info", r.shipment("T00000002", time.Now(), true, "1")), 0)
	page := r.mini("/wxa/sec/order/get_order_list", object{"order_state": 1, "page_size": 1})
	if list := page["order_list"].([]any); len(list) != 1 || page["has_more"] != true {
		t.Errorf("%v", page)
	}
	page = r.mini("/wxa/sec/order/get_order_list", object{"order_state": 1, "page_size": 1, "last_index": page["last_index"]})
	if list := page["order_list"].([]any); len(list) != 1 || list[0].(object)["merchant_trade_no"] != "T00000003" || page["has_more"] != false {
		t.Errorf("%v", page)
	}
	nudge := object{"merchant_id": r.keys.MchID, "merchant_trade_no": "T00000002", "received_time": time.Now().Unix()}
	r.wantErrcode("asked to confirm", r.mini("/wxa/sec/order/notify_confirm_receive", nudge), 0)
	r.wantErrcode("asked twice", r.mini("/wxa/sec/order/notify_confirm_receive", nudge), 10060004)
	if got := r.mini("/wxa/sec/order/is_trade_managed", object{"appid": r.keys.AppID}); got["is_trade_managed"] != true {
		t.Errorf("%v", got)
	}
	const path = "pages/o?no=${商品订单号}"
	r.wantErrcode("a path without the number", r.mini("/wxa/sec/order/update_order_detail_path", object{"path": "pages/o"}), 10060035)
	r.wantErrcode("a path", r.mini("/wxa/sec/order/update_order_detail_path", object{"path": path}), 0)
	if got := r.mini("/wxa/sec/order/get_order_detail_path", object{}); got["path"] != path {
		t.Errorf("%v", got)
	}
	if got := r.mini("/cgi-bin/express/delivery/open_msg/get_delivery_list", object{}); got["count"] != float64(len(delivery)) {
		t.Errorf("%v", got)
	}
	_, shown := r.control("GET", "/sandbox/shipping?out_trade_no=T00000002", nil)
	if list := shown["list"].([]any); len(list) != 1 || list[0].(object)["nudged"] != true || list[0].(object)["uploads"] != 1.0 {
		t.Errorf("%v", shown)
	}
}

// openPush decrypts a push: 16 random bytes, the message's length in four, the message, the app id, padding.
func openPush(t *testing.T, key []byte, encrypted string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	cipher.NewCBCDecrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	return data[20 : 20+binary.BigEndian.Uint32(data[16:20])]
}
