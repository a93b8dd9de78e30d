package sandbox

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

//go:embed page
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "page/*.html"))

// pagePolicy lets the pages load their own two files and nothing else. Any page may
// frame them: the storefront shows the cashier as WeChat shows its sheet.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"

func (s *Server) mountPages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.indexPage)
	mux.HandleFunc("GET /sandbox/cashier", s.cashierPage)
	for _, name := range []string{"cashier.js", "sandbox.css"} {
		mux.HandleFunc("GET /sandbox/assets/"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			http.ServeFileFS(w, r, pageFiles, "page/"+name)
		})
	}
}

var pageLanguages = language.NewMatcher([]language.Tag{language.SimplifiedChinese, language.English})

// pageText picks the words of a page: Chinese unless the browser prefers English.
func pageText(r *http.Request) map[string]string {
	wanted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if _, index, _ := pageLanguages.Match(wanted...); index == 1 {
		return textEN
	}
	return textZH
}

// pagePayment is an order as the pages show it.
type pagePayment struct {
	OutTradeNo, Description, Amount, PrepayID, State, StateText string
	ExpiresMS                                                   int64
	CreatedAt                                                   string
}

func pageOrder(o *order, text map[string]string, now time.Time) pagePayment {
	p := pagePayment{
		OutTradeNo: o.OutTradeNo, Description: o.Description, Amount: yuan(o.TotalFen), State: o.State,
		CreatedAt: o.CreatedAt.In(china).Format("01-02 15:04:05"), ExpiresMS: o.TimeExpire.UnixMilli(),
	}
	if len(o.Prepays) > 0 {
		last := o.Prepays[len(o.Prepays)-1]
		p.PrepayID = last.ID
		p.ExpiresMS = min(p.ExpiresMS, last.ExpiresAt.UnixMilli())
	}
	if o.State == stateNotPay && now.UnixMilli() > p.ExpiresMS {
		p.State = "EXPIRED"
	}
	p.StateText = text["state_"+p.State]
	return p
}

// yuan writes fen as people read money. No arithmetic but division is done on it.
func yuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

// pageMessage is a subscribe message as the front page shows it.
type pageMessage struct {
	At, Text string
}

func pageTold(m *subscribeMessage) pageMessage {
	var values []string
	for _, field := range slices.SortedFunc(maps.Keys(m.Values), byNumber) {
		values = append(values, m.Values[field])
	}
	return pageMessage{At: m.At.In(china).Format("01-02 15:04:05"), Text: strings.Join(values, " · ")}
}

// byNumber orders the fields of a template as WeChat shows them.
func byNumber(a, b string) int {
	number := func(field string) int {
		n, _ := strconv.Atoi(strings.TrimLeft(field, "abcdefghijklmnopqrstuvwxyz_"))
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

const (
	indexRows     = 50
	indexMessages = 20
)

func (s *Server) indexPage(w http.ResponseWriter, r *http.Request) {
	text := pageText(r)
	var open, others []pagePayment
	var told []pageMessage
	s.books.view(func() {
		list := s.books.orderList
		for i := len(list) - 1; i >= 0 && len(open)+len(others) < indexRows; i-- {
			if p := pageOrder(list[i], text, time.Now()); p.State == stateNotPay {
				open = append(open, p)
			} else {
				others = append(others, p)
			}
		}
		for _, m := range slices.Backward(s.books.told[max(0, len(s.books.told)-indexMessages):]) {
			told = append(told, pageTold(m))
		}
	})
	s.render(w, http.StatusOK, "index.html", map[string]any{"T": text, "Open": open, "Others": others, "Told": told, "AppID": s.keys.AppID, "MchID": s.keys.MchID})
}

func (s *Server) cashierPage(w http.ResponseWriter, r *http.Request) {
	text := pageText(r)
	id := r.URL.Query().Get("prepay_id")
	data := map[string]any{"T": text}
	status := http.StatusNotFound
	s.books.view(func() {
		if o := s.books.orders[s.books.prepays[id]]; o != nil {
			p := pageOrder(o, text, time.Now())
			p.PrepayID = id
			data["P"], status = p, http.StatusOK
		}
	})
	if back := r.URL.Query().Get("return_url"); strings.HasPrefix(back, "http://") || strings.HasPrefix(back, "https://") {
		data["Back"] = back
	}
	s.render(w, status, "cashier.html", data)
}

func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Language")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := pages.ExecuteTemplate(w, name, data); err != nil {
		s.log.Debug("a sandbox page broke off", "page", name, "err", err)
	}
}

var textZH = map[string]string{
	"lang": "zh-CN", "title": "微信支付（模拟）", "sandbox": "模拟支付环境，不会产生真实扣款", "goods": "商品", "number": "商户单号",
	"left": "剩余支付时间", "pay": "立即支付", "fail": "模拟支付失败", "dismiss": "暂不支付", "paying": "支付中…",
	"ok_title": "支付成功", "ok_text": "可以返回商家页面查看订单", "fail_title": "支付失败", "fail_text": "订单仍未支付，可以重新支付",
	"dismiss_title": "已取消支付", "dismiss_text": "订单仍未支付，可在有效期内继续支付", "back": "返回商家", "again": "重新支付",
	"expired_title": "支付已超时", "expired_text": "该订单已过支付时间，请返回商家重新下单",
	"missing_title": "找不到这笔支付", "missing_text": "请回到商家页面重新发起支付",
	"state_NOTPAY": "待支付", "state_SUCCESS": "支付成功", "state_REFUND": "转入退款", "state_CLOSED": "已关闭", "state_EXPIRED": "已超时",
	"index_title": "微信支付沙箱", "index_open": "待支付", "index_other": "最近的其他支付", "index_told": "最近的订阅消息", "index_none": "还没有待支付的订单。在商城下单并点击支付后，会出现在这里。",
	"amount": "金额", "created": "创建时间", "state": "状态", "go": "去支付", "merchant": "商户号", "app": "小程序",
	"unreachable": "沙箱没有响应，请稍后重试",
}

var textEN = map[string]string{
	"lang": "en", "title": "WeChat Pay (simulated)", "sandbox": "Simulated payment: no money moves", "goods": "Goods", "number": "Trade no.",
	"left": "Time left", "pay": "Pay now", "fail": "Simulate a failure", "dismiss": "Not now", "paying": "Paying…",
	"ok_title": "Paid", "ok_text": "Go back to the shop to see your order", "fail_title": "Payment failed", "fail_text": "The order is still unpaid; you can try again",
	"dismiss_title": "Payment dismissed", "dismiss_text": "The order is still unpaid; you can pay while it is open", "back": "Back to the shop", "again": "Pay again",
	"expired_title": "Too late to pay", "expired_text": "The time to pay this order is over; please order again",
	"missing_title": "No such payment", "missing_text": "Please start the payment in the shop again",
	"state_NOTPAY": "Open", "state_SUCCESS": "Paid", "state_REFUND": "Refunded", "state_CLOSED": "Closed", "state_EXPIRED": "Expired",
	"index_title": "WeChat Pay sandbox", "index_open": "Waiting to be paid", "index_other": "Other recent payments", "index_told": "Latest subscribe messages", "index_none": "Nothing waits to be paid. Place an order in the shop and tap pay, and it appears here.",
	"amount": "Amount", "created": "Created", "state": "State", "go": "Pay", "merchant": "Merchant", "app": "Mini-program",
	"unreachable": "The sandbox does not answer; please try again",
}
