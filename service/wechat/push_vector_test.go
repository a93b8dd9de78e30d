package wechat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
)

// The examples of WeChat's page on message push: token AAAAA, EncodingAESKey of 43 A, one appid.
const (
	vectorAppID   = "wxba5fad812f8e6fb9"
	vectorTime    = "1714112445"
	vectorNonce   = "415670741"
	vectorEncrypt = "+qdx1OKCy+5JPCBFWw70tm0fJGb2Jmeia4FCB7kao+/Q5c/ohsOzQHi8khUOb05JCpj0JB4RvQMkUyus8TPxLKJGQqcvZqzDpVzazhZv6JsXUnnR8XGT740XgXZUXQ7v" +
		"JVnAG+tE8NUd4yFyjPy7GgiaviNrlCTj+l5kdfMuFUPpRSrfMZuMcp3Fn2Pede2IuQrKEYwKSqFIZoNqJ4M8EajAsjLY2km32IIjdf8YL/P50F7mStwntrA2cPDrM1kb6mOcfBgR" +
		"tWygb3VIYnSeOBrebufAlr7F9mFUPAJGj04="
	vectorBody = `{"ToUserName":"gh_97417a04a28d","Encrypt":"` + vectorEncrypt + `"}`
)

// ofExample is a client with the settings of the examples, at a time of theirs.
func (w *world) ofExample(seconds int64) *wechat.Client {
	w.Helper()
	w.config.PushToken, w.config.PushAESKey, w.config.AppID = "AAAAA", strings.Repeat("A", 43), vectorAppID
	return w.newClient(func(o *wechat.Options) { o.Now = func() time.Time { return time.Unix(seconds, 0) } })
}

// The official example of safe mode opens to its message; every other signature of the same message does not open it.
func TestOfficialPushInSafeMode(t *testing.T) {
	w := newWorld(t)
	c := w.ofExample(1714112445)
	good := wechat.PushQuery{
		Signature: "6c5c811b55cc85e0e1b54100749188c20beb3f5d", MsgSignature: "046e02f8204d34f8ba5fa3b1db94908f3df2e9b3",
		Timestamp: vectorTime, Nonce: vectorNonce, EncryptType: "aes",
	}
	p, err := c.ParsePush(good, []byte(vectorBody))
	if err != nil {
		t.Fatal(err)
	}
	if p.MsgType != "event" || p.Event != "debug_demo" || p.FromOpenID != "o9AgO5Kd5ggOC-bXrbNODIiE3bGY" || p.CreateTime.Unix() != 1714112445 || p.XML {
		t.Errorf("%+v", p)
	}
	var message struct {
		Text string `json:"debug_str"`
	}
	if err := json.Unmarshal(p.Message, &message); err != nil || message.Text != "hello world" {
		t.Errorf("%s: %v", p.Message, err)
	}
	for name, change := range map[string]func(*wechat.PushQuery){
		"the plain signature in its place": func(q *wechat.PushQuery) { q.MsgSignature = q.Signature },
		"no msg_signature":                 func(q *wechat.PushQuery) { q.MsgSignature = "" },
		"another nonce":                    func(q *wechat.PushQuery) { q.Nonce = "415670742" },
		"no encrypt_type":                  func(q *wechat.PushQuery) { q.EncryptType = "" },
	} {
		q := good
		change(&q)
		if _, err := c.ParsePush(q, []byte(vectorBody)); !errors.Is(err, wechat.ErrPushUnverified) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.ofExample(1714112445+301).ParsePush(good, []byte(vectorBody)); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Errorf("301 seconds old: %v", err)
	}
	w.config.AppID = "wxba5fad812f8e6fb8"
	other := w.newClient(func(o *wechat.Options) { o.Now = func() time.Time { return time.Unix(1714112445, 0) } })
	if _, err := other.ParsePush(good, []byte(vectorBody)); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Errorf("for another app: %v", err)
	}
}

// The official example in clear is refused although its signature is right, which the address check with the same values shows:
// the signature does not cover the body.
func TestOfficialPushInClearIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.ofExample(1714037059)
	q := wechat.PushQuery{Signature: "899cf89e464efb63f54ddac96b0a0a235f53aa78", Timestamp: "1714037059", Nonce: "486452656"}
	if _, err := c.VerifyPushEcho(q.Signature, q.Timestamp, q.Nonce, "x"); err != nil {
		t.Fatalf("the example's signature: %v", err)
	}
	body := `{"ToUserName":"gh_97417a04a28d","FromUserName":"o9AgO5Kd5ggOC-bXrbNODIiE3bGY","CreateTime":1714037059,"MsgType":"event","Event":"debug_demo","debug_str":"hello world"}`
	for _, kind := range []string{"", "raw", "aes"} {
		q.EncryptType = kind
		if _, err := c.ParsePush(q, []byte(body)); !errors.Is(err, wechat.ErrPushUnverified) {
			t.Errorf("encrypt_type %q: %v", kind, err)
		}
	}
}
