package wechat_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
)

// forge has the sandbox send a callback made to order and returns what came in.
func (w *world) forge(order m) *callback {
	w.Helper()
	var reply m
	if status := w.control("POST", "/sandbox/notify", order, &reply); status != 200 {
		w.Fatalf("%v: %d %v", order, status, reply)
	}
	return w.nextCallback()
}

func (w *world) parsePay(c *callback) (wechat.PayNotice, error) {
	return w.client.ParsePayNotice(w.Context(), c.header, c.body)
}

// wantNotice checks an error of a parser, and that it quotes nothing of the request.
func (w *world) wantNotice(what string, c *callback, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s: %v, want %v", what, err, want)
		return
	}
	// P11: the library's own errors hold the whole request
	if len(err.Error()) > 80 {
		w.Errorf("%s: the text is long enough to quote something: %s", what, err)
	}
}

// N08, N09: whatever is not signed by WeChat is refused.
func TestN08_N09_UnverifiedNotices(t *testing.T) {
	w := newWorld(t)
	w.prepay("T00000001")
	for _, tamper := range []string{"signature", "body", "serial", "signtest", "missing_header", "wrong_key"} {
		c := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "tamper": tamper})
		n, err := w.parsePay(c)
		w.wantNotice(tamper, c, err, wechat.ErrNoticeUnverified)
		if n != (wechat.PayNotice{}) {
			t.Errorf("%s: facts of an unverified notice came out: %+v", tamper, n)
		}
		_, err = w.client.ParseRefundNotice(t.Context(), c.header, c.body)
		w.wantNotice(tamper, c, err, wechat.ErrNoticeUnverified)
	}
	for _, header := range []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Signature"} {
		c := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "tamper": "missing_header", "header": header})
		_, err := w.parsePay(c)
		w.wantNotice(header, c, err, wechat.ErrNoticeUnverified)
	}
	if tx, err := w.client.Query(t.Context(), "T00000001"); err != nil || tx.TradeState != wechat.TradeNotPay {
		t.Errorf("a tampered callback must not change the books: %+v, %v", tx, err)
	}
}

// N06: the age of a notice.
func TestN06_AgeOfNotices(t *testing.T) {
	w := newWorld(t)
	w.payNow("T00000001")
	for offset, good := range map[int]bool{0: true, -290: true, 290: true, -301: false, 330: false} {
		c := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "timestamp_offset_s": offset})
		_, err := w.parsePay(c)
		if good && err != nil {
			t.Errorf("%d: %v", offset, err)
		}
		if !good {
			w.wantNotice(fmt.Sprint(offset), c, err, wechat.ErrNoticeUnverified)
		}
	}
}

// P6, P7: signed bodies on which the library panics.
func TestP6_P7_NoticesThatPanicTheLibrary(t *testing.T) {
	w := newWorld(t)
	w.prepay("T00000001")
	for _, tamper := range []string{"no_resource", "bad_nonce"} {
		c := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "tamper": tamper})
		_, err := w.parsePay(c)
		w.wantNotice(tamper, c, err, wechat.ErrNoticeMalformed)
		_, err = w.client.ParseRefundNotice(t.Context(), c.header, c.body)
		w.wantNotice(tamper, c, err, wechat.ErrNoticeMalformed)
	}
}

// N05, N13, N14, N03: verified notices that do not fit carry their facts for an anomaly.
func TestN13_N14_NoticesThatDoNotFit(t *testing.T) {
	w := newWorld(t)
	w.payNow("T00000001")
	for _, c := range []struct {
		order m
		field string
	}{
		{m{"override": m{"appid": "wxother"}}, "appid"},
		{m{"override": m{"mchid": "1900000002"}}, "mchid"},
		{m{"override": m{"trade_state": "NOTPAY"}}, "trade_state"},
		{m{"override": m{"event_type": "REFUND.SUCCESS"}}, "event_type"},
		{m{"override": m{"original_type": "refund"}}, "original_type"},
		{m{"content": "refund"}, "event_type"},
		{m{"drop": []string{"amount.total"}}, "amount"},
		{m{"drop": []string{"amount"}}, "amount"},
		{m{"drop": []string{"amount.currency"}}, "amount"},
	} {
		c.order["to"], c.order["out_trade_no"] = "pay", "T00000001"
		cb := w.forge(c.order)
		n, err := w.parsePay(cb)
		w.wantNotice(c.field, cb, err, wechat.ErrNoticeMismatch)
		var mismatch *wechat.NoticeMismatch
		if !errors.As(err, &mismatch) || mismatch.Field != c.field {
			t.Errorf("%v: %v, want the field %s", c.order, err, c.field)
		}
		if n.OutTradeNo != "T00000001" || n.ID == "" {
			t.Errorf("%v: the facts are missing: %+v", c.order, n)
		}
	}
	for _, c := range []struct {
		order m
		field string
	}{
		{m{"content": "pay"}, "event_type"},
		{m{"override": m{"event_type": "TRANSACTION.SUCCESS"}}, "event_type"},
		{m{"override": m{"mchid": "1900000002"}}, "mchid"},
		{m{"override": m{"refund_status": "ABNORMAL"}}, "refund_status"},
		{m{"drop": []string{"amount.refund"}}, "amount"},
	} {
		c.order["to"], c.order["out_trade_no"] = "refund", "T00000001"
		cb := w.forge(c.order)
		_, err := w.client.ParseRefundNotice(t.Context(), cb.header, cb.body)
		var mismatch *wechat.NoticeMismatch
		if !errors.As(err, &mismatch) || mismatch.Field != c.field {
			t.Errorf("%v: %v, want the field %s", c.order, err, c.field)
		}
	}
	for _, field := range []string{"out_trade_no", "transaction_id"} {
		cb := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "drop": []string{field}})
		_, err := w.parsePay(cb)
		w.wantNotice(field, cb, err, wechat.ErrNoticeMalformed)
	}
}

