package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fault is something that goes wrong with the next calls of a path.
type fault struct {
	ID      int             `json:"id"`
	Path    string          `json:"path"`
	Method  string          `json:"method,omitempty"`
	Mode    string          `json:"mode"`
	Status  int             `json:"status,omitempty"`
	Code    json.RawMessage `json:"code,omitempty"` // text for pay, a number for the mini-program; either is taken
	DelayMS int64           `json:"delay_ms,omitempty"`
	Count   int             `json:"count"` // how many calls are left; -1: until cleared

	fits func(path string) bool
}

// faultModes explains the modes; the text is part of the answer to a wrong one.
var faultModes = map[string]string{
	"timeout":       "nothing happens and no answer comes (for delay_ms, or 30 s)",
	"timeout_after": "the effect happens and the answer is lost",
	"status":        "an error with this status",
	"reset":         "the connection is reset before anything happens",
	"html":          "an HTML page with this status (502)",
	"empty":         "a well-signed 200 without a body; nothing happens",
	"bad_signature": "the effect happens and the answer is signed wrongly",
	"code":          "WeChat's refusal with this code",
	"delay":         "the right answer, delay_ms late",
}

const holdFor = 30 * time.Second

// codeText is the code without JSON quotes.
func (f *fault) codeText() string { return strings.Trim(string(f.Code), `"`) }

// faultList holds the faults in the order in which they were set.
type faultList struct {
	mu   sync.Mutex
	next int
	list []*fault
}

func (l *faultList) add(f fault, fits func(string) bool) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	f.ID, f.fits = l.next, fits
	l.list = append(l.list, &f)
	return f
}

// take uses up one call of the first fault that fits, or returns nil.
func (l *faultList) take(method, path string) *fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.list {
		if f.Count != 0 && (f.Method == "" || strings.EqualFold(f.Method, method)) && f.fits(path) {
			if f.Count > 0 {
				f.Count--
			}
			copied := *f
			return &copied
		}
	}
	return nil
}

func (l *faultList) left() []fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := []fault{}
	for _, f := range l.list {
		if f.Count != 0 {
			left = append(left, *f)
		}
	}
	return left
}

func (l *faultList) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

var anySegment = regexp.MustCompile(`\\\{[^/]*?\\\}|\\\*`)

