package timeout

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// envChild makes the test binary a replica: "node dsn redis point calls".
const envChild = "TIDEMALL_TIMEOUT_TEST_CHILD"

// runChild is a replica in a process of its own. At the given call of a
// failpoint it kills itself, as kill -9 does.
func runChild(description string) {
	var name, dsn, addr, point string
	var calls int32
	if _, err := fmt.Sscan(description, &name, &dsn, &addr, &point, &calls); err != nil {
		panic(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		panic(err)
	}
	s := newThings(db)
	var seen atomic.Int32
	e, err := New(Options{
		DB: db, Redis: redis.NewUniversalClient(RedisOptions([]string{addr})), Prefix: "shop1", Shards: 8, Node: name,
		Log: slog.New(slog.DiscardHandler),
		Failpoint: func(p string) bool {
			if p == point && seen.Add(1) == calls {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return false
		},
	})
	if err == nil {
		err = e.Register(Kind{Name: s.kind, Handler: s, Source: s, Batch: 5})
	}
	if err == nil {
		err = e.Start(context.Background())
	}
	if err != nil {
		panic(err)
	}
	select {} // until killed
}

// spawn runs a replica and returns a channel that closes when it has ended.
func spawn(t *testing.T, name, dsn, addr, point string, calls int) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+strings.Join([]string{name, dsn, addr, point, strconv.Itoa(calls)}, " "))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return cmd, ended
}

// Replicas are killed after a claim, before an acknowledgement and at any
// instant; what is left to do is done once, late by the bounds and no more.
// Cases T01, T12.
func TestT01_T12_KilledProcesses(t *testing.T) {
	dsn, addr := testserver.MySQL(t), testserver.Redis(t)
	s := newThings(openDB(t, "mysql", dsn, "schema/mysql.sql"))
	s.add(t, ids(300, func(i int) int64 { return in(500*time.Millisecond + time.Duration(i)*20*time.Millisecond) }))
	for i, point := range []string{FailAfterClaim, FailBeforeAck} {
		_, ended := spawn(t, fmt.Sprintf("child%d", i), dsn, addr, point, 20)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the failpoint was not reached")
		}
	}
	before := s.waitingNow(t)
	third, ended := spawn(t, "child3", dsn, addr, "never", 1)
	for deadline := time.Now().Add(20 * time.Second); s.waitingNow(t) > before-20; {
		if time.Now().After(deadline) {
			t.Fatal("the third replica does nothing")
		}
		sleep(context.Background(), 10*time.Millisecond)
	}
	if err := third.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if s.waitingNow(t) == 0 {
		t.Fatal("nothing was left: the test shows nothing")
	}
	e := start(t, node(t, s, redisClient(t, addr), "last"))
	s.awaitAllDone(t, leaseTime+memberTime+10*time.Second)
	stats, err := e.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d fired by the last, rescued %d", stats.Kinds[0].Fired, stats.Kinds[0].Rescued)
}
