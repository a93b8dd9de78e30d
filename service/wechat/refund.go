package wechat

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core"
	"github.com/wechatpay-apiv3/wechatpay-go/services/refunddomestic"
)

// maxRefundReason is WeChat's 80, taken as bytes to fit either reading.
const maxRefundReason = 80

var refundNoRule = regexp.MustCompile(`^[0-9A-Za-z_\-|*@]{1,64}$`)

// RefundStatus is the state of a refund at WeChat.
type RefundStatus string

// The states of a refund. RefundAbnormal waits for the merchant and may still succeed.
const (
	RefundProcessing RefundStatus = "PROCESSING"
	RefundSuccess    RefundStatus = "SUCCESS"
	RefundClosed     RefundStatus = "CLOSED"
	RefundAbnormal   RefundStatus = "ABNORMAL"
)

// RefundRequest asks for money back. Either TransactionID or OutTradeNo names the
// payment; TransactionID wins.
type RefundRequest struct {
	TransactionID string
	OutTradeNo    string
	OutRefundNo   string // ours for life: a repeated call with it is the same refund
	RefundFen     int64
	TotalFen      int64  // the payment's whole amount
	Reason        string // the shopper reads it; cut to 80 bytes
	NotifyURL     string // empty: RefundNotifyURL
}

// Refund is a refund as WeChat knows it. Amounts are fen.
type Refund struct {
	RefundID      string
	OutRefundNo   string
	TransactionID string
	OutTradeNo    string
	Status        RefundStatus
	AmountRefund  int64
	AmountTotal   int64
	Currency      string
	Account       string    // where the money goes, in WeChat's words
	SuccessTime   time.Time // zero until it succeeded
}

// Refund asks WeChat to pay back. RefundProcessing means accepted, not done.
// KindNotEnough: keep the number and try later. KindUnknown: QueryRefund, and on
// KindNotFound send the same again.
func (c *Client) Refund(ctx context.Context, req RefundRequest) (Refund, error) {
	const op = "refund"
	switch {
	case !refundNoRule.MatchString(req.OutRefundNo):
		return Refund{}, rejected(op, "out_refund_no must be 1 to 64 of 0-9 A-Z a-z _ - | * @")
	case req.TransactionID == "" && !tradeNoRule.MatchString(req.OutTradeNo):
		return Refund{}, rejected(op, "transaction_id or out_trade_no is required")
	case req.RefundFen < 1 || req.RefundFen > req.TotalFen:
		return Refund{}, rejected(op, "the refund must be at least 1 fen and at most the total")
	}
	wire := refunddomestic.CreateRequest{
		OutRefundNo: &req.OutRefundNo,
		NotifyUrl:   core.String(orElse(req.NotifyURL, c.RefundNotifyURL())),
		Amount:      &refunddomestic.AmountReq{Refund: &req.RefundFen, Total: &req.TotalFen, Currency: core.String(Currency)},
	}
	if req.TransactionID != "" {
		wire.TransactionId = &req.TransactionID
	} else {
		wire.OutTradeNo = &req.OutTradeNo
	}
	if req.Reason != "" {
		wire.Reason = core.String(cut(req.Reason, maxRefundReason))
	}
	return c.refund(ctx, op, req.OutRefundNo, func(ctx context.Context, api *refunddomestic.RefundsApiService) (*refunddomestic.Refund, *core.APIResult, error) {
		return api.Create(ctx, wire)
	})
}

// QueryRefund asks for a refund by our number. KindNotFound: WeChat has none.
func (c *Client) QueryRefund(ctx context.Context, outRefundNo string) (Refund, error) {
	const op = "query refund"
	if !refundNoRule.MatchString(outRefundNo) {
		return Refund{}, rejected(op, "not an out_refund_no")
	}
	return c.refund(ctx, op, outRefundNo, func(ctx context.Context, api *refunddomestic.RefundsApiService) (*refunddomestic.Refund, *core.APIResult, error) {
		return api.QueryByOutRefundNo(ctx, refunddomestic.QueryByOutRefundNoRequest{OutRefundNo: &outRefundNo})
	})
}

type refundCall func(context.Context, *refunddomestic.RefundsApiService) (*refunddomestic.Refund, *core.APIResult, error)

func (c *Client) refund(ctx context.Context, op, outRefundNo string, send refundCall) (Refund, error) {
	var r Refund
	err := c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		resp, result, err := send(ctx, &refunddomestic.RefundsApiService{Client: c.pay})
		if err := settled(result, err, http.StatusOK); err != nil {
			return err
		}
		r = refundOf(resp)
		if r.Status == "" || r.OutRefundNo != outRefundNo {
			return unknown(http.StatusOK, "the reply is not about this refund")
		}
		return nil
	})
	if err != nil {
		return Refund{}, err
	}
	return r, nil
}

func refundOf(r *refunddomestic.Refund) Refund {
	out := Refund{
		RefundID: text(r.RefundId), OutRefundNo: text(r.OutRefundNo), TransactionID: text(r.TransactionId),
		OutTradeNo: text(r.OutTradeNo), Account: text(r.UserReceivedAccount),
	}
	if r.Status != nil {
		out.Status = RefundStatus(*r.Status)
	}
	if r.SuccessTime != nil {
		out.SuccessTime = *r.SuccessTime
	}
	if r.Amount != nil {
		out.AmountRefund, out.AmountTotal, out.Currency = number(r.Amount.Refund), number(r.Amount.Total), text(r.Amount.Currency)
	}
	return out
}
