package router

import (
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/fault"
)

// Limits is how many requests a second one caller may make, in the long run; three seconds' worth may come at once. They
// protect the machine, not the business: rules such as unpaid orders a shopper are the services'.
type Limits struct {
	Enabled bool
	Shopper float64 // a logged-in shopper
	Admin   float64 // a logged-in admin
	IP      float64 // whoever has no good token, by network; a whole campus may share one address
}

// pace is what a bucket allows: so many requests a second in the long run, and so many at once.
type pace struct {
	perSecond float64
	burst     int
}

// Logins have a pace of their own for each address, beside the general one, since each costs more than a request: one of an admin
// the time of a hash, and one of a shopper a question to WeChat, which answers an app only so often. Shoppers of one carrier share an
// address.
var (
	adminLogins   = pace{perSecond: 5, burst: 100}
	shopperLogins = pace{perSecond: 50, burst: 3000}
)

// shopperUploads is enough to fill some reviews with pictures. Each costs a second of a core, and space for good.
var shopperUploads = pace{perSecond: 0.1, burst: 60}

const (
	burstSeconds = 3
	bucketsKept  = 50_000      // of one pace; more callers share one bucket
	sweepEvery   = time.Second // looking at all buckets takes milliseconds in which nobody else gets one
)

// limiter counts in this process. With several replicas a caller gets several times the rate, which does no harm.
type limiter struct {
	enabled            bool
	shopper, admin, ip *buckets
}

func newLimiter(l Limits) *limiter {
	out := &limiter{enabled: l.Enabled}
	of := func(perSecond float64) *buckets { return out.own(pace{perSecond, max(1, int(perSecond*burstSeconds))}) }
	out.shopper, out.admin, out.ip = of(l.Shopper), of(l.Admin), of(l.IP)
	return out
}

// own makes buckets of a pace; none where there is no limit.
func (l *limiter) own(p pace) *buckets {
	if !l.enabled || p.perSecond <= 0 {
		return nil
	}
	return &buckets{pace: p, overflow: p.bucket(), of: map[string]*bucket{}}
}

// take counts a request of whoever authenticate found, also in the route's own buckets where it has some; the error is rate_limited
// and says when to come again.
func (l *limiter) take(c *gin.Context, own *buckets) error {
	ctx := c.Request.Context()
	general, key := l.ip, api.From(ctx).Network()
	switch {
	case api.Shopper(ctx) != 0:
		general, key = l.shopper, strconv.FormatInt(api.Shopper(ctx), 10)
	case api.Admin(ctx).ID != 0:
		general, key = l.admin, strconv.FormatInt(api.Admin(ctx).ID, 10)
	}
	now := time.Now()
	if err := general.take(key, now); err != nil {
		return err
	}
	return own.take(key, now)
}

// buckets has a bucket a caller, all of one pace. nil lets everybody pass.
type buckets struct {
	pace pace
	// overflow is shared by the callers for whom no bucket is left, so that whoever has many addresses takes neither memory nor time
	// without bound.
	overflow *rate.Limiter

	mu    sync.Mutex
	of    map[string]*bucket
	swept time.Time
}

type bucket struct {
	*rate.Limiter

	used time.Time
}

func (p pace) bucket() *rate.Limiter { return rate.NewLimiter(rate.Limit(p.perSecond), p.burst) }

func (b *buckets) take(key string, now time.Time) error {
	if b == nil {
		return nil
	}
	r := b.bucket(key, now).ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return fault.New(fault.RateLimited).After(wait)
	}
	return nil
}

func (b *buckets) bucket(key string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[key]
	if one == nil {
		if len(b.of) >= bucketsKept && now.Sub(b.swept) >= sweepEvery {
			b.sweep(now)
		}
		if len(b.of) >= bucketsKept {
			return b.overflow
		}
		one = &bucket{Limiter: b.pace.bucket()}
		b.of[key] = one
	}
	one.used = now
	return one.Limiter
}

// sweep drops the buckets that are full again: a new one would be the same.
func (b *buckets) sweep(now time.Time) {
	b.swept = now
	full := time.Duration(float64(b.pace.burst) / b.pace.perSecond * float64(time.Second))
	for key, one := range b.of {
		if now.Sub(one.used) > full {
			delete(b.of, key)
		}
	}
}
