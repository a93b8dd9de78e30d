package main

import (
	"strings"
	"testing"
	"time"
)

// A shop that logs everything it can, through logins, phone numbers, payments, refunds, pushes and everything that WeChat can get
// wrong, writes no secret, token, session key or phone number. What other tests' processes write is searched when all have ended.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	s := newShop(t, parts{}, "TIDEMALL_LOG_LEVEL=debug")
	g := s.sell(100, time.Hour)
	ann := s.shopper("ann")
	setTemplates(g.admin)
	for _, path := range []string{"/sns/jscode2session", "/cgi-bin/stable_token", "/wxa/business/getuserphonenumber", "/v3/pay/transactions/jsapi", "/cgi-bin/message/subscribe/send"} {
		for _, mode := range []string{"reset", "html", "empty", "status", "code", "bad_signature"} {
			s.fault(path, mode, map[string]any{"code": "40001", "count": 2})
			_, _ = ann.try("POST", "/api/v1/auth/login", map[string]any{"code": "demo-bob"})
			_, _ = ann.try("POST", "/api/v1/me/phone", map[string]any{"code": "demo-phone-13812345678"})
			if strings.HasPrefix(path, "/v3/") {
				_, _ = ann.try("POST", "/api/v1/orders/"+ann.buy(g.sku, 1).No+"/pay", nil)
			}
			s.noFaults()
		}
	}
	eventually(t, 10*time.Second, "the phone number is known", func() (bool, string) {
		r, err := ann.try("POST", "/api/v1/me/phone", map[string]any{"code": "demo-phone-13812345678"})
		return err == nil && r.status == 200 && strings.Contains(r.text, "138****5678"), r.text
	})
	ann.call(201, "POST", "/api/v1/addresses", map[string]any{"name": "安", "phone": "13812345678", "province": "上海市", "city": "上海市", "detail": "人民大道 200 号"})

	o := ann.buy(g.sku, 1)
	s.confirm(ann.pay(o.No), 1)
	paid := ann.await(o.No, "paid", 10*time.Second)
	g.admin.call(200, "POST", "/api/admin/v1/orders/"+o.No+"/refund", map[string]any{"lines": []any{map[string]any{"line_id": paid.Lines[0].ID, "quantity": 1}}, "reason": "缺货"})
	ann.await(o.No, "closed", 20*time.Second)
	for _, to := range []string{"pay", "refund", "push"} {
		for _, tamper := range []string{"none", "signature", "body", "missing_header", "wrong_key"} {
			_, _ = s.wechat().try("POST", "/sandbox/notify", map[string]any{"to": to, "out_trade_no": paid.OutTradeNo, "tamper": tamper})
		}
	}

	_, _ = s.shopper("").try("POST", "/api/admin/v1/auth/login", map[string]any{"username": "admin", "password": password + "-wrong"})
	_, _ = person{t, s.url(), ann.token + "x"}.try("GET", "/api/v1/me", nil)
	_, _ = ann.try("GET", "/api/v1/me?token="+ann.token, nil)
	_, _ = s.shopper("").try("POST", "/api/admin/v1/auth/login", map[string]any{"username": "admin", "password": password, "phone": "13812345678"})

	before := spoken.Size()
	if code, _ := s.p.terminate(20 * time.Second); code != 0 {
		t.Errorf("exit %d", code)
	}
	learn(s.env())
	if before < 2000 {
		t.Errorf("only %d bytes of logs were heard", before)
	}
	for _, leak := range spoken.Leaks() {
		t.Errorf("a process wrote %s", leak)
	}
}

// setTemplates turns the message about paid orders on.
func setTemplates(boss person) {
	boss.t.Helper()
	boss.call(200, "PUT", "/api/admin/v1/subscribe-templates/order_paid", map[string]any{
		"template_id": strings.Repeat("t", 43), "fields": map[string]string{"character_string1": "order_no"}, "enabled": true, "version": 0,
	})
}
