package bench

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/testserver"
)

const (
	killCount = 50
	// killRounds of asynq would take a minute each, and its delay is a sum of constants: it runs once.
	killRounds = 3
	// envChild tells this test binary to be a worker process: the side, the address of Redis, the DSN, the first deadline in
	// unix ms, and "hold" or "work", separated by spaces.
	envChild = "TIDEMALL_BENCH_CHILD"
)

func TestMain(m *testing.M) {
	if description := os.Getenv(envChild); description != "" {
		child(strings.Fields(description))
	}
	os.Exit(m.Run())
}

// child is a worker that writes the key of each task it is handed. A holding one then never finishes it; it lives until it is
// killed, or its standard input ends.
func child(args []string) {
	side, addr, dsn, hold := args[0], args[1], args[2], args[4] == "hold"
	first, err := strconv.ParseInt(args[3], 10, 64)
	if err == nil {
		switch side {
		case "ours":
			err = childOfOurs(addr, dsn, time.UnixMilli(first), hold)
		case "asynq":
			_, err = newAsynq(addr, asynqTuned, func(_ context.Context, task *asynq.Task) error {
				fmt.Println(string(task.Payload()))
				return held(hold)
			})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	os.Exit(0)
}

func held(hold bool) error {
	if hold {
		select {}
	}
	return nil
}

func childOfOurs(addr, dsn string, first time.Time, hold bool) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	c := newCrowd(killCount, first, 0)
	handler := timeout.HandlerFunc(func(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
		for _, task := range tasks {
			fmt.Println(task.Key)
		}
		_ = held(hold)
		return c.Handle(ctx, tasks)
	})
	client := redis.NewUniversalClient(timeout.RedisOptions([]string{addr}))
	e, err := newEngine(context.Background(), db, client, fmt.Sprintf("bench-%d", os.Getpid()), timeout.Kind{Handler: handler, Source: c})
	if err != nil || !hold {
		return err
	}
	return e.Schedule(context.Background(), c.tasks()...)
}

// worker is a running child.
type worker struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWorker(t *testing.T, description ...string) worker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), envChild+"="+strings.Join(description, " ")), os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // held open by this process, so that no child outlives it
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := worker{cmd, bufio.NewScanner(out)}
	t.Cleanup(w.kill)
	return w
}

func (w worker) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// hands waits until the worker has been handed so many different tasks.
func (w worker) hands(t *testing.T, n int, limit time.Duration) {
	t.Helper()
	timer := time.AfterFunc(limit, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	seen := map[string]bool{}
	for len(seen) < n && w.lines.Scan() {
		seen[w.lines.Text()] = true
	}
	if len(seen) < n {
		t.Fatalf("%d of %d tasks after %v", len(seen), n, limit)
	}
}

// TestKill kills a worker process that has 50 tasks in hand, starts another at once, and measures until it was handed all 50.
func TestKill(t *testing.T) {
	c := row{what: "until the last is run again (s)", atMost: .1}
	for range killRounds {
		dsn := testserver.MySQL(t)
		engineDB(t, dsn)
		c.ours = append(c.ours, killed(t, "ours", testserver.StartRedis(t).Addr(), dsn, time.Now().Add(3*time.Second)))
	}
	addr, first := testserver.StartRedis(t).Addr(), time.Now().Add(3*time.Second)
	client, tasks := asynqClient(t, addr), newCrowd(killCount, first, 0)
	for i := range killCount {
		if err := enqueue(client, tasks, i); err != nil {
			t.Fatal(err)
		}
	}
	c.theirs = append(c.theirs, killed(t, "asynq", addr, "none", first))
	report(t, "kill -9 with 50 in hand", "asynq", []row{c})
}

// killed returns the seconds from the kill of a holding worker to the last task at its successor.
func killed(t *testing.T, side, addr, dsn string, first time.Time) float64 {
	t.Helper()
	description := []string{side, addr, dsn, strconv.FormatInt(first.UnixMilli(), 10)}
	holding := startWorker(t, append(description, "hold")...)
	holding.hands(t, killCount, time.Minute)
	begin := time.Now()
	holding.kill()
	next := startWorker(t, append(description, "work")...)
	next.hands(t, killCount, 3*time.Minute)
	took := time.Since(begin).Seconds()
	next.kill()
	return took
}
