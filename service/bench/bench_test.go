package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// installation is what a shop is configured to stand on, with what is in it before a run.
type installation struct {
	cfg     *config.Config
	dsn     string
	client  redis.UniversalClient
	schemas []string
}

// foreign is a key of somebody else's that looks like a run's.
const foreign = "bench-of-somebody-else"

// onBoth runs a test with embedded parts and with real servers.
func onBoth(t *testing.T, test func(t *testing.T, in *installation)) {
	t.Run("embedded", func(t *testing.T) { test(t, newInstallation(t)) })
	t.Run("servers", func(t *testing.T) { test(t, onServers(t)) })
}

func newInstallation(t *testing.T, env ...string) *installation {
	t.Helper()
	cfg, _, err := config.Load("", append([]string{"TIDEMALL_DATA_DIR=" + t.TempDir(), "TIDEMALL_TIMEOUT_SHARDS=8"}, env...))
	if err != nil {
		t.Fatal(err)
	}
	return &installation{cfg: cfg}
}

func onServers(t *testing.T) *installation {
	t.Helper()
	// A server of its own: the shared one has databases that come and go.
	mysql, server := testserver.StartMySQL(t), testserver.StartRedis(t)
	in := newInstallation(t, "TIDEMALL_MYSQL_DSN="+mysql.DSN(), "TIDEMALL_REDIS_ADDRS="+server.Addr())
	in.dsn = mysql.DSN()
	in.client = redis.NewUniversalClient(timeout.RedisOptions([]string{server.Addr()}))
	t.Cleanup(func() { _ = in.client.Close() })
	if err := in.client.Set(t.Context(), foreign, 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	in.schemas = in.databases(t)
	return in
}

// databases lists those of the server.
func (in *installation) databases(t *testing.T) []string {
	t.Helper()
	db, err := sql.Open("mysql", in.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// untouched fails the test if anything is there that was not before.
func (in *installation) untouched(t *testing.T) {
	t.Helper()
	if files, err := os.ReadDir(in.cfg.DataDir); err != nil || len(files) > 0 {
		t.Errorf("in data_dir: %v, %v", files, err)
	}
	if in.client == nil {
		return
	}
	if now := in.databases(t); !slices.Equal(now, in.schemas) {
		t.Errorf("databases: %v; there were %v", now, in.schemas)
	}
	if keys := in.client.Keys(context.WithoutCancel(t.Context()), "*").Val(); !slices.Equal(keys, []string{foreign}) {
		t.Errorf("keys in Redis: %v", keys)
	}
}

func (in *installation) options(o Options) Options {
	o.Config, o.Log = in.cfg, slog.New(slog.DiscardHandler)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

func TestRun_MeasuresDeadlinesAndLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, in *installation) {
		r, err := Run(t.Context(), in.options(Options{Count: 300, Over: 300 * time.Millisecond, Callers: 4}))
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() || r.Count != 300 || r.Feed != "redis" || r.ScheduleErrors != 0 {
			t.Errorf("%+v", r)
		}
		// All but the last instant of the 300 ms must have passed before the last is acted on.
		if r.TookMS < 299 || r.ActedPerSecond <= 0 || r.SchedulesPerSecond <= 0 || r.Lateness.Max <= 0 {
			t.Errorf("figures that cannot be: %+v", r)
		}
		if known := in.client != nil; (r.RedisCommandsPerTask != nil) != known {
			t.Errorf("Redis commands a task: %v", r.RedisCommandsPerTask)
		} else if known && *r.RedisCommandsPerTask < 2 {
			t.Errorf("%v Redis commands a task: no task can be stored, claimed and removed by so few", *r.RedisCommandsPerTask)
		}
		in.untouched(t)
	})
}

func TestRun_ClosesOrdersAndLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, in *installation) {
		r, err := Run(t.Context(), in.options(Options{Count: 60, Callers: 4, Close: true}))
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() || r.Audit == nil || r.Work != "close" || r.PlacesPerSecond <= 0 || r.ActedPerSecond <= 0 {
			t.Errorf("%+v", r)
		}
		in.untouched(t)
	})
}

