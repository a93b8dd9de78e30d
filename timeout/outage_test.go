package timeout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// awaitFeed waits for the engine to say that it is fed so.
func awaitFeed(t *testing.T, e *Engine, want feed) {
	t.Helper()
	awaitShards(t, 15*time.Second, "fed by "+string(want), func() bool { return e.feed() == want })
}

// maxSchedule is what a call of Schedule may take: the limit for Redis, and as
// much for a machine that has other things to do.
const maxSchedule = 2 * redisTimeout

// askedAbout counts the commands that name a key.
type askedAbout struct {
	key string
	n   atomic.Int32
}

func (*askedAbout) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *askedAbout) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.look(cmd)
		return next(ctx, cmd)
	}
}

func (h *askedAbout) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.look(cmds...)
		return next(ctx, cmds)
	}
}

func (h *askedAbout) look(cmds ...redis.Cmder) {
	for _, c := range cmds {
		if strings.Contains(fmt.Sprint(c.Args()...), h.key) {
			h.n.Add(1)
		}
	}
}

// Redis stops with tasks in it, tasks are added while it is away, and it comes
// back without its data: everything fires on time.
// Case T15.
func TestT07_T15_RedisStopsAndComesBackEmpty(t *testing.T) {
	server := testserver.StartRedis(t, "--save", "", "--appendonly", "no")
	s := newThings(mariaDB(t))
	client, asked := redisClient(t, server.Addr()), &askedAbout{key: "no such thing"}
	client.AddHook(asked)
	e := start(t, node(t, s, client, "a"))
	if e.Feed() != "redis" {
		t.Fatalf("feed %s", e.Feed())
	}
	schedule(t, e, s, map[string]int64{"while away": in(2500 * time.Millisecond), "after": in(9 * time.Second)})
	server.Kill()

	// The first callers find out; none waits longer than 300 ms, and once it
	// is known it costs nothing.
	s.add(t, map[string]int64{"placed while away": in(1500 * time.Millisecond)})
	for e.feed() == feedRedis {
		began := time.Now()
		if err := e.Schedule(context.Background(), Task{s.kind, "placed while away", in(1500 * time.Millisecond)}); !errors.Is(err, ErrRedisAway) {
			t.Errorf("schedule without redis: %v", err)
		}
		if took := took(began); took > maxSchedule {
			t.Errorf("schedule took %v", took)
		}
	}
	_ = e.Schedule(context.Background(), Task{s.kind, asked.key, in(0)})
	if asked.n.Load() > 0 {
		t.Error("redis was asked although it is known to be away")
	}
	s.await(t, 10*time.Second, "the near ones done", func() bool { return s.waitingNow(t) == 1 })

	server.Start()
	awaitFeed(t, e, feedRedis)
	schedule(t, e, s, map[string]int64{"new": in(200 * time.Millisecond)})
	s.awaitAllDone(t, 20*time.Second)
	for _, id := range []string{"while away", "placed while away", "after", "new"} {
		calls := s.callsOf(id)
		last := calls[len(calls)-1]
		if late := last.late(); late > 1500*time.Millisecond {
			t.Errorf("%q was %v late", id, late)
		}
	}
}

// Case C20.
func TestC20_RedisDownDuringTheSweep(t *testing.T) {
	server := testserver.StartRedis(t)
	s := newThings(mariaDB(t))
	e := start(t, node(t, s, redisClient(t, server.Addr()), "a"))
	s.add(t, ids(600, func(int) int64 { return in(-time.Minute) }))
	go server.Kill()
	e.sweepAll(context.Background())
	s.awaitAllDone(t, 20*time.Second)
}

// A Redis that hangs is worse than one that is gone.
func TestHangingRedisNeverKeepsACaller(t *testing.T) {
	server := testserver.StartRedis(t)
	s := newThings(sqliteDB(t))
	e := start(t, node(t, s, redisClient(t, server.Addr()), "a"))
	server.Pause()
	defer server.Resume()
	for range 5 {
		began := time.Now()
		err := e.Schedule(context.Background(), Task{s.kind, "x", in(time.Hour)})
		if took := took(began); took > maxSchedule || err == nil {
			t.Errorf("schedule took %v, %v", took, err)
		}
	}
	s.add(t, map[string]int64{"x": in(500 * time.Millisecond)})
	s.awaitAllDone(t, 15*time.Second)
	server.Resume()
	awaitFeed(t, e, feedRedis)
}

