package timeout

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A percentile is never too low, and too high by a fifth at most.
func TestPercentilesOfClasses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []time.Duration{time.Millisecond, 70 * time.Millisecond, 100 * time.Second} {
		var l Lateness
		values := make([]time.Duration, 1000)
		for i := range values {
			values[i] = 100*time.Microsecond + time.Duration(random.Int64N(int64(scale)))
			l.add(values[i])
		}
		slices.Sort(values)
		for _, p := range []int64{50, 99, 100} {
			exact := values[(1000*p+99)/100-1]
			if got := l.Percentile(p); got < exact || float64(got) > float64(exact)*1.2 {
				t.Errorf("p%d up to %v: %v, want %v and a fifth at most", p, scale, got, exact)
			}
		}
		if l.Percentile(100) != l.Max || l.Max != values[999] {
			t.Errorf("the highest is %v, of %v", l.Max, values[999])
		}
		var read Lateness
		read.parse(l.text())
		if read.counts != l.counts {
			t.Errorf("%q is read as another one", l.text())
		}
	}
	var none Lateness
	none.parse("3 x:1 9999:1 -1:4 2:y")
	if none != (Lateness{}) || none.Percentile(99) != 0 {
		t.Errorf("nothing at all: %+v", none)
	}
	if d := 2 * boundOf(classes-1); classOf(d) != classes-1 || classOf(0) != 0 || classOf(-1) != 0 {
		t.Errorf("what lies outside is in the classes %d, %d", classOf(d), classOf(0))
	}
}

func TestHistoryKeepsWhatIsNotStored(t *testing.T) {
	var h history
	const at = int64(7_200_000_000_000)
	h.fired(at)
	if got := h.changed(at); len(got) != 0 {
		t.Errorf("nothing was done, %d periods", len(got))
	}
	h.fired(at, time.Millisecond, time.Second)
	h.rescued(at + 30_000)
	got := h.changed(at)
	if l := got[span{60_000, at}]; len(got) != len(grains) || l.Fired != 2 || l.Rescued != 1 || l.Max != time.Second {
		t.Errorf("%d periods, the minute is %+v", len(got), l)
	}
	if again := h.changed(at); len(again) != 0 {
		t.Errorf("%d periods are to be stored again", len(again))
	}
	h.again(got)
	h.fired(at+60_000, time.Millisecond)
	got = h.changed(at)
	if got[span{3_600_000, at}].Fired != 3 || got[span{60_000, at + 60_000}].Fired != 1 || got[span{60_000, at}].Fired != 2 {
		t.Errorf("after a failure: %+v", got)
	}
	h.changed(at + 10_800_000)
	if len(h.periods) != 0 {
		t.Errorf("%d periods are kept for ever", len(h.periods))
	}
	for i := range int64(3 * historyMost) {
		h.fired(at+i*60_000, 1)
	}
	if got := h.changed(at); len(h.periods) != historyMost || len(got) != historyMost {
		t.Errorf("%d periods are kept, %d to be stored, of an outage", len(h.periods), len(got))
	}
}

