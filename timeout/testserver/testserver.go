// Package testserver gives tests real MySQL and Redis servers: the programs
// installed on the machine (mariadbd or mysqld, redis-server), run from a
// temporary directory on a spare port of the loopback interface.
//
// [MySQL], [Redis] and [RedisCluster] hand out a server shared by the whole test
// binary, started by the first test that asks. [StartMySQL], [StartRedis] and
// [StartRedisCluster] start a server of the test's own, which the test may kill, pause
// and start again. [StartProxy] puts a bad network in front of any of them.
//
// A test that needs a program that is not installed is skipped with the reason.
// Every server ends, and its directory is removed, when the test process ends, also
// when that is by SIGKILL. No goroutine stays behind, so goleak can be used beside it.
//
// The package runs on Unix only and imports nothing of this project.
package testserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Variables that name servers to use instead of starting some. Both concern only
// [MySQL] and [Redis]; a test that asks for a server of its own always gets one.
const (
	// EnvMySQL holds a DSN of the go-sql-driver kind whose user may create and drop
	// databases. The database it names, if any, is not touched.
	EnvMySQL = "TIDEMALL_TEST_MYSQL_DSN"

	// EnvRedis holds host:port of a Redis server without a password. Its data is lost:
	// [Redis] empties it.
	EnvRedis = "TIDEMALL_TEST_REDIS_ADDR"
)

// errMissing says that a program is not installed; it makes tests skip.
var errMissing = errors.New("not installed")

// shared are the servers of this test binary. They are never stopped by hand: the
// guard of each one does it when the process has ended.
var shared struct {
	mysql, redis onceServer
	redisLock    sync.Once
	cluster      struct {
		once  sync.Once
		nodes []*process
		err   error
	}
}

// onceServer starts a server once and remembers how that went.
type onceServer struct {
	once sync.Once
	p    *process
	err  error
}

func (o *onceServer) get(start func() (*process, error)) (*process, error) {
	o.once.Do(func() { o.p, o.err = start() })
	return o.p, o.err
}

// MySQL makes a fresh, empty database with a name of its own and returns its DSN, in
// the form of github.com/go-sql-driver/mysql, with interpolateParams on and charset
// utf8mb4. The database is dropped when the test ends. Tests may run in parallel.
//
// The server is the one named by [EnvMySQL] or one shared by this test binary. The
// shared one is tuned for speed: it may lose commits if it is killed. For tests of
// crashes use [StartMySQL].
func MySQL(t testing.TB) (dsn string) {
	t.Helper()
	server := os.Getenv(EnvMySQL)
	if server == "" {
		p, err := shared.mysql.get(func() (*process, error) { return launchMySQL(fast) })
		skipOrFail(t, err)
		server = p.dsn("")
	}
	dsn, drop, err := createDatabase(server, "test_"+randomName())
	if err != nil {
		t.Fatalf("testserver: create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("testserver: drop the test's database: %v", err)
		}
	})
	return dsn
}

// Redis returns host:port of an empty Redis server.
//
// An address cannot name a part of a server, so all callers of one test binary share
// the server and each call empties it (FLUSHALL): tests that use it must not run in
// parallel with each other, or must take the address once and use key prefixes of
// their own. A test that needs a server to itself uses [StartRedis].
//
// The server is the one named by [EnvRedis] or one shared by this test binary. A
// named one is locked against other test binaries of this machine until this process
// ends, since go test runs several at a time.
func Redis(t testing.TB) (addr string) {
	t.Helper()
	addr = os.Getenv(EnvRedis)
	if addr == "" {
		p, err := shared.redis.get(func() (*process, error) { return launchRedis() })
		skipOrFail(t, err)
		addr = p.addr()
	} else {
		shared.redisLock.Do(func() {
			if err := lockAddr(addr); err != nil {
				t.Fatalf("testserver: %v", err)
			}
		})
	}
	if _, err := redisDo(addr, "FLUSHALL"); err != nil {
		t.Fatalf("testserver: empty the Redis at %s: %v", addr, err)
	}
	return addr
}

// StartMySQL starts a MySQL server for this test alone and waits until it answers. It
// holds one empty database, "test", which [Server.DSN] names; the user is root, so the
// test may create more. A commit that it has confirmed survives [Server.Kill].
func StartMySQL(t testing.TB) *Server {
	t.Helper()
	return serve(t, func() (*process, error) {
		p, err := launchMySQL(durable)
		if err != nil {
			return nil, err
		}
		if _, _, err := createDatabase(p.dsn(""), "test"); err != nil {
			p.close()
			return nil, err
		}
		return p, nil
	})
}

// StartRedis starts a Redis server for this test alone, with args added to its command
// line ("--appendonly", "yes"), and waits until it answers. Without args it keeps
// nothing on disk, so [Server.Kill] and [Server.Stop] lose all its data.
func StartRedis(t testing.TB, args ...string) *Server {
	t.Helper()
	return serve(t, func() (*process, error) { return launchRedis(args...) })
}

// Server is a server that belongs to one test. It ends with the test.
//
// Its methods may be called from several goroutines; each returns when its effect has
// happened, and fails the test if it cannot be had.
type Server struct {
	t testing.TB
	p *process
}

func serve(t testing.TB, launch func() (*process, error)) *Server {
	t.Helper()
	p, err := launch()
	skipOrFail(t, err)
	t.Cleanup(p.close)
	return &Server{t: t, p: p}
}

// Addr is host:port. It stays the same over [Server.Start].
func (s *Server) Addr() string { return s.p.addr() }

// DSN names the database "test" of a MySQL server, as [MySQL] would; for a Redis
// server it is a redis:// URL.
func (s *Server) DSN() string { return s.p.dsn("test") }

// Pid is the server's process id, 0 while it does not run.
func (s *Server) Pid() int { return s.p.pid() }

// Kill ends the server by SIGKILL. It does nothing if the server does not run.
func (s *Server) Kill() {
	s.t.Helper()
	s.check("kill", s.p.kill())
}

// Stop ends the server by SIGTERM, as an operator would, and waits for it; a paused
// server is resumed first. It does nothing if the server does not run.
func (s *Server) Stop() {
	s.t.Helper()
	s.check("stop", s.p.stop())
}

// Start runs the server again after [Server.Kill] or [Server.Stop], with the same port
// and data directory, and waits until it answers. It does nothing if it runs already.
func (s *Server) Start() {
	s.t.Helper()
	s.check("start", s.p.start())
}

// Pause freezes the server by SIGSTOP: connections stay open and are not answered.
func (s *Server) Pause() {
	s.t.Helper()
	s.check("pause", s.p.pause())
}

// Resume lets a paused server run on.
func (s *Server) Resume() {
	s.t.Helper()
	s.check("resume", s.p.resume())
}

func (s *Server) check(verb string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("testserver: %s %s: %v", verb, s.p.name, err)
	}
}

func skipOrFail(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errMissing):
		t.Skipf("testserver: %v", err)
	case err != nil:
		t.Fatalf("testserver: %v", err)
	}
}

func randomName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return fmt.Sprintf("%d_%s", os.Getpid(), hex.EncodeToString(b[:]))
}
