package notify

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

// recorded keeps what became of a callback. What has no id was not verified, or is nothing that could be told apart: anybody can send
// that, so it is only counted.
func (s *Shared) recorded(c *gin.Context, seen model.Callback, o outcome, err error) {
	if seen.NoticeID == "" {
		s.record.Refuse(seen.Kind, whyUnverified(c.Request, seen.Kind, o, time.Now()), c.ClientIP())
		return
	}
	if o != done && o != pushed {
		seen.Verdict, seen.Reason = model.CallbackRefused, why(o, err)
	}
	seen.Status, seen.RequestID = c.Writer.Status(), api.RequestID(c.Request.Context())
	s.record.Record(seen)
}

// why is the reason for which a verified callback was not taken.
func why(o outcome, err error) string {
	var mismatch *wechat.NoticeMismatch
	var misfits *order.MisfitError
	switch {
	case errors.As(err, &mismatch):
		return callback.Misfit(mismatch.Field)
	case errors.As(err, &misfits):
		return callback.Misfit(misfits.Field)
	case o == malformed:
		return callback.ReasonMalformed
	case o == away:
		return callback.ReasonUnavailable
	case fault.Is(err, fault.NotFoundError):
		return callback.ReasonUnknown
	}
	return callback.ReasonFailed
}

const (
	// maxAge is how old a signature may be.
	maxAge = 5 * time.Minute
	// probe begins the signatures by which WeChat tests whether they are verified.
	probe = "WECHATPAY/SIGNTEST/"
)

// whyUnverified says what an operator should look at: it decides nothing.
func whyUnverified(r *http.Request, kind model.CallbackKind, o outcome, now time.Time) string {
	switch o {
	case unready:
		return callback.RefusedUnready
	case unverified:
	default:
		return callback.RefusedUnreadable
	}
	signature, timestamp := r.Header.Get("Wechatpay-Signature"), r.Header.Get("Wechatpay-Timestamp")
	signed := signature != "" && timestamp != "" && r.Header.Get("Wechatpay-Nonce") != "" && r.Header.Get("Wechatpay-Serial") != ""
	if kind == model.CallbackPush {
		q := r.URL.Query()
		signature, timestamp = q.Get("msg_signature"), q.Get("timestamp")
		signed = (signature != "" || q.Get("echostr") != "") && timestamp != ""
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	switch {
	case !signed:
		return callback.RefusedUnsigned
	case strings.HasPrefix(signature, probe):
		return callback.RefusedProbe
	case err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > maxAge:
		return callback.RefusedStale
	}
	return callback.RefusedSignature
}