func TestFlushedRedisIsFilledAgain(t *testing.T) {
	s := newThings(mariaDB(t))
	client := redisClient(t, realRedis(t))
	e := start(t, node(t, s, client, "a"))
	schedule(t, e, s, ids(50, func(i int) int64 { return in(time.Duration(i) * 150 * time.Millisecond) }))
	s.await(t, 10*time.Second, "a few done", func() bool { return s.waitingNow(t) < 45 })
	ctx := context.Background()
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ScriptFlush(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.awaitAllDone(t, 20*time.Second)
}

// With the database away nothing is claimed and nothing counts against a task.
func TestDatabaseRestart(t *testing.T) {
	server := testserver.StartMySQL(t)
	s := newThings(openDB(t, "mysql", server.DSN(), "schema/mysql.sql"))
	client := redisClient(t, realRedis(t))
	e := start(t, node(t, s, client, "a", func(_ *Options, k *Kind) { k.MaxAttempts = 1 }))
	schedule(t, e, s, ids(200, func(i int) int64 { return in(500*time.Millisecond + time.Duration(i)*20*time.Millisecond) }))
	s.await(t, 10*time.Second, "some done", func() bool { return s.waitingNow(t) < 180 })
	server.Kill()
	for e.db.closed() {
		sleep(context.Background(), 5*time.Millisecond)
	}
	server.Start()
	s.awaitAllDone(t, 45*time.Second)
	stats, err := e.Stats(context.Background())
	if err != nil || stats.Kinds[0].Dead != 0 {
		t.Errorf("%+v (%v)", stats.Kinds, err)
	}
}

// A score that is wrong and that the look must leave alone, since it could be
// a backoff nobody else knows of, is what the sweep is for.
func TestSweepRescuesWhatRedisHasWrong(t *testing.T) {
	for _, p := range everyParts[:2] {
		t.Run(p.name, func(t *testing.T) {
			s := newThings(p.db(t))
			client := redisClient(t, p.redis(t))
			e := start(t, node(t, s, client, "a"))
			set := e.store.setKey(s.kind, shardOf("lost", e.o.Shards))
			if err := client.ZAdd(context.Background(), set, redis.Z{Score: backoffScore(in(time.Hour)), Member: "lost"}).Err(); err != nil {
				t.Fatal(err)
			}
			s.add(t, map[string]int64{"lost": in(-3 * time.Second)}) // after its score, or the first look would put it right
			e.sweepAll(context.Background())
			s.awaitAllDone(t, 5*time.Second)
			stop(t, e) // what is in flight has been counted
			stats, err := e.Stats(context.Background())
			if err != nil || stats.Kinds[0].Rescued != 1 {
				t.Errorf("rescued %d (%v)", stats.Kinds[0].Rescued, err)
			}
		})
	}
}

// The same, found by the look before the sweep: due soon and overdue.
func TestLookMendsWhatRedisHasWrong(t *testing.T) {
	for _, p := range everyParts[:2] {
		t.Run(p.name, func(t *testing.T) {
			s := newThings(p.db(t))
			client := redisClient(t, p.redis(t))
			e := start(t, node(t, s, client, "a"))
			s.add(t, map[string]int64{"overdue": in(-3 * time.Second), "soon": in(12 * time.Second)})
			for _, id := range []string{"overdue", "soon"} {
				set := e.store.setKey(s.kind, shardOf(id, e.o.Shards))
				if err := client.ZAdd(context.Background(), set, redis.Z{Score: float64(in(time.Hour)), Member: id}).Err(); err != nil {
					t.Fatal(err)
				}
			}
			s.await(t, lookEvery+2*time.Second, "overdue done", func() bool { return s.waitingNow(t) == 1 })
			s.awaitAllDone(t, 15*time.Second)
			if c := s.callsOf("soon"); len(c) != 1 || c[0].late() > time.Second {
				t.Errorf("soon: %v", c)
			}
			stats, err := e.Stats(context.Background())
			if err != nil || stats.Kinds[0].Rescued != 0 {
				t.Errorf("rescued %d (%v)", stats.Kinds[0].Rescued, err)
			}
		})
	}
}

// What is dead must not hide what is due, however much of it there is.
func TestDeadBacklogHidesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		old := in(-time.Hour)
		dead := ids(6*MaxBatch, func(int) int64 { return old })
		s.add(t, dead)
		s.exec(t, `INSERT INTO task_failures (kind, task_key, due, attempts, waits, next_at, dead_at, error, created_at, updated_at)
			SELECT 'thing', id, deadline, 5, 0, 1, 1, 'poison', 1, 1 FROM things`)
		s.add(t, map[string]int64{"alive": in(2500 * time.Millisecond), "overdue": in(-30 * time.Minute)})
		e := start(t, node(t, s, client, "a"))
		s.await(t, 15*time.Second, "the two done", func() bool { return s.waitingNow(t) == len(dead) })
		e.sweepAll(context.Background())
		s.mu.Lock()
		defer s.mu.Unlock()
		for id := range s.calls {
			if id != "alive" && id != "overdue" {
				t.Fatalf("the dead task %s was handed over", id)
			}
		}
		if c := s.calls["alive"]; len(c) == 0 || c[0].late() > time.Second {
			t.Errorf("alive: %v", c)
		}
	})
}

