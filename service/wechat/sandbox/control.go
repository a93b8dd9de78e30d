package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mountControls mounts what tests and the demo use and the real WeChat does not have.
func (s *Server) mountControls(mux *http.ServeMux) {
	mux.HandleFunc("GET /sandbox/credentials", func(w http.ResponseWriter, _ *http.Request) { controlReply(w, 200, s.keys.Credentials) })
	mux.HandleFunc("POST /sandbox/pay", s.controlPay)
	mux.HandleFunc("GET /sandbox/transactions", s.controlTransactions)
	mux.HandleFunc("GET /sandbox/transactions/{out_trade_no}", s.controlTransaction)
	mux.HandleFunc("GET /sandbox/refunds", s.controlRefunds)
	mux.HandleFunc("POST /sandbox/refunds/{out_refund_no}", s.controlRefundResult)
	mux.HandleFunc("GET /sandbox/shipping", s.controlShipping)
	mux.HandleFunc("POST /sandbox/shipping/{out_trade_no}/{what}", s.controlShippingEvent)
	mux.HandleFunc("POST /sandbox/notify", s.controlNotify)
	mux.HandleFunc("GET /sandbox/notices", s.controlNotices)
	mux.HandleFunc("POST /sandbox/subscriptions", s.controlSubscribe)
	mux.HandleFunc("GET /sandbox/messages", s.controlMessages)
	mux.HandleFunc("POST /sandbox/faults", s.controlAddFault)
	mux.HandleFunc("GET /sandbox/faults", func(w http.ResponseWriter, _ *http.Request) { controlList(w, s.faults.left()) })
	mux.HandleFunc("DELETE /sandbox/faults", func(w http.ResponseWriter, _ *http.Request) { s.faults.clear(); w.WriteHeader(http.StatusNoContent) })
	s.mountChaos(mux)
	mux.HandleFunc("GET /sandbox/books", s.controlBooks)
	mux.HandleFunc("GET /sandbox/calls", func(w http.ResponseWriter, r *http.Request) {
		controlList(w, s.calls.find(r.URL.Query().Get("method"), s.pathMatch(r.URL.Query().Get("path"))))
	})
	mux.HandleFunc("DELETE /sandbox/calls", func(w http.ResponseWriter, _ *http.Request) { s.calls.clear(); w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /sandbox/certificates", s.controlRotate)
	mux.HandleFunc("GET /sandbox/settings", s.controlSettings)
	mux.HandleFunc("POST /sandbox/settings", s.controlChangeSettings)
	mux.HandleFunc("DELETE /sandbox/settings", s.controlResetSettings)
	mux.HandleFunc("/sandbox/", func(w http.ResponseWriter, r *http.Request) {
		controlError(w, 404, "NOT_FOUND", "the sandbox has no "+r.Method+" "+r.URL.Path+"; its controls are listed in its README")
	})
}

func controlReply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n'))
}

func controlList[T any](w http.ResponseWriter, list []T) {
	if list == nil {
		list = []T{}
	}
	controlReply(w, 200, map[string]any{"list": list})
}

func controlError(w http.ResponseWriter, status int, code, message string) {
	controlReply(w, status, map[string]string{"code": code, "message": message})
}

// problem is an error of a control.
type problem struct {
	status        int
	code, message string
}

func (p *problem) write(w http.ResponseWriter) { controlError(w, p.status, p.code, p.message) }

// read decodes a control's body and answers 400 itself when that fails. Unknown fields
// are refused, so that a misspelled one is not silently without effect.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	return decoded(w, r, into, errors.New("a JSON body is required"))
}

// readOptional is read where there may be no body.
func readOptional(w http.ResponseWriter, r *http.Request, into any) bool {
	return decoded(w, r, into, nil)
}

// decoded answers 400 for a body that is no single JSON value of the fields of into; empty is what a body of nothing is.
func decoded(w http.ResponseWriter, r *http.Request, into any, empty error) bool {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err = dec.Decode(into); errors.Is(err, io.EOF) {
			err = empty
		} else if _, end := dec.Token(); err == nil && !errors.Is(end, io.EOF) {
			err = errors.New("nothing may follow the JSON value")
		}
	}
	if err != nil {
		controlError(w, 400, "MALFORMED", strings.TrimPrefix(err.Error(), "json: "))
	}
	return err == nil
}

