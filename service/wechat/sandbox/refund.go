package sandbox

import (
	"net/http"
	"regexp"
	"time"
	"unicode/utf8"
)

const (
	refundPath   = "/v3/refund/domestic/refunds"
	maxRefunds   = 50
	refundWithin = 365 * 24 * time.Hour
)

var outRefundNoRule = regexp.MustCompile(`^[0-9A-Za-z_\-|*@]{1,64}$`)

// refund is a refund in WeChat's books.
type refund struct {
	OutRefundNo   string    `json:"out_refund_no"`
	RefundID      string    `json:"refund_id"`
	OutTradeNo    string    `json:"out_trade_no"`
	TransactionID string    `json:"transaction_id"`
	RefundFen     int64     `json:"refund_fen"`
	TotalFen      int64     `json:"total_fen"`
	PayerTotalFen int64     `json:"payer_total_fen"`
	Reason        string    `json:"reason,omitempty"`
	NotifyURL     string    `json:"notify_url,omitempty"`
	Status        string    `json:"status"`
	CreatedAt     time.Time `json:"created_at"`
	DueAt         time.Time `json:"due_at"` // when the result is known; zero: held
	SuccessAt     time.Time `json:"success_at,omitzero"`

	// Coming are the results that it is still to have, in their order, once they are decided on.
	Coming []refundResult `json:"coming,omitempty"`
}

// refundResult is what becomes of a refund, and when at the latest.
type refundResult struct {
	At     time.Time `json:"at"`
	Status string    `json:"status"`
}

// payerFen is the share of the refund that the shopper gets; the rest was WeChat's coupon.
func (r *refund) payerFen() int64 { return r.RefundFen * r.PayerTotalFen / r.TotalFen }

// refundBody is every field that WeChat documents for a refund.
type refundBody struct {
	TransactionID string `json:"transaction_id,omitempty"`
	OutTradeNo    string `json:"out_trade_no,omitempty"`
	OutRefundNo   string `json:"out_refund_no"`
	Reason        string `json:"reason,omitempty"`
	NotifyURL     string `json:"notify_url,omitempty"`
	FundsAccount  string `json:"funds_account,omitempty"`
	Amount        struct {
		Refund   int64  `json:"refund"`
		Total    int64  `json:"total"`
		Currency string `json:"currency"`
		From     []any  `json:"from,omitempty"`
	} `json:"amount"`
	GoodsDetail []any `json:"goods_detail,omitempty"`
}

func (s *Server) createRefund(_ *http.Request, raw []byte) (int, any, *refusal) {
	var body refundBody
	if r := strict(raw, &body); r != nil {
		return 0, nil, r
	}
	if r := s.checkRefund(body); r != nil {
		return 0, nil, r
	}
	var reply map[string]any
	var due *refund
	var refused *refusal
	err := s.books.change(func() {
		var r *refund
		if r, due, refused = s.books.openRefund(body, time.Now()); r != nil {
			reply = s.refundReply(r)
		}
	})
	if err != nil {
		refused = s.booksFailed(err)
	}
	if refused != nil {
		return 0, nil, refused
	}
	if due != nil {
		s.finishLater(due)
	}
	return http.StatusOK, reply, nil
}

func (s *Server) checkRefund(b refundBody) *refusal {
	switch {
	case b.TransactionID == "" && b.OutTradeNo == "":
		return paramError("transaction_id/out_trade_no", "", "二选一必填")
	case !outRefundNoRule.MatchString(b.OutRefundNo):
		return paramError("out_refund_no", b.OutRefundNo, "须为1-64个字符，只能是数字、大小写字母_-|*@")
	case utf8.RuneCountInString(b.Reason) > 80:
		return paramError("reason", b.Reason, "不超过80个字符")
	case b.Amount.Refund < 1:
		return paramError("amount.refund", b.Amount.Refund, "须为不小于1的整数（分）")
	case b.Amount.Currency != "CNY":
		return paramError("amount.currency", b.Amount.Currency, "只支持CNY")
	}
	if b.NotifyURL != "" {
		return s.checkNotifyURL(b.NotifyURL)
	}
	return nil
}

