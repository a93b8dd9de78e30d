package sandbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// notifyOrder is the body of POST /sandbox/notify: a callback made to order.
type notifyOrder struct {
	To          string         `json:"to"`
	OutTradeNo  string         `json:"out_trade_no"`
	OutRefundNo string         `json:"out_refund_no"` // of several refunds, which; the latest when empty
	Content     string         `json:"content"`       // "pay" or "refund": what it says, when that differs from to
	Override    override       `json:"override"`
	Drop        []string       `json:"drop"`    // fields of the plaintext to leave out, such as "amount.total"
	Message     map[string]any `json:"message"` // to "push": the message
	URL         string         `json:"url"`     // where to send it, when that differs from what the books say
	Tamper      string         `json:"tamper"`
	Header      string         `json:"header"` // for missing_header: which; the signature when empty
	OffsetS     int64          `json:"timestamp_offset_s"`
	Times       *int           `json:"times"`
	Parallel    bool           `json:"parallel"`
}

// override holds fields that the callback states wrongly.
type override struct {
	AmountTotal   *int64  `json:"amount_total"`
	PayerTotal    *int64  `json:"payer_total"`
	AmountRefund  *int64  `json:"amount_refund"`
	AppID         *string `json:"appid"`
	MchID         *string `json:"mchid"`
	OutTradeNo    *string `json:"out_trade_no"`
	OutRefundNo   *string `json:"out_refund_no"`
	TransactionID *string `json:"transaction_id"`
	TradeState    *string `json:"trade_state"`
	RefundStatus  *string `json:"refund_status"`
	EventType     *string `json:"event_type"`
	OriginalType  *string `json:"original_type"`
	Currency      *string `json:"currency"`
}

var tampers = []string{"none", "signature", "body", "serial", "signtest", "missing_header", "wrong_key", "bad_nonce", "no_resource"}

// sent is the answer to one callback. Status 0: there was none, and body says why.
type sent struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

func (s *Server) controlNotify(w http.ResponseWriter, r *http.Request) {
	var body notifyOrder
	if !read(w, r, &body) {
		return
	}
	times, p := body.check()
	if p != nil {
		p.write(w)
		return
	}
	var send func() sent
	if body.To == "push" {
		send, p = s.forgePush(body)
	} else {
		send, p = s.forgeNotice(body)
	}
	if p != nil {
		p.write(w)
		return
	}
	controlReply(w, 200, map[string]any{"responses": sendAll(times, body.Parallel, send)})
}

func (b *notifyOrder) check() (times int, p *problem) {
	if b.Tamper == "" {
		b.Tamper = "none"
	}
	times = 1
	if b.Times != nil {
		times = *b.Times
	}
	switch {
	case b.To != "pay" && b.To != "refund" && b.To != "push":
		return 0, &problem{400, "TO_UNKNOWN", "to is pay, refund or push"}
	case b.Content != "" && b.Content != "pay" && b.Content != "refund":
		return 0, &problem{400, "CONTENT_UNKNOWN", "content is pay or refund"}
	case !slices.Contains(tampers, b.Tamper):
		return 0, &problem{400, "TAMPER_UNKNOWN", "tamper is one of " + strings.Join(tampers, ", ")}
	case times < 1 || times > 1000:
		return 0, &problem{400, "TIMES_OUT_OF_RANGE", "times is 1 to 1000"}
	case b.OutTradeNo == "" && b.To != "push":
		return 0, &problem{400, "OUT_TRADE_NO_MISSING", "name the payment by out_trade_no"}
	}
	return times, nil
}

func sendAll(times int, parallel bool, send func() sent) []sent {
	responses := make([]sent, times)
	if !parallel {
		for i := range responses {
			responses[i] = send()
		}
		return responses
	}
	var all sync.WaitGroup
	for i := range responses {
		all.Go(func() { responses[i] = send() })
	}
	all.Wait()
	return responses
}

// honest says that the callback is what WeChat itself would send, so the books must
// agree with it.
func (b *notifyOrder) honest() bool {
	return b.To == "pay" && b.content() == "pay" && b.Tamper == "none" && b.Override == override{} &&
		len(b.Drop) == 0 && b.OffsetS > -300 && b.OffsetS < 300
}

