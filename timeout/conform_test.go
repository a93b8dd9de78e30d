package timeout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestT02_FiresWithinMillisecondsNeverEarly(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		began := time.Now()
		e := start(t, node(t, s, client, "a"))
		schedule(t, e, s, ids(100, func(i int) int64 { return in(200*time.Millisecond + time.Duration(i)*15*time.Millisecond) }))
		s.awaitAllDone(t, 20*time.Second)
		stop(t, e) // what is in flight has been counted
		stats, err := e.Stats(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		k := stats.Kinds[0]
		t.Logf("p50 %v, p99 %v", k.LatenessP50, k.LatenessP99)
		// Many times what a machine takes that has nothing else to do; a poll
		// in place of the wheel would be hundreds of milliseconds.
		if late := s.lateness(); late[len(late)/2] > 50*time.Millisecond {
			t.Errorf("median lateness %v", late[len(late)/2])
		}
		if k.Waiting != 0 || k.Fired < 100 || k.Rescued != 0 && watch.Between(began, time.Now()) == 0 {
			t.Errorf("%+v", k)
		}
	})
}

// Nobody called Schedule: a kill between commit and Schedule.
// Case T01.
func TestT01_UnscheduledDeadlinesAreFoundInTheTable(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		s.add(t, map[string]int64{"before": in(-time.Hour), "at": in(0), "after": in(1500 * time.Millisecond)})
		start(t, node(t, s, client, "a"))
		s.awaitAllDone(t, 10*time.Second)
	})
}

// Case T03.
func TestT03_TwoEnginesOnOneStoreOneEffect(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		a := start(t, node(t, s, client, "a"))
		b := start(t, node(t, s, client, "b"))
		all := ids(400, func(i int) int64 { return in(time.Duration(i%100) * 20 * time.Millisecond) })
		s.add(t, all)
		var callers sync.WaitGroup
		for _, e := range []*Engine{a, b} { // both schedule everything
			callers.Go(func() { scheduleTasks(t, e, tasksOf(s, all)) })
		}
		callers.Go(func() { a.sweepAll(context.Background()) })
		callers.Wait()
		s.awaitAllDone(t, 30*time.Second)
	})
}

// Case T14.
func TestT14_ThousandsInOneSecond(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		const n = 5000
		e := start(t, node(t, s, client, "a"))
		base := in(2 * time.Second)
		all := ids(n, func(i int) int64 { return base + int64(i*1000/n) })
		schedule(t, e, s, all)
		s.awaitAllDone(t, 60*time.Second)
		stats, err := e.Stats(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		k := stats.Kinds[0]
		t.Logf("p50 %v, p99 %v, fired %d", k.LatenessP50, k.LatenessP99, k.Fired)
	})
}

func TestRenewAndCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		// When the first look has found this one it is over, and the next is
		// seconds away: one that has read a row just before its change would
		// bring back the old deadline, in vain.
		s.add(t, map[string]int64{"first": in(-time.Second)})
		e := start(t, node(t, s, client, "a"))
		ctx := context.Background()
		s.await(t, 10*time.Second, "the first look", func() bool { return s.waitingNow(t) == 0 })
		schedule(t, e, s, map[string]int64{"later": in(2 * time.Second), "sooner": in(time.Hour), "cancelled": in(2500 * time.Millisecond)})

		later, sooner := in(4*time.Second), in(3*time.Second)
		s.exec(t, "UPDATE things SET deadline = ? WHERE id = 'later'", later)
		s.exec(t, "UPDATE things SET deadline = ? WHERE id = 'sooner'", sooner)
		s.exec(t, "UPDATE things SET state = 'gone', effects = 1 WHERE id = 'cancelled'")
		for _, err := range []error{
			e.Renew(ctx, Task{s.kind, "later", later}),
			e.Renew(ctx, Task{s.kind, "sooner", sooner}),
			e.Cancel(ctx, s.kind, "cancelled"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.awaitAllDone(t, 20*time.Second)
		if calls := s.callsOf("cancelled"); len(calls) != 0 {
			t.Errorf("a cancelled task was handed over: %v", calls)
		}
		for id, due := range map[string]int64{"later": later, "sooner": sooner} {
			calls := s.callsOf(id)
			if len(calls) != 1 || calls[0].due != due {
				t.Errorf("%s: calls %v, want one with due %d", id, calls, due)
			}
		}
	})
}

// The owner moved the deadline and was killed before Renew: the old instant
// fires, and the handler's word moves the task.
// Case T04.
func TestT04_MovedDeadlineWithoutRenew(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		e := start(t, node(t, s, client, "a"))
		schedule(t, e, s, map[string]int64{"moved": in(400 * time.Millisecond)})
		s.exec(t, "UPDATE things SET deadline = ? WHERE id = 'moved'", in(1200*time.Millisecond))
		s.awaitAllDone(t, 10*time.Second)
	})
}

// A batch whose every transaction fails because of one task.
// Case T06.
func TestT06_PoisonTaskDiesAloneAndIsRetried(t *testing.T) {
	for _, how := range []string{"fails the batch", "panics"} {
		t.Run(how, func(t *testing.T) {
			everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) { testPoison(t, s, client, how) })
		})
	}
}

