// Package callback keeps what WeChat called the shop about and what became of it. It is a record for people: nothing is decided by
// it, so the callbacks themselves neither wait for it nor fail with it.
package callback

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Retention is how long callbacks, and the figures of what was refused, are kept.
const Retention = 30 * 24 * time.Hour

// Reasons for which a callback that was verifiably WeChat's was refused. Those that do not fit have Misfit's.
const (
	ReasonMalformed   = "malformed"   // it cannot be read
	ReasonUnknown     = "unknown"     // it is about a number that is not ours, or not yet
	ReasonUnavailable = "unavailable" // the database was away
	ReasonFailed      = "failed"      // an error of the shop's own
	misfitPrefix      = "misfit_"
)

// misfitFields are what of a notification may not fit.
var misfitFields = []string{
	"event_type", "original_type", "trade_state", "refund_status", "appid", "mchid", "currency", "amount", "amount_refund", "amount_total",
	"transaction_id", "out_trade_no",
}

// Misfit is the reason of a callback of which the field does not fit.
func Misfit(field string) string { return misfitPrefix + strings.ReplaceAll(field, ".", "_") }

// Reasons lists the reasons of what was verifiably WeChat's and refused.
func Reasons() []string {
	reasons := []string{ReasonMalformed, ReasonUnknown, ReasonUnavailable, ReasonFailed}
	for _, field := range misfitFields {
		reasons = append(reasons, Misfit(field))
	}
	return reasons
}

// Reasons for which what came was not verifiably WeChat's.
const (
	RefusedUnsigned   = "unsigned"   // without the headers of a signature
	RefusedStale      = "stale"      // signed over five minutes ago, or ahead
	RefusedProbe      = "probe"      // WeChat's own test of whether signatures are verified
	RefusedSignature  = "signature"  // the signature is wrong, or by a key that the shop does not know
	RefusedUnready    = "unready"    // WeChat's certificates were not to be had
	RefusedUnreadable = "unreadable" // no whole body, too large a one, or nothing that has an id
)

// Refusals lists the reasons of what was not verifiably WeChat's.
var Refusals = []string{RefusedUnsigned, RefusedStale, RefusedProbe, RefusedSignature, RefusedUnready, RefusedUnreadable}

const (
	// queueRows is how many callbacks may wait to be written; what comes on top is dropped and counted.
	queueRows = 4096
	batchRows = 200
	// gather is the pause before a write, so that a burst is few transactions.
	gather = 200 * time.Millisecond
	// writeLimit bounds one write, retryPause is the pause after one that failed.
	writeLimit = 4 * time.Second
	retryPause = 2 * time.Second
	cleanEvery = time.Hour
)

// Deps is what the recorder is made of.
type Deps struct {
	Store *store.Store
	Now   func() model.Time
	Log   *slog.Logger
}

// Recorder writes callbacks down, by one goroutine and in batches, and reads them. Make it with New.
type Recorder struct {
	Deps

	queue   chan model.Callback
	wake    chan struct{}
	dropped prometheus.Counter

	mu       sync.Mutex
	refusals map[refusal]*model.CallbackRefusals // not written yet; bounded by the kinds and the reasons, an hour at a time

	stop context.CancelFunc
	done chan struct{}
}

type refusal struct {
	hour   model.Time
	kind   model.CallbackKind
	reason string
}

// New makes a recorder. What is recorded before Start waits.
func New(d Deps) *Recorder {
	return &Recorder{
		Deps: d, queue: make(chan model.Callback, queueRows), wake: make(chan struct{}, 1), refusals: map[refusal]*model.CallbackRefusals{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidemall_wechat_callbacks_dropped_total", Help: "Callbacks that were answered and are missing in the list, because it could not be written fast enough.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) { r.dropped.Describe(ch) }

// Collect implements prometheus.Collector.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) { r.dropped.Collect(ch) }

// Record has a callback that is verifiably WeChat's written down soon, and never waits. Its merchant and order are found by its number.
func (r *Recorder) Record(c model.Callback) {
	now := r.Now()
	c.Count, c.CreatedAt, c.LastAt = 1, now, now
	c.NoticeID, c.EventType, c.RequestID = cut(c.NoticeID), cut(c.EventType), cut(c.RequestID)
	c.OutTradeNo, c.OutRefundNo = cut(c.OutTradeNo), cut(c.OutRefundNo)
	c.Reason = c.Reason[:min(len(c.Reason), 32)]
	select {
	case r.queue <- c:
		r.poke()
	default:
		r.dropped.Inc()
	}
}

// Refuse counts what was not verifiably WeChat's, and never waits.
func (r *Recorder) Refuse(kind model.CallbackKind, reason, ip string) {
	now := r.Now()
	key := refusal{hourOf(now), kind, reason}
	r.mu.Lock()
	row := r.refusals[key]
	if row == nil {
		row = &model.CallbackRefusals{Hour: key.hour, Kind: kind, Reason: reason}
		r.refusals[key] = row
	}
	row.Count++
	row.LastAt, row.LastIP = now, cut(ip)
	r.mu.Unlock()
	r.poke()
}

func (r *Recorder) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func hourOf(t model.Time) model.Time { return t - t%model.Time(time.Hour.Milliseconds()) }

// cut fits WeChat's words to their columns; none of ours is longer.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 64 {
		return string(runes[:64])
	}
	return text
}