func (s *Server) diskFailed(w http.ResponseWriter, err error) {
	s.booksFailed(err)
	controlError(w, 500, "BOOKS_FAILED", "the sandbox cannot write its data directory")
}

// payOrder is the body of POST /sandbox/pay: what the shopper does on the phone.
type payOrder struct {
	PrepayID       string          `json:"prepay_id"`
	RequestPayment *requestPayment `json:"request_payment"`
	Result         string          `json:"result"`
	Notify         struct {
		Times   *int  `json:"times"`
		DelayMS int64 `json:"delay_ms"`
	} `json:"notify"`
}

// requestPayment is what the front end passes to wx.requestPayment.
type requestPayment struct {
	TimeStamp string `json:"timeStamp"`
	NonceStr  string `json:"nonceStr"`
	Package   string `json:"package"`
	SignType  string `json:"signType"`
	PaySign   string `json:"paySign"`
}

func (s *Server) controlPay(w http.ResponseWriter, r *http.Request) {
	var body payOrder
	if !read(w, r, &body) {
		return
	}
	times, p := s.checkPay(&body)
	if p != nil {
		p.write(w)
		return
	}
	var reply map[string]any
	var n *notice
	var paid *order
	err := s.books.change(func() {
		o := s.books.orders[s.books.prepays[body.PrepayID]]
		if p = payProblem(o, body.PrepayID, time.Now()); p != nil {
			return
		}
		if body.Result == "SUCCESS" {
			paid = o
			s.books.pay(o, time.Now())
			s.books.setReminder(o, o.PaidAt)
			if times > 0 {
				n = s.books.addDelivery(o.NotifyURL, s.payEvent(o), times, time.Duration(body.Notify.DelayMS)*time.Millisecond)
			}
		}
		reply = s.view(o)
	})
	switch {
	case err != nil:
		s.diskFailed(w, err)
	case p != nil:
		p.write(w)
	default:
		if n != nil {
			s.deliver(n)
		}
		if paid != nil {
			s.remindLater(paid)
		}
		controlReply(w, 200, reply)
	}
}

// checkPay fills in defaults and checks what does not need the books.
func (s *Server) checkPay(b *payOrder) (times int, p *problem) {
	if b.Result == "" {
		b.Result = "SUCCESS"
	}
	times = 1
	if b.Notify.Times != nil {
		times = *b.Notify.Times
	}
	if b.PrepayID == "" && b.RequestPayment != nil {
		b.PrepayID = strings.TrimPrefix(b.RequestPayment.Package, "prepay_id=")
	}
	switch {
	case b.PrepayID == "":
		return 0, &problem{400, "PREPAY_ID_MISSING", "send the prepay_id that the prepay call returned"}
	case b.Result != "SUCCESS" && b.Result != "FAIL":
		return 0, &problem{400, "RESULT_UNKNOWN", "result is SUCCESS or FAIL"}
	case times < 0 || times > 100 || b.Notify.DelayMS < 0:
		return 0, &problem{400, "NOTIFY_OUT_OF_RANGE", "notify.times is 0 to 100 and notify.delay_ms at least 0"}
	case b.RequestPayment != nil:
		return times, s.phoneRefuses(*b.RequestPayment, b.PrepayID)
	}
	return times, nil
}

// phoneRefuses checks the parameters as the phone would before it shows anything.
func (s *Server) phoneRefuses(p requestPayment, prepay string) *problem {
	text := s.keys.AppID + "\n" + p.TimeStamp + "\n" + p.NonceStr + "\n" + p.Package + "\n"
	switch {
	case p.Package != "prepay_id="+prepay:
		return &problem{400, "PACKAGE_WRONG", `request_payment.package must be "prepay_id=" and the prepay_id`}
	case p.SignType != "RSA":
		return &problem{400, "SIGN_TYPE_WRONG", "request_payment.signType must be RSA"}
	case p.NonceStr == "" || len(p.NonceStr) > 32:
		return &problem{400, "NONCE_WRONG", "request_payment.nonceStr has 1 to 32 characters"}
	case !isUnixSeconds(p.TimeStamp):
		return &problem{400, "TIMESTAMP_WRONG", "request_payment.timeStamp is a string of unix seconds"}
	case !verify(s.keys.merchant, text, p.PaySign):
		return &problem{400, "PAY_SIGN_WRONG", "request_payment.paySign must be the merchant's RSA-SHA256 over appId, timeStamp, nonceStr and package, each followed by a newline"}
	}
	return nil
}

