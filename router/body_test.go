package router

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/notify"
	"github.com/tidemall/tidemall/model"
)

// forever is when a test stops waiting for what must come by itself, whatever the machine is busy with.
const forever = time.Minute

// wire is a raw connection to a server.
type wire struct {
	net.Conn
	*testing.T

	in *bufio.Reader
}

func dial(t *testing.T, server *httptest.Server) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(forever)); err != nil {
		t.Fatal(err)
	}
	return &wire{conn, t, bufio.NewReader(conn)}
}

// ask sends a request's head that announces a body of size bytes, and the beginning of the body.
func (w *wire) ask(method, path, headers string, size int, body string) {
	w.Helper()
	if _, err := fmt.Fprintf(w, "%s %s HTTP/1.1\r\nHost: shop.test\r\n%sContent-Length: %d\r\n\r\n%s", method, path, headers, size, body); err != nil {
		w.Fatal(err)
	}
}

// status reads a reply whole and returns its status.
func (w *wire) status() int {
	w.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.Errorf("no reply: %v", err)
		return 0
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		w.Error(err)
	}
	return resp.StatusCode
}

// forgetful keeps no callbacks.
type forgetful struct{}

func (forgetful) Record(model.Callback)                     {}
func (forgetful) Refuse(model.CallbackKind, string, string) {}

// A body that is announced and does not come is waited for as long as a body may take: then the request is answered, whether its
// operation wanted the body or nobody did, and the connection is closed.
func TestABodyThatNeverComesIsAnswered(t *testing.T) {
	t.Parallel()
	callbacks := notify.New(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), forgetful{})
	nouns := hollow()
	nouns.Notify = &Notify{Pay: &notify.Pay{Shared: callbacks}, Refund: &notify.Refund{Shared: callbacks}, Push: &notify.Push{Shared: callbacks}}
	server := httptest.NewServer(New(Deps{Auth: tokens{}, Operations: nouns}))
	t.Cleanup(server.Close)
	const (
		json    = "Content-Type: application/json\r\n"
		shopper = "Authorization: Bearer shopper\r\n"
	)
	cases := []struct {
		method, path, headers string
		status                int
	}{
		{"POST", "/api/admin/v1/auth/login", json, 408},
		{"POST", "/api/v1/orders", json, 401},
		{"POST", "/api/v1/files", json + shopper, 415}, // no form: never read
		{"POST", "/api/v1/auth/logout", shopper, 408},  // wants no body
		{"POST", "/nope", "", 404},
		{"PUT", "/healthz", "", 405},
		{"GET", "/healthz", "", 408},
		{"GET", "/metrics", "", 200},
		{"POST", "/notify/wechat/pay", json, 400},
		{"POST", "/notify/wechat/refund", json, 400},
		{"POST", "/notify/wechat/push", json, 400},
	}
	wires := make([]*wire, len(cases))
	for i, c := range cases { // all at once: they wait for as long as a body may take
		wires[i] = dial(t, server)
		wires[i].ask(c.method, c.path, c.headers, 1000, `{"username":"admin", `)
	}
	for i, c := range cases {
		if got := wires[i].status(); got != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got, c.status)
		}
		if _, err := wires[i].in.ReadByte(); err != io.EOF {
			t.Errorf("%s %s: the connection is still there: %v", c.method, c.path, err)
		}
	}
}

// Whoever sends a body that is refused unread gets the refusal, not a reset in the middle of sending; and whoever waits to be asked for
// the body gets it at once.
func TestWhoeverIsStillSendingGetsTheReply(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(New(Deps{Auth: tokens{}, Operations: hollow()}))
	t.Cleanup(server.Close)
	const size = 16 << 20 // more than the buffers of a connection hold
	for _, c := range []struct {
		path   string
		status int
	}{{"/api/v1/orders", 401}, {"/api/admin/v1/auth/login", 413}, {"/nope", 404}} {
		w := dial(t, server)
		w.ask("POST", c.path, "Content-Type: application/json\r\n", size, "")
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Errorf("POST %s: %v", c.path, err)
			continue
		}
		if got := w.status(); got != c.status {
			t.Errorf("POST %s: %d, want %d", c.path, got, c.status)
		}
		w = dial(t, server)
		w.ask("POST", c.path, "Content-Type: application/json\r\nExpect: 100-continue\r\n", size, "")
		if got := w.status(); got != c.status {
			t.Errorf("POST %s, waiting: %d, want %d", c.path, got, c.status)
		}
	}
}

// A request that comes on the connection of a former one has nothing to do with the time of that one's body, which arrived behind
// its head; and an operation may last longer than its own body could.
func TestABodysTimeIsItsOwn(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 1), make(chan struct{})
	nobody := func(ctx context.Context, _ *struct{}) (*api.Empty, error) {
		entered <- struct{}{}
		<-release
		return nil, ctx.Err()
	}
	wanted := func(ctx context.Context, _ *demoInput) (*api.Empty, error) { return nobody(ctx, nil) }
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/nobody", anyone, nobody, doc{Summary: "Takes no body"})
		route(g, "POST", "/wanted", anyone, wanted, doc{Summary: "Takes a body"})
	}, Deps{})
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	const good = `{"items":[{"sku_id":1,"quantity":1}],"name":"abc"}`
	var wires [2]*wire
	for i, path := range []string{"/nobody", "/wanted"} {
		w := dial(t, server)
		w.ask("POST", "/nope", "", 2, "{}")
		if got := w.status(); got != 404 {
			t.Fatalf("the first request: %d", got)
		}
		w.ask("POST", "/api/v1"+path, "Content-Type: application/json\r\n", len(good), "")
		if _, err := io.WriteString(w, good); err != nil {
			t.Fatal(err)
		}
		<-entered
		wires[i] = w
	}
	<-time.After(defaultBodyTimeout + 500*time.Millisecond) // only real time can show that no deadline is left
	close(release)
	for i, w := range wires {
		if got := w.status(); got != 204 {
			t.Errorf("request %d: %d, want 204", i, got)
		}
		w.ask("GET", "/healthz", "", 0, "")
		if got := w.status(); got != 200 {
			t.Errorf("the request after request %d: %d, want 200", i, got)
		}
	}
}

// An operation that wants no body is told when its caller hangs up all the same, although one was sent.
func TestHangingUpEndsAnOperationThatWantsNoBody(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan struct{})
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/nobody", anyone, func(ctx context.Context, _ *struct{}) (*api.Empty, error) {
			close(entered)
			select {
			case <-ctx.Done():
				close(ended)
			case <-t.Context().Done():
			}
			return nil, nil
		}, doc{Summary: "Waits"})
	}, Deps{})
	server := httptest.NewServer(r)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	w := dial(t, server)
	w.ask("POST", "/api/v1/nobody", "", 2, "{}")
	<-entered
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(forever):
		t.Error("the operation works on for nobody")
	}
}