// What replicas did adds up, over a restart too; each is seen as it is.
func TestHistoryAndReplicas(t *testing.T) {
	everywhere(t, func(t *testing.T, s *things, client redis.UniversalClient) {
		ctx := context.Background()
		began := in(0)
		a := start(t, node(t, s, client, "a"))
		b := start(t, node(t, s, client, "b"))
		awaitShards(t, 10*time.Second, "divided", func() bool {
			return len(a.members.owned()) < 8 && len(a.members.owned())+len(b.members.owned()) == 8
		})
		schedule(t, a, s, ids(40, func(int) int64 { return in(100 * time.Millisecond) }))
		s.add(t, map[string]int64{"minute": in(30 * time.Second), "hour": in(30 * time.Minute), "day": in(20 * time.Hour)})
		s.await(t, 20*time.Second, "those that are due", func() bool { return s.waitingNow(t) == 3 })

		ahead, err := a.Ahead(ctx)
		if err != nil || len(ahead) != 1 || ahead[0].Kind != "thing" || ahead[0].Minute != 1 || ahead[0].Hour != 2 || ahead[0].Next < began+25_000 || ahead[0].Next > in(30*time.Second) {
			t.Errorf("ahead: %+v, %v", ahead, err)
		}
		waiting, err := a.Waiting(ctx, "thing", Cursor{}, 2)
		if err != nil || len(waiting) != 2 || waiting[0].Key != "minute" || waiting[1].Key != "hour" {
			t.Errorf("waiting: %v, %v", waiting, err)
		}
		if _, err := a.Waiting(ctx, "none", Cursor{}, 2); err == nil {
			t.Error("of no kind")
		}
		record := func() {
			for _, e := range []*Engine{a, b} {
				e.clock.measure(ctx, e.feed())
				if err := e.recordOnce(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Where a heartbeat or an answer was late each took the other, or Redis, for gone for a moment.
		var list []Replica
		awaitShards(t, 15*time.Second, "both seen with their shards", func() (seen bool) {
			record()
			var shards int
			if list, shards, err = a.Replicas(ctx); err != nil || len(list) != 2 || shards != 8 {
				t.Fatalf("replicas %+v of %d shards, %v", list, shards, err)
			}
			for _, r := range list {
				if !r.Live || client != nil && (r.Feed != "redis" || r.ClockSource != "redis") {
					return false
				}
			}
			return list[0].Shards+list[1].Shards == 8
		})
		for i, r := range list {
			if r.Node != []string{"a", "b"}[i] || r.Feed != list[0].Feed || r.StartedAt < began-1000 || r.BeatAt < r.StartedAt-1000 || r.ClockSource != list[0].ClockSource || r.ClockSource == "" {
				t.Errorf("replica %+v", r)
			}
		}
		stopped := time.Now()
		stop(t, a)
		stop(t, b)
		if list, _, err := a.Replicas(ctx); err != nil || len(list) != 0 && watch.Between(stopped, time.Now()) == 0 { // a stop waits for a second
			t.Errorf("replicas that left: %+v, %v", list, err)
		}
		record()
		// Where both had a shard for a moment, and no claims, both may have called the handler.
		fired := int64(len(a.lanes["thing"].lateness.ring) + len(b.lanes["thing"].lateness.ring))
		if fired < 40 {
			t.Errorf("%d fired, want 40", fired)
		}
		for _, grain := range grains {
			h, err := a.History(ctx, HistoryQuery{Grain: grain, From: began - 2*grain.Milliseconds(), To: in(time.Hour), Kind: "thing"})
			if err != nil || h.Total.Fired != fired || h.Kinds["thing"].Fired != fired || h.Total.Max <= 0 || h.Total.Percentile(50) > h.Total.Max || len(h.Points) == 0 {
				t.Errorf("by %v: %+v, want %d, %v", grain, h.Total, fired, err)
			}
			for begin := range h.Points {
				if begin%grain.Milliseconds() != 0 {
					t.Errorf("a period of %v begins at %d", grain, begin)
				}
			}
		}
		if h, err := a.History(ctx, HistoryQuery{Grain: Minute, To: in(time.Hour), Kind: "other"}); err != nil || h.Total.Fired != 0 {
			t.Errorf("of another kind: %+v, %v", h.Total, err)
		}
	})
}

// The oldest goes step by step, the newest stays.
func TestOldHistoryIsDeleted(t *testing.T) {
	s := newThings(sqliteDB(t))
	e := node(t, s, nil, "a")
	day := 24 * time.Hour
	for _, r := range []struct {
		grain, age time.Duration
	}{{Minute, 25 * time.Hour}, {Minute, 40 * day}, {Minute, time.Hour}, {Hour, 6 * day}, {Hour, 8 * day}, {FiveMinutes, 2 * day}, {FiveMinutes, 9 * day}} {
		s.exec(t, "INSERT INTO timeout_lateness VALUES (?, ?, 'thing', 'gone', 1, 0, 1, '0:1')", r.grain.Milliseconds(), in(-r.age))
	}
	s.exec(t, "INSERT INTO timeout_replicas VALUES ('gone', 0, ?, 8, 'sql', 0, 0, 'machine', 0)", in(-2*time.Hour))
	for range 2 { // a step for each
		if err := e.recordForget(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM timeout_lateness WHERE grain_ms = 60000":   1,
		"SELECT COUNT(*) FROM timeout_lateness WHERE grain_ms = 300000":  1,
		"SELECT COUNT(*) FROM timeout_lateness WHERE grain_ms = 3600000": 1,
		"SELECT COUNT(*) FROM timeout_replicas":                          0,
	} {
		var n int
		if err := s.db.QueryRow(query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d (%v)", query, n, want, err)
		}
	}
}
