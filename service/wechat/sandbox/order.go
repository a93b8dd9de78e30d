package sandbox

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	stateNotPay  = "NOTPAY"
	stateSuccess = "SUCCESS"
	stateRefund  = "REFUND"
	stateClosed  = "CLOSED"

	prepayLife    = 2 * time.Hour
	payLife       = 7 * 24 * time.Hour // without time_expire
	minTimeExpire = time.Minute
)

var stateText = map[string]string{stateNotPay: "订单未支付", stateSuccess: "支付成功", stateRefund: "转入退款", stateClosed: "订单已关闭"}

var outTradeNoRule = regexp.MustCompile(`^[0-9A-Za-z_\-|*]{6,32}$`)

// order is a payment order in WeChat's books.
type order struct {
	OutTradeNo    string          `json:"out_trade_no"`
	Params        json.RawMessage `json:"params"` // the first prepay's, canonical: later ones must equal them
	AppID         string          `json:"appid"`
	Description   string          `json:"description"`
	Attach        string          `json:"attach,omitempty"`
	NotifyURL     string          `json:"notify_url"`
	OpenID        string          `json:"openid"`
	TotalFen      int64           `json:"total_fen"`
	Currency      string          `json:"currency"`
	TimeExpire    time.Time       `json:"time_expire"` // the last moment a payment can finish
	CreatedAt     time.Time       `json:"created_at"`
	Prepays       []prepayID      `json:"prepays"`
	State         string          `json:"state"`
	TransactionID string          `json:"transaction_id,omitempty"`
	PaidAt        time.Time       `json:"paid_at,omitzero"`
	PayerFen      int64           `json:"payer_fen,omitempty"`
	PaidClosed    bool            `json:"paid_closed,omitempty"` // a late payment on a closed number
	Refunds       []string        `json:"refunds,omitempty"`     // out_refund_no
	Shipped       int             `json:"shipped,omitempty"`     // shipping uploads taken
	Shipping      json.RawMessage `json:"shipping,omitempty"`    // the last of them
	ShippedAt     time.Time       `json:"shipped_at,omitzero"`   // its upload_time
	RemindAt      time.Time       `json:"remind_at,omitzero"`    // when the shop is reminded to ship
	Finished      bool            `json:"finished,omitempty"`    // it said that nothing follows
	FinishedTimes int             `json:"finished_times,omitempty"`
	Corrected     bool            `json:"corrected,omitempty"`     // the one correction was used
	ReceivedAt    time.Time       `json:"received_at,omitzero"`    // the shopper has the goods
	ReceivedAuto  bool            `json:"received_auto,omitempty"` // nobody said so; the time for it ran out
	Unsettled     bool            `json:"unsettled,omitempty"`     // the money waits though it was received
	SettledAt     time.Time       `json:"settled_at,omitzero"`     // the money is the merchant's
	Nudged        bool            `json:"nudged,omitempty"`        // the shopper was asked to confirm
}

type prepayID struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (o *order) paid() bool { return o.State == stateSuccess || o.State == stateRefund }

// refundedFen is what was paid back or is on its way.
func (b *books) refundedFen(o *order) (sum int64) {
	for _, r := range b.refundsOf(o) {
		if r.Status != "CLOSED" {
			sum += r.RefundFen
		}
	}
	return sum
}

// prepayBody is every field that WeChat documents for a JSAPI prepay.
type prepayBody struct {
	AppID         string          `json:"appid"`
	MchID         string          `json:"mchid"`
	Description   string          `json:"description"`
	OutTradeNo    string          `json:"out_trade_no"`
	TimeExpire    string          `json:"time_expire,omitempty"`
	Attach        string          `json:"attach,omitempty"`
	NotifyURL     string          `json:"notify_url"`
	GoodsTag      string          `json:"goods_tag,omitempty"`
	LimitPay      []string        `json:"limit_pay,omitempty"`
	SupportFapiao bool            `json:"support_fapiao,omitempty"`
	Amount        amountBody      `json:"amount"`
	Payer         payerBody       `json:"payer"`
	Detail        json.RawMessage `json:"detail,omitempty"`
	SceneInfo     json.RawMessage `json:"scene_info,omitempty"`
	SettleInfo    json.RawMessage `json:"settle_info,omitempty"`
}

type amountBody struct {
	Total    int64  `json:"total"`
	Currency string `json:"currency,omitempty"`
}

type payerBody struct {
	OpenID string `json:"openid"`
}