func testPoison(t *testing.T, s *things, client redis.UniversalClient, how string) {
	var healed atomic.Bool
	poisoned := HandlerFunc(func(ctx context.Context, tasks []Task) []Outcome {
		for _, task := range tasks {
			if task.Key == "t00042" && !healed.Load() {
				if how == "panics" {
					panic("poison")
				}
				return All(tasks, Failed(errors.New("poison")))
			}
		}
		return s.Handle(ctx, tasks)
	})
	e := start(t, node(t, s, client, "a", func(_ *Options, k *Kind) { k.Handler, k.MaxAttempts = poisoned, 3 }))
	due := in(300 * time.Millisecond)
	schedule(t, e, s, ids(120, func(int) int64 { return due }))
	s.await(t, 10*time.Second, "all others done", func() bool { return s.waitingNow(t) == 1 })

	// Its death is told by nobody but the table.
	ctx := context.Background()
	var dead []Failure
	awaitShards(t, 20*time.Second, "the death", func() bool {
		var err error
		if dead, _, err = e.Failures(ctx, Page{Dead: true}); err != nil {
			t.Fatal(err)
		}
		return len(dead) > 0
	})
	if len(dead) != 1 || dead[0].Key != "t00042" || dead[0].Attempts != 3 || dead[0].Error == "" || dead[0].Due != due {
		t.Fatalf("dead: %+v", dead)
	}
	if _, total, err := e.Failures(ctx, Page{}); err != nil || total != 1 {
		t.Errorf("%d failures (%v), want 1", total, err)
	}
	e.sweepAll(ctx) // must leave the dead alone
	if err := e.RetryDead(ctx, s.kind, "t00001"); !errors.Is(err, ErrNotDead) {
		t.Errorf("retry of a live task: %v", err)
	}
	healed.Store(true)
	if err := e.RetryDead(ctx, s.kind, "t00042"); err != nil {
		t.Fatal(err)
	}
	s.awaitAllDone(t, 10*time.Second)
	if _, total, err := e.Failures(ctx, Page{}); err != nil || total != 0 {
		t.Errorf("%d failures (%v) are left", total, err)
	}
}

func TestAgainNeverCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		var away atomic.Int32
		s.before = func(_ context.Context, task Task) (Outcome, bool) {
			if task.Key == "waits" && away.Add(1) <= 3 {
				return Again(errors.New("outside is away")), true
			}
			return Outcome{}, false
		}
		e := start(t, node(t, s, client, "a", func(_ *Options, k *Kind) { k.MaxAttempts = 1 }))
		schedule(t, e, s, map[string]int64{"waits": in(100 * time.Millisecond), "other": in(100 * time.Millisecond)})
		s.await(t, 10*time.Second, "one outage", func() bool { return len(s.callsOf("waits")) >= 1 })
		s.awaitAllDone(t, 30*time.Second)
		stop(t, e)
		if _, total, err := e.Failures(context.Background(), Page{}); err != nil || total != 0 {
			t.Errorf("%d failures (%v) are left", total, err)
		}
		calls := s.callsOf("waits")
		for i := 1; i < len(calls); i++ {
			if gap := calls[i].at.Sub(calls[i-1].at); calls[i-1].outcome.verdict == verdictAgain && gap < outageBase/2<<(i-1) {
				t.Errorf("repeated after %v", gap)
			}
		}
	})
}

func TestStopDuringLoad(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		const n = 2000
		e := start(t, node(t, s, client, "a"))
		base := in(300 * time.Millisecond)
		schedule(t, e, s, ids(n, func(i int) int64 { return base + int64(i/4) }))
		s.await(t, 10*time.Second, "some done", func() bool { return s.waitingNow(t) < n-50 })
		stop(t, e)
		stop(t, e)
		s.mu.Lock()
		called := len(s.calls)
		s.mu.Unlock()
		if err := e.Schedule(context.Background(), Task{s.kind, "x", 1}); !errors.Is(err, ErrNotRunning) {
			t.Errorf("schedule after stop: %v", err)
		}
		if err := e.Start(context.Background()); !errors.Is(err, ErrRunning) {
			t.Errorf("start after stop: %v", err)
		}
		left := s.waitingNow(t)
		t.Logf("%d called, %d left at the stop", called, left)
		start(t, node(t, s, client, "b"))
		s.awaitAllDone(t, 30*time.Second)
	})
}

// A kind whose handler hangs must not delay another.
func TestKindsDoNotWaitForEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		release := make(chan struct{})
		slow := HandlerFunc(func(ctx context.Context, tasks []Task) []Outcome {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return All(tasks, Done())
		})
		e := node(t, s, client, "a")
		none := sourceFunc(func(context.Context, Cursor, int64, int) ([]Task, error) { return nil, nil })
		if err := e.Register(Kind{Name: "slow", Handler: slow, Source: none, Batch: 1, Workers: 2}); err != nil {
			t.Fatal(err)
		}
		start(t, e)
		defer close(release)
		var jam []Task
		for i := range 3000 {
			jam = append(jam, Task{"slow", fmt.Sprintf("s%d", i), in(0)})
		}
		scheduleTasks(t, e, jam)
		schedule(t, e, s, ids(50, func(i int) int64 { return in(300*time.Millisecond + time.Duration(i)*10*time.Millisecond) }))
		s.awaitAllDone(t, 10*time.Second)
		// The jam lasts until the handlers' contexts end, 19 s.
		if late := s.lateness(); late[len(late)-1] > 3*time.Second {
			t.Errorf("the latest by %v", late[len(late)-1])
		}
	})
}

type sourceFunc func(context.Context, Cursor, int64, int) ([]Task, error)

func (f sourceFunc) Due(ctx context.Context, after Cursor, until int64, limit int) ([]Task, error) {
	return f(ctx, after, until, limit)
}
