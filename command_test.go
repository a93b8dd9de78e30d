package main

import (
	"database/sql"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// TestStops terminates an embedded shop while requests come in.
func TestStops(t *testing.T) {
	t.Parallel()
	s := newShop(t, parts{}, "TIDEMALL_ORDER_MAX_UNPAID=1000")
	g, ann := s.sell(1000, time.Hour), s.shopper("ann")
	first := make(chan struct{})
	var once sync.Once
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				r, err := ann.try("POST", "/api/v1/orders", placement{basket{Items: []item{{SKUID: g.sku, Quantity: 1}}}, 9900}, "Idempotency-Key", newKey())
				if err != nil {
					return // it listens no more
				}
				if r.status != 201 && r.status != 429 {
					t.Errorf("while stopping: %d %s", r.status, r.text)
				}
				once.Do(func() { close(first) })
			}
		})
	}
	<-first
	code, took := s.p.terminate(10 * time.Second)
	load.Wait()
	t.Logf("ended %v after SIGTERM", took)
	if code != 0 {
		t.Errorf("exit %d after SIGTERM: %s", code, s.p.err.String())
	}
	s.audit()
}

// TestStopsWhileItStarts terminates shops that have not started yet, and asks them before: they say so, at once.
func TestStopsWhileItStarts(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) (env []string, arrived func(log string) bool){
		"waiting for a database":   withoutDatabase,
		"waiting for a simulator":  withMuteSimulator,
		"while the shop is filled": withLockedAdmins,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, arrived := begin(t)
			s := &shop{t: t, dir: t.TempDir(), extra: append(env, "TIDEMALL_LOG_LEVEL=info"), http: "127.0.0.1:" + sparePort(t), wx: "127.0.0.1:0"}
			s.p = startProgram(t, binary, s.env(), "serve")
			eventually(t, time.Minute, name, func() (bool, string) { return arrived(s.p.err.String()), s.p.err.String() })
			for _, path := range []string{"/readyz", "/healthz", "/api/v1/products", "/"} {
				s.shopper("").refused(503, "starting", "GET", path, nil)
			}
			code, _ := s.p.terminate(30 * time.Second)
			if errs := s.p.err.String(); code != 0 || strings.Count(errs, "stopping: ") != 1 || strings.Contains(s.p.output(), "serves at") {
				t.Errorf("exit %d after SIGTERM: %s%s", code, s.p.output(), errs)
			}
		})
	}
}

func withoutDatabase(*testing.T) (env []string, arrived func(log string) bool) {
	return []string{"TIDEMALL_MYSQL_DSN=root@tcp(127.0.0.1:1)/x", "TIDEMALL_REDIS_ADDRS=none"}, func(log string) bool {
		return strings.Contains(log, "waiting for the database")
	}
}

func withMuteSimulator(t *testing.T) (env []string, arrived func(log string) bool) {
	t.Helper()
	var asked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return []string{"TIDEMALL_WECHAT_SANDBOX_URL=" + server.URL}, func(string) bool { return asked.Load() }
}

// withLockedAdmins has a database in which nobody can look whether there is an administrator.
func withLockedAdmins(t *testing.T) (env []string, arrived func(log string) bool) {
	t.Helper()
	dsn := testserver.MySQL(t)
	env = []string{"TIDEMALL_MYSQL_DSN=" + dsn, "TIDEMALL_REDIS_ADDRS=none"}
	if code, _, errs := runToEnd(t, env, "migrate", "up"); code != 0 {
		t.Fatal(errs)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1) // the one that holds the lock
	if _, err := db.Exec("LOCK TABLES admins WRITE"); err != nil {
		t.Fatal(err)
	}
	return env, func(string) bool {
		var n int
		err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = 'Waiting for table metadata lock'").Scan(&n)
		return err == nil && n > 0
	}
}

// TestRefusesToServe starts shops that must not run. Each says at once everything that is wrong.
func TestRefusesToServe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	file := filepath.Join(t.TempDir(), "tidemall.yaml")
	if err := os.WriteFile(file, []byte("http:\n  adr: 127.0.0.1:8080\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		says []string
	}{
		"production on trial parts": {
			[]string{"TIDEMALL_ENV=production", "TIDEMALL_SECRET=changeme", "TIDEMALL_ADMIN_PASSWORD=password", "TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:0"},
			nil,
			[]string{"mysql.dsn", "secret", "admin.password", "wechat.sandbox.addr"},
		},
		"production without anything": {[]string{"TIDEMALL_ENV=production"}, nil, []string{"mysql.dsn", "secret", "wechat.mch_id", "wechat.api_v3_key"}},
		"wrong values": {
			[]string{"TIDEMALL_TIMEOUT_SHARDS=none", "TIDEMALL_ORDER_MAX_UNPAID=0", "TIDEMALL_SHOP_TIMEZONE=Atlantis", "TIDEMALL_RATE_LIMIT_ENABLED=perhaps"},
			nil,
			[]string{"timeout.shards", "order.max_unpaid", "shop.timezone", "rate_limit.enabled"},
		},
		"MySQL without Redis": {[]string{"TIDEMALL_MYSQL_DSN=root@tcp(127.0.0.1:1)/x"}, nil, []string{"redis.addrs", "none"}},
		"unknown key":         {nil, []string{"--config", file}, []string{"http.adr"}},
		"no such file":        {nil, []string{"--config", file + ".gone"}, []string{file + ".gone"}},
		"port in use":         {[]string{"TIDEMALL_HTTP_ADDR=" + taken.Addr().String()}, nil, []string{"http.addr", "TIDEMALL_HTTP_ADDR"}},
		"sandbox's port in use": {
			[]string{"TIDEMALL_HTTP_ADDR=127.0.0.1:0", "TIDEMALL_WECHAT_SANDBOX_ADDR=" + taken.Addr().String()},
			nil,
			[]string{"wechat.sandbox.addr", "wechat.sandbox.url"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := runToEnd(t, append([]string{"TIDEMALL_DATA_DIR=" + t.TempDir(), "TIDEMALL_DEMO=false"}, c.env...), append([]string{"serve"}, c.args...)...)
			if code == 0 || strings.Contains(out, "serves at") {
				t.Errorf("exit %d: %s", code, out)
			}
			for _, want := range c.says {
				if !strings.Contains(errs, want) {
					t.Errorf("does not name %s:\n%s", want, errs)
				}
			}
			if strings.Contains(errs, "changeme") {
				t.Errorf("a secret is printed:\n%s", errs)
			}
		})
	}
}

