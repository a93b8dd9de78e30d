package notify_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemall/tidemall/api/notify"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

// While WeChat's certificates are not to be had nobody knows whose a callback is: it is to come again. Afterwards a stranger's is
// refused.
func TestCallbacksBeforeTheCertificates(t *testing.T) {
	bank, err := sandbox.New(sandbox.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	bank.Start()
	t.Cleanup(func() { _ = bank.Stop() })
	control := func(path, body string) {
		t.Helper()
		resp, err := http.Post(bank.URL()+path, "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode > 299 {
			t.Fatal(path, resp, err)
		}
		_ = resp.Body.Close()
	}
	cfg, err := wechat.FromSandbox(t.Context(), bank.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.NotifyBaseURL, cfg.PayMode = "http://127.0.0.1:1", wechat.PayCertificate
	ahead := time.Duration(0)
	client, err := wechat.New(cfg, wechat.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	engine := gin.New()
	engine.POST("/pay", (&notify.Pay{Shared: notify.New(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), callback.New(callback.Deps{Now: now})), WeChat: client}).Handle)
	want := func(status int) {
		t.Helper()
		req := httptest.NewRequest("POST", "/pay", strings.NewReader(`{}`))
		req.Header.Set("Wechatpay-Serial", "7B")
		got := httptest.NewRecorder()
		engine.ServeHTTP(got, req)
		if got.Code != status || !strings.Contains(got.Body.String(), "FAIL") {
			t.Errorf("%d %s, want %d", got.Code, got.Body, status)
		}
	}
	control("/sandbox/settings", `{"platform":"certificate"}`)
	control("/sandbox/faults", `{"path":"/v3/certificates","mode":"status","status":503,"count":1}`)
	want(503)
	want(503) // and WeChat is not called again for it
	ahead = time.Minute
	want(401)
}
