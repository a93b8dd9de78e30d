package timeout

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout/failpoint"
	"github.com/tidemall/tidemall/timeout/stall"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// envChild makes the test binary a replica, described in JSON.
const envChild = "TIDEMALL_TIMEOUT_TEST_CHILD"

// replica describes a replica in a process of its own.
type replica struct {
	Node, Prefix, Driver, DSN, Redis string
}

// runChild is the replica, until it is killed.
func runChild(description string) {
	var r replica
	if err := json.Unmarshal([]byte(description), &r); err != nil {
		panic(err)
	}
	db, err := sql.Open(r.Driver, r.DSN)
	if err != nil {
		panic(err)
	}
	s := newThings(db)
	o := Options{DB: db, Prefix: r.Prefix, Shards: 8, Node: r.Node, Log: slog.New(slog.DiscardHandler)}
	if r.Redis != "" {
		o.Redis = redis.NewUniversalClient(RedisOptions(strings.Split(r.Redis, ",")))
	}
	e, err := New(o)
	if err == nil {
		err = e.Register(Kind{Name: s.kind, Handler: s, Source: s, Batch: 5})
	}
	if err == nil {
		err = e.Start(context.Background())
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// child is the test binary once more, with failpoints in it.
var child struct {
	once sync.Once
	dir  string
	err  error
}

func childBinary(t *testing.T) string {
	t.Helper()
	child.once.Do(func() { child.dir, child.err = buildChild() })
	if child.err != nil {
		t.Fatal(child.err)
	}
	return filepath.Join(child.dir, "child")
}

// buildChild builds it in a folder for all tests.
func buildChild() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "timeout-child-"); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "test", "-c", "-tags", "failpoint", "-o", filepath.Join(dir, "child"), ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return dir, err
}

func removeChild() {
	if child.dir != "" {
		_ = os.RemoveAll(child.dir)
	}
}

// spawn runs a replica that breaks at a failpoint, "" for none, and returns
// a channel that closes when it has ended.
func spawn(t *testing.T, r replica, point string) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	description, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(childBinary(t))
	cmd.Env = append(os.Environ(), envChild+"="+string(description), failpoint.EnvPoint+"="+point)
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

// spawnBroken runs a replica and returns when its failpoint has killed it.
func spawnBroken(t *testing.T, r replica, point string) {
	t.Helper()
	cmd, ended := spawn(t, r, point)
	if _, came := stall.Receive(ended, 30*time.Second); !came {
		t.Fatalf("the failpoint %s was not reached", point)
	}
	if got := cmd.ProcessState.String(); got != "signal: killed" {
		t.Fatalf("the replica that was to break at %s: %s", point, got)
	}
}

// A replica is killed between claim, handler and acknowledgement, over all
// parts. What it had in hand is done once, late by a lease and no more.
// Case T12.
func TestT12_KilledAfterClaimOrBeforeAck(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"timeout.claimed", "timeout.handled", "timeout.acknowledged"} {
		for _, p := range everyParts {
			var addrs string
			if p.redis != nil {
				addrs = p.redis(t) // emptied before any of them begins
			}
			t.Run(point+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				r := replica{Node: "broken", Prefix: point, Driver: p.driver, DSN: p.dsn(t), Redis: addrs}
				var client redis.UniversalClient
				if r.Redis != "" {
					client = redisClient(t, r.Redis)
				}
				s := newThings(openTables(t, r.Driver, r.DSN))
				s.add(t, ids(20, func(int) int64 { return in(200 * time.Millisecond) }))
				spawnBroken(t, r, point)
				began := time.Now()
				start(t, node(t, s, client, "next", func(o *Options, _ *Kind) { o.Prefix = r.Prefix }))
				s.awaitAllDone(t, 20*time.Second)
				if took := took(began); took > leaseTime+memberTime+3*time.Second {
					t.Errorf("%v after the kill", took)
				}
			})
		}
	}
}

// Replicas are killed one after another, after a claim and before and after an
// acknowledgement; what is left to do is done once, late by the bounds and no
// more.
// Cases T01, T12.
func TestT01_T12_KilledProcesses(t *testing.T) {
	r := replica{Prefix: "shop1", Driver: "mysql", DSN: testserver.MySQL(t), Redis: testserver.Redis(t)}
	s := newThings(openTables(t, r.Driver, r.DSN))
	childBinary(t) // is built before the deadlines come near
	s.add(t, ids(300, func(i int) int64 { return in(500*time.Millisecond + time.Duration(i)*20*time.Millisecond) }))
	// They end half of the things at most: a batch has 5.
	for i, point := range []string{"timeout.claimed:10", "timeout.handled:10", "timeout.acknowledged:10"} {
		r.Node = fmt.Sprintf("child%d", i)
		spawnBroken(t, r, point)
	}
	if s.waitingNow(t) == 0 {
		t.Fatal("nothing was left: the test shows nothing")
	}
	e := start(t, node(t, s, redisClient(t, r.Redis), "last"))
	s.awaitAllDone(t, leaseTime+memberTime+10*time.Second)
	stats, err := e.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d fired by the last, rescued %d", stats.Kinds[0].Fired, stats.Kinds[0].Rescued)
}