// After an outage of everything the look does not wait between the pieces of
// the backlog.
func TestBacklogIsReadWithoutPauses(t *testing.T) {
	for _, p := range []parts{everyParts[0], everyParts[2]} {
		t.Run(p.name, func(t *testing.T) {
			for tries := 1; ; tries++ {
				err := lookTwice(t, p)
				if err == nil {
					return
				}
				if tries == 10 { // Redis has 300 ms for an answer, which a busy machine may need for others
					t.Fatal(err)
				}
			}
		})
	}
}

// lookTwice has an engine look at a backlog of a piece and a bit. The error is
// of a look that failed, and then says nothing of the next.
func lookTwice(t *testing.T, p parts) error {
	s := newThings(p.db(t))
	// Not started: nobody else looks, and nobody works.
	e := node(t, s, redisClient(t, p.redis(t)), "a")
	near, err := newNear(e.clock, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer near.stop()
	l := e.lanes[s.kind]
	e.near = near
	l.open(near)
	old := in(-time.Hour)
	s.add(t, ids(lookPages*MaxBatch+10, func(int) int64 { return old }))
	for _, want := range []bool{true, false} {
		more, err := e.lookAt(context.Background(), l, feedRedis, nil)
		if err != nil {
			return err
		}
		if more != want {
			t.Errorf("after a look there is more to be read at once: %v", more)
		}
	}
	return nil
}

// A handler may take longer than a lease: it is renewed, and nobody else runs
// the task meanwhile.
func TestLeaseIsRenewedWhileTheHandlerLives(t *testing.T) {
	s := newThings(mariaDB(t))
	client := redisClient(t, realRedis(t))
	var calls atomic.Int32
	slow := HandlerFunc(func(ctx context.Context, tasks []Task) []Outcome {
		calls.Add(1)
		sleep(ctx, leaseTime+2*time.Second)
		if ctx.Err() != nil {
			return All(tasks, Again(ctx.Err()))
		}
		return s.Handle(ctx, tasks)
	})
	change := func(_ *Options, k *Kind) { k.Handler = slow }
	a := start(t, node(t, s, client, "a", change))
	start(t, node(t, s, client, "b", change))
	for round := range 5 {
		calls.Store(0)
		began := time.Now()
		schedule(t, a, s, map[string]int64{fmt.Sprint("slow", round): in(100 * time.Millisecond)})
		s.awaitAllDone(t, 40*time.Second)
		n, still := calls.Load(), watch.Between(began, time.Now())
		switch {
		case n == 1:
			return
		case still < leaseTime/2: // or a lease may well have ended
			t.Fatalf("%d calls", n)
		}
		t.Logf("%d calls, while the machine stood still for %v", n, still)
	}
	t.Skip("the machine stands still all the time")
}

func TestLostClaimCancelsTheHandler(t *testing.T) {
	s := newThings(sqliteDB(t))
	e := start(t, node(t, s, redisClient(t, miniRedis(t)), "a", func(_ *Options, k *Kind) {
		k.Handler = HandlerFunc(func(ctx context.Context, tasks []Task) []Outcome {
			s.mu.Lock()
			s.calls[tasks[0].Key] = append(s.calls[tasks[0].Key], callOf{})
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			<-ctx.Done() // or the test never ends
			return s.Handle(context.WithoutCancel(ctx), tasks)
		})
	}))
	s.add(t, map[string]int64{"x": in(0)})
	if err := e.Schedule(context.Background(), tasksOf(s, map[string]int64{"x": in(0)})...); err != nil {
		t.Fatal(err)
	}
	s.await(t, 10*time.Second, "handler called", func() bool { return len(s.callsOf("x")) > 0 })
	if err := e.Cancel(context.Background(), s.kind, "x"); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "UPDATE things SET state = 'gone' WHERE id = 'x'")
	s.await(t, leaseTime, "handler cancelled", func() bool { return len(s.callsOf("x")) > 1 })
}

