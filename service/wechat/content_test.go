package wechat_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

func TestCheckText(t *testing.T) {
	w := newWorld(t)
	ann := sandbox.OpenID(openidName)
	for text, want := range map[string]wechat.Verdict{
		"放在门口 <b>&": {Suggest: wechat.SuggestPass, Label: 100},
		"这是违规的":     {Suggest: wechat.SuggestRisky, Label: 20001},
		"有点可疑":      {Suggest: wechat.SuggestReview, Label: 21000},
	} {
		if got, err := w.client.CheckText(t.Context(), ann, wechat.SceneComment, text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, c := range w.calls("/wxa/msg_sec_check") {
		if c.Status != 200 || c.Query != "access_token=%2A%2A%2A" {
			t.Errorf("call %s: %d", c.Query, c.Status)
		}
	}
	// A refusal is an answer: it opens no breaker.
	w.settings(m{"check_unseen": true})
	for range 12 {
		_, err := w.client.CheckText(t.Context(), ann, wechat.SceneProfile, "安")
		if e := asError(t, err); e.Kind != wechat.KindRejected || e.Code != "61010" {
			t.Fatal(err)
		}
	}
	w.settings(m{"check_unseen": false})
	w.fault(m{"path": "/wxa/msg_sec_check", "mode": "code", "code": 87014})
	if got, err := w.client.CheckText(t.Context(), ann, wechat.SceneProfile, "安"); err != nil || got.Suggest != wechat.SuggestRisky {
		t.Errorf("the former version's refusal: %+v, %v", got, err)
	}
	for _, mode := range []string{"html", "empty", "reset", "status"} {
		w.fault(m{"path": "/wxa/msg_sec_check", "mode": mode})
		if got, err := w.client.CheckText(t.Context(), ann, wechat.SceneProfile, "安"); wechat.KindOf(err) != wechat.KindUnknown {
			t.Errorf("%s: %+v, %v", mode, got, err)
		}
	}
}

// A check that is not answered takes two seconds and no more; after ten of them nothing is asked for a moment, and login, which
// has a breaker of its own, still works.
func TestChecksThatAreNotAnsweredAreShortAndShutNobodyOut(t *testing.T) {
	w := newWorld(t)
	ann := sandbox.OpenID(openidName)
	w.fault(m{"path": "/wxa/msg_sec_check", "mode": "timeout", "count": -1})
	began := time.Now()
	_, err := w.client.CheckText(t.Context(), ann, wechat.SceneComment, "好")
	if took := time.Since(began); wechat.KindOf(err) != wechat.KindUnknown || took < wechat.ContentLimit || took > wechat.ContentLimit+8*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	w.control("DELETE", "/sandbox/faults", nil, nil)
	w.fault(m{"path": "/wxa/msg_sec_check", "mode": "reset", "count": -1})
	for range 9 {
		if _, err := w.client.CheckText(t.Context(), ann, wechat.SceneComment, "好"); wechat.KindOf(err) != wechat.KindUnknown {
			t.Fatal(err)
		}
	}
	w.fault(m{"path": "/wxa/media_check_async", "mode": "reset", "count": -1})
	w.behindTheBreaker("/wxa/", func() error {
		_, err := w.client.CheckText(t.Context(), ann, wechat.SceneComment, "好")
		return err
	})
	w.behindTheBreaker("/wxa/", func() error {
		_, err := w.client.CheckPicture(t.Context(), ann, wechat.SceneComment, "https://shop.example/a.jpg")
		return err
	})
	if _, err := w.client.Login(t.Context(), "demo-"+openidName); err != nil || !w.client.MiniAvailable() {
		t.Errorf("login: %v", err)
	}
}

func TestThePictureCheckIsAnsweredByAPush(t *testing.T) {
	w := newWorld(t)
	ann := sandbox.OpenID(openidName)
	w.shop.answerNext(http.StatusInternalServerError, http.StatusOK, http.StatusOK) // the first push fails here and comes again
	refused := 1
	w.settings(m{"push_url": w.shop.url + "/notify/wechat/push"})
	for address, want := range map[string]wechat.Verdict{
		"https://shop.example/files/a.jpg":       {Suggest: wechat.SuggestPass, Label: 100},
		"https://shop.example/files/a.jpg?risky": {Suggest: wechat.SuggestRisky, Label: 20001},
	} {
		trace, err := w.client.CheckPicture(t.Context(), ann, wechat.SceneComment, address)
		if err != nil || trace == "" {
			t.Fatal(trace, err)
		}
		c := w.nextCallback()
		for ; refused > 0; refused-- {
			c = w.nextCallback()
		}
		push, err := w.client.ParsePush(queryOf(c.query), c.body)
		if err != nil || c.path != "/notify/wechat/push" || push.Event != wechat.EventMediaCheck || push.FromOpenID != ann {
			t.Fatalf("%s: %+v, %v", c.path, push, err)
		}
		got, err := wechat.ParseMediaCheck(push)
		if err != nil || got != (wechat.MediaVerdict{Verdict: want, TraceID: trace}) {
			t.Errorf("%+v, %v, want %+v of %s", got, err, want, trace)
		}
	}
}

func queryOf(q url.Values) wechat.PushQuery {
	return wechat.PushQuery{
		Signature: q.Get("signature"), MsgSignature: q.Get("msg_signature"), Timestamp: q.Get("timestamp"), Nonce: q.Get("nonce"), EncryptType: q.Get("encrypt_type"),
	}
}

func TestParseMediaCheck(t *testing.T) {
	for message, want := range map[string]wechat.MediaVerdict{
		`{"trace_id":"t","errcode":0,"result":{"suggest":"review","label":20002}}`:                                        {TraceID: "t", Verdict: wechat.Verdict{Suggest: "review", Label: 20002}},
		`<xml><trace_id>t</trace_id><errcode>0</errcode><result><suggest>pass</suggest><label>100</label></result></xml>`: {TraceID: "t", Verdict: wechat.Verdict{Suggest: "pass", Label: 100}},
		`{"trace_id":"t","errcode":-1008,"errmsg":"download failed"}`:                                                     {TraceID: "t", Failed: true},
		`{"trace_id":"t","errcode":0,"result":{"suggest":"maybe"}}`:                                                       {TraceID: "t", Failed: true},
	} {
		got, err := wechat.ParseMediaCheck(wechat.Push{Event: wechat.EventMediaCheck, Message: []byte(message), XML: message[0] == '<'})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", message, got, err)
		}
	}
	for _, bad := range []wechat.Push{
		{Event: wechat.EventMediaCheck, Message: []byte(`{"errcode":0}`)},
		{Event: wechat.EventMediaCheck, Message: []byte(`[]`)},
		{Event: "other", Message: []byte(`{"trace_id":"t"}`)},
	} {
		if got, err := wechat.ParseMediaCheck(bad); err == nil {
			t.Errorf("%s: %+v", bad.Message, got)
		}
	}
}