func (b *notifyOrder) content() string {
	if b.Content == "" {
		return b.To
	}
	return b.Content
}

// forgeNotice prepares a payment or refund notification. An honest one of a payment
// first books the number as paid, even when it was closed: the late payment.
func (s *Server) forgeNotice(b notifyOrder) (func() sent, *problem) {
	var e event
	var target string
	var p *problem
	err := s.books.change(func() {
		o := s.books.orders[b.OutTradeNo]
		if o == nil {
			p = &problem{404, "NOT_FOUND", "no prepay has named this out_trade_no"}
			return
		}
		if b.honest() && !o.paid() {
			s.books.pay(o, time.Now())
		}
		shown := *o
		if !shown.paid() {
			shown.PaidAt, shown.PayerFen = time.Now(), shown.TotalFen
			shown.TransactionID = "42000" + shown.PaidAt.In(china).Format("20060102") + randomDigits(15)
		}
		shown.State = stateSuccess // a payment's notification says so also after a refund
		refunded := s.books.shownRefund(&shown, b.OutRefundNo)
		if b.content() == "refund" {
			e = s.refundEvent(refunded)
		} else {
			e = s.payEvent(&shown)
		}
		target = o.NotifyURL
		if b.To == "refund" {
			target = refunded.NotifyURL
		}
	})
	if err != nil {
		s.booksFailed(err)
		return nil, &problem{500, "BOOKS_FAILED", "the sandbox cannot write its data directory"}
	}
	if p != nil {
		return nil, p
	}
	if b.URL != "" {
		target = b.URL
	}
	b.Override.apply(&e)
	for _, field := range b.Drop {
		drop(e.Content, field)
	}
	return s.forgedSend(target, e, craft{b.Tamper, b.Header, time.Duration(b.OffsetS) * time.Second}), nil
}

// forgedSend makes every copy carry one id, as WeChat's resends do.
func (s *Server) forgedSend(target string, e event, c craft) func() sent {
	id, created := newNoticeID(), time.Now()
	return func() sent {
		body := s.envelope(id, created, e, c)
		header := s.noticeHeader(body, c)
		if c.tamper == "body" {
			body = flipped(body)
		}
		status, reply := s.post(target, header, body)
		return sent{status, reply}
	}
}

// shownRefund is the refund that a callback is about: the named or the latest one of
// the order, else a made-up one of its whole amount.
func (b *books) shownRefund(o *order, no string) *refund {
	r := &refund{
		OutRefundNo: no, RefundID: "503000" + randomDigits(23), OutTradeNo: o.OutTradeNo, TransactionID: o.TransactionID,
		RefundFen: o.TotalFen, TotalFen: o.TotalFen, PayerTotalFen: o.TotalFen, Status: "SUCCESS", SuccessAt: time.Now(),
		NotifyURL: sibling(o.NotifyURL, "refund"),
	}
	if no == "" {
		r.OutRefundNo = "R" + o.OutTradeNo
	}
	for _, found := range b.refundsOf(o) {
		if no == "" || found.OutRefundNo == no {
			*r = *found
			if r.Status == "PROCESSING" {
				r.Status, r.SuccessAt = "SUCCESS", time.Now()
			}
			if r.NotifyURL == "" {
				r.NotifyURL = sibling(o.NotifyURL, "refund")
			}
		}
	}
	return r
}

// sibling puts another last segment on a callback's address.
func sibling(address, last string) string {
	return address[:strings.LastIndex(address, "/")+1] + last
}

func (o override) apply(e *event) {
	amount, _ := e.Content["amount"].(map[string]any)
	put(e.Content, "appid", o.AppID)
	put(e.Content, "mchid", o.MchID)
	put(e.Content, "out_trade_no", o.OutTradeNo)
	put(e.Content, "out_refund_no", o.OutRefundNo)
	put(e.Content, "transaction_id", o.TransactionID)
	put(e.Content, "trade_state", o.TradeState)
	put(e.Content, "refund_status", o.RefundStatus)
	put(amount, "total", o.AmountTotal)
	put(amount, "payer_total", o.PayerTotal)
	put(amount, "refund", o.AmountRefund)
	put(amount, "currency", o.Currency)
	if o.EventType != nil {
		e.Type = *o.EventType
	}
	if o.OriginalType != nil {
		e.OriginalType = *o.OriginalType
	}
}

