package router

import (
	"fmt"
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
	IP      float64 // whoever has no good token; a whole campus may share one address
}

const (
	burstSeconds = 3
	bucketsKept  = 50_000      // buckets beyond this are dropped once they are idle
	bucketIdle   = time.Minute // long enough for every bucket to be full again
)

// limiter counts in this process. With several replicas a caller gets several times the rate, which does no harm.
type limiter struct {
	limits Limits

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	*rate.Limiter

	used time.Time
}

func newLimiter(l Limits) *limiter { return &limiter{limits: l, buckets: map[string]*bucket{}} }

// take counts a request of whoever authenticate found; the error is rate_limited and says when to come again.
func (l *limiter) take(c *gin.Context) error {
	if !l.limits.Enabled {
		return nil
	}
	ctx := c.Request.Context()
	key, perSecond := "ip:"+c.ClientIP(), l.limits.IP
	switch {
	case api.Shopper(ctx) != 0:
		key, perSecond = fmt.Sprintf("shopper:%d", api.Shopper(ctx)), l.limits.Shopper
	case api.Admin(ctx).ID != 0:
		key, perSecond = fmt.Sprintf("admin:%d", api.Admin(ctx).ID), l.limits.Admin
	}
	if perSecond <= 0 {
		return nil
	}
	now := time.Now()
	r := l.bucket(key, perSecond, now).ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return fault.New(fault.RateLimited).After(wait)
	}
	return nil
}

func (l *limiter) bucket(key string, perSecond float64, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= bucketsKept {
			l.sweep(now)
		}
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond*burstSeconds)))}
		l.buckets[key] = b
	}
	b.used = now
	return b.Limiter
}

func (l *limiter) sweep(now time.Time) {
	for k, b := range l.buckets {
		if now.Sub(b.used) > bucketIdle {
			delete(l.buckets, k)
		}
	}
}
