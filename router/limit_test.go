package router

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemall/tidemall/service/fault"
)

// attempts sends the same login from an address and returns how many of them passed the limits, and the last answer.
func attempts(t *testing.T, r *Router, path, body, from string, n int) (passed int, last reply) {
	t.Helper()
	for range n {
		last = call(t, r, "POST", path, body, "Content-Type", "application/json", "X-Forwarded-For", from)
		if last.StatusCode != 429 {
			passed++
		}
	}
	return passed, last
}

// A login costs the shop a hash, or a question to WeChat, so that an address may ask for fewer of them than of anything else.
func TestLoginsHaveAPaceOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		path, body string
		burst      int
		next       time.Duration // until one more is allowed: a second's share
	}{
		{"/api/admin/v1/auth/login", `{"username":"admin","password":"hunter2!"}`, 100, time.Second / 5},
		{"/api/v1/auth/login", `{"code":"junk"}`, 3000, time.Second / 50},
	} {
		t.Run(c.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock moves only where the test sleeps
				r := New(Deps{
					Auth: tokens{}, Operations: hollow(), TrustedProxies: []string{"192.0.2.1"}, // whom httptest's requests come from
					Limits: Limits{Enabled: true, Shopper: 1e6, Admin: 1e6, IP: 1e6},
				})
				passed, last := attempts(t, r, c.path, c.body, "203.0.113.7", c.burst+5)
				if passed != c.burst {
					t.Errorf("%d of an address pass at once, want %d", passed, c.burst)
				}
				if last.Body["code"] != "rate_limited" || last.Header.Get("Retry-After") != "1" || last.Body["retry_after_ms"] != float64(c.next.Milliseconds()) {
					t.Errorf("%s, Retry-After %q", last.Text, last.Header.Get("Retry-After"))
				}
				if passed, _ := attempts(t, r, c.path, c.body, "203.0.113.8", 1); passed != 1 {
					t.Error("another address is refused")
				}
				if got := call(t, r, "GET", "/healthz", "", "X-Forwarded-For", "203.0.113.7"); got.StatusCode != 200 {
					t.Errorf("something else is refused: %s", got.Text)
				}
				<-time.After(c.next)
				if passed, _ := attempts(t, r, c.path, c.body, "203.0.113.7", 2); passed != 1 {
					t.Errorf("%d pass %v later, want 1", passed, c.next)
				}
			})
		})
	}
}

// Shoppers' uploads are counted for each of them, whatever becomes of the upload; admins' are not.
func TestAShoppersUploadsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock stands still unless the test sleeps
		limits := Limits{Enabled: true, Shopper: 1000, Admin: 1000, IP: 1000}
		on := New(Deps{Auth: tokens{}, Limits: limits, Operations: hollow()})
		limits.Enabled = false
		off := New(Deps{Auth: tokens{}, Limits: limits, Operations: hollow()})
		upload := func(r *Router, path, token string) reply { // no form: refused before it gets to the service
			return call(t, r, "POST", path, "{}", "Authorization", "Bearer "+token, "Content-Type", "application/json")
		}
		taken := func(n int) {
			t.Helper()
			for range n {
				if got := upload(on, "/api/v1/files", "shopper"); got.StatusCode != 415 {
					t.Errorf("%d %s, want 415", got.StatusCode, got.Text)
				}
			}
			got := upload(on, "/api/v1/files", "shopper")
			if got.StatusCode != 429 || got.Body["code"] != "rate_limited" || got.Header.Get("Retry-After") != "10" || got.Body["retry_after_ms"] != 10_000.0 {
				t.Errorf("after %d: %d, Retry-After %s, %s", n, got.StatusCode, got.Header.Get("Retry-After"), got.Text)
			}
		}
		taken(60)
		if got := upload(on, "/api/v1/files", "nobody"); got.StatusCode != 401 {
			t.Errorf("without a good token: %d", got.StatusCode)
		}
		if got := call(t, on, "GET", "/api/v1/me", "", "Authorization", "Bearer shopper"); got.StatusCode == 429 {
			t.Error("the shopper's other requests are limited too")
		}
		for range 40 {
			if got := upload(on, "/api/admin/v1/files?merchant_id=5", "boss"); got.StatusCode != 415 {
				t.Fatalf("an admin's: %d %s", got.StatusCode, got.Text)
			}
			if got := upload(off, "/api/v1/files", "shopper"); got.StatusCode != 415 {
				t.Fatalf("without limits: %d %s", got.StatusCode, got.Text)
			}
		}
		<-time.After(10 * time.Second)
		taken(1)
		<-time.After(600 * time.Second)
		taken(60)
	})
}