func (s *Server) prepay(_ *http.Request, raw []byte) (int, any, *refusal) {
	var body prepayBody
	if r := strict(raw, &body); r != nil {
		return 0, nil, r
	}
	if body.Amount.Currency == "" {
		body.Amount.Currency = "CNY"
	}
	if r := s.checkPrepay(body); r != nil {
		return 0, nil, r
	}
	var id string
	var refused *refusal
	err := s.books.change(func() { id, refused = s.books.openPrepay(body, time.Now()) })
	if err != nil {
		refused = s.booksFailed(err)
	}
	if refused != nil {
		return 0, nil, refused
	}
	return http.StatusOK, map[string]string{"prepay_id": id}, nil
}

func (s *Server) checkPrepay(b prepayBody) *refusal {
	switch {
	case b.AppID == "" || b.MchID == "":
		return paramError("appid/mchid", "", "必填")
	case b.AppID != s.keys.AppID || b.MchID != s.keys.MchID:
		return refuse(400, "APPID_MCHID_NOT_MATCH", "appid和mchid不匹配，请检查绑定关系")
	case b.Description == "" || utf8.RuneCountInString(b.Description) > 127:
		return paramError("description", b.Description, "必填且不超过127个字符")
	case !outTradeNoRule.MatchString(b.OutTradeNo):
		return paramError("out_trade_no", b.OutTradeNo, "须为6-32个字符，只能是数字、大小写字母_-|*")
	case utf8.RuneCountInString(b.Attach) > 128:
		return paramError("attach", b.Attach, "不超过128个字符")
	case b.Amount.Total < 1:
		return paramError("amount.total", b.Amount.Total, "须为不小于1的整数（分）")
	case b.Amount.Currency != "CNY":
		return paramError("amount.currency", b.Amount.Currency, "只支持CNY")
	case !belongsHere(b.Payer.OpenID):
		return paramError("payer.openid", b.Payer.OpenID, "不属于该appid（sandbox: log in with a code demo-<name> to get one）")
	}
	if b.TimeExpire != "" {
		if _, err := time.Parse(time.RFC3339, b.TimeExpire); err != nil {
			return paramError("time_expire", b.TimeExpire, "须为RFC3339格式")
		}
	}
	return s.checkNotifyURL(b.NotifyURL)
}

// checkNotifyURL applies WeChat's rules: https, at most 255 bytes, no query. Plain
// http is taken on loopback, and anywhere once the sandbox itself was opened beyond it.
func (s *Server) checkNotifyURL(raw string) *refusal {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || len(raw) > 255 || u.RawQuery != "" || u.Fragment != "" {
		return paramError("notify_url", raw, "须为完整URL，不超过255个字符，不能携带参数")
	}
	if u.Scheme == "https" || (u.Scheme == "http" && (isLoopbackHost(u.Hostname()) || !s.loopbackOnly())) {
		return nil
	}
	return paramError("notify_url", raw, "须为https（sandbox: http is taken on loopback only）")
}

// openPrepay is WeChat's rule for a number: new, the same again, or refused.
func (b *books) openPrepay(body prepayBody, now time.Time) (string, *refusal) {
	params := json.RawMessage(encode(body))
	o := b.orders[body.OutTradeNo]
	switch {
	case o == nil:
		o = newOrder(body, params, now)
	case o.paid():
		return "", refuse(400, "ORDER_PAID", "该订单已支付")
	case o.State == stateClosed:
		return "", refuse(400, "ORDER_CLOSED", "该订单已关闭，请重新下单")
	case string(o.Params) != string(params):
		return "", refuse(403, "OUT_TRADE_NO_USED", "商户订单号重复：请求参数与首次下单不一致")
	case !now.Before(o.TimeExpire):
		return "", refuse(400, "INVALID_REQUEST", "订单已过time_expire，不能再支付")
	}
	p := prepayID{ID: "wx" + now.In(china).Format("20060102150405") + randomHex(10), ExpiresAt: now.Add(prepayLife)}
	o.Prepays = append(o.Prepays, p)
	b.index(o)
	b.save("order", o.OutTradeNo, o)
	return p.ID, nil
}

