package wechat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/silenceper/wechat/v2/util"
	"github.com/wechatpay-apiv3/wechatpay-go/core"
)

// Kind says what a failed call tells about its outcome.
type Kind string

// The kinds. All but KindUnknown are definite: WeChat answered and did not do it.
const (
	KindUnknown     Kind = "unknown"     // network, timeout, 5xx, 202, HTML, empty or badly signed reply: it may have happened
	KindPaid        Kind = "paid"        // the order is paid already
	KindClosed      Kind = "closed"      // the number is closed at WeChat and can never be paid
	KindNotFound    Kind = "not_found"   // WeChat does not know the number; a 404 is unsigned, so alone it proves nothing
	KindNumberUsed  Kind = "number_used" // the number was used with other parameters
	KindBadCode     Kind = "bad_code"    // a login or phone code that is invalid or was used
	KindBusy        Kind = "busy"        // WeChat asks to try again
	KindNotEnough   Kind = "not_enough"  // the merchant's balance does not cover the refund
	KindFrequency   Kind = "frequency"   // called too often
	KindSetup       Kind = "setup"       // WeChat does not take the shop's own credentials or rights: right once somebody has mended them
	KindNoBill      Kind = "no_bill"     // nothing happened on the day of the bill
	KindRejected    Kind = "rejected"    // any other definite refusal
	KindUnavailable Kind = "unavailable" // the breaker is open and WeChat was not called, or it took none of the access tokens it gave
)

// Error is what every call of this package returns when it fails.
type Error struct {
	Op      string // the call, such as "prepay"
	Kind    Kind
	Code    string // WeChat's code as it was spelled, or its errcode; empty when there was none
	Status  int    // HTTP status; 0 when there was no reply
	Message string // WeChat's own words, cut and scrubbed, or ours where it said nothing

	cause error // context.Canceled or context.DeadlineExceeded, or nil
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "wechat: %s: %s", e.Op, e.Kind)
	if e.Code != "" {
		fmt.Fprintf(&b, " code=%s", e.Code)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " status=%d", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	return b.String()
}

// Unwrap lets errors.Is find context.Canceled and context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the *Error in err's chain; KindUnknown for any other
// error, and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindUnknown
}

// normalCode makes WeChat's spellings comparable: ORDERPAID and ORDER_PAID are one code.
func normalCode(code string) string {
	return strings.ReplaceAll(strings.ToUpper(code), "_", "")
}

var payKinds = map[string]Kind{
	"ORDERPAID":            KindPaid,
	"ORDERCLOSED":          KindClosed,
	"ORDERNOTEXIST":        KindNotFound,
	"ORDERNOTEXISTS":       KindNotFound,
	"RESOURCENOTEXISTS":    KindNotFound,
	"RESOURCENOTEXIST":     KindNotFound,
	"OUTTRADENOUSED":       KindNumberUsed,
	"268498688":            KindNumberUsed, // the business code some pages give for a reused number
	"NOTENOUGH":            KindNotEnough,
	"FREQUENCYLIMITED":     KindFrequency,
	"FREQUENCYLIMIT":       KindFrequency,
	"RATELIMITEXCEEDED":    KindFrequency,
	"RATELIMITEXCEED":      KindFrequency,
	"SYSTEMERROR":          KindUnknown,
	"SERVICEUNAVAILABLE":   KindUnknown,
	"BANKERROR":            KindUnknown,
	"SIGNERROR":            KindSetup,
	"NOAUTH":               KindSetup,
	"APPIDMCHIDNOTMATCH":   KindSetup,
	"MCHNOTEXISTS":         KindSetup,
	"ACCOUNTERROR":         KindSetup,
	"REQUESTBLOCKED":       KindSetup,
	"OPENIDMISMATCH":       KindRejected, // sent with status 500, yet a verdict on the parameters
	"INVALIDTRANSACTIONID": KindRejected, // likewise
	"NOSTATEMENTEXIST":     KindNoBill,   // the pages disagree on the status of these two, so the code decides
	"STATEMENTCREATING":    KindBusy,
}

