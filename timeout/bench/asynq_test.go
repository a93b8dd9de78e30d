package bench

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

// asynqConcurrency is how many tasks asynq runs at once. It takes them one by one in one goroutine; more of them help nothing.
const asynqConcurrency = 64

// asynqTuned looks for due tasks every 50 ms instead of every 5 s, and for runnable ones every 10 ms instead of every second.
var asynqTuned = asynq.Config{DelayedTaskCheckInterval: 50 * time.Millisecond, TaskCheckInterval: 10 * time.Millisecond}

func asynqClient(t testing.TB, addr string) *asynq.Client {
	t.Helper()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// enqueue schedules the task at a place of the crowd.
func enqueue(client *asynq.Client, c *crowd, i int) error {
	_, err := client.Enqueue(asynq.NewTask(kind, []byte(keyOf(i))), asynq.ProcessAt(time.UnixMilli(c.due[i])))
	return err
}

// startAsynq runs a server that only notes the tasks of a crowd, until the returned function ends it.
func startAsynq(t testing.TB, addr string, config asynq.Config, c *crowd) (stop func()) {
	t.Helper()
	server, err := newAsynq(addr, config, func(_ context.Context, task *asynq.Task) error {
		c.saw(placeOf(string(task.Payload())), time.Now())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.Shutdown
}

func newAsynq(addr string, config asynq.Config, handle asynq.HandlerFunc) (*asynq.Server, error) {
	config.Concurrency, config.Logger = asynqConcurrency, silent{}
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: addr}, config)
	return server, server.Start(handle)
}

// silent keeps asynq's log out of the table.
type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(...any) {}