func isUnixSeconds(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n > 1e9 && n < 1e11
}

// payProblem refuses what WeChat would refuse; inside change.
func payProblem(o *order, prepay string, now time.Time) *problem {
	switch {
	case o == nil:
		return &problem{404, "PREPAY_NOT_FOUND", "no prepay has returned this prepay_id"}
	case o.paid():
		return &problem{409, "ORDER_PAID", "the order is paid already"}
	case o.State == stateClosed:
		return &problem{409, "ORDER_CLOSED", "the order was closed and can never be paid; a late payment is made by /sandbox/notify"}
	case now.After(o.TimeExpire):
		return &problem{409, "ORDER_EXPIRED", "time_expire has passed"}
	}
	for _, p := range o.Prepays {
		if p.ID == prepay && now.After(p.ExpiresAt) {
			return &problem{409, "PREPAY_EXPIRED", "a prepay_id lives two hours; call prepay again"}
		}
	}
	return nil
}

// view is a transaction with what only the sandbox tells.
func (s *Server) view(o *order) map[string]any {
	t := s.transaction(o)
	ids := make([]string, len(o.Prepays))
	for i, p := range o.Prepays {
		ids[i] = p.ID
	}
	t["description"], t["notify_url"], t["prepay_ids"] = o.Description, o.NotifyURL, ids
	t["time_expire"], t["created_at"] = wechatTime(o.TimeExpire), wechatTime(o.CreatedAt)
	t["refunded_fen"], t["paid_after_close"] = s.books.refundedFen(o), o.PaidClosed
	t["shipping_uploads"] = o.Shipped
	return t
}

func (s *Server) controlTransaction(w http.ResponseWriter, r *http.Request) {
	var reply map[string]any
	s.books.view(func() {
		if o := s.books.orders[r.PathValue("out_trade_no")]; o != nil {
			reply = s.view(o)
		}
	})
	if reply == nil {
		controlError(w, 404, "NOT_FOUND", "no prepay has named this out_trade_no")
		return
	}
	controlReply(w, 200, reply)
}

func (s *Server) controlTransactions(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	state := r.URL.Query().Get("state")
	s.books.view(func() {
		for _, o := range s.books.orderList {
			if state == "" || o.State == state {
				list = append(list, s.view(o))
			}
		}
	})
	controlList(w, list)
}

func (s *Server) controlRefunds(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	no := r.URL.Query().Get("out_trade_no")
	s.books.view(func() {
		for _, found := range s.books.refundList {
			if no == "" || found.OutTradeNo == no {
				reply := s.refundReply(found)
				reply["notify_url"], reply["reason"] = found.NotifyURL, found.Reason
				list = append(list, reply)
			}
		}
	})
	controlList(w, list)
}

// controlRefundResult gives a refund its result: {status, notify:{times}}.
func (s *Server) controlRefundResult(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Status string `json:"status"`
		Notify struct {
			Times *int `json:"times"`
		} `json:"notify"`
	}
	if !read(w, r, &body) {
		return
	}
	if body.Status != "SUCCESS" && body.Status != "ABNORMAL" && body.Status != "CLOSED" {
		controlError(w, 400, "STATUS_UNKNOWN", "status is SUCCESS, ABNORMAL or CLOSED")
		return
	}
	copies := 1
	if body.Notify.Times != nil {
		copies = *body.Notify.Times
	}
	no := r.PathValue("out_refund_no")
	done := s.finishRefund(no, body.Status, copies)
	var reply map[string]any
	s.books.view(func() {
		if found := s.books.refunds[no]; found != nil {
			reply = s.refundReply(found)
		}
	})
	switch {
	case reply == nil:
		controlError(w, 404, "NOT_FOUND", "no refund has this out_refund_no")
	case !done:
		controlError(w, 409, "RESULT_FINAL", "only a refund that is PROCESSING or ABNORMAL takes a result")
	default:
		controlReply(w, 200, reply)
	}
}

func (s *Server) controlNotices(w http.ResponseWriter, _ *http.Request) {
	list := []notice{}
	s.books.view(func() {
		for _, n := range s.books.noticeList {
			list = append(list, *n)
		}
	})
	controlList(w, list)
}

