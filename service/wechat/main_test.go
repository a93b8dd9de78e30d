package wechat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemall/tidemall/service/telemetry/leaktest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout/stall"
)

// The container of a shop may run in any zone; UTC is the one that breaks +08:00.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	goleak.VerifyTestMain(m)
}

// world is one simulated WeChat, one client of it and the shop's callback address.
type world struct {
	*testing.T
	sandbox *sandbox.Server
	config  wechat.Config
	client  *wechat.Client
	logs    *lockedBuffer
	shop    *shop
}

// lockedBuffer collects logs of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shop receives callbacks, answers with the next of its statuses (204 at last), and
// hands each request on.
type shop struct {
	url      string
	received chan *callback

	mu      sync.Mutex
	answers []int
}

type callback struct {
	path   string
	query  map[string][]string
	header http.Header
	body   []byte
}

func newShop(t *testing.T) *shop {
	s := &shop{received: make(chan *callback, 1000)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	status := http.StatusNoContent
	if len(s.answers) > 0 {
		status, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	w.WriteHeader(status)
	s.received <- &callback{r.URL.Path, r.URL.Query(), r.Header, body}
}

// answerNext makes the next callbacks be answered with these statuses.
func (s *shop) answerNext(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = statuses
}

func (w *world) nextCallback() *callback {
	w.Helper()
	c, came := stall.Receive(w.shop.received, 10*time.Second)
	if !came {
		w.Fatal("no callback came")
	}
	return c
}

func newWorld(t *testing.T, change ...func(*wechat.Options)) *world {
	t.Helper()
	w := &world{T: t, logs: new(lockedBuffer), shop: newShop(t)}
	sb, err := sandbox.New(sandbox.Options{DataDir: sandboxtest.DataDir(t), ResendScale: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	sb.Start()
	t.Cleanup(func() { sb.Stop() })
	w.sandbox = sb
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if w.config, err = wechat.FromSandbox(ctx, sb.URL()); err != nil {
		t.Fatal(err)
	}
	w.config.NotifyBaseURL = w.shop.url
	issued := w.config
	t.Cleanup(func() { leaktest.Check(t, w.logs.String(), issued) })
	if flavour != nil {
		w.settings(m{"platform": flavour.mode, "spelling": flavour.spelling})
		w.config.PayMode = flavour.mode
		if flavour.mode == wechat.PayCertificate {
			w.config.PayPublicKey, w.config.PayPublicKeyID = "", ""
		}
	}
	w.client = w.newClient(change...)
	return w
}

// flavour is the WeChat that newWorld plays; nil is the sandbox's own. The tests of this package run one after another.
var flavour *struct{ mode, spelling string }

func (w *world) newClient(change ...func(*wechat.Options)) *wechat.Client {
	w.Helper()
	opts := wechat.Options{Log: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, c := range change {
		c(&opts)
	}
	client, err := wechat.New(w.config, opts)
	if err != nil {
		w.Fatal(err)
	}
	return client
}

// control calls one of the sandbox's own operations and decodes its reply into into.
func (w *world) control(method, path string, body, into any) int {
	w.Helper()
	return sandboxtest.Control(w.T, w.sandbox.URL(), method, path, body, into)
}

type m = map[string]any

func (w *world) fault(f m) {
	w.Helper()
	var reply m
	if status := w.control("POST", "/sandbox/faults", f, &reply); status != 201 {
		w.Fatalf("fault refused: %d %v", status, reply)
	}
}

func (w *world) settings(change m) {
	w.Helper()
	var reply m
	if status := w.control("POST", "/sandbox/settings", change, &reply); status != 200 {
		w.Fatalf("settings refused: %v", reply)
	}
}

// calls lists what WeChat received.
func (w *world) calls(path string) []recordedCall {
	w.Helper()
	var reply struct{ List []recordedCall }
	w.control("GET", "/sandbox/calls?path="+path, nil, &reply)
	return reply.List
}

type recordedCall struct {
	Method, Path, Query, Fault string
	Body                       json.RawMessage
	Status                     int
}

const openidName = "ann"

// expires is one instant for the whole run: a repeated prepay must not differ.
var expires = time.Now().Add(30 * time.Minute)

func prepayRequest(no string) wechat.PrepayRequest {
	return wechat.PrepayRequest{
		OutTradeNo: no, Description: "Tide tea 潮汐茶", AmountFen: 100, OpenID: sandbox.OpenID(openidName),
		TimeExpire: expires,
	}
}

func (w *world) prepay(no string) string {
	w.Helper()
	id, err := w.client.Prepay(w.Context(), prepayRequest(no))
	if err != nil {
		w.Fatal(err)
	}
	return id
}

// payNow prepays and pays without a callback.
func (w *world) payNow(no string) {
	w.Helper()
	var reply m
	if status := w.control("POST", "/sandbox/pay", m{"prepay_id": w.prepay(no), "notify": m{"times": 0}}, &reply); status != 200 {
		w.Fatalf("pay refused: %v", reply)
	}
}

func wantKind(t testing.TB, err error, want wechat.Kind) {
	t.Helper()
	if got := wechat.KindOf(err); got != want {
		t.Errorf("kind %q, want %q (%v)", got, want, err)
	}
}

// secretFree fails when text holds any of the shop's secrets.
func (w *world) secretFree(text string) {
	w.Helper()
	for name, secret := range map[string]string{
		"app secret": w.config.AppSecret, "APIv3 key": w.config.APIv3Key, "push token": w.config.PushToken, "push key": w.config.PushAESKey,
		"private key": strings.Split(w.config.MchPrivateKey, "\n")[1],
	} {
		if strings.Contains(text, secret) {
			w.Errorf("the %s is in %s", name, text)
		}
	}
	for _, word := range []string{"access_token=", "secret=", "session_key", "js_code="} {
		if strings.Contains(text, word) {
			w.Errorf("%q is in %s", word, text)
		}
	}
}
