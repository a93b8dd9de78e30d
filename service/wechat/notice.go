package wechat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// What is wrong with a notice. None of them carries any part of the request.
var (
	// ErrNoticeUnverified means: not signed by WeChat, too old, or changed on the way; answer 401.
	ErrNoticeUnverified = errors.New("wechat: the notice is not verifiably WeChat's")
	// ErrNoticeUnready means: WeChat's certificates are not to be had yet, so nobody knows whose it is; answer 5xx, and it comes again.
	ErrNoticeUnready = errors.New("wechat: the notice cannot be verified yet")
	// ErrNoticeMalformed means: signed by WeChat, yet it cannot be read.
	ErrNoticeMalformed = errors.New("wechat: the notice cannot be read")
	// ErrNoticeMismatch means: WeChat's and readable, yet not what this address is for. The
	// error is a *NoticeMismatch.
	ErrNoticeMismatch = errors.New("wechat: the notice does not fit")
)

// NoticeMismatch says what about a verified notice does not fit. The parsed facts are
// returned beside it, for an anomaly; nothing may be settled on them.
type NoticeMismatch struct {
	// Field is the first that does not fit: event_type, original_type, trade_state,
	// refund_status, appid, mchid or amount.
	Field string
}

func (e *NoticeMismatch) Error() string { return ErrNoticeMismatch.Error() + ": " + e.Field }

// Is makes errors.Is(err, ErrNoticeMismatch) true.
func (e *NoticeMismatch) Is(target error) bool { return target == ErrNoticeMismatch }

// PayNotice reports a payment. Amount and currency are for the caller to compare with
// the attempt.
type PayNotice struct {
	ID         string // the notice's own; the same on every resend
	EventType  string
	CreateTime time.Time
	Transaction
}

// RefundNotice reports the outcome of a refund. It names no app id.
type RefundNotice struct {
	ID         string
	EventType  string
	CreateTime time.Time
	MchID      string
	PayerTotal int64
	Refund
}

// noticeContent holds every field of the two plaintexts that the shop reads. Pointers
// tell an absent amount from a zero.
type noticeContent struct {
	AppID         string `json:"appid"`
	MchID         string `json:"mchid"`
	OutTradeNo    string `json:"out_trade_no"`
	TransactionID string `json:"transaction_id"`
	TradeState    string `json:"trade_state"`
	SuccessTime   string `json:"success_time"`
	Payer         struct {
		OpenID string `json:"openid"`
	} `json:"payer"`
	RefundID     string `json:"refund_id"`
	OutRefundNo  string `json:"out_refund_no"`
	RefundStatus string `json:"refund_status"` // not "status" as in the refund's own reply
	Account      string `json:"user_received_account"`
	Amount       struct {
		Total      *int64  `json:"total"`
		PayerTotal *int64  `json:"payer_total"`
		Refund     *int64  `json:"refund"`
		Currency   *string `json:"currency"`
	} `json:"amount"`
}

// notice is a verified, decrypted notice.
type notice struct {
	id, eventType, originalType string
	created                     time.Time
	content                     noticeContent
}

// ParsePayNotice verifies and decrypts a callback to the pay address. header is the
// request's, body its raw bytes. On a *NoticeMismatch the notice is filled as far as
// it could be read.
func (c *Client) ParsePayNotice(ctx context.Context, header map[string][]string, body []byte) (PayNotice, error) {
	n, err := c.openNotice(ctx, header, body)
	if err != nil {
		return PayNotice{}, err
	}
	m := n.content
	out := PayNotice{ID: n.id, EventType: n.eventType, CreateTime: n.created, Transaction: Transaction{
		OutTradeNo: m.OutTradeNo, TransactionID: m.TransactionID, TradeState: TradeState(m.TradeState),
		AmountTotal: number(m.Amount.Total), PayerTotal: number(m.Amount.PayerTotal), Currency: text(m.Amount.Currency),
		AppID: m.AppID, MchID: m.MchID, OpenID: m.Payer.OpenID, SuccessTime: rfc3339(m.SuccessTime),
	}}
	switch {
	case n.eventType != "TRANSACTION.SUCCESS":
		return out, &NoticeMismatch{"event_type"}
	case n.originalType != "transaction":
		return out, &NoticeMismatch{"original_type"}
	case m.OutTradeNo == "" || m.TransactionID == "":
		return out, ErrNoticeMalformed
	case m.AppID != c.cfg.AppID:
		return out, &NoticeMismatch{"appid"}
	case m.MchID != c.cfg.MchID:
		return out, &NoticeMismatch{"mchid"}
	case out.TradeState != TradeSuccess:
		return out, &NoticeMismatch{"trade_state"}
	case m.Amount.Total == nil || m.Amount.Currency == nil:
		return out, &NoticeMismatch{"amount"}
	}
	return out, nil
}