func (s *Server) controlAddFault(w http.ResponseWriter, r *http.Request) {
	f := fault{Count: 1}
	if !read(w, r, &f) {
		return
	}
	switch {
	case faultModes[f.Mode] == "":
		var b strings.Builder
		for mode, text := range faultModes {
			b.WriteString("; " + mode + ": " + text)
		}
		controlError(w, 400, "MODE_UNKNOWN", "mode is one of these"+b.String())
	case f.Count < -1 || f.Count == 0:
		controlError(w, 400, "COUNT_OUT_OF_RANGE", "count is how many calls fail, or -1 for all until DELETE /sandbox/faults")
	case f.DelayMS < 0 || (f.Status != 0 && (f.Status < 200 || f.Status > 599)):
		controlError(w, 400, "OUT_OF_RANGE", "delay_ms is at least 0 and status 200 to 599")
	case f.Mode == "code" && f.codeText() == "":
		controlError(w, 400, "CODE_MISSING", `mode "code" needs code, such as "ORDER_PAID" or 40001`)
	default:
		if f.Mode == "status" && f.Status == 0 {
			f.Status = http.StatusInternalServerError
		}
		controlReply(w, http.StatusCreated, s.faults.add(f, s.pathMatch(f.Path)))
	}
}

func (s *Server) controlSettings(w http.ResponseWriter, _ *http.Request) {
	controlReply(w, 200, s.settings())
}

// settings are the switches as they stand.
func (s *Server) settings() (now settings) {
	s.books.view(func() { now = s.books.settings })
	return now
}

// controlChangeSettings changes the settings that the body names and keeps the others.
func (s *Server) controlChangeSettings(w http.ResponseWriter, r *http.Request) {
	next := s.settings()
	edits := next.BillEdits
	next.BillEdits = nil // a list that is sent takes the place of the former, and is not decoded into it
	if !read(w, r, &next) {
		return
	}
	if next.BillEdits == nil {
		next.BillEdits = edits
	}
	if why := next.problem(); why != "" {
		controlError(w, 400, "OUT_OF_RANGE", why)
		return
	}
	s.applySettings(w, next)
}

func (s *Server) controlResetSettings(w http.ResponseWriter, _ *http.Request) {
	next := defaultSettings
	next.PushURL = s.pushURL
	s.applySettings(w, next)
}

func (s *Server) applySettings(w http.ResponseWriter, next settings) {
	err := s.books.change(func() {
		s.books.settings = next
		s.books.save("settings", "", next)
	})
	if err != nil {
		s.diskFailed(w, err)
		return
	}
	s.tosses.Store(0)
	controlReply(w, 200, next)
}

func (n settings) problem() string {
	switch {
	case n.CloseUnknown != 404 && n.CloseUnknown != 204:
		return "close_unknown is 404 or 204"
	case n.RefundResult != "SUCCESS" && n.RefundResult != "ABNORMAL" && n.RefundResult != "CLOSED":
		return "refund_result is SUCCESS, ABNORMAL or CLOSED"
	case n.Spelling != "random" && n.Spelling != "new" && n.Spelling != "old":
		return "spelling is random, new (ORDER_PAID) or old (ORDERPAID)"
	case n.ResendScale <= 0:
		return "resend_scale is above 0; 1 is WeChat's own schedule"
	case n.PushURL != "" && !strings.HasPrefix(n.PushURL, "http"):
		return "push_url is an absolute URL, or empty"
	case n.TokenTTLSeconds < 1:
		return "token_ttl_s is at least 1"
	case n.Platform != platformKey && n.Platform != platformCertificate && n.Platform != platformBoth:
		return "platform is public_key, certificate or both"
	case n.BillState != "" && n.BillState != "creating" && n.BillState != "none":
		return "bill_state is creating, none or empty"
	case n.BillHash != "unpacked" && n.BillHash != "packed" && n.BillHash != "wrong":
		return "bill_hash is unpacked, packed or wrong"
	case n.BillFiller < 0 || n.BillFiller > 1e6:
		return "bill_filler is 0 to 1,000,000"
	case n.ShippingRemindMS < 0 || n.CloseMinAgeMS < 0 || n.RefundMinIntervalMS < 0 || n.RefundDelayMS < 0 || n.PayerDiscountFen < 0:
		return "times and amounts are at least 0"
	}
	for _, e := range n.BillEdits {
		if why := e.problem(); why != "" {
			return why
		}
	}
	return ""
}

// loopbackOnly says that nobody but this machine reaches the sandbox.
func (s *Server) loopbackOnly() bool { return onLoopback(s.listener.Addr()) }