func TestLoginsAreNotCountedWithoutLimits(t *testing.T) {
	r := New(Deps{Auth: tokens{}, Operations: hollow()})
	if passed, last := attempts(t, r, "/api/admin/v1/auth/login", `{"username":"admin","password":"hunter2!"}`, "", 130); passed != 130 {
		t.Errorf("%d of 130 pass: %s", passed, last.Text)
	}
}

// Whoever has one address of IPv6 has all of its /64.
func TestANetworkSharesItsBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDemo(t, nil, Deps{TrustedProxies: []string{"192.0.2.1"}, Limits: Limits{Enabled: true, IP: 2}}) // six at once
		asked := 0
		status := func(from string) int {
			asked++
			return call(t, r, "POST", "/api/v1/demo", "", "X-Forwarded-For", from).StatusCode
		}
		for i := range 6 {
			if got := status(fmt.Sprintf("2001:db8:1:2:%x::1", i)); got == 429 {
				t.Fatalf("request %d is refused", asked)
			}
		}
		for from, refused := range map[string]bool{
			"2001:db8:1:2:ffff:ffff:ffff:ffff": true, "2001:db8:1:3::1": false, "203.0.113.7": false, "::ffff:203.0.113.8": false,
		} {
			if got := status(from); (got == 429) != refused {
				t.Errorf("%s: %d", from, got)
			}
		}
	})
}

// However many addresses come, the buckets stay few and are seldom looked through; who has one keeps it.
func TestBucketsAreBounded(t *testing.T) {
	b := (&limiter{enabled: true}).own(pace{perSecond: 1, burst: 3})
	now := time.UnixMilli(1_760_000_000_000)
	sweeps, swept, asked := 0, b.swept, 0
	ask := func(key string) bool {
		err := b.take(key, now)
		if err != nil && !fault.Is(err, fault.RateLimited) {
			t.Fatal(err)
		}
		if b.swept != swept {
			sweeps, swept = sweeps+1, b.swept
		}
		return err == nil
	}
	strangers := func(n int) (passed int) {
		for range n {
			asked++
			if ask(fmt.Sprintf("stranger %d", asked)) {
				passed++
			}
		}
		return passed
	}
	check := func(when string, wantBuckets, wantSweeps int) {
		t.Helper()
		if len(b.of) != wantBuckets || sweeps != wantSweeps {
			t.Errorf("%s: %d buckets, looked through %d times; want %d and %d", when, len(b.of), sweeps, wantBuckets, wantSweeps)
		}
	}
	ask("regular")
	if passed := strangers(bucketsKept - 1); passed != bucketsKept-1 {
		t.Errorf("%d have a bucket of their own", passed)
	}
	check("full", bucketsKept, 0)
	if passed := strangers(5000); passed != 3 {
		t.Errorf("%d of those without a bucket pass, want the three of the one they share", passed)
	}
	check("over", bucketsKept, 1)
	if !ask("regular") || !ask("regular") || ask("regular") {
		t.Error("who has a bucket is counted in another")
	}
	now = now.Add(time.Second - 1)
	strangers(5000)
	check("within the second", bucketsKept, 1)
	now = now.Add(1)
	strangers(5000)
	check("a second later", bucketsKept, 2)
	now = now.Add(2 * time.Second) // three after the strangers and the regular: their buckets are full now, and dropped past that
	strangers(1)
	check("none is idle long enough", bucketsKept, 3)
	now = now.Add(time.Second)
	strangers(5000)
	check("all were idle", 5000, 4)
}