// segments turns a path in which {name} or * stands for one segment into an expression.
func segments(path string) *regexp.Regexp {
	return regexp.MustCompile("^" + anySegment.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
}

// pathMatch compares a pattern with paths. A pattern that is the whole path of an
// interface, where {name} or * may stand for a segment, fits that one only; any other
// fits wherever it is a part of the path. An empty one fits everything.
func (s *Server) pathMatch(pattern string) func(string) bool {
	pattern, _, _ = strings.Cut(pattern, "?")
	whole := segments(pattern)
	for _, e := range s.wechatEndpoints() {
		if e.methods != nil && segments(e.path).MatchString(pattern) {
			return whole.MatchString
		}
	}
	return func(path string) bool { return strings.Contains(path, pattern) || whole.MatchString(path) }
}

// call is one request that WeChat received.
type call struct {
	At     time.Time       `json:"at"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  string          `json:"query,omitempty"` // without secret and access_token
	Body   json.RawMessage `json:"body,omitempty"`  // JSON as received, anything else as a string
	Status int             `json:"status"`          // answered; 0: no answer
	Fault  string          `json:"fault,omitempty"` // the mode that was applied
}

const maxCalls = 20000

// callLog keeps the latest calls in memory.
type callLog struct {
	mu   sync.Mutex
	list []*call
}

func (l *callLog) add(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= maxCalls {
		l.list = slices.Delete(l.list, 0, maxCalls/4)
	}
	l.list = append(l.list, c)
}

func (l *callLog) answered(c *call, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Status = status
}

func (l *callLog) find(method string, fits func(string) bool) []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []call{}
	for _, c := range l.list {
		if (method == "" || strings.EqualFold(method, c.Method)) && fits(c.Path) {
			found = append(found, *c)
		}
	}
	return found
}

func (l *callLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// received records a call, applies a fault that waits for it, and hands it to its handler.
func (s *Server) received(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f := s.faults.take(r.Method, r.URL.Path)
		if f == nil {
			f = s.chaosFault(e, r, body)
		}
		c := &call{At: time.Now().UTC(), Method: r.Method, Path: r.URL.Path, Query: withoutSecrets(r.URL.Query()), Body: bodyForLog(body)}
		if f != nil {
			c.Fault = f.Mode
		}
		s.calls.add(c)
		out := &statusWriter{ResponseWriter: w}
		defer func() { s.calls.answered(c, out.status) }()
		if f == nil {
			e.serve(out, r)
			return
		}
		s.applyFault(f, e, out, r)
	})
}

// serve answers an unknown path with an empty 404 and a wrong method with an empty 405.
func (e endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if e.methods == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h := e.methods[r.Method]
	if h == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h(w, r)
}

func (s *Server) applyFault(f *fault, e endpoint, w http.ResponseWriter, r *http.Request) {
	delay := time.Duration(f.DelayMS) * time.Millisecond
	pay := strings.HasPrefix(r.URL.Path, "/v3/")
	if f.Mode == "timeout" || f.Mode == "timeout_after" {
		if f.Mode == "timeout_after" {
			e.serve(newRecorder(), r)
		}
		if delay == 0 {
			delay = holdFor
		}
		s.hold(r, delay)
		reset(w) // no answer ever comes
		return
	}
	s.hold(r, delay)
	switch f.Mode {
	case "delay":
		e.serve(w, r)
	case "reset":
		reset(w)
	case "html":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(orStatus(f.Status, http.StatusBadGateway))
		_, _ = io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>")
	case "empty":
		if pay {
			s.writeSigned(w, r, orStatus(f.Status, http.StatusOK), nil)
			return
		}
		w.WriteHeader(orStatus(f.Status, http.StatusOK))
	case "bad_signature":
		rec := newRecorder()
		e.serve(rec, r)
		if signature := rec.header.Get("Wechatpay-Signature"); signature != "" {
			rec.header.Set("Wechatpay-Signature", corrupted(signature))
		}
		rec.replay(w)
	default: // status, code
		s.writeFault(f, pay, w, r)
	}
}

// faultStatus is the status that WeChat sends with a code when the fault names none.
var faultStatus = map[string]int{
	"SYSTEMERROR": 500, "BANKERROR": 500, "OPENIDMISMATCH": 500, "INVALIDTRANSACTIONID": 500, "SERVICEUNAVAILABLE": 503,
	"SIGNERROR": 401, "NOAUTH": 403, "OUTTRADENOUSED": 403, "RULELIMIT": 403, "TRADEERROR": 403, "NOTENOUGH": 403,
	"USERACCOUNTABNORMAL": 403, "ACCOUNTERROR": 403, "REQUESTBLOCKED": 403,
	"ORDERNOTEXIST": 404, "RESOURCENOTEXISTS": 404, "FREQUENCYLIMITED": 429, "RATELIMITEXCEEDED": 429,
}

// writeFault writes the error of mode "status" or "code". A code is spelled as it was given.
func (s *Server) writeFault(f *fault, pay bool, w http.ResponseWriter, r *http.Request) {
	code := f.codeText()
	if !pay && f.Mode == "code" {
		if number, err := strconv.Atoi(code); err == nil {
			miniRefusal(w, number, "sandbox fault")
			return
		}
	}
	status := f.Status
	if status == 0 {
		status = orStatus(faultStatus[strings.ReplaceAll(strings.ToUpper(code), "_", "")], http.StatusBadRequest)
	}
	if status < 300 && pay {
		s.writeSigned(w, r, status, map[string]any{})
		return
	}
	if code == "" {
		code = codeOfStatus(status)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(encode(map[string]any{"code": code, "message": "sandbox fault"}))
}

func codeOfStatus(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "SIGN_ERROR"
	case status == http.StatusForbidden:
		return "NO_AUTH"
	case status == http.StatusNotFound:
		return "RESOURCE_NOT_EXISTS"
	case status == http.StatusTooManyRequests:
		return "FREQUENCY_LIMITED"
	case status >= 500:
		return "SYSTEM_ERROR"
	}
	return "INVALID_REQUEST"
}

func orStatus(status, fallback int) int {
	if status == 0 {
		return fallback
	}
	return status
}

// hold keeps a request waiting until the time is over, the caller hangs up or the
// sandbox stops.
func (s *Server) hold(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// reset breaks the connection with a TCP reset. One byte of an answer goes first: without
// it Go's client, and others, silently send a GET again on a kept-alive connection, and
// the fault would show nowhere.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, "H")
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// recorder keeps an answer instead of sending it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, status: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets a response controller reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func withoutSecrets(q url.Values) string {
	for _, name := range []string{"secret", "access_token"} {
		if q.Has(name) {
			q.Set(name, "***")
		}
	}
	return q.Encode()
}

var secretField = regexp.MustCompile(`("secret"\s*:\s*")[^"]*"`)

func bodyForLog(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	body = secretField.ReplaceAll(body, []byte(`${1}***"`))
	if json.Valid(body) {
		return body
	}
	return encode(string(body))
}
