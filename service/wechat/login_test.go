package wechat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

// L02: WeChat leaves errcode out of a good login.
func TestL02_LoginReplyWithoutErrcode(t *testing.T) {
	w := newWorld(t)
	s, err := w.client.Login(t.Context(), "demo-ann")
	if err != nil || s.OpenID != sandbox.OpenID("ann") {
		t.Fatalf("%+v, %v", s, err)
	}
	again, err := w.client.Login(t.Context(), "demo-ann")
	if err != nil || again != s {
		t.Fatalf("the same name must be the same shopper: %+v, %v", again, err)
	}
	other, err := w.client.Login(t.Context(), "demo-bob")
	if err != nil || other.OpenID == s.OpenID {
		t.Fatalf("another name must be another shopper: %+v, %v", other, err)
	}
}

// L03: invalid and used codes.
func TestL03_BadLoginCodes(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Login(t.Context(), "real-looking-code")
	wantKind(t, err, wechat.KindBadCode)
	if e := asError(t, err); e.Code != "40029" {
		t.Errorf("code %q", e.Code)
	}
	if _, err := w.client.Login(t.Context(), "once-ann"); err != nil {
		t.Fatal(err)
	}
	_, err = w.client.Login(t.Context(), "once-ann")
	wantKind(t, err, wechat.KindBadCode)
	if e := asError(t, err); e.Code != "40163" {
		t.Errorf("code %q", e.Code)
	}
}

// The library pastes the code into a URL: nothing that changes the URL may reach it.
func TestLoginCodeCannotChangeTheRequest(t *testing.T) {
	w := newWorld(t)
	for _, code := range []string{"", "bad&appid=evil&x=1#f", "a b", "demo-ann%26", strings.Repeat("a", 129), "demo-ann\n"} {
		_, err := w.client.Login(t.Context(), code)
		wantKind(t, err, wechat.KindBadCode)
		_, err = w.client.Phone(t.Context(), code)
		wantKind(t, err, wechat.KindBadCode)
	}
	if calls := w.calls(""); len(calls) != 0 {
		t.Errorf("WeChat was called: %+v", calls)
	}
}

// L04: WeChat busy, silent or talking HTML is no verdict on the code.
func TestL04_WeChatAwayAtLogin(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		fault m
		want  wechat.Kind
	}{
		{m{"mode": "code", "code": -1}, wechat.KindBusy},
		{m{"mode": "code", "code": 45011}, wechat.KindBusy},
		{m{"mode": "timeout", "delay_ms": 1}, wechat.KindUnknown},
		{m{"mode": "html"}, wechat.KindUnknown},
		{m{"mode": "html", "status": 200}, wechat.KindUnknown},
		{m{"mode": "status", "status": 503}, wechat.KindUnknown},
		{m{"mode": "reset"}, wechat.KindUnknown},
		{m{"mode": "empty"}, wechat.KindUnknown},
	} {
		c.fault["path"] = "/sns/jscode2session"
		w.fault(c.fault)
		s, err := w.client.Login(t.Context(), "demo-ann")
		wantKind(t, err, c.want)
		if s != (wechat.Session{}) {
			t.Errorf("%v: a session came with the error: %+v", c.fault, s)
		}
		w.secretFree(err.Error())
	}
	w.secretFree(w.logs.String())
	if _, err := w.client.Login(t.Context(), "demo-ann"); err != nil {
		t.Fatal(err)
	}
}

// L11: the session key does not come out of this package, so nothing can pass it on.
func TestL11_TheSessionKeyStaysBehind(t *testing.T) {
	w := newWorld(t)
	s, err := w.client.Login(t.Context(), "demo-ann")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", s); text != fmt.Sprintf("{OpenID:%s UnionID:}", s.OpenID) {
		t.Errorf("a session holds more than who it is: %s", text)
	}
	w.secretFree(w.logs.String())
}

func TestConfigsDoNotPrintSecrets(t *testing.T) {
	w := newWorld(t)
	log := slog.New(slog.NewTextHandler(w.logs, nil))
	log.Info("config", "value", w.config)
	w.secretFree(w.logs.String())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		w.secretFree(fmt.Sprintf(verb, w.config))
	}
}

func TestLoginWithTheWrongSecretIsRejected(t *testing.T) {
	w := newWorld(t)
	w.config.AppSecret = strings.Repeat("0", 32)
	_, err := w.newClient().Login(t.Context(), "demo-ann")
	wantKind(t, err, wechat.KindSetup)
}

