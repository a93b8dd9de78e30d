package timeout

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-sql-driver/mysql"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// answers is a database that gives each query one number.
type answers struct {
	give func(ctx context.Context, query string) (int64, error)
}

var errUnused = errors.New("nobody needs it")

func (a *answers) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (a *answers) Driver() driver.Driver                        { return nil }
func (a *answers) Prepare(string) (driver.Stmt, error)          { return nil, errUnused }
func (a *answers) Begin() (driver.Tx, error)                    { return nil, errUnused }
func (a *answers) Close() error                                 { return nil }

func (a *answers) QueryContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	n, err := a.give(ctx, query)
	return &oneRow{n, false}, err
}

type oneRow struct {
	value int64
	read  bool
}

func (r *oneRow) Columns() []string { return []string{"value"} }
func (r *oneRow) Close() error      { return nil }

func (r *oneRow) Next(into []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, into[0] = true, r.value
	return nil
}

func answering(t *testing.T, give func(ctx context.Context, query string) (int64, error)) *sql.DB {
	db := sql.OpenDB(&answers{give})
	t.Cleanup(func() { db.Close() })
	return db
}

func TestClockMovesOnlyWhereItMust(t *testing.T) {
	c := newClock(nil, nil, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		reading bounds
		want    int64
	}{
		{bounds{150, 250}, 150}, // the first reading: rather slow than early
		{bounds{0, 1000}, 150},  // agrees: noise moves nothing
		{bounds{160, 300}, 160}, // disagrees: to the nearer bound
		{bounds{0, 120}, 120},
	} {
		c.adopt(step.reading)
		if got := c.offset.Load(); got != step.want {
			t.Fatalf("after %v: %d, want %d", step.reading, got, step.want)
		}
	}
}

// The clocks of Redis and the database may differ; a switch must not show it.
func TestClockDoesNotJumpOnASwitch(t *testing.T) {
	for _, p := range everyParts[:2] {
		t.Run(p.name, func(t *testing.T) {
			c := newClock(p.db(t), &store{client: redisClient(t, p.redis(t)), prefix: "shop1", shards: 8}, slog.New(slog.DiscardHandler))
			local := time.Now()
			if d := c.Now().Sub(local); d < 0 || d > time.Second {
				t.Fatalf("before any measurement %v from the local clock", d)
			}
			measure(t, c, feedRedis)
			if d := c.difference(); d.Abs() > 100*time.Millisecond {
				t.Fatalf("one machine, two clocks %v apart", d)
			}
			// As if Redis had been an hour ahead of the database.
			c.carry = c.carry.plus(bounds{int64(time.Hour), int64(time.Hour)})
			c.offset.Add(int64(time.Hour))
			before := c.Now()
			measure(t, c, feedSQL)
			if jump := c.Now().Sub(before); jump < 0 || jump > 500*time.Millisecond {
				t.Errorf("jumped by %v", jump)
			}
		})
	}
}

// Without a switch the database's clock is followed; SQLite has none, and
// the local one stands in.
func TestClockWithoutRedis(t *testing.T) {
	for _, p := range everyParts[2:] {
		c := newClock(p.db(t), nil, slog.New(slog.DiscardHandler))
		c.offset.Store(int64(time.Hour))
		measure(t, c, feedSQL)
		if d := time.Since(c.Now()).Abs(); d > time.Second {
			t.Errorf("%s: %v from the local clock of the same machine", p.name, d)
		}
	}
}

func measure(t *testing.T, c *clock, from feed) {
	t.Helper()
	if err := c.measure(context.Background(), from); err != nil {
		t.Fatal(err)
	}
}

// What was read counts, also where a later question fails.
func TestReadingThatFailsTakesNothingFromThoseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(nil, nil, slog.New(slog.DiscardHandler))
		const ahead = 5 * time.Minute
		for _, broken := range []int{1, 2, 5} {
			asked := 0
			got, err := c.read(t.Context(), func(context.Context) (int64, error) {
				if asked++; asked == broken {
					return 0, errUnused
				}
				way := time.Duration(35-5*asked) * time.Millisecond // there, and back
				sleep(t.Context(), way)
				defer sleep(t.Context(), way)
				return c.local() + int64(ahead), nil
			})
			if asked != broken {
				t.Errorf("%d questions, of which that one fails: %d were asked", broken, asked)
			}
			if broken == 1 {
				if !errors.Is(err, errUnused) {
					t.Errorf("without an answer: %v, %v", got, err)
				}
				continue
			}
			way := int64(35-5*(broken-1)) * int64(time.Millisecond) // of the last answer, the tightest
			if want := (bounds{int64(ahead) - way, int64(ahead) + way}); err != nil || got != want {
				t.Errorf("question %d fails: %v, %v, want %v", broken, got, err, want)
			}
		}
	})
}

