package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/failpoint"
)

// Variables of the soak test: how long shoppers and merchants are let loose, and the seed of a run that failed.
const (
	envSoakSeconds = "TIDEMALL_SOAK_SECONDS"
	envSoakSeed    = "TIDEMALL_SOAK_SEED"
)

// drained is how long after the last shopper has left everything must have come to its end: WeChat wants a minute between two refunds
// of a payment, and another one after it has said so.
const drained = 3 * time.Minute

// maxBacks is how often money is asked back for one order, by whomever.
const maxBacks = 2

// TestSoak lets shoppers and merchants loose on a shop while WeChat loses, delays, doubles and garbles whatever it can, and kills
// replicas. Once WeChat is itself again everything comes to an end, and its books are the shop's, to the fen. What shoppers,
// merchants and WeChat do follows from the seed.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed := soakSetting(t, envSoakSeed, time.Now().UnixNano()%1_000_000)
	load := time.Duration(soakSetting(t, envSoakSeconds, 60)) * time.Second
	t.Logf("%s=%d", envSoakSeed, seed)
	t.Run("servers", func(t *testing.T) {
		t.Parallel()
		testSoak(t, seed, load, realParts(t), 2, 12)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		testSoak(t, seed, load, parts{}, 1, 6)
	})
}

func soakSetting(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number above 0", name, text)
	}
	return n
}

func testSoak(t *testing.T, seed int64, load time.Duration, p parts, replicas, shoppers int) {
	s, begun := newSoak(t, seed, p, replicas), time.Now()
	leave := s.begin(shoppers)
	s.killReplicas(load)
	s.goOn(begun, load)
	leave()
	s.all.Wait()
	s.calm()
	s.drain()
	s.checkBills(begun, time.Now())
	s.check()
	if t.Failed() {
		t.Logf("again with %s=%d", envSoakSeed, seed)
	}
}

// soak is a shop with its replicas, the simulated WeChat, and those who are let loose on them.
type soak struct {
	t     *testing.T
	seed  int64
	shops []*shop
	wx    person // the simulator's controls
	g     *soakGoods
	all   sync.WaitGroup

	mu      sync.Mutex
	answers map[string]int   // other than 2xx, by what they were
	done    map[string]int   // what shoppers and merchants did
	placed  []string         // numbers of orders that were promised
	backs   map[string]int   // how often money was asked back, by order
	wanted  map[string]int64 // refunds that merchants asked for, by order
	paid    map[string]int64 // what phones said was paid, by WeChat's number
}

// newSoak serves the shop. The replicas are built to end if one of them calls WeChat inside a transaction.
func newSoak(t *testing.T, seed int64, p parts, replicas int) *soak {
	s := &soak{t: t, seed: seed, answers: map[string]int{}, done: map[string]int{}, paid: map[string]int64{}, backs: map[string]int{}, wanted: map[string]int64{}}
	env := slices.Concat(crowdEnv, []string{failpoint.EnvClockOffset + "=0s", "TIDEMALL_WECHAT_NOTIFY_BASE_URL=" + s.balance()})
	extras := make([][]string, replicas)
	for i := range extras {
		extras[i] = env
	}
	s.shops = serveReplicas(t, p, extras...)
	s.wx = s.shops[0].wechat()
	s.wx.call(200, "POST", "/sandbox/settings", map[string]any{"refund_min_interval_ms": 60_000, "bill_today": true})
	s.g = s.shops[0].soakShelf()
	for _, shop := range s.shops {
		shop.awaitPolicy(s.g.sku, 5*time.Second)
	}
	return s
}

// balance hands WeChat's callbacks to one replica after another, whether it lives or not, and returns its address.
func (s *soak) balance() string {
	var turn atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			target, _ := url.Parse(s.shops[int(turn.Add(1))%len(s.shops)].url())
			r.SetURL(target)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	s.t.Cleanup(server.Close)
	return server.URL
}

// chaosPlan is what WeChat does wrong: a third of the calls, a good half of the callbacks.
func chaosPlan(seed int64) map[string]any {
	return map[string]any{
		"seed": seed, "delay_ms": 1500, "late_ms": 6000, "refund_ms": 4000,
		"calls": map[string]float64{
			"timeout": 0.04, "timeout_after": 0.07, "reset": 0.04, "status": 0.05, "html": 0.02, "empty": 0.02, "bad_signature": 0.03, "delay": 0.06,
		},
		"callbacks": map[string]float64{"lost": 0.2, "late": 0.15, "twice": 0.15, "reordered": 0.1},
		"refunds":   map[string]float64{"slow": 0.2, "abnormal": 0.1, "not_enough": 0.1, "frequency": 0.05},
		"tokens":    map[string]float64{"expire": 0.1},
	}
}

