package sandbox

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemall/tidemall/timeout/stall"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SANDBOX_CHILD_DIR"); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

type object = map[string]any

// rig is a sandbox, a merchant who signs by hand, and the merchant's callback address.
type rig struct {
	*testing.T
	dir  string
	url  string
	keys *keyring
	http *http.Client
	shop *httptest.Server

	arrived chan string // path and body of each callback
}

var sharedKeys = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sandbox-keys")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := openKeyring(dir); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "keys.json"))
})

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), arrived: make(chan string, 1000)}
	raw, err := sharedKeys()
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "keys.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.http = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(r.http.CloseIdleConnections)
	r.shop = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusNoContent)
		r.arrived <- req.URL.Path + " " + string(body)
	}))
	t.Cleanup(r.shop.Close)
	return r
}

// start runs a sandbox in this process until the test ends or stop is called.
func (r *rig) start() (stop func()) {
	r.Helper()
	s, err := New(Options{DataDir: r.dir, ResendScale: 0.001})
	if err != nil {
		r.Fatal(err)
	}
	s.Start()
	r.url, r.keys = s.URL(), s.keys
	stop = sync.OnceFunc(func() { s.Stop() })
	r.Cleanup(stop)
	return stop
}

func started(t *testing.T) *rig {
	r := newRig(t)
	r.start()
	return r
}

func (r *rig) control(method, path string, body any) (int, object) {
	r.Helper()
	req, err := http.NewRequest(method, r.url+path, bytes.NewReader(encode(body)))
	if err != nil {
		r.Fatal(err)
	}
	return r.send(req)
}

func (r *rig) send(req *http.Request) (int, object) {
	r.Helper()
	resp, err := r.http.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var reply object
	json.Unmarshal(raw, &reply)
	return resp.StatusCode, reply
}

// pay calls WeChat Pay as a merchant does.
func (r *rig) pay(method, path string, body any) (int, object) {
	r.Helper()
	return r.send(r.signed(method, path, body, time.Now()))
}