func TestStartRefusesAnotherShardCount(t *testing.T) {
	for _, p := range everyParts[:2] {
		s := newThings(p.db(t))
		client := redisClient(t, p.redis(t))
		stop(t, start(t, node(t, s, client, "a")))
		other := node(t, s, client, "b", func(o *Options, _ *Kind) { o.Shards = 9 })
		if err := other.Start(context.Background()); !errors.Is(err, ErrShardCount) {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// Case T16.
func TestT16_RegisterAndScheduleRefuseWhatCannotWork(t *testing.T) {
	s := newThings(sqliteDB(t))
	e := node(t, s, nil, "a")
	for name, k := range map[string]Kind{
		"twice":      {Name: s.kind, Handler: s, Source: s},
		"no handler": {Name: "x", Source: s},
		"no source":  {Name: "x", Handler: s},
		"name":       {Name: "X Y", Handler: s, Source: s},
		"batch":      {Name: "x", Handler: s, Source: s, Batch: MaxBatch + 1},
	} {
		if e.Register(k) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	ctx := context.Background()
	if err := e.Schedule(ctx, Task{s.kind, "x", 1}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before start: %v", err)
	}
	start(t, e)
	for _, task := range []Task{{s.kind, "", 1}, {s.kind, "x", -1}, {s.kind, "x", time.Now().UnixMicro()}, {s.kind, string(make([]byte, 65)), 1}} {
		if err := e.Schedule(ctx, task); !errors.Is(err, ErrBadTask) {
			t.Errorf("%+v: %v", task, err)
		}
	}
	if err := e.Schedule(ctx, Task{"other", "x", 1}); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("unknown kind: %v", err)
	}
	if err := e.Register(Kind{Name: "late", Handler: s, Source: s}); !errors.Is(err, ErrRunning) {
		t.Errorf("register after start: %v", err)
	}
}

// Redis away at the start, and there later.
func TestStartWithoutRedisFindsItLater(t *testing.T) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	addr := m.Addr()
	m.Close()
	s := newThings(sqliteDB(t))
	began := time.Now()
	e := start(t, node(t, s, redisClient(t, addr), "a"))
	if took := took(began); took > 3*time.Second || e.feed() != feedSQL {
		t.Errorf("start took %v, feed %s", took, e.feed())
	}
	s.add(t, map[string]int64{"x": in(300 * time.Millisecond)})
	s.awaitAllDone(t, 10*time.Second)
	if err := m.StartAddr(addr); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	awaitFeed(t, e, feedRedis)
	schedule(t, e, s, map[string]int64{"y": in(300 * time.Millisecond)})
	s.awaitAllDone(t, 10*time.Second)
}
