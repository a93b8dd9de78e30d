package timeout

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemall/tidemall/timeout/failpoint"
)

// clockAlarm is how far Redis' and the database's clocks, or the shop's and
// this machine's, may be apart before it is logged.
const clockAlarm = 500 * time.Millisecond

// A clock is read until the answer took no longer than readingTight, and so
// many times at most. Each clock has readingLimit for itself: one that hangs
// takes nothing from the other.
const (
	readings     = 10
	readingTight = 200 * time.Microsecond
	readingLimit = time.Second
)

// clock is the local monotonic clock plus a measured offset.
//
// One reading of a remote clock bounds the offset from both sides, by the
// instants before the question and after the answer. The first offset is the
// lower bound, so that what is unknown makes the clock slow and nothing fires
// early. From then on the offset moves only when it lies outside of the bounds,
// and then to the nearer one, so that noise of the network never shows. While
// Redis answers, the database's clock (or, where it has none, the local wall
// clock) is measured beside it, and the difference, with its bounds, is carried
// when Redis goes away: a switch moves nothing.
type clock struct {
	start  time.Time // with its monotonic reading
	offset atomic.Int64

	db    *sql.DB
	redis *store // nil without Redis
	log   *slog.Logger

	mu       sync.Mutex
	measured bool
	carry    bounds // Redis minus the second clock, last measured together
	dbClock  dbClock
	from     string // what the offset was measured by
	// What has been logged: clocks apart, and this machine's off.
	apart, off bool
}

// errNotAsked stands for the answer of a Redis that was not asked.
var errNotAsked = errors.New("away, or not there")

// dbClock says whether the database can tell the time to the microsecond.
type dbClock uint8

const (
	dbClockUnknown dbClock = iota
	dbClockYes
	dbClockNo // SQLite: embedded, so the local wall clock stands in
)

func newClock(db *sql.DB, s *store, log *slog.Logger) *clock {
	return &clock{start: time.Now(), db: db, redis: s, log: log}
}

// Now is the clock's time, to the nanosecond.
func (c *clock) Now() time.Time { return time.Unix(0, c.local()+c.offset.Load()) }

// local is the wall time of the start plus the monotonic time since.
func (c *clock) local() int64 {
	return c.start.UnixNano() + int64(time.Since(c.start)) + int64(failpoint.ClockOffset())
}

// bounds is what one reading says about an offset.
type bounds struct{ low, high int64 }

func (b bounds) plus(o bounds) bounds    { return bounds{b.low + o.low, b.high + o.high} }
func (b bounds) minus(o bounds) bounds   { return bounds{b.low - o.high, b.high - o.low} }
func (b bounds) width() int64            { return b.high - b.low }
func (b bounds) middle() time.Duration   { return time.Duration(b.low + b.width()/2) }
func (b bounds) clamp(value int64) int64 { return min(max(value, b.low), b.high) }

// measure reads the clocks that answer and adjusts the offset. It fails where
// none does. Redis comes first and counts at once, however long the database
// takes.
func (c *clock) measure(ctx context.Context, from feed) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.alarm("this machine's clock differs from the shop's", c.drift, &c.off)
	var first bounds
	redisErr := errNotAsked
	if from == feedRedis {
		if first, redisErr = c.readFirst(ctx); redisErr == nil {
			c.adopt(first)
			c.from = "redis"
		}
	}
	second, err := c.readSecond(ctx)
	switch {
	case redisErr == nil && err == nil:
		c.carry = first.minus(second)
		c.alarm("the clocks of redis and the database differ", c.carry.middle, &c.apart)
	case redisErr == nil: // the difference stays as it was last measured
	case err == nil:
		c.adopt(second.plus(c.carry))
		c.from = "database"
		if c.dbClock == dbClockNo {
			c.from = "machine"
		}
	default:
		return fmt.Errorf("redis: %w; database: %w", redisErr, err)
	}
	return nil
}

// known reports whether the clock was ever measured.
func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.measured
}

// source says by what the clock was last measured: redis, database or machine.
func (c *clock) source() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.from, "machine")
}

// difference is Redis' clock minus the database's, as last measured.
func (c *clock) difference() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.carry.middle()
}

// drift is the clock minus this machine's wall clock, as it is now.
func (c *clock) drift() time.Duration { return c.Now().Sub(time.Now().Add(failpoint.ClockOffset())) }

func (c *clock) adopt(b bounds) {
	if !c.measured {
		c.measured = true
		c.offset.Store(b.low)
		return
	}
	c.offset.Store(b.clamp(c.offset.Load()))
}

// alarm logs that clocks have come apart, once.
func (c *clock) alarm(what string, difference func() time.Duration, logged *bool) {
	by := difference()
	if by.Abs() > clockAlarm && !*logged {
		c.log.Warn(what, "by", by)
	}
	*logged = by.Abs() > clockAlarm
}

// readFirst reads Redis' clock.
func (c *clock) readFirst(ctx context.Context) (bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, readingLimit)
	defer cancel()
	return c.read(ctx, c.redisTime)
}

// readSecond reads the database's clock, or the wall clock in place of one
// that SQLite does not have. A database that failed is asked again the next
// time: the wall clock may be far off.
func (c *clock) readSecond(ctx context.Context) (bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, readingLimit)
	defer cancel()
	if c.dbClock != dbClockNo {
		b, err := c.read(ctx, c.dbTime)
		if err == nil {
			c.dbClock = dbClockYes
			return b, nil
		}
		if c.dbClock == dbClockYes || !c.isSQLite(ctx) {
			return bounds{}, err
		}
		c.dbClock = dbClockNo
	}
	return c.read(ctx, func(context.Context) (int64, error) { return time.Now().Add(failpoint.ClockOffset()).UnixNano(), nil })
}

// isSQLite asks for what nothing else has.
func (c *clock) isSQLite(ctx context.Context) bool {
	var version string
	return c.db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version) == nil
}

// read takes the tightest of a few readings, one if that is tight enough. It
// fails with the first: a later one that fails takes nothing from those before.
func (c *clock) read(ctx context.Context, remote func(context.Context) (int64, error)) (bounds, error) {
	var best bounds
	began := c.local()
	for i := range readings {
		before := c.local()
		at, err := remote(ctx)
		after := c.local()
		if err != nil {
			if i > 0 {
				err = nil // those before it count
			}
			return best, err
		}
		b := bounds{at - after, at - before}
		if i == 0 || b.width() < best.width() {
			best = b
		}
		// No more where the next answer would come too late: a question that is
		// cut off costs the connection to the database.
		if best.width() <= int64(readingTight) || after-began+b.width() > int64(readingLimit) {
			break
		}
	}
	return best, nil
}

func (c *clock) redisTime(ctx context.Context) (int64, error) {
	return c.redis.time(ctx)
}

func (c *clock) dbTime(ctx context.Context) (int64, error) {
	var micros int64
	err := c.db.QueryRowContext(ctx, "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&micros)
	return micros * int64(time.Microsecond), err
}