// TestWrongUse calls the program wrongly and asks it for help.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
	}{
		{nil, 2},
		{[]string{"sevre"}, 2},
		{[]string{"serve", "now"}, 2},
		{[]string{"serve", "--port=1"}, 2},
		{[]string{"migrate"}, 2},
		{[]string{"audit", "--yaml"}, 2},
		{[]string{"help"}, 0},
		{[]string{"version"}, 0},
	} {
		if code, out, errs := runToEnd(t, nil, c.args...); code != c.code || out+errs == "" {
			t.Errorf("tidemall %v: exit %d, want %d: %s%s", c.args, code, c.code, out, errs)
		}
	}
}

// TestMigrate makes the schema by hand, and serves only where somebody made it.
func TestMigrate(t *testing.T) {
	t.Parallel()
	p := realParts(t)
	env := append(p.env(), "TIDEMALL_DATA_DIR="+t.TempDir(), "TIDEMALL_HTTP_ADDR=127.0.0.1:0", "TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:0")
	if code, _, errs := runToEnd(t, append(env, "TIDEMALL_MYSQL_MIGRATE=false"), "serve"); code == 0 || !strings.Contains(errs, "migrate up") {
		t.Errorf("serving without a schema: exit %d: %s", code, errs)
	}
	if code, out, errs := runToEnd(t, env, "migrate", "status"); code != 0 || !strings.Contains(out, "pending") {
		t.Errorf("status before: exit %d: %s%s", code, out, errs)
	}
	for _, want := range []string{"step(s) taken", "0 step(s) taken"} {
		if code, out, errs := runToEnd(t, env, "migrate", "up"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("up: exit %d: %s%s", code, out, errs)
		}
	}
	if code, out, errs := runToEnd(t, env, "migrate", "status"); code != 0 || strings.Contains(out, "pending") {
		t.Errorf("status after: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := runToEnd(t, append(env, "TIDEMALL_REDIS_ADDRS=127.0.0.1:1"), "audit", "--json"); code != 0 || !strings.HasPrefix(out, "{") {
		t.Errorf("audit of an empty shop: exit %d: %s%s", code, out, errs)
	}
	newShop(t, p, "TIDEMALL_MYSQL_MIGRATE=false")
}

// TestDatabaseCommandsNeedOnlyTheDatabase migrates and audits as a job does that is given the database's address and nothing else.
func TestDatabaseCommandsNeedOnlyTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := "TIDEMALL_MYSQL_DSN=" + testserver.MySQL(t)
	for _, env := range [][]string{
		{dsn},
		{dsn, "TIDEMALL_ENV=production"},
		{dsn, "TIDEMALL_ENV=production", "TIDEMALL_SECRET_FILE=/nowhere", "TIDEMALL_REDIS_ADDRS=nowhere"},
	} {
		for _, args := range [][]string{{"migrate", "up"}, {"migrate", "status"}, {"audit", "--json"}} {
			if code, out, errs := runToEnd(t, env, args...); code != 0 || out == "" {
				t.Errorf("%v with %v: exit %d: %s%s", args, env[1:], code, out, errs)
			}
		}
	}
	if code, _, errs := runToEnd(t, []string{"TIDEMALL_ENV=production"}, "audit"); code != 1 || !strings.Contains(errs, "mysql.dsn") || strings.Contains(errs, "redis") {
		t.Errorf("audit in production without a database: exit %d: %s", code, errs)
	}
}

// TestAudit_SaysWhatIsBroken breaks an invariant behind the shop's back.
func TestAudit_SaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	s := newShop(t, parts{})
	s.sell(5, time.Hour)
	s.audit()
	breakStock(t, filepath.Join(s.dir, "shop.db"))
	code, out, errs := runToEnd(t, s.env(), "audit", "--json")
	if code != 1 || !strings.Contains(out, `"ok": false`) && !strings.Contains(out, `"ok":false`) {
		t.Errorf("audit of a broken shop: exit %d: %s%s", code, out, errs)
	}
	if code, out, _ := runToEnd(t, s.env(), "audit"); code != 1 || !strings.Contains(out, "A1") {
		t.Errorf("in words: exit %d: %s", code, out)
	}
}

// breakStock takes a piece off the shelf without a ledger entry.
func breakStock(t *testing.T, file string) {
	t.Helper()
	s, err := store.OpenSQLite(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SQL().Exec("UPDATE skus SET stock = stock - 1"); err != nil {
		t.Fatal(err)
	}
}