// A database that is far away gives a wide reading, not none.
func TestClockOfASlowDatabase(t *testing.T) {
	for _, way := range []time.Duration{55 * time.Millisecond, 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var c *clock
			db := answering(t, func(ctx context.Context, _ string) (int64, error) {
				sleep(ctx, way)
				at := c.local() - int64(5*time.Minute) // this machine is fast
				sleep(ctx, way)
				return at / int64(time.Microsecond), ctx.Err()
			})
			defer db.Close()
			c = newClock(db, nil, slog.New(slog.DiscardHandler))
			measure(t, c, feedSQL)
			if want := -int64(5*time.Minute + way); c.offset.Load() != want || c.source() != "database" {
				t.Errorf("%v there and back: offset %d by %s, want %d", way, c.offset.Load(), c.source(), want)
			}
		})
	}
}

// Redis is asked first, and a database that hangs costs it nothing.
func TestClockOfRedisBesideAHangingDatabase(t *testing.T) {
	server := miniredis.RunT(t)
	at := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	server.SetTime(at)
	db := answering(t, func(ctx context.Context, _ string) (int64, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	c := newClock(db, &store{client: redisClient(t, server.Addr()), prefix: "shop1", shards: 8}, slog.New(slog.DiscardHandler))
	measure(t, c, feedRedis)
	if d := c.Now().Sub(at).Abs(); d > time.Minute || c.source() != "redis" {
		t.Errorf("%v from Redis' time, by %s", d, c.source())
	}
}

// One failure says nothing of whether the database has a clock.
func TestClockOfADatabaseThatFailedOnce(t *testing.T) {
	var c *clock
	asked := 0
	db := answering(t, func(_ context.Context, query string) (int64, error) {
		if strings.Contains(query, "sqlite") {
			return 0, &mysql.MySQLError{Number: 1305, Message: "FUNCTION sqlite_version does not exist"}
		}
		if asked++; asked == 1 {
			return 0, &mysql.MySQLError{Number: 1317, Message: "Query execution was interrupted"}
		}
		return (c.local() - int64(time.Hour)) / int64(time.Microsecond), nil
	})
	c = newClock(db, nil, slog.New(slog.DiscardHandler))
	if err := c.measure(context.Background(), feedSQL); err == nil || c.known() {
		t.Fatalf("measured by a database that failed: %v, by %s", err, c.source())
	}
	measure(t, c, feedSQL)
	if d := time.Duration(c.offset.Load()) + time.Hour; d.Abs() > time.Minute || c.source() != "database" {
		t.Errorf("%v from the database's clock, by %s", d, c.source())
	}
}

// lines hears what is logged.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	l(strings.TrimSpace(string(p)))
	return len(p), nil
}

// farMySQL is the tables in a database behind a network.
func farMySQL(t *testing.T) (*sql.DB, *testserver.Proxy) {
	t.Helper()
	cfg, err := mysql.ParseDSN(mysqlDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.StartProxy(t, cfg.Addr)
	cfg.Addr, cfg.Logger = proxy.Addr(), &mysql.NopLogger{}
	return openTables(t, "mysql", cfg.FormatDSN()), proxy
}

// notEarly fails if the engine, whose clock was fast, has gone by that.
func notEarly(t *testing.T, e *Engine, s *things) {
	t.Helper()
	if d := time.Until(e.Now()); d > 0 {
		t.Errorf("the clock is %v fast", d)
	}
	e.sweepAll(context.Background())
	if calls := s.allCalls(); len(calls) > 0 {
		t.Errorf("ended before they were due: %v", calls)
	}
}

// A replica whose machine is fast starts beside a database that is slow. It
// closes nothing early.
func TestFastMachineStartsOnASlowDatabase(t *testing.T) {
	db, network := farMySQL(t)
	s := newThings(db)
	s.add(t, ids(10, func(i int) int64 { return in(time.Duration(i+1) * 20 * time.Second) }))
	e := node(t, s, nil, "a")
	e.clock.offset.Store(int64(5 * time.Minute))
	network.Disturb(120*time.Millisecond, 0)
	start(t, e)
	network.Disturb(0, 0)
	notEarly(t, e, s)
}

// A start that no clock answers goes no further, and fails in time.
func TestStartNeedsAClock(t *testing.T) {
	db, network := farMySQL(t)
	s := newThings(db)
	s.add(t, map[string]int64{"x": in(2 * time.Minute)})
	var waits func()
	e := node(t, s, nil, "a", func(o *Options, _ *Kind) {
		o.Log = slog.New(slog.NewTextHandler(lines(func(line string) {
			t.Log(line)
			if strings.Contains(line, "waiting for a clock") {
				waits()
			}
		}), nil))
	})
	e.clock.offset.Store(int64(5 * time.Minute))

	network.Disturb(time.Hour, 0)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waits = cancel
	if err := e.Start(ctx); err == nil || e.clock.known() {
		t.Fatalf("started without a clock: %v", err)
	}
	waits = func() { network.Disturb(0, 0) }
	start(t, e)
	notEarly(t, e, s)
}