// openRefund applies WeChat's refund rules. due is set when a result must follow.
func (b *books) openRefund(body refundBody, now time.Time) (r, due *refund, refused *refusal) {
	o := b.orders[body.OutTradeNo]
	if body.TransactionID != "" {
		o = b.orders[b.transactions[body.TransactionID]]
	}
	if o == nil || !o.paid() || (body.OutTradeNo != "" && o.OutTradeNo != body.OutTradeNo) {
		return nil, nil, refuse(404, "RESOURCE_NOT_EXISTS", "订单不存在或未支付")
	}
	if old := b.refunds[body.OutRefundNo]; old != nil {
		return b.reopenRefund(old, o, body, now)
	}
	if refused := b.refundRefusal(o, body, now); refused != nil {
		return nil, nil, refused
	}
	r = &refund{
		OutRefundNo: body.OutRefundNo, RefundID: "503000" + now.In(china).Format("20060102") + randomDigits(15),
		OutTradeNo: o.OutTradeNo, TransactionID: o.TransactionID, RefundFen: body.Amount.Refund, TotalFen: o.TotalFen,
		PayerTotalFen: o.PayerFen, Reason: body.Reason, NotifyURL: body.NotifyURL, CreatedAt: now,
	}
	b.addRefund(r)
	o.Refunds = append(o.Refunds, r.OutRefundNo)
	o.State = stateRefund
	b.save("order", o.OutTradeNo, o)
	b.startRefund(r, now)
	return r, r, nil
}

// reopenRefund answers a repeated number: the same parameters are the same refund, and
// one that WeChat closed starts again.
func (b *books) reopenRefund(r *refund, o *order, body refundBody, now time.Time) (*refund, *refund, *refusal) {
	if r.OutTradeNo != o.OutTradeNo || r.RefundFen != body.Amount.Refund || r.TotalFen != body.Amount.Total {
		return nil, nil, refuse(400, "INVALID_REQUEST", "商户退款单号已存在，且与之前的退款参数不一致")
	}
	if r.Status != "CLOSED" {
		return r, nil, nil
	}
	if refused := b.refundRefusal(o, body, now); refused != nil {
		return nil, nil, refused
	}
	b.startRefund(r, now)
	return r, r, nil
}

func (b *books) refundRefusal(o *order, body refundBody, now time.Time) *refusal {
	refunds := b.refundsOf(o)
	interval := time.Duration(b.settings.RefundMinIntervalMS) * time.Millisecond
	balance := b.settings.RefundBalanceFen
	switch {
	case body.Amount.Total != o.TotalFen:
		return refuse(400, "INVALID_REQUEST", "订单金额不一致，请检查amount.total")
	case now.Sub(o.PaidAt) > refundWithin:
		return refuse(400, "INVALID_REQUEST", "订单已超过一年，不支持退款")
	case b.refundedFen(o)+body.Amount.Refund > o.TotalFen:
		return refuse(400, "INVALID_REQUEST", "累计退款金额大于订单金额")
	case len(refunds) >= maxRefunds:
		return refuse(400, "INVALID_REQUEST", "部分退款次数超过50次")
	case len(refunds) > 0 && now.Sub(refunds[len(refunds)-1].CreatedAt) < interval:
		return refuse(429, "FREQUENCY_LIMITED", "同一订单的退款须间隔1分钟以上")
	case balance != nil && *balance < body.Amount.Refund:
		return refuse(403, "NOT_ENOUGH", "基本账户余额不足，请充值后重新发起")
	}
	return nil
}

// startRefund takes the money out of the balance and sets when the result is due.
func (b *books) startRefund(r *refund, now time.Time) {
	if b.settings.RefundBalanceFen != nil {
		rest := *b.settings.RefundBalanceFen - r.RefundFen
		b.settings.RefundBalanceFen = &rest
		b.save("settings", "", b.settings)
	}
	r.Status, r.DueAt, r.Coming = "PROCESSING", time.Time{}, nil
	if !b.settings.RefundHold {
		r.DueAt = now.Add(time.Duration(b.settings.RefundDelayMS) * time.Millisecond)
	}
	b.save("refund", r.OutRefundNo, r)
}