func TestRun_WithoutRedis(t *testing.T) {
	in := newInstallation(t, "TIDEMALL_MYSQL_DSN="+testserver.MySQL(t), "TIDEMALL_REDIS_ADDRS=none")
	r, err := Run(t.Context(), in.options(Options{Count: 100, Callers: 2, HandlerTime: time.Millisecond}))
	if err != nil || !r.OK() || r.Feed != "sql" || r.RedisCommandsPerTask != nil {
		t.Errorf("%+v, %v", r, err)
	}
	in.untouched(t)
}

// TestRun_InterruptedLeavesNothing ends runs at the moments they tell of, which is what Ctrl-C does.
func TestRun_InterruptedLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		at    string
		close bool
	}{{"made for this run", false}, {"all are scheduled", false}, {"acted on", false}, {"filling", true}, {"orders open", true}} {
		t.Run(c.at, func(t *testing.T) {
			onBoth(t, func(t *testing.T, in *installation) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				last, removed := "", false
				_, err := Run(ctx, in.options(Options{Count: 200, Over: time.Minute, Callers: 4, Close: c.close, Progress: func(text string) {
					last = text
					if strings.Contains(text, c.at) {
						cancel()
					}
					removed = strings.Contains(text, "everything that was made for the run is removed")
				}}))
				if !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
				if !removed {
					t.Errorf("said at last %q", last)
				}
				in.untouched(t)
			})
		})
	}
}

func TestRun_OnAClusterLeavesNothing(t *testing.T) {
	addrs := testserver.StartRedisCluster(t).Addrs()
	in := newInstallation(t, "TIDEMALL_MYSQL_DSN="+testserver.MySQL(t), "TIDEMALL_REDIS_ADDRS="+strings.Join(addrs, ","))
	r, err := Run(t.Context(), in.options(Options{Count: 300, Callers: 4}))
	if err != nil || !r.OK() || r.Feed != "redis" || r.Redis != "Redis Cluster" {
		t.Errorf("%+v, %v", r, err)
	}
	// Tasks of 8 shards lie on every node; each stored, claimed and removed.
	if per := r.RedisCommandsPerTask; per == nil || *per <= 0 {
		t.Errorf("Redis commands a task: %v", per)
	}
	for _, addr := range addrs {
		node := redis.NewClient(&redis.Options{Addr: addr})
		if keys, err := node.Keys(t.Context(), "*").Result(); err != nil || len(keys) > 0 {
			t.Errorf("left on %s: %v, %v", addr, keys, err)
		}
		_ = node.Close()
	}
}

// TestRun_SaysWhatItCouldNotRemove measures with a Redis that has gone: the database feeds the engine, and nobody can say
// whether keys are left.
func TestRun_SaysWhatItCouldNotRemove(t *testing.T) {
	gone := testserver.StartRedis(t)
	gone.Stop()
	in := newInstallation(t, "TIDEMALL_MYSQL_DSN="+testserver.MySQL(t), "TIDEMALL_REDIS_ADDRS="+gone.Addr())
	r, err := Run(t.Context(), in.options(Options{Count: 20, Callers: 1}))
	if err == nil || !strings.Contains(err.Error(), "bench-") || !strings.Contains(err.Error(), "Redis") {
		t.Errorf("ended with %v", err)
	}
	if r.Feed != "sql" || r.Missed != 0 || r.ScheduleErrors == 0 {
		t.Errorf("%+v", r)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{Callers: 1}, ""},
		{Options{Count: -1, Callers: 1}, "--count"},
		{Options{Count: mostCount + 1, Callers: 1}, "--count"},
		{Options{Callers: 0}, "--callers"},
		{Options{Callers: 1, Over: -time.Second}, "--over"},
		{Options{Callers: 1, HandlerTime: time.Minute}, "--handler-ms"},
		{Options{Callers: 1, HandlerTime: time.Second, Close: true}, "--close"},
	} {
		if text := fmt.Sprint(c.o.Check()); c.says == "" && text != "<nil>" || !strings.Contains(text, c.says) {
			t.Errorf("%+v: %s; want %q", c.o, text, c.says)
		}
	}
}
