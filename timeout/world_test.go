package timeout

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tidemall/tidemall/timeout/stall"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// watch knows when the machine stood still.
var watch *stall.Watch

func TestMain(m *testing.M) {
	if description := os.Getenv(envChild); description != "" {
		runChild(description)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "6") // they wait most of the time
	}
	watch = stall.Start()
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(code int) {
			removeChild()
			os.Exit(code)
		}),
		// They live as long as the test process, its servers and pools.
		goleak.IgnoreAnyFunction("github.com/tidemall/tidemall/timeout/stall.(*Watch).run"),
		goleak.IgnoreAnyFunction("github.com/tidemall/tidemall/timeout/testserver"),
		goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// parts are the outside of an engine.
type parts struct {
	name   string
	driver string
	dsn    func(testing.TB) string // of an empty database
	redis  func(testing.TB) string // addresses, with commas; nil for the database alone
}

func (p parts) db(t testing.TB) *sql.DB { return openTables(t, p.driver, p.dsn(t)) }

// everyParts is what the conformance tests run over.
var everyParts = []parts{
	{"miniredis+sqlite", "sqlite", sqliteDSN, miniRedis},
	{"redis+mariadb", "mysql", mysqlDSN, realRedis},
	{"redis cluster+mariadb", "mysql", mysqlDSN, redisCluster},
	{"sqlite alone", "sqlite", sqliteDSN, nil},
	{"mariadb alone", "mysql", mysqlDSN, nil},
}

func mysqlDSN(t testing.TB) string { return testserver.MySQL(t) }

func sqliteDSN(t testing.TB) string {
	return "file:" + t.TempDir() + "/shop.db?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate"
}

func sqliteDB(t testing.TB) *sql.DB { return openTables(t, "sqlite", sqliteDSN(t)) }

func mariaDB(t testing.TB) *sql.DB { return openTables(t, "mysql", mysqlDSN(t)) }

func openTables(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	return openDB(t, driver, dsn, "schema/"+driver+".sql")
}

func openDB(t testing.TB, driver, dsn, schema string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(16)
	db.SetMaxOpenConns(32)
	t.Cleanup(func() { db.Close() })
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	statements := strings.Split(string(text), ";\n")
	statements = append(statements,
		`CREATE TABLE things (id VARCHAR(64) PRIMARY KEY, state VARCHAR(16) NOT NULL, deadline BIGINT NOT NULL, effects INT NOT NULL)`,
		`CREATE INDEX idx_things_due ON things (state, deadline, id)`)
	for _, s := range statements {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%v in %s", err, s)
		}
	}
	return db
}

func miniRedis(t testing.TB) string {
	m := miniredis.RunT(t)
	return m.Addr()
}

func realRedis(t testing.TB) string { return testserver.Redis(t) }

func redisCluster(t testing.TB) string { return strings.Join(testserver.RedisCluster(t), ",") }

func redisClient(t testing.TB, addrs string) redis.UniversalClient {
	client := redis.NewUniversalClient(RedisOptions(strings.Split(addrs, ",")))
	t.Cleanup(func() { client.Close() })
	return client
}

// things is the owner's table: the source of its kind and its handler.
type things struct {
	db   *sql.DB
	kind string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every call of the handler
	calls   map[string][]callOf
	// before, if set, decides about a task in place of the update.
	before func(ctx context.Context, task Task) (Outcome, bool)
}

// callOf is one call of the handler for a task.
type callOf struct {
	at      time.Time
	due     int64
	outcome Outcome
}

// late is how late the call came, but for the time that the machine stood still; an early one is it by all of it.
func (c callOf) late() time.Duration { return lateness(time.UnixMilli(c.due), c.at) }

func lateness(due, at time.Time) time.Duration {
	late := at.Sub(due)
	return max(min(late, 0), late-watch.Between(due, at))
}

// took is how long it has been since an instant, but for the time that the machine stood still.
func took(since time.Time) time.Duration { return lateness(since, time.Now()) }

func newThings(db *sql.DB) *things {
	return &things{db: db, kind: "thing", changed: make(chan struct{}), calls: map[string][]callOf{}}
}