// newOrder fixes time_expire for the life of the number; one sooner than a minute
// ahead is moved there.
func newOrder(body prepayBody, params json.RawMessage, now time.Time) *order {
	expire := now.Add(payLife)
	if body.TimeExpire != "" {
		expire, _ = time.Parse(time.RFC3339, body.TimeExpire)
		if soonest := now.Add(minTimeExpire); expire.Before(soonest) {
			expire = soonest
		}
	}
	return &order{
		OutTradeNo: body.OutTradeNo, Params: params, AppID: body.AppID, Description: body.Description, Attach: body.Attach,
		NotifyURL: body.NotifyURL, OpenID: body.Payer.OpenID, TotalFen: body.Amount.Total, Currency: body.Amount.Currency,
		TimeExpire: expire, CreatedAt: now, State: stateNotPay,
	}
}

func (s *Server) queryByNo(r *http.Request, _ []byte) (int, any, *refusal) {
	return s.query(r, func() *order { return s.books.orders[r.PathValue("out_trade_no")] })
}

func (s *Server) queryByID(r *http.Request, _ []byte) (int, any, *refusal) {
	return s.query(r, func() *order { return s.books.orders[s.books.transactions[r.PathValue("transaction_id")]] })
}

func (s *Server) query(r *http.Request, find func() *order) (int, any, *refusal) {
	if r.URL.Query().Get("mchid") != s.keys.MchID {
		return 0, nil, refuse(400, "MCH_NOT_EXISTS", "商户号不存在")
	}
	var reply map[string]any
	s.books.view(func() {
		if o := find(); o != nil {
			reply = s.transaction(o)
		}
	})
	if reply == nil {
		return 0, nil, refuse(404, "ORDER_NOT_EXIST", "订单不存在")
	}
	return http.StatusOK, reply, nil
}

// transaction is an order as WeChat reports it, in queries and notifications. Unpaid
// ones have no transaction id and no payer amount.
func (s *Server) transaction(o *order) map[string]any {
	amount := map[string]any{"total": o.TotalFen, "currency": o.Currency}
	t := map[string]any{
		"appid": o.AppID, "mchid": s.keys.MchID, "out_trade_no": o.OutTradeNo, "attach": o.Attach,
		"trade_state": o.State, "trade_state_desc": stateText[o.State],
		"amount": amount, "payer": map[string]any{"openid": o.OpenID},
	}
	if o.TransactionID != "" {
		t["transaction_id"], t["trade_type"], t["bank_type"] = o.TransactionID, "JSAPI", "OTHERS"
		t["success_time"] = wechatTime(o.PaidAt)
		amount["payer_total"], amount["payer_currency"] = o.PayerFen, o.Currency
	}
	return t
}

func (s *Server) closeOrder(r *http.Request, raw []byte) (int, any, *refusal) {
	var body struct {
		MchID string `json:"mchid"`
	}
	if refused := strict(raw, &body); refused != nil {
		return 0, nil, refused
	}
	if body.MchID != s.keys.MchID {
		return 0, nil, refuse(400, "MCH_NOT_EXISTS", "商户号不存在")
	}
	var refused *refusal
	err := s.books.change(func() { refused = s.books.closeNumber(r.PathValue("out_trade_no"), time.Now()) })
	if err != nil {
		refused = s.booksFailed(err)
	}
	if refused != nil {
		return 0, nil, refused
	}
	return http.StatusNoContent, nil, nil
}

// closeNumber ends a number for ever. Closing it again is fine.
func (b *books) closeNumber(no string, now time.Time) *refusal {
	o := b.orders[no]
	switch {
	case o == nil && b.settings.CloseUnknown == http.StatusNoContent:
		return nil
	case o == nil:
		return refuse(404, "ORDER_NOT_EXIST", "订单不存在")
	case o.paid():
		return refuse(400, "ORDER_PAID", "订单已支付，不能关单，请按已支付的正常交易处理")
	case o.State == stateClosed:
		return nil
	case now.Sub(o.CreatedAt) < time.Duration(b.settings.CloseMinAgeMS)*time.Millisecond:
		return refuse(400, "INVALID_REQUEST", "订单生成后不能马上调用关单接口")
	}
	o.State = stateClosed
	b.save("order", no, o)
	return nil
}

// pay books a payment; the caller has checked that it may happen.
func (b *books) pay(o *order, now time.Time) {
	o.PaidClosed = o.State == stateClosed
	o.State = stateSuccess
	o.PaidAt = now
	o.TransactionID = "42000" + now.In(china).Format("20060102") + randomDigits(15)
	o.PayerFen = max(o.TotalFen-b.settings.PayerDiscountFen, 0)
	b.index(o)
	b.save("order", o.OutTradeNo, o)
}

func isLoopbackHost(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1"
}
