package wechat

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wechatpay-apiv3/wechatpay-go/core"
	"github.com/wechatpay-apiv3/wechatpay-go/services/payments"
	"github.com/wechatpay-apiv3/wechatpay-go/services/payments/jsapi"
)

// MaxDescription is the length of a prepay's description in bytes. WeChat says 127
// without a unit; bytes fit either reading.
const MaxDescription = 127

// Currency is the only one of this shop.
const Currency = "CNY"

var (
	tradeNoRule = regexp.MustCompile(`^[0-9A-Za-z_\-|*]{6,32}$`)
	// china is the zone that WeChat writes times in. A time in UTC would be sent with
	// "Z", and changed parameters make WeChat refuse the number.
	china = time.FixedZone("+08:00", 8*60*60)
)

// TradeState is the state of a payment at WeChat.
type TradeState string

// The states of a JSAPI payment. After any refund, a partial one too, the state is
// TradeRefund, so it also means "was paid".
const (
	TradeNotPay  TradeState = "NOTPAY"
	TradeSuccess TradeState = "SUCCESS"
	TradeRefund  TradeState = "REFUND"
	TradeClosed  TradeState = "CLOSED"
)

// Paid says that money came in.
func (s TradeState) Paid() bool { return s == TradeSuccess || s == TradeRefund }

// PrepayRequest holds the parameters of a prepay. WeChat compares them with the
// former ones of the same number, so a repeated call must carry exactly the same.
type PrepayRequest struct {
	OutTradeNo  string
	Description string // cut to MaxDescription bytes at a character
	AmountFen   int64
	OpenID      string
	TimeExpire  time.Time // sent as +08:00 in whole seconds, rounded down; zero: not sent
	NotifyURL   string    // empty: PayNotifyURL
}

// Prepay opens a payment and returns the prepay_id, which lives two hours.
//
// KindPaid, KindClosed and KindNumberUsed tell of the number; KindUnknown: repeat
// with the same parameters.
func (c *Client) Prepay(ctx context.Context, req PrepayRequest) (string, error) {
	const op = "prepay"
	switch {
	case !tradeNoRule.MatchString(req.OutTradeNo):
		return "", rejected(op, "out_trade_no must be 6 to 32 of 0-9 A-Z a-z _ - | *")
	case req.AmountFen < 1:
		return "", rejected(op, "the amount must be at least 1 fen")
	case req.OpenID == "", req.Description == "":
		return "", rejected(op, "openid and description are required")
	}
	wire := c.prepayWire(req)
	var prepayID string
	err := c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		resp, result, err := (&jsapi.JsapiApiService{Client: c.pay}).Prepay(ctx, wire)
		if err := settled(result, err, http.StatusOK); err != nil {
			return err
		}
		if resp.PrepayId == nil || *resp.PrepayId == "" {
			return unknown(http.StatusOK, "no prepay_id in the reply")
		}
		prepayID = *resp.PrepayId
		return nil
	})
	return prepayID, err
}

func (c *Client) prepayWire(req PrepayRequest) jsapi.PrepayRequest {
	wire := jsapi.PrepayRequest{
		Appid: &c.cfg.AppID, Mchid: &c.cfg.MchID,
		Description: core.String(cut(req.Description, MaxDescription)),
		OutTradeNo:  core.String(req.OutTradeNo),
		NotifyUrl:   core.String(orElse(req.NotifyURL, c.PayNotifyURL())),
		Amount:      &jsapi.Amount{Total: core.Int64(req.AmountFen), Currency: core.String(Currency)},
		Payer:       &jsapi.Payer{Openid: core.String(req.OpenID)},
	}
	if !req.TimeExpire.IsZero() {
		wire.TimeExpire = core.Time(req.TimeExpire.In(china).Truncate(time.Second))
	}
	return wire
}

// settled turns a 2xx that is not the expected one (202: accepted, unfinished) into an
// unknown outcome.
func settled(result *core.APIResult, err error, want int) error {
	if err != nil {
		return err
	}
	if result == nil || result.Response == nil {
		return unknown(0, "no reply")
	}
	if result.Response.StatusCode != want {
		return unknown(result.Response.StatusCode, "accepted, not finished")
	}
	return nil
}