// begin lets shoppers and merchants loose until leave is called.
func (s *soak) begin(shoppers int) (leave func()) {
	s.t.Helper()
	s.wx.call(201, "POST", "/sandbox/chaos", chaosPlan(s.seed))
	ctx, leave := context.WithCancel(context.Background())
	s.t.Cleanup(func() { leave(); s.all.Wait() })
	for i := range shoppers {
		s.all.Go(func() { s.shopper(i).live(ctx) })
	}
	for i := range 2 {
		s.all.Go(func() { s.merchant(i).live(ctx) })
	}
	return leave
}

// killReplicas kills each replica once, or the only one twice, and starts it again two seconds later.
func (s *soak) killReplicas(load time.Duration) {
	for i := range 2 {
		idle(context.Background(), load/4)
		killed := s.shops[(i+1)%len(s.shops)]
		killed.p.kill()
		idle(context.Background(), 2*time.Second) // the outage itself
		killed.start()
		s.did("a replica was killed")
	}
}

// mustHappen is what WeChat must have done wrong.
var mustHappen = []string{"calls.timeout", "calls.timeout_after", "calls.reset", "callbacks.lost", "callbacks.late", "callbacks.twice", "callbacks.reordered"}

// chaos is what WeChat did wrong.
type chaos struct{ Did map[string]int }

// spared is what must happen and has not.
func (c chaos) spared() []string {
	return slices.DeleteFunc(slices.Clone(mustHappen), func(what string) bool { return c.Did[what] > 0 })
}

// goOn returns when the load has lasted as long as it should, and four times as long at most where a slow machine left too few calls for
// everything to happen.
func (s *soak) goOn(begun time.Time, load time.Duration) {
	s.t.Helper()
	idle(context.Background(), time.Until(begun.Add(load)))
	for time.Since(begun) < 4*load && len(as[chaos](s.wx, s.wx.call(200, "GET", "/sandbox/chaos", nil)).spared()) > 0 {
		idle(context.Background(), time.Second)
	}
}

// calm ends the chaos: what was late is delivered now.
func (s *soak) calm() {
	s.t.Helper()
	over := as[chaos](s.wx, s.wx.call(200, "DELETE", "/sandbox/chaos", nil))
	s.t.Logf("WeChat: %v", over.Did)
	s.t.Logf("people: %v; other answers: %v", s.done, s.answers)
	if spared := over.spared(); len(spared) > 0 {
		s.t.Errorf("%v never happened: that shows less than it should", spared)
	}
	for answer, n := range s.answers {
		if answer[0] == '5' && !slices.Contains([]string{"503 wechat_unavailable", "503 database_unavailable", "503 starting"}, answer) {
			s.t.Errorf("%d requests were answered with %s", n, answer)
		}
	}
}

// dice are what a thing's choices follow from.
func (s *soak) dice(who string, numbers ...int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, who, numbers)
	return rand.New(rand.NewPCG(uint64(s.seed), h.Sum64()))
}

func (s *soak) did(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[what]++
}

// mayAskBack reports whether money may be asked back once more for an order, and counts that it is.
func (s *soak) mayAskBack(no string, byMerchant bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backs[no] >= maxBacks {
		return false
	}
	s.backs[no]++
	if byMerchant {
		s.wanted[no]++
	}
	return true
}

// caller is somebody with choices to make, who insists on being answered.
type caller struct {
	person

	soak *soak
	dice *rand.Rand
	keys int
	who  string
}

// chance is true so many times of a hundred.
func (c *caller) chance(percent int) bool { return c.dice.IntN(100) < percent }

func (c *caller) key() string {
	c.keys++
	return fmt.Sprintf("soak-%d-%s-%d", c.soak.seed, c.who, c.keys)
}

// ask makes a request at any replica, again and again while the answer is lost or says to try again, until 30 s after the end.
func (c *caller) ask(ctx context.Context, method, path string, body any, into any) reply {
	var giveUp time.Time
	key := c.key()
	for {
		c.base = c.soak.shops[c.dice.IntN(len(c.soak.shops))].url()
		r, err := c.try(method, path, body, "Idempotency-Key", key)
		again := err != nil || r.status == 503 || r.status == 429 || problemOf(r) == "order_busy"
		c.soak.noteAnswer(r, err)
		if ctx.Err() != nil && giveUp.IsZero() {
			giveUp = time.Now().Add(insistence)
		}
		if !again || !giveUp.IsZero() && time.Now().After(giveUp) {
			if into != nil && r.status/100 == 2 && json.Unmarshal([]byte(r.text), into) != nil {
				c.t.Errorf("%s %s: not as expected: %s", method, path, r.text)
			}
			return r
		}
		idle(context.Background(), time.Duration(50+c.dice.IntN(200))*time.Millisecond)
	}
}

func problemOf(r reply) string {
	var problem struct{ Code string }
	if r.status >= 300 {
		_ = json.Unmarshal([]byte(r.text), &problem)
	}
	return problem.Code
}

func (s *soak) noteAnswer(r reply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.answers["connection broken"]++
	case r.status >= 300:
		s.answers[fmt.Sprintf("%d %s", r.status, problemOf(r))]++
	}
}

// sorted are the keys of a map in order, so that choices among them follow from the dice.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