// Due implements Source.
func (s *things) Due(ctx context.Context, after Cursor, until int64, limit int) ([]Task, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, deadline FROM things WHERE state = 'waiting' AND deadline <= ?
		AND (deadline > ? OR deadline = ? AND id > ?) ORDER BY deadline, id LIMIT ?`, until, after.Due, after.Due, after.Key, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tasks []Task
	for rows.Next() {
		task := Task{Kind: s.kind}
		if err := rows.Scan(&task.Key, &task.Due); err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, rows.Err()
}

// Count implements Counter.
func (s *things) Count(ctx context.Context, until int64) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM things WHERE state = 'waiting' AND deadline <= ?", until).Scan(&n)
	return n, err
}

// Handle implements Handler with a conditional update per row, in one
// transaction per batch.
func (s *things) Handle(ctx context.Context, tasks []Task) []Outcome {
	at := time.Now()
	tx, outcomes, err := s.close(ctx, tasks)
	s.mu.Lock() // over the commit, too: whoever sees the effect finds the call
	defer s.mu.Unlock()
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		outcomes = All(tasks, Again(err))
	}
	for i, task := range tasks {
		s.calls[task.Key] = append(s.calls[task.Key], callOf{at, task.Due, outcomes[i]})
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return outcomes
}

// close does everything but the commit.
func (s *things) close(ctx context.Context, tasks []Task) (*sql.Tx, []Outcome, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	whole := false
	defer func() {
		if !whole { // a hook may panic
			_ = tx.Rollback()
		}
	}()
	outcomes := make([]Outcome, len(tasks))
	for i, task := range tasks {
		if s.before != nil {
			if o, decided := s.before(ctx, task); decided {
				outcomes[i] = o
				continue
			}
		}
		if outcomes[i], err = closeOne(ctx, tx, task); err != nil {
			return nil, nil, err
		}
	}
	whole = true
	return tx, outcomes, nil
}

func closeOne(ctx context.Context, tx *sql.Tx, task Task) (Outcome, error) {
	result, err := tx.ExecContext(ctx,
		"UPDATE things SET state = 'done', effects = effects + 1 WHERE id = ? AND state = 'waiting' AND deadline = ?", task.Key, task.Due)
	if err != nil {
		return Outcome{}, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return Done(), err
	}
	var state string
	var deadline int64
	err = tx.QueryRowContext(ctx, "SELECT state, deadline FROM things WHERE id = ?", task.Key).Scan(&state, &deadline)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Done(), nil
	case err != nil:
		return Outcome{}, err
	case state != "waiting":
		return Done(), nil
	case deadline != task.Due:
		return Reschedule(deadline), nil
	}
	return Again(errors.New("somebody was in between")), nil
}

// add commits waiting things as an owner does, without scheduling them.
func (s *things) add(t testing.TB, deadlines map[string]int64) {
	t.Helper()
	tx, err := s.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for id, at := range deadlines {
		if _, err := tx.Exec("INSERT INTO things (id, state, deadline, effects) VALUES (?, 'waiting', ?, 0)", id, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (s *things) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := s.db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func (s *things) callsOf(id string) []callOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]callOf(nil), s.calls[id]...)
}

func (s *things) allCalls() map[string][]callOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// await waits, from call to call of the handler, until the condition holds.
func (s *things) await(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for patience := stall.NewPatience(limit); ; {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return
		}
		if patience.Over() {
			t.Fatalf("%s: not within %v", what, limit)
		}
		select {
		case <-changed:
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *things) waitingNow(t testing.TB) int {
	t.Helper()
	n, err := s.Count(context.Background(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// awaitAllDone waits until nothing waits, and checks that every effect
// happened exactly once and none early.
func (s *things) awaitAllDone(t testing.TB, limit time.Duration) {
	t.Helper()
	s.await(t, limit, "all things done", func() bool { return s.waitingNow(t) == 0 })
	var wrong int
	if err := s.db.QueryRow("SELECT COUNT(*) FROM things WHERE effects <> 1").Scan(&wrong); err != nil || wrong != 0 {
		t.Fatalf("%d things whose effect did not happen exactly once (%v)", wrong, err)
	}
	s.neverEarly(t)
}

func (s *things) neverEarly(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, calls := range s.calls {
		for _, c := range calls {
			if c.at.UnixMilli() < c.due {
				t.Errorf("%s called %d ms early", id, c.due-c.at.UnixMilli())
			}
		}
	}
}

// node makes an engine on the things; change may alter its options and kind.
func node(t testing.TB, s *things, client redis.UniversalClient, name string, change ...func(*Options, *Kind)) *Engine {
	t.Helper()
	o := Options{DB: s.db, Redis: client, Prefix: "shop1", Shards: 8, Node: name, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	k := Kind{Name: s.kind, Handler: s, Source: s}
	for _, c := range change {
		c(&o, &k)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Register(k); err != nil {
		t.Fatal(err)
	}
	return e
}

func start(t testing.TB, e *Engine) *Engine {
	t.Helper()
	if err := e.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, e) })
	return e
}

func stop(t testing.TB, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// in is an instant so far ahead, as a deadline.
func in(d time.Duration) int64 { return DueAt(time.Now().Add(d)) }

func tasksOf(s *things, deadlines map[string]int64) []Task {
	var tasks []Task
	for id, at := range deadlines {
		tasks = append(tasks, Task{Kind: s.kind, Key: id, Due: at})
	}
	return tasks
}

// everywhere runs a test over all parts at once: no two of them share a server.
func everywhere(t *testing.T, test func(t *testing.T, s *things, client redis.UniversalClient)) {
	for _, p := range everyParts {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newThings(p.db(t))
			if p.redis == nil {
				test(t, s, nil)
				return
			}
			test(t, s, redisClient(t, p.redis(t)))
		})
	}
}

// schedule adds things and schedules them, as an owner does.
func schedule(t testing.TB, e *Engine, s *things, deadlines map[string]int64) {
	t.Helper()
	s.add(t, deadlines)
	scheduleTasks(t, e, tasksOf(s, deadlines))
}

// scheduleTasks schedules in pieces and, as owners do, only logs that Redis
// took too long: on a busy machine it may.
func scheduleTasks(t testing.TB, e *Engine, tasks []Task) {
	t.Helper()
	for piece := range slices.Chunk(tasks, MaxBatch) {
		if err := e.Schedule(context.Background(), piece...); errors.Is(err, ErrRedisAway) {
			t.Log(err)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func ids(n int, at func(int) int64) map[string]int64 {
	deadlines := map[string]int64{}
	for i := range n {
		deadlines[fmt.Sprintf("t%05d", i)] = at(i)
	}
	return deadlines
}