var refundEvents = map[string]RefundStatus{
	"REFUND.SUCCESS":  RefundSuccess,
	"REFUND.ABNORMAL": RefundAbnormal,
	"REFUND.CLOSED":   RefundClosed,
}

// ParseRefundNotice verifies and decrypts a callback to the refund address, under the
// rules of ParsePayNotice.
func (c *Client) ParseRefundNotice(ctx context.Context, header map[string][]string, body []byte) (RefundNotice, error) {
	n, err := c.openNotice(ctx, header, body)
	if err != nil {
		return RefundNotice{}, err
	}
	m := n.content
	out := RefundNotice{
		ID: n.id, EventType: n.eventType, CreateTime: n.created, MchID: m.MchID, PayerTotal: number(m.Amount.PayerTotal),
		Refund: Refund{
			RefundID: m.RefundID, OutRefundNo: m.OutRefundNo, TransactionID: m.TransactionID, OutTradeNo: m.OutTradeNo,
			Status: RefundStatus(m.RefundStatus), AmountRefund: number(m.Amount.Refund), AmountTotal: number(m.Amount.Total),
			Currency: orElse(text(m.Amount.Currency), Currency), Account: m.Account, SuccessTime: rfc3339(m.SuccessTime),
		},
	}
	status, known := refundEvents[n.eventType]
	switch {
	case !known:
		return out, &NoticeMismatch{"event_type"}
	case n.originalType != "refund":
		return out, &NoticeMismatch{"original_type"}
	case m.OutRefundNo == "" || m.OutTradeNo == "":
		return out, ErrNoticeMalformed
	case m.MchID != c.cfg.MchID:
		return out, &NoticeMismatch{"mchid"}
	case out.Status != status:
		return out, &NoticeMismatch{"refund_status"}
	case m.Amount.Total == nil || m.Amount.Refund == nil:
		return out, &NoticeMismatch{"amount"}
	}
	return out, nil
}

// openNotice checks signature and age, decrypts and reads. The library's errors quote
// the whole request, and it panics on signed bodies without a resource or with a nonce
// of a wrong length; neither gets past here.
func (c *Client) openNotice(ctx context.Context, header map[string][]string, body []byte) (n notice, err error) {
	defer func() {
		if recover() != nil {
			n, err = notice{}, ErrNoticeMalformed
		}
	}()
	req := noticeRequest(ctx, header, body)
	if c.certificates != nil && !strings.HasPrefix(req.Header.Get("Wechatpay-Serial"), publicKeyPrefix) && c.certificates.ready(ctx) != nil {
		return notice{}, ErrNoticeUnready
	}
	if err := c.noticeValidator.Validate(ctx, req); err != nil {
		return notice{}, ErrNoticeUnverified
	}
	var content noticeContent
	got, err := c.noticeHandler.ParseNotifyRequest(ctx, noticeRequest(ctx, header, body), &content)
	if err != nil || got.ResourceType != "encrypt-resource" {
		return notice{}, ErrNoticeMalformed
	}
	if !json.Valid([]byte(got.Resource.Plaintext)) || !strings.HasPrefix(strings.TrimSpace(got.Resource.Plaintext), "{") {
		return notice{}, ErrNoticeMalformed
	}
	n = notice{id: got.ID, eventType: got.EventType, originalType: got.Resource.OriginalType, content: content}
	if got.CreateTime != nil {
		n.created = *got.CreateTime
	}
	return n, nil
}

func noticeRequest(ctx context.Context, header map[string][]string, body []byte) *http.Request {
	h := make(http.Header, len(header))
	for name, values := range header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	req := &http.Request{Method: http.MethodPost, Header: h, Body: io.NopCloser(bytes.NewReader(body))}
	return req.WithContext(ctx)
}
