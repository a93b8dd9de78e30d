package load

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/testserver"
)

func TestQuantiles(t *testing.T) {
	var all []time.Duration
	for ms := 1000; ms >= 1; ms-- {
		all = append(all, time.Duration(ms)*time.Millisecond)
	}
	if got, want := Quantiles(all), (Lateness{P50: 500, P99: 990, P999: 999, Max: 1000}); got != want {
		t.Errorf("of 1 to 1000 ms: %+v, want %+v", got, want)
	}
	if got, want := Quantiles([]time.Duration{1500 * time.Microsecond}), (Lateness{1.5, 1.5, 1.5, 1.5}); got != want {
		t.Errorf("of one: %+v, want %+v", got, want)
	}
	if got := Quantiles(nil); got != (Lateness{}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestSumCalls(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  int64
		known bool
	}{
		{"# Commandstats\r\ncmdstat_zadd:calls=3,usec=9,usec_per_call=3.00\r\ncmdstat_config|get:calls=40,usec=1\r\n", 43, true},
		{"# Commandstats\r\n", 0, false},
		{"", 0, false},
		{"cmdstat_zadd:calls=many,usec=9\r\n", 0, false},
	} {
		if got, known := sumCalls(c.text); got != c.want || known != c.known {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, got, known, c.want, c.known)
		}
	}
}

// TestReport_CountsWhatWentWrong gives a run's book what a module that breaks its promises would do.
func TestReport_CountsWhatWentWrong(t *testing.T) {
	b := newBook(Options{Count: 4, Over: 4 * time.Second}, "none")
	b.first = 10_000 // tasks are due at 10, 11, 12 and 13 s
	b.now = func() time.Time { return time.UnixMilli(13_000) }
	tasks := b.tasks()
	b.called(tasks[:1], time.UnixMilli(9_999))  // early
	b.called(tasks[:2], time.UnixMilli(11_500)) // the first again, which counts for nothing
	b.called(tasks[2:3], time.UnixMilli(12_007))
	b.acted(3, 1)
	var r Report
	b.report(&r)
	if r.Early != 1 || r.Twice != 1 || r.Missed != 1 || r.OK() {
		t.Errorf("early %d, twice %d, missed %d, ok %v; want 1, 1, 1, false", r.Early, r.Twice, r.Missed, r.OK())
	}
	if r.Lateness.P50 != 7 || r.Lateness.Max != 500 {
		t.Errorf("lateness %+v; want 7 and at most 500 ms", r.Lateness)
	}
	if r.ActedPerSecond != 1 || r.TookMS != 3000 {
		t.Errorf("%v a second in %v ms; want 3 in 3 s", r.ActedPerSecond, r.TookMS)
	}
}

func TestReport_OK(t *testing.T) {
	broken, sound := 1, 0
	for _, c := range []struct {
		r    Report
		want bool
	}{
		{Report{}, true},
		{Report{Twice: 5, ScheduleErrors: 2, Audit: &sound}, true},
		{Report{Early: 1}, false},
		{Report{Missed: 1}, false},
		{Report{Audit: &broken}, false},
	} {
		if c.r.OK() != c.want {
			t.Errorf("%+v: want %v", c.r, c.want)
		}
	}
}

func TestReport_WriteText(t *testing.T) {
	per, violations := 5.25, 0
	var b strings.Builder
	r := Report{
		Work: "close", Database: "MySQL", Redis: "Redis", Feed: "redis", Count: 10, Callers: 2, RedisCommandsPerTask: &per,
		Audit: &violations, Notes: []string{"a remark"},
	}
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 unpaid orders due at once", "2 callers", "5.25 a task", "0 violations", "a remark"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestClean_RemovesTheKeysOfThePrefixOnly(t *testing.T) {
	client := redis.NewUniversalClient(timeout.RedisOptions([]string{testserver.StartRedis(t).Addr()}))
	defer client.Close()
	for _, key := range []string{"bench-1:a", "bench-1:{bench-1.3}:b", "bench-12:c", "bench-1", "shop:bench-1:d"} {
		if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	n, err := Clean(t.Context(), client, "bench-1")
	left := client.Keys(t.Context(), "*").Val()
	slices.Sort(left)
	if err != nil || n != 2 || !slices.Equal(left, []string{"bench-1", "bench-12:c", "shop:bench-1:d"}) {
		t.Errorf("removed %d, %v; left %v", n, err, left)
	}
	for _, wrong := range []string{"", "*", "a?", "[a]"} {
		if _, err := Clean(t.Context(), client, wrong); err == nil {
			t.Errorf("the prefix %q was accepted", wrong)
		}
	}
}

func TestCountCommands_CountsThoseInsideScripts(t *testing.T) {
	client := redis.NewUniversalClient(timeout.RedisOptions([]string{testserver.StartRedis(t).Addr()}))
	defer client.Close()
	// Connecting costs commands of its own.
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	c := CountCommands(t.Context(), client)
	if err := client.Eval(t.Context(), "redis.call('SET', KEYS[1], 1) redis.call('GET', KEYS[1])", []string{"k"}).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if n, known := c.Since(t.Context()); n != 3 || !known {
		t.Errorf("%d, %v; want EVAL, SET and GET", n, known)
	}
	if n, known := CountCommands(t.Context(), nil).Since(t.Context()); n != 0 || known {
		t.Errorf("without Redis: %d, %v", n, known)
	}
}
