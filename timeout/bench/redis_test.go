package bench

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/stall"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// kind is the one kind of deadline here.
const kind = "bench"

// crowd is n deadlines and what was seen of each. Both sides of a comparison work on crowds.
type crowd struct {
	due []int64 // unix ms, ascending; a task's key is made from its place

	mu   sync.Mutex
	ran  []time.Time // first runs
	runs int         // all of them
	left int
	last time.Time
	end  chan struct{} // closed when every task has run
}

// newCrowd is due evenly over a time from first on; over 0 means at one instant.
func newCrowd(n int, first time.Time, over time.Duration) *crowd {
	c := &crowd{due: make([]int64, n), ran: make([]time.Time, n), left: n, end: make(chan struct{})}
	for i := range c.due {
		c.due[i] = first.UnixMilli() + int64(i)*over.Milliseconds()/int64(n)
	}
	return c
}

// keyOf is 22 bytes that sort as the places do.
func keyOf(i int) string { return fmt.Sprintf("order:%016d", i) }

func placeOf(key string) int {
	i, err := strconv.Atoi(strings.TrimPrefix(key, "order:"))
	if err != nil {
		panic(err) // no such key was made
	}
	return i
}

// saw notes a run.
func (c *crowd) saw(i int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	if !c.ran[i].IsZero() {
		return
	}
	c.ran[i], c.last = at, at
	if c.left--; c.left == 0 {
		close(c.end)
	}
}

// await waits until every task has run.
func (c *crowd) await(t testing.TB, limit time.Duration) {
	t.Helper()
	if _, came := stall.Receive(c.end, limit); !came {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Fatalf("%d of %d tasks have not run after %v", c.left, len(c.due), limit)
	}
}

// lateness is in ms, sorted; early counts the negative ones.
func (c *crowd) lateness() (late []float64, early int) {
	for i, at := range c.ran {
		l := ms(at.Sub(time.UnixMilli(c.due[i])))
		late = append(late, l)
		if l < 0 {
			early++
		}
	}
	slices.Sort(late)
	return late, early
}

// Due implements timeout.Source as a table does: what waits, by its index.
func (c *crowd) Due(_ context.Context, after timeout.Cursor, until int64, limit int) ([]timeout.Task, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := slices.BinarySearch(c.due, after.Due)
	var tasks []timeout.Task
	for ; i < len(c.due) && c.due[i] <= until && len(tasks) < limit; i++ {
		if c.ran[i].IsZero() && (c.due[i] > after.Due || keyOf(i) > after.Key) {
			tasks = append(tasks, timeout.Task{Kind: kind, Key: keyOf(i), Due: c.due[i]})
		}
	}
	return tasks, nil
}

// Handle implements timeout.Handler and does nothing.
func (c *crowd) Handle(_ context.Context, tasks []timeout.Task) []timeout.Outcome {
	at := time.Now()
	for _, task := range tasks {
		c.saw(placeOf(task.Key), at)
	}
	return timeout.All(tasks, timeout.Done())
}

func (c *crowd) tasks() []timeout.Task {
	tasks := make([]timeout.Task, len(c.due))
	for i, due := range c.due {
		tasks[i] = timeout.Task{Kind: kind, Key: keyOf(i), Due: due}
	}
	return tasks
}

// engineDB is a MariaDB with the engine's tables, as in a shop: it is asked for failures once a batch.
func engineDB(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	text, err := os.ReadFile("../schema/mysql.sql")
	if err != nil {
		t.Fatal(err)
	}
	for statement := range strings.SplitSeq(string(text), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func clientOf(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	client := redis.NewUniversalClient(timeout.RedisOptions([]string{addr}))
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// startEngine runs an engine with one kind on the servers until the test, or the returned function, ends it.
func startEngine(t testing.TB, db *sql.DB, client redis.UniversalClient, k timeout.Kind) (e *timeout.Engine, stop func()) {
	t.Helper()
	e, err := newEngine(t.Context(), db, client, "bench", k)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

func newEngine(ctx context.Context, db *sql.DB, client redis.UniversalClient, node string, k timeout.Kind) (*timeout.Engine, error) {
	e, err := timeout.New(timeout.Options{DB: db, Redis: client, Prefix: "bench", Node: node, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	k.Name = kind
	if err := e.Register(k); err != nil {
		return nil, err
	}
	return e, e.Start(ctx)
}

// each runs do for 0 … n-1 by so many goroutines at a time and returns how long all of it took. A call that failed, as one
// does that a starved machine keeps longer than its limit, is made once more; a second failure fails the test.
func each(t testing.TB, n, callers int, do func(i int) error) time.Duration {
	t.Helper()
	var wg sync.WaitGroup
	var repeated atomic.Int64
	begin := time.Now()
	for caller := range callers {
		wg.Go(func() {
			for i := caller; i < n; i += callers {
				if do(i) == nil {
					continue
				}
				repeated.Add(1)
				time.Sleep(time.Second) // longer than a breaker is open
				if err := do(i); err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := repeated.Load(); n > 0 {
		t.Logf("%d calls were made twice: is the machine busy?", n)
	}
	return time.Since(begin)
}

// sides are a private Redis for each side, so that one side's keys do not slow the other, and a database for the engine.
type sides struct {
	db           *sql.DB
	ours, theirs redis.UniversalClient
	theirAddr    string
}

func newSides(t testing.TB) sides {
	t.Helper()
	s := sides{db: engineDB(t, testserver.MySQL(t)), ours: clientOf(t, testserver.StartRedis(t).Addr())}
	s.theirAddr = testserver.StartRedis(t).Addr()
	s.theirs = clientOf(t, s.theirAddr)
	return s
}