func (r *rig) signed(method, path string, body any, at time.Time) *http.Request {
	r.Helper()
	var raw []byte
	if body != nil {
		raw = encode(body)
	}
	req, err := http.NewRequest(method, r.url+path, bytes.NewReader(raw))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Accept", "*/*")
	nonce := randomHex(16)
	text := fmt.Sprintf("%s\n%s\n%d\n%s\n%s\n", method, req.URL.RequestURI(), at.Unix(), nonce, raw)
	req.Header.Set("Authorization", fmt.Sprintf(`WECHATPAY2-SHA256-RSA2048 mchid="%s",nonce_str="%s",signature="%s",timestamp="%d",serial_no="%s"`,
		r.keys.MchID, nonce, merchantSign(r.T, r.keys, text), at.Unix(), r.keys.MchCertSerial))
	return req
}

func merchantSign(t testing.TB, k *keyring, text string) string {
	t.Helper()
	key, err := privateKey(k.MchPrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(text))
	raw, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func (r *rig) order(no string) object {
	return object{
		"appid": r.keys.AppID, "mchid": r.keys.MchID, "description": "Tide tea", "out_trade_no": no,
		"notify_url": r.shop.URL + "/notify/wechat/pay", "amount": object{"total": 100, "currency": "CNY"}, "payer": object{"openid": OpenID("ann")},
	}
}

func (r *rig) prepay(no string) string {
	r.Helper()
	status, reply := r.pay("POST", "/v3/pay/transactions/jsapi", r.order(no))
	id, _ := reply["prepay_id"].(string)
	if status != 200 || id == "" {
		r.Fatalf("%d %v", status, reply)
	}
	return id
}

func (r *rig) query(no string) (int, object) {
	return r.pay("GET", "/v3/pay/transactions/out-trade-no/"+no+"?mchid="+r.keys.MchID, nil)
}

func (r *rig) close(no string) (int, object) {
	return r.pay("POST", "/v3/pay/transactions/out-trade-no/"+no+"/close", object{"mchid": r.keys.MchID})
}

func (r *rig) arrival() string {
	r.Helper()
	body, came := stall.Receive(r.arrived, 10*time.Second)
	if !came {
		r.Fatal("no callback came")
	}
	return body
}

func (r *rig) want(what string, gotStatus int, reply object, status int, code string) {
	r.Helper()
	got, _ := reply["code"].(string)
	if gotStatus != status || strings.ReplaceAll(got, "_", "") != strings.ReplaceAll(code, "_", "") {
		r.Errorf("%s: %d %v, want %d %s", what, gotStatus, reply, status, code)
	}
}

func TestPrepayRules(t *testing.T) {
	r := started(t)
	for what, c := range map[string]struct {
		change func(object)
		status int
		code   string
	}{
		"unknown field":    {func(o object) { o["total_fee"] = 1 }, 400, "PARAM_ERROR"},
		"no description":   {func(o object) { delete(o, "description") }, 400, "PARAM_ERROR"},
		"long description": {func(o object) { o["description"] = strings.Repeat("潮", 128) }, 400, "PARAM_ERROR"},
		"short number":     {func(o object) { o["out_trade_no"] = "12345" }, 400, "PARAM_ERROR"},
		"bad number":       {func(o object) { o["out_trade_no"] = "1234567 " }, 400, "PARAM_ERROR"},
		"zero":             {func(o object) { o["amount"] = object{"total": 0} }, 400, "PARAM_ERROR"},
		"yuan":             {func(o object) { o["amount"] = object{"total": 1.5} }, 400, "PARAM_ERROR"},
		"text amount":      {func(o object) { o["amount"] = object{"total": "100"} }, 400, "PARAM_ERROR"},
		"dollars":          {func(o object) { o["amount"] = object{"total": 100, "currency": "USD"} }, 400, "PARAM_ERROR"},
		"foreign openid":   {func(o object) { o["payer"] = object{"openid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"} }, 400, "PARAM_ERROR"},
		"query in notify":  {func(o object) { o["notify_url"] = "https://shop.example/n?x=1" }, 400, "PARAM_ERROR"},
		"http notify":      {func(o object) { o["notify_url"] = "http://shop.example/n" }, 400, "PARAM_ERROR"},
		"bad time":         {func(o object) { o["time_expire"] = "2099-01-01 00:00:00" }, 400, "PARAM_ERROR"},
		"other app":        {func(o object) { o["appid"] = "wx0000000000000000" }, 400, "APPID_MCHID_NOT_MATCH"},
		"https notify":     {func(o object) { o["notify_url"] = "https://shop.example/n" }, 200, ""},
		"127 characters":   {func(o object) { o["description"] = strings.Repeat("潮", 127) }, 200, ""},
	} {
		body := r.order("N" + randomDigits(12))
		c.change(body)
		status, reply := r.pay("POST", "/v3/pay/transactions/jsapi", body)
		r.want(what, status, reply, c.status, c.code)
	}
}

func TestNumberRules(t *testing.T) {
	r := started(t)
	first := r.prepay("T00000001")
	if second := r.prepay("T00000001"); second == first {
		t.Error("the same again gives a fresh prepay_id")
	}
	changed := r.order("T00000001")
	changed["amount"] = object{"total": 101}
	status, reply := r.pay("POST", "/v3/pay/transactions/jsapi", changed)
	r.want("changed", status, reply, 403, "OUT_TRADE_NO_USED")
	if status, _ := r.close("T00000001"); status != 204 {
		t.Errorf("close: %d", status)
	}
	if status, _ := r.close("T00000001"); status != 204 {
		t.Errorf("close again: %d", status)
	}
	status, reply = r.pay("POST", "/v3/pay/transactions/jsapi", r.order("T00000001"))
	r.want("closed", status, reply, 400, "ORDER_CLOSED")
	status, reply = r.control("POST", "/sandbox/pay", object{"prepay_id": first})
	r.want("paying a closed one", status, reply, 409, "ORDER_CLOSED")
	if _, reply := r.query("T00000001"); reply["trade_state"] != "CLOSED" || reply["transaction_id"] != nil {
		t.Errorf("%v", reply)
	}
	status, reply = r.close("T00000009")
	r.want("unknown", status, reply, 404, "ORDER_NOT_EXIST")
	r.control("POST", "/sandbox/settings", object{"close_unknown": 204, "close_min_age_ms": 60000})
	if status, _ := r.close("T00000009"); status != 204 {
		t.Errorf("switched: %d", status)
	}
	r.prepay("T00000002")
	status, reply = r.close("T00000002")
	r.want("too young", status, reply, 400, "INVALID_REQUEST")
}

func TestTimeExpire(t *testing.T) {
	b, now := &books{remembered: nothing()}, time.Now()
	open := func(no, expire string, at time.Time) (*order, *refusal) {
		_, refused := b.openPrepay(prepayBody{OutTradeNo: no, TimeExpire: expire}, at)
		return b.orders[no], refused
	}
	if o, _ := open("soon", wechatTime(now.Add(5*time.Second)), now); !o.TimeExpire.Equal(now.Add(time.Minute)) {
		t.Errorf("sooner than a minute is moved there: %v", o.TimeExpire)
	}
	later := wechatTime(now.Add(10 * time.Minute))
	o, _ := open("later", later, now)
	if wechatTime(o.TimeExpire) != later {
		t.Errorf("%v", o.TimeExpire)
	}
	if o, _ := open("none", "", now); !o.TimeExpire.Equal(now.Add(7 * 24 * time.Hour)) {
		t.Errorf("%v", o.TimeExpire)
	}
	if _, refused := open("later", later, now.Add(11*time.Minute)); refused == nil {
		t.Error("a prepay past time_expire went through")
	}
	id := o.Prepays[0].ID
	if p := payProblem(o, id, now.Add(11*time.Minute)); p == nil || p.code != "ORDER_EXPIRED" || o.State != stateNotPay {
		t.Errorf("%v", p)
	}
	if p := payProblem(b.orders["none"], b.orders["none"].Prepays[0].ID, now.Add(3*time.Hour)); p == nil || p.code != "PREPAY_EXPIRED" {
		t.Errorf("%v", p)
	}
}

func TestRequestsMustBeSigned(t *testing.T) {
	r := started(t)
	path := "/v3/pay/transactions/out-trade-no/T00000001?mchid=" + r.keys.MchID
	for what, spoil := range map[string]func(*http.Request){
		"none": func(q *http.Request) { q.Header.Del("Authorization") },
		"path": func(q *http.Request) { q.URL.RawQuery += "&x=1" },
		"signature": func(q *http.Request) {
			q.Header.Set("Authorization", strings.Replace(q.Header.Get("Authorization"), `signature="`, `signature="AAAA`, 1))
		},
		"serial": func(q *http.Request) {
			q.Header.Set("Authorization", strings.Replace(q.Header.Get("Authorization"), r.keys.MchCertSerial, "00", 1))
		},
	} {
		req := r.signed("GET", path, nil, time.Now())
		spoil(req)
		status, reply := r.send(req)
		r.want(what, status, reply, 401, "SIGN_ERROR")
	}
	for offset, want := range map[time.Duration]int{-290 * time.Second: 404, -310 * time.Second: 401, 310 * time.Second: 401} {
		if status, _ := r.send(r.signed("GET", path, nil, time.Now().Add(offset))); status != want {
			t.Errorf("%v: %d, want %d", offset, status, want)
		}
	}
	req := r.signed("GET", path, nil, time.Now())
	req.Header.Set("User-Agent", "")
	status, reply := r.send(req)
	r.want("no user agent", status, reply, 400, "INVALID_REQUEST")
}

func TestRepliesAreSignedAndErrorsAreNot(t *testing.T) {
	r := started(t)
	r.prepay("T00000001")
	resp, err := r.http.Do(r.signed("GET", "/v3/pay/transactions/out-trade-no/T00000001?mchid="+r.keys.MchID, nil, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	text := resp.Header.Get("Wechatpay-Timestamp") + "\n" + resp.Header.Get("Wechatpay-Nonce") + "\n" + string(body) + "\n"
	if !verify(&r.keys.platform.PublicKey, text, resp.Header.Get("Wechatpay-Signature")) || resp.Header.Get("Wechatpay-Serial") != r.keys.PayPublicKeyID {
		t.Errorf("%v %s", resp.Header, body)
	}
	resp, err = r.http.Do(r.signed("GET", "/v3/pay/transactions/out-trade-no/T00000009?mchid="+r.keys.MchID, nil, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 404 || resp.Header.Get("Wechatpay-Signature") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for path, want := range map[string]int{"/v3/pay/transactions/jsapi": 405, "/v3/none": 404, "/cgi-bin/none": 404, "/wxa/x": 404} {
		resp, err := r.http.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || len(body) != 0 {
			t.Errorf("%s: %d %q, want an empty %d", path, resp.StatusCode, body, want)
		}
	}
}

func (r *rig) requestPayment(prepay string) object {
	p := object{"timeStamp": fmt.Sprint(time.Now().Unix()), "nonceStr": randomHex(16), "package": "prepay_id=" + prepay, "signType": "RSA"}
	p["paySign"] = merchantSign(r.T, r.keys, fmt.Sprintf("%s\n%s\n%s\n%s\n", r.keys.AppID, p["timeStamp"], p["nonceStr"], p["package"]))
	return p
}

func TestPayVerifiesLikeThePhone(t *testing.T) {
	r := started(t)
	id, other := r.prepay("T00000001"), r.prepay("T00000002")
	for code, spoil := range map[string]func(object){
		"PAY_SIGN_WRONG":  func(p object) { p["nonceStr"] = "another" },
		"PACKAGE_WRONG":   func(p object) { p["package"] = "prepay_id=" + other },
		"SIGN_TYPE_WRONG": func(p object) { p["signType"] = "MD5" },
		"TIMESTAMP_WRONG": func(p object) { p["timeStamp"] = "now" },
		"NONCE_WRONG":     func(p object) { p["nonceStr"] = "" },
	} {
		p := r.requestPayment(id)
		spoil(p)
		status, reply := r.control("POST", "/sandbox/pay", object{"prepay_id": id, "request_payment": p})
		r.want(code, status, reply, 400, code)
	}
	status, reply := r.control("POST", "/sandbox/pay", object{"prepay_id": id, "result": "FAIL"})
	if status != 200 || reply["trade_state"] != "NOTPAY" {
		t.Errorf("a failed payment: %d %v", status, reply)
	}
	status, reply = r.control("POST", "/sandbox/pay", object{"prepay_id": id, "request_payment": r.requestPayment(id), "notify": object{"times": 3}})
	if status != 200 || reply["trade_state"] != "SUCCESS" || reply["transaction_id"] == nil {
		t.Fatalf("%d %v", status, reply)
	}
	first := r.arrival()
	for range 2 {
		if next := noticeID(t, r.arrival()); next != noticeID(t, first) {
			t.Errorf("copies have one id: %s", next)
		}
	}
	status, reply = r.control("POST", "/sandbox/pay", object{"prepay_id": id})
	r.want("paid twice", status, reply, 409, "ORDER_PAID")
	status, reply = r.control("POST", "/sandbox/pay", object{"prepay_id": "wx0"})
	r.want("unknown", status, reply, 404, "PREPAY_NOT_FOUND")
	status, reply = r.control("POST", "/sandbox/pay", object{"prepay": id})
	r.want("misspelled", status, reply, 400, "MALFORMED")
	status, reply = r.close("T00000001")
	if status != 400 && status != 403 {
		t.Errorf("closing a paid one: %d %v", status, reply)
	}
}

func noticeID(t *testing.T, arrival string) string {
	t.Helper()
	var n struct{ ID string }
	_, body, _ := strings.Cut(arrival, " ")
	if err := json.Unmarshal([]byte(body), &n); err != nil || n.ID == "" || len(n.ID) > 36 {
		t.Fatalf("%s: %v", arrival, err)
	}
	return n.ID
}

// The late payment: an honest callback on a closed number books it as paid, once.
func TestNotifyBooksTheLatePayment(t *testing.T) {
	r := started(t)
	r.prepay("T00000001")
	r.close("T00000001")
	for what, order := range map[string]object{
		"tampered":   {"tamper": "signature"},
		"overridden": {"override": object{"amount_total": 1}},
		"too old":    {"timestamp_offset_s": -300},
		"refund":     {"to": "refund"},
	} {
		order["out_trade_no"] = "T00000001"
		if order["to"] == nil {
			order["to"] = "pay"
		}
		if status, reply := r.control("POST", "/sandbox/notify", order); status != 200 {
			t.Fatalf("%s: %d %v", what, status, reply)
		}
		r.arrival()
		if _, reply := r.query("T00000001"); reply["trade_state"] != "CLOSED" {
			t.Errorf("%s changed the books: %v", what, reply)
		}
	}
	status, reply := r.control("POST", "/sandbox/notify", object{"to": "pay", "out_trade_no": "T00000001", "tamper": "none", "override": object{}, "times": 5, "parallel": true})
	responses, _ := reply["responses"].([]any)
	if status != 200 || len(responses) != 5 || responses[0].(object)["status"] != float64(204) {
		t.Fatalf("%d %v", status, reply)
	}
	_, tx := r.query("T00000001")
	if tx["trade_state"] != "SUCCESS" || tx["transaction_id"] == nil {
		t.Fatalf("%v", tx)
	}
	r.control("POST", "/sandbox/notify", object{"to": "pay", "out_trade_no": "T00000001", "timestamp_offset_s": 299})
	if _, again := r.query("T00000001"); again["transaction_id"] != tx["transaction_id"] {
		t.Error("a second transaction was made")
	}
	status, refund := r.pay("POST", "/v3/refund/domestic/refunds", object{
		"transaction_id": tx["transaction_id"], "out_refund_no": "L1", "amount": object{"refund": 100, "total": 100, "currency": "CNY"},
	})
	if status != 200 || refund["status"] != "PROCESSING" {
		t.Errorf("the late payment must be refundable: %d %v", status, refund)
	}
	status, reply = r.control("POST", "/sandbox/notify", object{"to": "pay", "out_trade_no": "T00000009"})
	r.want("unknown", status, reply, 404, "NOT_FOUND")
}

func TestRefundsEndAndCanBeHeld(t *testing.T) {
	r := started(t)
	r.control("POST", "/sandbox/settings", object{"refund_hold": true})
	r.control("POST", "/sandbox/pay", object{"prepay_id": r.prepay("T00000001"), "notify": object{"times": 0}})
	body := object{"out_trade_no": "T00000001", "out_refund_no": "R1", "notify_url": r.shop.URL + "/r", "amount": object{"refund": 30, "total": 100, "currency": "CNY"}}
	if status, reply := r.pay("POST", "/v3/refund/domestic/refunds", body); status != 200 || reply["status"] != "PROCESSING" {
		t.Fatalf("%d %v", status, reply)
	}
	for _, status := range []string{"ABNORMAL", "SUCCESS"} { // R03
		if code, reply := r.control("POST", "/sandbox/refunds/R1", object{"status": status}); code != 200 || reply["status"] != status {
			t.Fatalf("%d %v", code, reply)
		}
		if got := r.arrival(); !strings.HasPrefix(got, "/r ") || !strings.Contains(got, "REFUND."+status) {
			t.Errorf("%s", got)
		}
	}
	code, reply := r.control("POST", "/sandbox/refunds/R1", object{"status": "CLOSED"})
	r.want("final", code, reply, 409, "RESULT_FINAL")
	_, list := r.control("GET", "/sandbox/refunds?out_trade_no=T00000001", nil)
	if refunds := list["list"].([]any); len(refunds) != 1 || refunds[0].(object)["status"] != "SUCCESS" {
		t.Errorf("%v", list)
	}
	for i := range 49 {
		body["out_refund_no"], body["amount"] = fmt.Sprint("S", i), object{"refund": 1, "total": 100, "currency": "CNY"}
		if status, reply := r.pay("POST", "/v3/refund/domestic/refunds", body); status != 200 {
			t.Fatalf("%d: %d %v", i, status, reply)
		}
	}
	body["out_refund_no"] = "S50" // R15
	status, reply := r.pay("POST", "/v3/refund/domestic/refunds", body)
	r.want("51st", status, reply, 400, "INVALID_REQUEST")
}

func TestRefundAfterAYear(t *testing.T) { // R12
	b := &books{remembered: nothing()}
	paid := &order{OutTradeNo: "T1", State: stateSuccess, TotalFen: 100, PaidAt: time.Now()}
	var body refundBody
	body.Amount.Refund, body.Amount.Total = 1, 100
	if refused := b.refundRefusal(paid, body, paid.PaidAt.Add(364*24*time.Hour)); refused != nil {
		t.Error(refused.message)
	}
	if refused := b.refundRefusal(paid, body, paid.PaidAt.Add(366*24*time.Hour)); refused == nil {
		t.Error("refunded after more than a year")
	}
}

func TestTokens(t *testing.T) {
	r := started(t)
	app := "appid=" + r.keys.AppID + "&secret=" + r.keys.AppSecret
	get := func(path string) object { _, reply := r.control("GET", path, nil); return reply }
	phone := func(token any) float64 {
		_, reply := r.control("POST", fmt.Sprintf("/wxa/business/getuserphonenumber?access_token=%v", token), object{"code": "demo-phone-13800000000"})
		return reply["errcode"].(float64)
	}
	stable := func(force bool) object {
		_, reply := r.control("POST", "/cgi-bin/stable_token", object{"grant_type": "client_credential", "appid": r.keys.AppID, "secret": r.keys.AppSecret, "force_refresh": force})
		return reply
	}
	first := get("/cgi-bin/token?" + app)["access_token"]
	if code := phone(first); code != 0 {
		t.Errorf("%v", code)
	}
	get("/cgi-bin/token?" + app)
	if code := phone(first); code != 40001 {
		t.Errorf("a new plain token must end the former: %v", code)
	}
	a, b := stable(false)["access_token"], stable(false)["access_token"]
	if a != b || phone(a) != 0 {
		t.Error("a stable token is the same while it is good")
	}
	c := stable(true)["access_token"]
	if c == a || phone(a) != 40001 || phone(c) != 0 {
		t.Error("force_refresh makes a new one")
	}
	if reply := stable(true); reply["errcode"] != float64(45009) {
		t.Errorf("forced twice in 30 s: %v", reply)
	}
	r.control("POST", "/sandbox/settings", object{"token_ttl_s": 1})
	short := get("/cgi-bin/token?" + app)["access_token"]
	for patience := stall.NewPatience(10 * time.Second); phone(short) != 42001; {
		if patience.Over() {
			t.Fatal("the token does not end")
		}
	}
	if reply := get("/cgi-bin/token?appid=" + r.keys.AppID + "&secret=x"); reply["errcode"] != float64(40125) {
		t.Errorf("%v", reply)
	}
}

func TestCallsAreRecordedWithoutSecrets(t *testing.T) {
	r := started(t)
	r.control("GET", "/sns/jscode2session?grant_type=authorization_code&appid="+r.keys.AppID+"&js_code=demo-a&secret="+r.keys.AppSecret, nil)
	r.control("POST", "/cgi-bin/stable_token", object{"grant_type": "client_credential", "appid": r.keys.AppID, "secret": r.keys.AppSecret})
	r.prepay("T00000001")
	r.close("T00000001")
	r.query("T00000001")
	_, all := r.control("GET", "/sandbox/calls", nil)
	if text := string(encode(all)); strings.Contains(text, r.keys.AppSecret) {
		t.Error("the secret is in the list of calls")
	}
	for path, want := range map[string]int{
		"": 5, "/v3/pay/transactions/jsapi": 1, "/v3/pay/transactions/out-trade-no/T00000001": 1, "/v3/": 3,
		"/v3/pay/transactions/out-trade-no/T00000001/close": 1, "/v3/pay/transactions/out-trade-no/{out_trade_no}/close": 1, "/close": 1,
		"/v3/pay/transactions/out-trade-no": 2, "/v3/pay/transactions/out-trade-no/*": 1, "T00000001": 2, "/sns": 1,
	} {
		_, reply := r.control("GET", "/sandbox/calls?path="+path, nil)
		if got := len(reply["list"].([]any)); got != want {
			t.Errorf("%q: %d calls, want %d", path, got, want)
		}
	}
}

func TestFaultsAreUsedUpAndCleared(t *testing.T) {
	r := started(t)
	if status, reply := r.control("POST", "/sandbox/faults", object{"path": "/close", "mode": "status", "status": 500, "count": 3}); status != 201 {
		t.Fatalf("%d %v", status, reply)
	}
	r.prepay("T00000001")
	for range 3 {
		if status, _ := r.close("T00000001"); status != 500 {
			t.Errorf("%d", status)
		}
		if _, reply := r.query("T00000001"); reply["trade_state"] != "NOTPAY" {
			t.Errorf("%v", reply)
		}
	}
	if status, _ := r.close("T00000001"); status != 204 {
		t.Errorf("%d", status)
	}
	r.control("POST", "/sandbox/faults", object{"path": "/v3/pay/transactions/jsapi", "method": "post", "mode": "code", "code": "SYSTEM_ERROR", "count": -1})
	if status, _ := r.pay("POST", "/v3/pay/transactions/jsapi", r.order("T00000002")); status != 500 {
		t.Errorf("%d", status)
	}
	if status, _ := r.control("DELETE", "/sandbox/faults", nil); status != 204 {
		t.Errorf("%d", status)
	}
	r.prepay("T00000002")
	status, reply := r.control("POST", "/sandbox/faults", object{"path": "/x", "mode": "explode"})
	r.want("unknown mode", status, reply, 400, "MODE_UNKNOWN")
}

func TestPagesAreSelfContained(t *testing.T) {
	r := started(t)
	body := r.order("T00000001")
	body["description"] = `<script>alert(1)</script>`
	_, reply := r.pay("POST", "/v3/pay/transactions/jsapi", body)
	get := func(path, language string) (int, string, http.Header) {
		req, _ := http.NewRequest("GET", r.url+path, nil)
		req.Header.Set("Accept-Language", language)
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(raw), resp.Header
	}
	cashier := "/sandbox/cashier?prepay_id=" + reply["prepay_id"].(string)
	for _, path := range []string{"/", cashier} {
		status, page, header := get(path, "")
		if status != 200 || !strings.Contains(page, "1.00") || strings.Contains(page, "<script>") || strings.Contains(page, "style=") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
			t.Errorf("%s: %d %s", path, status, page)
		}
		if !strings.Contains(header.Get("Content-Security-Policy"), "script-src 'self'") || strings.Contains(header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: %v", path, header)
		}
		if !strings.Contains(page, "微信支付") {
			t.Errorf("%s is Chinese by default", path)
		}
		if _, page, _ := get(path, "en-GB,en;q=0.9,zh;q=0.5"); !strings.Contains(page, "WeChat Pay") {
			t.Errorf("%s can be English", path)
		}
	}
	if _, index, _ := get("/", ""); !strings.Contains(index, cashier) {
		t.Error("the index links to the cashier")
	}
	for _, asset := range []string{"cashier.js", "sandbox.css"} {
		if status, text, _ := get("/sandbox/assets/"+asset, ""); status != 200 || text == "" {
			t.Errorf("%s: %d", asset, status)
		}
	}
	if status, _, _ := get("/sandbox/cashier?prepay_id=wx0", ""); status != 404 {
		t.Errorf("%d", status)
	}
}