func TestPhone(t *testing.T) {
	w := newWorld(t)
	p, err := w.client.Phone(t.Context(), "demo-phone-13800000000")
	if err != nil || p != (wechat.Phone{CountryCode: "86", Number: "13800000000"}) {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = w.client.Phone(t.Context(), "demo-ann"); err != nil || len(p.Number) != 11 {
		t.Fatalf("a login code gives a made-up number: %+v, %v", p, err)
	}
	if _, err = w.client.Phone(t.Context(), "once-phone-13800000001"); err != nil {
		t.Fatal(err)
	}
	_, err = w.client.Phone(t.Context(), "once-phone-13800000001")
	wantKind(t, err, wechat.KindBadCode)
}

// L07: a token that WeChat refuses is fetched anew once; refused for ever, the call fails, to be tried again: the next token may be good.
func TestL07_RefusedTokenIsRetriedOnce(t *testing.T) {
	for _, code := range []int{40001, 42001, 40014} {
		w := newWorld(t)
		w.fault(m{"path": "/wxa/business/getuserphonenumber", "mode": "code", "code": code, "count": 1000})
		_, err := w.client.Phone(t.Context(), "demo-phone-13800000000")
		wantKind(t, err, wechat.KindUnavailable)
		if n := len(w.calls("/wxa/business/getuserphonenumber")); n != 2 {
			t.Errorf("%d: %d calls, want 2", code, n)
		}
		w.secretFree(err.Error())
		w.control("DELETE", "/sandbox/faults", nil, nil)
		w.fault(m{"path": "/wxa/business/getuserphonenumber", "mode": "code", "code": code})
		if _, err := w.client.Phone(t.Context(), "demo-phone-13800000000"); err != nil {
			t.Errorf("%d once must be got over: %v", code, err)
		}
	}
}

// L08: many cold calls share one token request; one of them giving up does not end it.
func TestL08_ColdCallsShareOneTokenRequest(t *testing.T) {
	w := newWorld(t)
	w.fault(m{"path": "/cgi-bin/stable_token", "mode": "delay", "delay_ms": 200})
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 100 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%10 == 0 {
				cancel()
			}
			defer cancel()
			if _, err := w.client.Phone(ctx, "demo-phone-13800000000"); err != nil && !errors.Is(err, context.Canceled) {
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if n := len(w.calls("/cgi-bin/stable_token")); n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
}

// Callers that waited for the same token request each have an error of their own: what one of them adds to it is not the others'.
func TestCallersOfOneTokenRequestShareNoError(t *testing.T) {
	w := newWorld(t)
	w.fault(m{"path": "/cgi-bin/stable_token", "mode": "timeout", "delay_ms": 200, "count": -1})
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for range cap(errs) {
		all.Go(func() {
			_, err := w.client.Phone(t.Context(), "demo-phone-13800000000")
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	seen := map[*wechat.Error]bool{}
	for err := range errs {
		e := asError(t, err)
		if seen[e] {
			t.Fatal("two callers were given the same error")
		}
		seen[e] = true
	}
}

// L09: Redis only saves requests. Garbage in it and its absence change no answer.
func TestL09_TokenWithoutAUsableRedis(t *testing.T) {
	mini := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{
		Addr: mini.Addr(), ContextTimeoutEnabled: true, DialerRetries: 1, MaxRetries: -1, DialTimeout: 300 * time.Millisecond,
	})
	t.Cleanup(func() { rdb.Close() })
	withRedis := func(o *wechat.Options) { o.Redis, o.KeyPrefix = rdb, "shop1:" }
	w := newWorld(t, withRedis)
	key := "shop1:wechat:token:" + w.config.AppID
	phone := func(c *wechat.Client) {
		t.Helper()
		if _, err := c.Phone(t.Context(), "demo-phone-13800000000"); err != nil {
			t.Error(err)
		}
	}
	requests := func(want int) {
		t.Helper()
		if n := len(w.calls("/cgi-bin/stable_token")); n != want {
			t.Errorf("%d token requests, want %d", n, want)
		}
	}
	for _, garbage := range []string{"", "garbage", "{}", `{"token":5}`, `{"token":"","expires_at_ms":99999999999999}`, `{"token":"a b","expires_at_ms":99999999999999}`} {
		mini.Set(key, garbage)
		phone(w.newClient(withRedis))
	}
	requests(6)
	mini.Del(key)
	mini.Lpush(key, "of another type")
	phone(w.newClient(withRedis))
	requests(7)
	phone(w.newClient(withRedis)) // another replica takes it from Redis
	requests(7)
	mini.Set(key, fmt.Sprintf(`{"token":"looks-good-but-is-not","expires_at_ms":%d}`, time.Now().Add(time.Hour).UnixMilli()))
	phone(w.newClient(withRedis)) // refused by WeChat, fetched anew
	requests(8)
	cold := w.newClient(withRedis)
	phone(w.client)
	mini.Close()
	phone(w.client) // from memory
	phone(cold)     // fetched, kept in memory
	phone(cold)
	requests(9)
	if ttl := 2 * time.Hour; mini.TTL(key) > ttl {
		t.Errorf("the token outlives itself in Redis: %v", mini.TTL(key))
	}
}

func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	w := newWorld(t, func(o *wechat.Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	phone := func(want int) {
		t.Helper()
		if _, err := w.client.Phone(t.Context(), "demo-phone-13800000000"); err != nil {
			t.Fatal(err)
		}
		if n := len(w.calls("/cgi-bin/stable_token")); n != want {
			t.Errorf("%d token requests, want %d", n, want)
		}
	}
	phone(1)
	mu.Lock()
	now = now.Add(114 * time.Minute)
	mu.Unlock()
	phone(1)
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()
	phone(2)
}

// A redirect would carry secrets to wherever it points.
func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	redirect := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer redirect.Close()
	w := newWorld(t)
	w.config.SandboxURL = redirect.URL
	c := w.newClient()
	_, err := c.Login(t.Context(), "demo-ann")
	wantKind(t, err, wechat.KindUnknown)
	_, err = c.Query(t.Context(), "T00000001")
	wantKind(t, err, wechat.KindUnknown)
	if followed {
		t.Error("a redirect was followed")
	}
}

func TestAStalledReplyEndsWithTheLimit(t *testing.T) {
	w := newWorld(t, func(o *wechat.Options) { o.CallLimit = 200 * time.Millisecond })
	w.fault(m{"path": "/v3/pay/transactions/jsapi", "mode": "timeout"})
	start := time.Now()
	_, err := w.client.Prepay(t.Context(), prepayRequest("T00000001"))
	wantKind(t, err, wechat.KindUnknown)
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func asError(t *testing.T, err error) *wechat.Error {
	t.Helper()
	var e *wechat.Error
	if !errors.As(fmt.Errorf("wrapped: %w", err), &e) {
		t.Fatalf("%T is not a *wechat.Error", err)
	}
	return e
}