// RequestPayment holds the parameters of wx.requestPayment, named as it names them.
type RequestPayment struct {
	TimeStamp string `json:"timeStamp"` // unix seconds
	NonceStr  string `json:"nonceStr"`
	Package   string `json:"package"`
	SignType  string `json:"signType"`
	PaySign   string `json:"paySign"`
}

// PayParams signs a prepay_id for the shopper's phone. It makes no call.
func (c *Client) PayParams(prepayID string) (RequestPayment, error) {
	if prepayID == "" {
		return RequestPayment{}, rejected("pay params", "prepay_id is required")
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	p := RequestPayment{
		TimeStamp: strconv.FormatInt(c.now().Unix(), 10),
		NonceStr:  hex.EncodeToString(nonce),
		Package:   "prepay_id=" + prepayID,
		SignType:  "RSA",
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n", c.cfg.AppID, p.TimeStamp, p.NonceStr, p.Package))
	signature, err := rsa.SignPKCS1v15(rand.Reader, c.keys.mch, crypto.SHA256, digest[:])
	if err != nil {
		return RequestPayment{}, rejected("pay params", "the merchant's key does not sign")
	}
	p.PaySign = base64.StdEncoding.EncodeToString(signature)
	return p, nil
}

// Transaction is a payment as WeChat knows it. Amounts are fen.
type Transaction struct {
	OutTradeNo    string
	TransactionID string // empty until paid
	TradeState    TradeState
	AmountTotal   int64 // what was asked for
	PayerTotal    int64 // what the shopper paid, less than AmountTotal with WeChat's own coupons
	Currency      string
	AppID         string
	MchID         string
	OpenID        string
	SuccessTime   time.Time // zero until paid
}

// Query asks for a payment by our number. KindNotFound: WeChat does not know it.
func (c *Client) Query(ctx context.Context, outTradeNo string) (Transaction, error) {
	const op = "query"
	if !tradeNoRule.MatchString(outTradeNo) {
		return Transaction{}, rejected(op, "not an out_trade_no")
	}
	var t Transaction
	err := c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		resp, result, err := (&jsapi.JsapiApiService{Client: c.pay}).QueryOrderByOutTradeNo(ctx,
			jsapi.QueryOrderByOutTradeNoRequest{OutTradeNo: &outTradeNo, Mchid: &c.cfg.MchID})
		if err := settled(result, err, http.StatusOK); err != nil {
			return err
		}
		t = transactionOf(resp)
		switch {
		case t.TradeState == "" || t.OutTradeNo != outTradeNo:
			return unknown(http.StatusOK, "the reply is not about this number")
		case t.TradeState.Paid() && (t.TransactionID == "" || t.AmountTotal == 0):
			return unknown(http.StatusOK, "a paid transaction without id or amount")
		}
		return nil
	})
	if err != nil {
		return Transaction{}, err
	}
	return t, nil
}

func transactionOf(t *payments.Transaction) Transaction {
	out := Transaction{
		OutTradeNo: text(t.OutTradeNo), TransactionID: text(t.TransactionId),
		TradeState: TradeState(text(t.TradeState)), AppID: text(t.Appid), MchID: text(t.Mchid),
		SuccessTime: rfc3339(text(t.SuccessTime)),
	}
	if t.Amount != nil {
		out.AmountTotal, out.PayerTotal, out.Currency = number(t.Amount.Total), number(t.Amount.PayerTotal), text(t.Amount.Currency)
	}
	if t.Payer != nil {
		out.OpenID = text(t.Payer.Openid)
	}
	return out
}

// Close ends a number at WeChat. nil means that WeChat confirmed it (204), also when it
// was closed before. KindPaid: it is paid, query it. KindNotFound: WeChat does not know it.
func (c *Client) Close(ctx context.Context, outTradeNo string) error {
	const op = "close"
	if !tradeNoRule.MatchString(outTradeNo) {
		return rejected(op, "not an out_trade_no")
	}
	return c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		result, err := (&jsapi.JsapiApiService{Client: c.pay}).CloseOrder(ctx,
			jsapi.CloseOrderRequest{OutTradeNo: &outTradeNo, Mchid: &c.cfg.MchID})
		return settled(result, err, http.StatusNoContent)
	})
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func number(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// rfc3339 reads a time of WeChat's; what is absent or unreadable is the zero time.
func rfc3339(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