// N03, N04: amounts and currency are the caller's to compare, so they must come out as sent.
func TestN03_AmountsComeOutAsSent(t *testing.T) {
	w := newWorld(t)
	w.payNow("T00000001")
	n, err := w.parsePay(w.forge(m{"to": "pay", "out_trade_no": "T00000001", "override": m{"amount_total": 99, "payer_total": 80, "currency": "USD"}}))
	if err != nil || n.AmountTotal != 99 || n.PayerTotal != 80 || n.Currency != "USD" {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestResendsKeepTheirID(t *testing.T) {
	w := newWorld(t)
	w.shop.answerNext(500, 404, 302)
	id := w.prepay("T00000001")
	w.control("POST", "/sandbox/pay", m{"prepay_id": id}, nil)
	var first wechat.PayNotice
	for i := range 4 {
		n, err := w.parsePay(w.nextCallback())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = n
		} else if n != first {
			t.Errorf("resend %d differs: %+v, %+v", i, n, first)
		}
	}
	select {
	case <-w.shop.received:
		t.Error("sent again after a 204")
	case <-time.After(200 * time.Millisecond): // resends come within milliseconds here
	}
}

func TestMessagePush(t *testing.T) {
	w := newWorld(t)
	w.prepay("T00000001")
	parse := func(c *callback) (wechat.Push, error) { return w.client.ParsePush(pushQuery(c), c.body) }
	message := m{"MsgType": "event", "Event": "trade_manage_order_settlement", "merchant_trade_no": "T00000001", "CreateTime": time.Now().Unix()}
	c := w.forge(m{"to": "push", "out_trade_no": "T00000001", "message": message})
	p, err := parse(c)
	if err != nil || p.Event != "trade_manage_order_settlement" || c.path != "/notify/wechat/push" {
		t.Fatalf("%+v, %v", p, err)
	}
	again, err := parse(w.forge(m{"to": "push", "out_trade_no": "T00000001", "message": message}))
	if err != nil || again.ID != p.ID {
		t.Errorf("a resend is encrypted anew and must keep its id: %v, %v, %v", again.ID, p.ID, err)
	}
	for _, tamper := range []string{"signature", "missing_header", "bad_nonce", "no_resource", "body"} {
		_, err := parse(w.forge(m{"to": "push", "out_trade_no": "T00000001", "tamper": tamper}))
		if !errors.Is(err, wechat.ErrPushUnverified) {
			t.Errorf("%s: %v", tamper, err)
		}
	}
	if _, err := parse(w.forge(m{"to": "push", "out_trade_no": "T00000001", "tamper": "wrong_key"})); !errors.Is(err, wechat.ErrPushMalformed) && !errors.Is(err, wechat.ErrPushUnverified) {
		t.Error(err)
	}
	if _, err := parse(w.forge(m{"to": "push", "out_trade_no": "T00000001", "override": m{"appid": "wxother"}})); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Error(err)
	}
	for offset, good := range map[int]bool{-290: true, 290: true, -310: false, 310: false} {
		_, err := parse(w.forge(m{"to": "push", "out_trade_no": "T00000001", "timestamp_offset_s": offset}))
		if good != (err == nil) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
	// the downgrade: the captured parameters of a good push, encrypt_type dropped, any body
	q := pushQuery(c)
	q.EncryptType = ""
	if _, err := w.client.ParsePush(q, []byte(`{"MsgType":"event","Event":"trade_manage_order_settlement"}`)); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Error(err)
	}
	if _, err := w.client.ParsePush(q, c.body); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Error(err)
	}
}

func pushQuery(c *callback) wechat.PushQuery {
	get := func(name string) string {
		if v := c.query[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	return wechat.PushQuery{Signature: get("signature"), MsgSignature: get("msg_signature"), Timestamp: get("timestamp"), Nonce: get("nonce"), EncryptType: get("encrypt_type")}
}

// The official example of the address check.
func TestPushEcho(t *testing.T) {
	w := newWorld(t)
	w.config.PushToken = "AAAAA"
	c := w.newClient()
	echo, err := c.VerifyPushEcho("f464b24fc39322e44b38aa78f5edd27bd1441696", "1714036504", "1514711492", "4375120948345356249")
	if err != nil || echo != "4375120948345356249" {
		t.Errorf("%q, %v", echo, err)
	}
	if _, err := c.VerifyPushEcho("f464b24fc39322e44b38aa78f5edd27bd1441697", "1714036504", "1514711492", "x"); !errors.Is(err, wechat.ErrPushUnverified) {
		t.Error(err)
	}
}