func put[T any](m map[string]any, name string, value *T) {
	if value != nil {
		m[name] = *value
	}
}

func drop(m map[string]any, field string) {
	head, rest, nested := strings.Cut(field, ".")
	if !nested {
		delete(m, head)
		return
	}
	if inner, ok := m[head].(map[string]any); ok {
		drop(inner, rest)
	}
}

// forgePush prepares a message push in safe mode. Its address is url, or lies beside
// the payment callback of the named order; else it is the setting push_url, or lies
// beside the callback of the latest order.
func (s *Server) forgePush(b notifyOrder) (func() sent, *problem) {
	target := b.URL
	s.books.view(func() {
		o := s.books.orders[b.OutTradeNo]
		if target == "" && b.OutTradeNo == "" {
			target = s.books.settings.PushURL
		}
		if o == nil && b.OutTradeNo == "" && len(s.books.orderList) > 0 {
			o = s.books.orderList[len(s.books.orderList)-1]
		}
		if target == "" && o != nil {
			target = sibling(o.NotifyURL, "push")
		}
	})
	if target == "" {
		return nil, &problem{404, "NOT_FOUND", "nothing tells where the shop is: name a known out_trade_no, send url or set push_url"}
	}
	message := b.Message
	if message == nil {
		message = map[string]any{"MsgType": "event", "Event": "debug_demo", "debug_str": "hello world"}
	}
	for name, value := range map[string]any{"ToUserName": "gh_" + s.keys.AppID, "FromUserName": OpenID("push"), "CreateTime": time.Now().Unix()} {
		if _, set := message[name]; !set {
			message[name] = value
		}
	}
	plain := encode(message)
	return func() sent { return s.sendPush(target, plain, b) }, nil
}

func (s *Server) sendPush(target string, plain []byte, b notifyOrder) sent {
	key, appID := s.keys.pushAES, s.keys.AppID
	if b.Tamper == "wrong_key" {
		key = make([]byte, 32)
	}
	if b.Override.AppID != nil {
		appID = *b.Override.AppID
	}
	encrypted := sealPush(key, plain, appID)
	timestamp := strconv.FormatInt(time.Now().Add(time.Duration(b.OffsetS)*time.Second).Unix(), 10)
	nonce := randomDigits(10)
	q := url.Values{
		"signature": {pushSignature(s.keys.PushToken, timestamp, nonce)}, "timestamp": {timestamp}, "nonce": {nonce},
		"openid": {OpenID("push")}, "encrypt_type": {"aes"}, "msg_signature": {pushSignature(s.keys.PushToken, timestamp, nonce, encrypted)},
	}
	body := encode(map[string]string{"ToUserName": "gh_" + s.keys.AppID, "Encrypt": encrypted})
	switch b.Tamper {
	case "signature", "signtest", "serial":
		q.Set("msg_signature", pushSignature("another token", timestamp, nonce, encrypted))
	case "missing_header":
		q.Del("msg_signature")
		q.Del("encrypt_type")
		body = plain // the downgrade: a body in clear beside a captured plain signature
	case "body":
		body = flipped(body)
	case "bad_nonce":
		q.Set("nonce", nonce+"0")
	case "no_resource":
		body = encode(map[string]string{"ToUserName": "gh_" + s.keys.AppID})
	}
	status, reply := s.post(target+"?"+q.Encode(), http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Mozilla/4.0"}}, body)
	return sent{status, reply}
}

func pushSignature(parts ...string) string {
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// sealPush encrypts as WeChat's safe mode does: 16 random bytes, the length in four,
// the message, the app id, PKCS#7 padding in blocks of 32, AES-256-CBC.
func sealPush(key, message []byte, appID string) string {
	plain := make([]byte, 16, 64+len(message))
	rand.Read(plain)
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(message)))
	plain = append(append(plain, message...), appID...)
	pad := 32 - len(plain)%32
	for range pad {
		plain = append(plain, byte(pad))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("sandbox: " + err.Error()) // 32 bytes by construction
	}
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(plain, plain)
	return base64.StdEncoding.EncodeToString(plain)
}
