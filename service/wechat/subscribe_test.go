package wechat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

const subscribeTemplate = "DEMO-order-paid-0000000000000000000000000000"

func subscribeMessage(values map[string]string) wechat.SubscribeMessage {
	return wechat.SubscribeMessage{OpenID: sandbox.OpenID(openidName), TemplateID: subscribeTemplate, Page: "pages/order/detail?no=T1", Values: values}
}

var goodValues = map[string]string{"thing1": "潮汐茶", "amount2": "12.00元", "time3": "2026年1月31日 15:01", "character_string4": "T202601310123456789AB"}

func TestSubscribeMessageArrives(t *testing.T) {
	w := newWorld(t)
	if err := w.client.SendSubscribeMessage(t.Context(), subscribeMessage(goodValues)); err != nil {
		t.Fatal(err)
	}
	var told struct {
		List []struct {
			OpenID     string            `json:"openid"`
			TemplateID string            `json:"template_id"`
			Page       string            `json:"page"`
			Values     map[string]string `json:"values"`
		}
	}
	w.control("GET", "/sandbox/messages?name="+openidName, nil, &told)
	if len(told.List) != 1 || told.List[0].TemplateID != subscribeTemplate || told.List[0].Page != "pages/order/detail?no=T1" || told.List[0].Values["thing1"] != "潮汐茶" {
		t.Errorf("%+v", told.List)
	}
	w.secretFree(w.logs.String())
}

// One consent is one message; then, and without any, WeChat answers 43101, which is its last word.
func TestSubscribeMessageNeedsConsent(t *testing.T) {
	w := newWorld(t)
	w.settings(m{"subscribe_grants": true})
	send := func() error { return w.client.SendSubscribeMessage(t.Context(), subscribeMessage(goodValues)) }
	wantCode(t, send(), wechat.KindRejected, "43101")
	var reply m
	if status := w.control("POST", "/sandbox/subscriptions", m{"name": openidName, "template_id": subscribeTemplate, "grants": 1}, &reply); status != 200 {
		t.Fatalf("%d %v", status, reply)
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, send(), wechat.KindRejected, "43101")
	if !wechat.SubscribeRefused("43101") || wechat.SubscribeRefused("43108") || wechat.SubscribeRefused("-1") {
		t.Error("which codes are the last word")
	}
}

func wantCode(t *testing.T, err error, kind wechat.Kind, code string) {
	t.Helper()
	wantKind(t, err, kind)
	var e *wechat.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%v, want code %s", err, code)
	}
}

// What WeChat refuses, and what it asks to try again.
func TestSubscribeMessageErrors(t *testing.T) {
	w := newWorld(t)
	for value, message := range map[string]wechat.SubscribeMessage{
		"40003": {OpenID: "o-somebody", TemplateID: subscribeTemplate, Values: goodValues},
		"40037": {OpenID: sandbox.OpenID(openidName), TemplateID: "short", Values: goodValues},
		"41030": {OpenID: sandbox.OpenID(openidName), TemplateID: subscribeTemplate, Page: "/pages/x", Values: goodValues},
		"47003": subscribeMessage(map[string]string{"thing1": strings.Repeat("茶", 21)}),
	} {
		wantCode(t, w.client.SendSubscribeMessage(t.Context(), message), wechat.KindRejected, value)
	}
	for code, kind := range map[int]wechat.Kind{43107: wechat.KindRejected, 45168: wechat.KindRejected, 43108: wechat.KindBusy, -1: wechat.KindBusy, 45009: wechat.KindFrequency} {
		w.fault(m{"path": "/cgi-bin/message/subscribe/send", "mode": "code", "code": code})
		wantKind(t, w.client.SendSubscribeMessage(t.Context(), subscribeMessage(goodValues)), kind)
	}
	w.fault(m{"path": "/cgi-bin/message/subscribe/send", "mode": "reset"})
	wantKind(t, w.client.SendSubscribeMessage(t.Context(), subscribeMessage(goodValues)), wechat.KindUnknown)
	w.fault(m{"path": "/cgi-bin/message/subscribe/send", "mode": "code", "code": 40001}) // the token is fetched anew, once
	if err := w.client.SendSubscribeMessage(t.Context(), subscribeMessage(goodValues)); err != nil {
		t.Error(err)
	}
	wantKind(t, w.client.SendSubscribeMessage(t.Context(), wechat.SubscribeMessage{}), wechat.KindRejected)
}