// finishLater decides how the refund is to end, and brings it there.
func (s *Server) finishLater(r *refund) {
	no := r.OutRefundNo
	var held bool
	s.books.view(func() { held = r.DueAt.IsZero() })
	if held {
		return
	}
	longer, abnormal, early := s.chaos.refund(s.known(about{refund: no}, ""))
	err := s.books.change(func() {
		result, at := s.books.settings.RefundResult, r.DueAt.Add(longer)
		if abnormal && result != "ABNORMAL" {
			r.Coming = append(r.Coming, refundResult{at, "ABNORMAL"})
			at = at.Add(longer)
		}
		r.Coming = append(r.Coming, refundResult{at, result})
		s.books.save("refund", no, r)
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
		return
	}
	s.bringAbout(r, early)
}

// bringAbout gives the refund its results when they are due, or all of them once early is closed, and reports them.
func (s *Server) bringAbout(r *refund, early <-chan struct{}) {
	var no string
	var due time.Time
	var coming []refundResult
	s.books.view(func() { no, due, coming = r.OutRefundNo, r.DueAt, r.Coming })
	s.work.Go(func() {
		if !s.pause(time.Until(due)) {
			return
		}
		for _, c := range coming {
			if !s.held(time.Until(c.At), early, nil) {
				return
			}
			s.finishRefund(no, c.Status, 1)
		}
	})
}

// finishRefund sets the result of a refund that has none yet, or that was ABNORMAL,
// and sends copies of the notification. It reports whether it did.
func (s *Server) finishRefund(no, status string, copies int) bool {
	var n *notice
	done := false
	err := s.books.change(func() {
		r := s.books.refunds[no]
		if r == nil || (r.Status != "PROCESSING" && r.Status != "ABNORMAL") || r.Status == status {
			return
		}
		r.Status, done = status, true
		switch {
		case status != "ABNORMAL":
			r.Coming = nil
		case len(r.Coming) > 0 && r.Coming[0].Status == status:
			r.Coming = r.Coming[1:]
		}
		if status == "SUCCESS" {
			r.SuccessAt = time.Now()
		}
		if status == "CLOSED" && s.books.settings.RefundBalanceFen != nil {
			rest := *s.books.settings.RefundBalanceFen + r.RefundFen
			s.books.settings.RefundBalanceFen = &rest
			s.books.save("settings", "", s.books.settings)
		}
		s.books.save("refund", no, r)
		if r.NotifyURL != "" && copies > 0 {
			n = s.books.addDelivery(r.NotifyURL, s.refundEvent(r), copies, 0)
		}
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
		return false
	}
	if n != nil {
		s.deliver(n)
	}
	return done
}

func (s *Server) queryRefund(r *http.Request, _ []byte) (int, any, *refusal) {
	var reply map[string]any
	s.books.view(func() {
		if found := s.books.refunds[r.PathValue("out_refund_no")]; found != nil {
			reply = s.refundReply(found)
		}
	})
	if reply == nil {
		return 0, nil, refuse(404, "RESOURCE_NOT_EXISTS", "退款单不存在")
	}
	return http.StatusOK, reply, nil
}

// refundReply is a refund as the refund interfaces report it.
func (s *Server) refundReply(r *refund) map[string]any {
	reply := map[string]any{
		"refund_id": r.RefundID, "out_refund_no": r.OutRefundNo, "transaction_id": r.TransactionID, "out_trade_no": r.OutTradeNo,
		"channel": "ORIGINAL", "user_received_account": "支付用户零钱", "create_time": wechatTime(r.CreatedAt), "status": r.Status,
		"funds_account": "AVAILABLE",
		"amount": map[string]any{
			"total": r.TotalFen, "refund": r.RefundFen, "payer_total": r.PayerTotalFen, "payer_refund": r.payerFen(),
			"settlement_refund": r.RefundFen, "settlement_total": r.TotalFen, "discount_refund": r.RefundFen - r.payerFen(), "currency": "CNY",
		},
	}
	if !r.SuccessAt.IsZero() {
		reply["success_time"] = wechatTime(r.SuccessAt)
	}
	return reply
}

// refundEvent is the notification of a refund. Its plaintext names no appid and calls
// the state refund_status.
func (s *Server) refundEvent(r *refund) event {
	content := map[string]any{
		"mchid": s.keys.MchID, "transaction_id": r.TransactionID, "out_trade_no": r.OutTradeNo, "refund_id": r.RefundID,
		"out_refund_no": r.OutRefundNo, "refund_status": r.Status, "user_received_account": "支付用户零钱",
		"amount": map[string]any{"total": r.TotalFen, "refund": r.RefundFen, "payer_total": r.PayerTotalFen, "payer_refund": r.payerFen()},
	}
	if !r.SuccessAt.IsZero() {
		content["success_time"] = wechatTime(r.SuccessAt)
	}
	summary := map[string]string{"SUCCESS": "退款成功", "ABNORMAL": "退款异常", "CLOSED": "退款关闭"}[r.Status]
	return event{Type: "REFUND." + r.Status, OriginalType: "refund", Summary: summary, Content: content}
}
