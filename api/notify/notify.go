// Package notify has the handlers of WeChat's callbacks. They are plain HTTP handlers and read the raw body themselves: it is
// signed to the byte. WeChat goes by the status alone: 2xx is done for good, whatever the body says, and anything else is sent
// again for a day; so a failure never answers 2xx.
package notify

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/wechat"
)

const (
	// maxBody is far above what WeChat sends.
	maxBody = 64 << 10
	// patience ends the work before WeChat's 5 s do; what it did not finish fails and is sent again.
	patience = 4500 * time.Millisecond
	bodyTime = 2 * time.Second
	// quiet is the pause between two log lines about callbacks that are not WeChat's: anybody can send them.
	quiet = 10 * time.Second
)

// Recorder keeps what came and what became of it. It neither waits nor fails.
type Recorder interface {
	Record(c model.Callback)
	Refuse(kind model.CallbackKind, reason, ip string)
}

// Shared is what all callbacks have in common. Make it with New.
type Shared struct {
	log     *slog.Logger
	record  Recorder
	notices *prometheus.CounterVec
	lastLog atomic.Int64
}

// New registers the counter of callbacks; metrics may be nil.
func New(log *slog.Logger, metrics prometheus.Registerer, record Recorder) *Shared {
	s := &Shared{log: log, record: record, notices: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemall_wechat_notices_total", Help: "Callbacks of WeChat by address and outcome.",
	}, []string{"to", "outcome"})}
	if metrics != nil {
		metrics.MustRegister(s.notices)
	}
	return s
}

// outcome is how a callback ended: its status, and the word under which it is counted.
type outcome struct {
	status int
	word   string
}

var (
	done       = outcome{http.StatusNoContent, "done"}
	pushed     = outcome{http.StatusOK, "done"} // WeChat wants the word success for a push
	unverified = outcome{http.StatusUnauthorized, "unverified"}
	malformed  = outcome{http.StatusBadRequest, "malformed"}
	misfit     = outcome{http.StatusBadRequest, "misfit"}
	tooLarge   = outcome{http.StatusRequestEntityTooLarge, "malformed"}
	failed     = outcome{http.StatusInternalServerError, "failed"}
	unready    = outcome{http.StatusServiceUnavailable, "unverified"} // WeChat's certificates are not to be had yet
	away       = outcome{http.StatusServiceUnavailable, "failed"}
)

// handle reads the body, runs fn within WeChat's patience, answers, and has it recorded. fn notes on seen what the notification is
// about, once it is verified. A panic of fn is answered by the router's recovery, with a 500.
func (s *Shared) handle(c *gin.Context, kind model.CallbackKind, fn func(ctx context.Context, body []byte, seen *model.Callback) (outcome, error)) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.Request.Context(), patience)
	defer cancel()
	body, err := readBody(c)
	o, seen := malformed, model.Callback{Verdict: model.CallbackAccepted}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		o = tooLarge
	case err == nil:
		o, err = fn(ctx, body, &seen)
	}
	s.notices.WithLabelValues(string(kind), o.word).Inc()
	if err != nil {
		api.Note(c.Request.Context(), err)
	}
	switch o {
	case done:
		c.Status(o.status)
		c.Writer.WriteHeaderNow()
	case pushed:
		c.String(o.status, "success")
	default:
		s.complain(c, kind, o, err)
	}
	seen.Kind, seen.TookMS = kind, time.Since(began).Milliseconds()
	s.recorded(c, seen, o, err)
}

// complain answers a failure in WeChat's form, and logs it; what is not WeChat's only now and then.
func (s *Shared) complain(c *gin.Context, to model.CallbackKind, o outcome, err error) {
	now := time.Now().UnixMilli()
	last := s.lastLog.Load()
	if o.word != unverified.word || now-last > quiet.Milliseconds() && s.lastLog.CompareAndSwap(last, now) {
		s.log.WarnContext(c.Request.Context(), "a callback was not taken", "to", to, "outcome", o.word, "status", o.status, "error", err, "request_id", api.RequestID(c.Request.Context()))
	}
	status := o.status
	if status < http.StatusBadRequest { // would never be sent again
		status = http.StatusInternalServerError
	}
	c.JSON(status, gin.H{"code": "FAIL", "message": o.word})
}

// readBody lifts the deadline only behind the body's end: before it sends the reply net/http reads what is left of the body.
func readBody(c *gin.Context) ([]byte, error) {
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a connection that is gone says so at the next read
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	return body, err
}

// refused sorts an error of a parser; field is what does not fit.
func refused(err error) (o outcome, field string) {
	var mismatch *wechat.NoticeMismatch
	switch {
	case errors.As(err, &mismatch):
		return misfit, mismatch.Field
	case errors.Is(err, wechat.ErrNoticeUnverified):
		return unverified, ""
	case errors.Is(err, wechat.ErrNoticeUnready):
		return unready, ""
	}
	return malformed, ""
}

// settledAs sorts an error of the services. A number that is not ours is sent again: it may be on its way here.
func settledAs(err error) outcome {
	var m *order.MisfitError
	switch {
	case err == nil:
		return done
	case errors.As(err, &m):
		return misfit
	case fault.Is(err, fault.DatabaseUnavailable):
		return away
	}
	return failed
}
