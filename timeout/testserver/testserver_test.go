package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tidemall/tidemall/timeout/stall"
)

func TestMain(m *testing.M) {
	// The shared servers run until the process ends and must not look like leaks.
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func queryString(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var s string
	if err := db.QueryRow(query).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

func TestMySQL_EveryCallGetsAnEmptyDatabaseOfItsOwn(t *testing.T) {
	a, b := open(t, MySQL(t)), open(t, MySQL(t))
	mustExec(t, a, "CREATE TABLE only_here (id BIGINT PRIMARY KEY)")
	if n := queryString(t, b, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != "0" {
		t.Errorf("the second database has %s tables, want none", n)
	}
	if x, y := queryString(t, a, "SELECT DATABASE()"), queryString(t, b, "SELECT DATABASE()"); x == y {
		t.Errorf("both calls got database %s", x)
	}
	// A character of four bytes needs the connection and the database to be utf8mb4.
	mustExec(t, b, "CREATE TABLE word (v VARCHAR(20))")
	mustExec(t, b, "INSERT INTO word VALUES (?)", "潮汐🌊")
	if got := queryString(t, b, "SELECT v FROM word WHERE v = '潮汐🌊'"); got != "潮汐🌊" {
		t.Errorf("read back %q", got)
	}
}

func TestMySQL_DropsTheDatabaseWithTheTest(t *testing.T) {
	var name string
	t.Run("inner", func(t *testing.T) { name = queryString(t, open(t, MySQL(t)), "SELECT DATABASE()") })
	if name == "" {
		t.Skip("no MySQL")
	}
	db := open(t, MySQL(t))
	if n := queryString(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '"+name+"'"); n != "0" {
		t.Errorf("database %s is still there", name)
	}
}

func TestMySQL_UsesTheNamedServer(t *testing.T) {
	s := StartMySQL(t)
	t.Setenv(EnvMySQL, s.DSN())
	dsn := MySQL(t)
	if !strings.Contains(dsn, s.Addr()) {
		t.Errorf("DSN %s does not name %s", dsn, s.Addr())
	}
	if got := queryString(t, open(t, dsn), "SELECT DATABASE()"); got == "test" {
		t.Error("the named server's own database was handed out")
	}
}

func TestRedis_EveryCallEmptiesTheServer(t *testing.T) {
	addr := Redis(t)
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if err := c.Set(context.Background(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if again := Redis(t); again != addr {
		t.Errorf("second call gave %s, want the same server %s", again, addr)
	}
	if n, err := c.DBSize(context.Background()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys, error %v; want an empty server", n, err)
	}
}

func TestRedis_UsesTheNamedServer(t *testing.T) {
	s := StartRedis(t)
	t.Setenv(EnvRedis, s.Addr())
	t.Setenv("TMPDIR", t.TempDir()) // for the lock
	if got := Redis(t); got != s.Addr() {
		t.Errorf("got %s, want %s", got, s.Addr())
	}
}

func TestLockAddr_IsHeldUntilTheProcessEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if err := lockAddr("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	runtime.GC() // must not close what holds the lock
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), "*.lock"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("lock files: %v, %v", paths, err)
	}
	f, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second holder got %v, want EWOULDBLOCK", err)
	}
}

func TestStartMySQL_KeepsCommitsOverKill(t *testing.T) {
	s := StartMySQL(t)
	db := open(t, s.DSN())
	mustExec(t, db, "CREATE TABLE t (id BIGINT PRIMARY KEY)")
	mustExec(t, db, "INSERT INTO t VALUES (1), (2)")
	addr, pid := s.Addr(), s.Pid()

	s.Kill()
	if got := s.Pid(); got != 0 {
		t.Errorf("Pid is %d after Kill, want 0", got)
	}
	if err := db.Ping(); err == nil {
		t.Error("the killed server answers")
	}
	s.Start()
	if s.Addr() != addr || s.Pid() == pid || s.Pid() == 0 {
		t.Errorf("after Start: addr %s (was %s), pid %d (was %d)", s.Addr(), addr, s.Pid(), pid)
	}
	if n := queryString(t, db, "SELECT COUNT(*) FROM t"); n != "2" {
		t.Errorf("%s rows after the kill, want 2", n)
	}

	s.Stop()
	s.Start()
	if n := queryString(t, db, "SELECT COUNT(*) FROM t"); n != "2" {
		t.Errorf("%s rows after the stop, want 2", n)
	}
}

func TestStartRedis_ArgumentsDecideWhatSurvives(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"memory", nil, ""},
		{"append-only file", []string{"--appendonly", "yes", "--appendfsync", "always"}, "v"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := StartRedis(t, c.args...)
			client := redis.NewClient(&redis.Options{Addr: s.Addr()})
			defer client.Close()
			ctx := context.Background()
			if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			s.Start()
			got, err := client.Get(ctx, "k").Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("after kill and start k is %q, want %q", got, c.want)
			}
		})
	}
}