// payKind judges a non-2xx reply of WeChat Pay. A refusal without a code is no word
// of WeChat's: a proxy's page says nothing about the outcome.
func payKind(status int, code string) Kind {
	kind, known := payKinds[normalCode(code)]
	definite5xx := kind == KindRejected || kind == KindNoBill || kind == KindBusy
	switch {
	case code == "" && status == http.StatusTooManyRequests:
		return KindFrequency
	case code == "" || status < 400 || (status >= 500 && !definite5xx):
		return KindUnknown
	case known:
		return kind
	case status == http.StatusTooManyRequests:
		return KindFrequency
	}
	return KindRejected
}

// miniKind judges an errcode of the mini-program's interfaces.
func miniKind(code int64) Kind {
	switch code {
	case 40029, 40163:
		return KindBadCode
	case -1, 45011, 43108, 10060012, 10060019, 10060001: // 43108: another message to the same person is being sent; the last three: shipping's system errors, and an order not yet visible
		return KindBusy
	case 45009:
		return KindFrequency
	case 40001, 40013, 40014, 40125, 40164, 41002, 41004, 42001, 48001: // token, app id, secret, address not on the list, an interface that was not applied for
		return KindSetup
	}
	return KindRejected
}

// tokenRefused says that WeChat no longer takes the access token: it must be fetched anew.
func tokenRefused(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "42001" || e.Code == "40014")
}

// TooOften says that WeChat was asked too often; for a shopper's own calls it counts by the minute.
func TooOften(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == KindFrequency || e.Code == "45011")
}

// unavailable is the same error, of the kind that is tried again soon.
func unavailable(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	again := *e
	again.Kind = KindUnavailable
	return &again
}

// unknown is an Error for a reply that cannot be relied on.
func unknown(status int, message string) *Error {
	return &Error{Kind: KindUnknown, Status: status, Message: message}
}

// rejected is an Error for parameters that WeChat would refuse; it was not called.
func rejected(op, message string) *Error {
	return &Error{Op: op, Kind: KindRejected, Message: message}
}

// classify turns whatever the libraries return into an *Error. Their texts are
// dropped: they carry URLs with secrets and whole requests.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		e := *own // callers that waited for one access token together share its error
		if e.Op == "" {
			e.Op = op
		}
		return &e
	}
	var api *core.APIError
	if errors.As(err, &api) {
		code := safeCode(api.Code)
		return &Error{Op: op, Kind: payKind(api.StatusCode, code), Code: code, Status: api.StatusCode, Message: safeText(api.Message)}
	}
	var mini *util.CommonError
	if errors.As(err, &mini) {
		return miniError(op, mini.ErrCode, mini.ErrMsg)
	}
	e := &Error{Op: op, Kind: KindUnknown, Message: describe(err)}
	for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, c) {
			e.cause = c
		}
	}
	return e
}

func miniError(op string, code int64, message string) *Error {
	return &Error{Op: op, Kind: miniKind(code), Code: strconv.FormatInt(code, 10), Status: http.StatusOK, Message: safeText(message)}
}

// describe names a transport failure without quoting it.
func describe(err error) string {
	var n net.Error
	switch {
	case errors.Is(err, errBlockedHost):
		return "a host that is not WeChat's was refused"
	case errors.Is(err, context.Canceled):
		return "given up by the caller"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &n) && n.Timeout():
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost"
	case errors.As(err, &n):
		return "network failure"
	}
	return "a reply that cannot be read or verified"
}

var (
	codeShape   = regexp.MustCompile(`^-?[0-9A-Za-z_]{1,64}$`)
	secretShape = regexp.MustCompile(`(?i)(secret|access_token|session_key|js_code)(["']?\s*[=:]\s*["']?)[^&"'\s,;}]+`)
	phoneShape  = regexp.MustCompile(`\b1[0-9]{10}\b`)
)

// safeCode keeps what looks like a code of WeChat's and nothing else.
func safeCode(code string) string {
	if codeShape.MatchString(code) {
		return code
	}
	return ""
}

// safeText cuts WeChat's words to one short line and blanks anything secret they echo.
func safeText(text string) string {
	text = secretShape.ReplaceAllString(text, "$1$2***")
	text = phoneShape.ReplaceAllString(text, "***")
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200])
	}
	return text
}