func TestStartRedisCluster_ServesEverySlotAndLivesOnWithoutANode(t *testing.T) {
	c := StartRedisCluster(t)
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), MaxRedirects: 1, DialerRetries: 1})
	defer client.Close()
	set := func() (failed int) {
		for i := range 100 { // over all nodes
			if err := client.Set(ctx, fmt.Sprintf("key-%d", i), i, 0).Err(); err != nil {
				failed++
			}
		}
		return failed
	}
	if n := set(); n != 0 {
		t.Fatalf("%d of 100 keys could not be set", n)
	}
	c.Nodes[1].Kill()
	if n := set(); n == 0 || n == 100 {
		t.Errorf("%d of 100 keys could not be set while a node is away, want some", n)
	}
	c.Nodes[1].Start()
	c.AwaitWhole()
	if n := set(); n != 0 {
		t.Errorf("%d of 100 keys could not be set when the node was back", n)
	}
}

func TestServer_PausedServerKeepsConnectionsAndDoesNotAnswer(t *testing.T) {
	s := StartRedis(t)
	s.Pause()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatalf("a paused server's kernel still accepts: %v", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 7)
	if n, err := conn.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %q, %v from a paused server", buf[:n], err)
	}
	s.Resume()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "+PONG\r\n" {
		t.Fatalf("read %q, %v after Resume", buf[:n], err)
	}
	s.Pause()
	s.Stop() // ends a paused server too
	if s.Pid() != 0 {
		t.Error("a paused server survived Stop")
	}
}

func TestServer_TakesAnotherPortWhenOneIsTaken(t *testing.T) {
	s := StartRedis(t)
	other, err := launchRedis()
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.kill(); err != nil {
		t.Fatal(err)
	}
	other.port = s.p.port
	if err := other.start(); !errors.Is(err, errPortTaken) {
		t.Fatalf("start on a taken port: %v, want errPortTaken", err)
	}
	other.started = false
	if err := other.start(); err != nil {
		t.Fatalf("start while free to choose: %v", err)
	}
	if other.port == s.p.port {
		t.Error("kept the taken port")
	}
}

func TestServer_ReportsWhyItDidNotStart(t *testing.T) {
	if _, err := findProgram("redis-server"); err != nil {
		t.Skip(err)
	}
	_, err := launchRedis("--no-such-option", "1")
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("error %v does not carry the server's own words", err)
	}
}

func TestFindProgram_MissingIsAReasonToSkip(t *testing.T) {
	_, err := findProgram("no-such-server", "nor-this-one")
	if !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "no no-such-server or nor-this-one") {
		t.Errorf("error is %v", err)
	}
	rec := &skipRecorder{}
	skipOrFail(rec, err)
	if !strings.Contains(rec.reason, "no-such-server") {
		t.Errorf("skipped with the reason %q", rec.reason)
	}
}

// skipRecorder is a test that notes why it would have been skipped.
type skipRecorder struct {
	testing.TB
	reason string
}

func (r *skipRecorder) Helper() {}

func (r *skipRecorder) Skipf(format string, args ...any) { r.reason = fmt.Sprintf(format, args...) }

func TestGuard_RemovesDirectoryAndServerWhenTheProcessIsKilled(t *testing.T) {
	if os.Getenv("TESTSERVER_CHILD") != "" {
		childForGuard(t)
	}
	if _, err := findProgram("redis-server"); err != nil {
		t.Skip(err)
	}
	child, pid, dir := startChild(t)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	// The guard is not our child any more, so its work can only be watched.
	for patience := stall.NewPatience(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		_, err := os.Stat(dir)
		gone := errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
		if errors.Is(err, os.ErrNotExist) && gone {
			return
		}
		if patience.Over() {
			t.Fatalf("after the kill: directory %v, server gone: %v", err, gone)
		}
	}
}

// zombie says whether the process has ended but its new parent has not asked how yet.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
