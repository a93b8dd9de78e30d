package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// hidden are the columns whose values no reply holds, whatever table they are in. An openid is no secret, but it is nobody's
// business outside of the shop either.
var hidden = regexp.MustCompile(`(^|_)(hash|cipher|token|jti|openid|unionid|secret|password)($|_)`)

// buttonPhone is the number that Ann gives by WeChat's phone button; only its masked form is ever shown.
const buttonPhone = "13712344321"

// Nothing that the database or the settings hold in secret is served: every GET of the document is asked by the platform's admin,
// a merchant's, shoppers and nobody, on a shop in which everything has a value, and must be answered to somebody.
func TestNothingSecretIsServed(t *testing.T) {
	eachTown(t, func(w *town) {
		w.furnish()
		w.hide()
		needles := w.needles()
		answered := map[string]bool{}
		for _, path := range w.gets() {
			for name, token := range map[string]string{"the platform": w.boss, "the merchant": w.alpha, "another merchant": w.beta, "the shopper": w.ann, "another shopper": w.bob, "nobody": ""} {
				status, text := w.read(token, path)
				if status >= 500 {
					w.Errorf("GET %s by %s: %d %s", path, name, status, text)
				}
				answered[path] = answered[path] || status == http.StatusOK
				for needle, what := range needles {
					if strings.Contains(text, needle) {
						w.Errorf("GET %s tells %s the value of %s", path, name, what)
					}
				}
			}
		}
		for path, ok := range answered {
			if !ok {
				w.Errorf("GET %s answered nobody, so its silence proves nothing", path)
			}
		}
	})
}

// hide puts something into every place that is to stay secret.
func (w *town) hide() {
	w.Helper()
	w.send(w.ann, "POST", "/api/v1/me/phone", map[string]any{"code": "demo-phone-" + buttonPhone}, 200)
	again := w.text(w.send("", "POST", "/api/v1/auth/login", map[string]any{"code": "demo-ann"}, 200), "token")
	w.send(again, "POST", "/api/v1/auth/logout", nil, 204)
	db := w.shop.Store.Read(w.Context())
	for _, change := range []string{
		"UPDATE orders SET claim_token = 'claim-token-of-an-order'", "UPDATE messages SET lease_token = 'lease-token-of-a-message'",
		"UPDATE shoppers SET unionid = 'unionid-of-a-shopper'",
	} {
		if err := db.Exec(change).Error; err != nil {
			w.Fatal(err)
		}
	}
	job := model.Job{
		ID: 4242, MerchantID: 1, Kind: model.JobRetime, State: model.JobDone, Actor: "admin:1", PolicyID: 1, PolicyVersion: 1, LeaseToken: "lease-token-of-a-job",
		CreatedAt: w.shop.Now(), UpdatedAt: w.shop.Now(), EndedAt: w.shop.Now(),
	}
	bill := model.Bill{ID: 20260131, State: model.BillNone, Version: 1, CreatedAt: w.shop.Now(), UpdatedAt: w.shop.Now(), EndedAt: w.shop.Now()}
	for _, row := range []any{&job, &bill} {
		if err := db.Create(row).Error; err != nil {
			w.Fatal(err)
		}
	}
	w.thing("/api/admin/v1/bills/{day}", "2026-01-31")
	w.thing("/api/admin/v1/timeouts/{kind}", "pay")
	merchants := w.send(w.boss, "GET", "/api/admin/v1/merchants", nil, 200)["list"].([]any)
	w.thing("/api/admin/v1/merchants/{id}", w.id(merchants[0].(map[string]any)))
}

// needles are what is to be found nowhere, by what it is: the values of hidden columns, and the secrets of the settings.
func (w *town) needles() map[string]string {
	w.Helper()
	out := map[string]string{}
	db := w.shop.Store.Read(w.Context())
	for _, table := range w.tables() {
		var rows []map[string]any
		if err := db.Table(table).Find(&rows).Error; err != nil {
			w.Fatal(err)
		}
		for _, row := range rows {
			for column, v := range row {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				if text := fmt.Sprint(v); hidden.MatchString(column) && len(text) >= 8 && v != nil {
					out[text] = table + "." + column
				}
			}
		}
	}
	for _, column := range []string{
		"admins.password_hash", "shoppers.phone_cipher", "shoppers.openid", "shoppers.unionid", "orders.claim_token", "messages.lease_token", "jobs.lease_token", "revoked_tokens.jti",
	} {
		if !slices.Contains(slices.Collect(maps.Values(out)), column) {
			w.Errorf("the shop holds no %s to look for", column)
		}
	}
	cfg := w.shop.Config
	issued, err := wechat.FromSandbox(w.Context(), w.shop.SandboxURL)
	if err != nil {
		w.Fatal(err)
	}
	out[issued.AppSecret], out[issued.APIv3Key], out[issued.PushAESKey], out[issued.PushToken] = "wechat.app_secret", "wechat.api_v3_key", "wechat.push_aes_key", "wechat.push_token"
	out[strings.Split(issued.MchPrivateKey, "\n")[1]] = "wechat.mch_private_key"
	out[cfg.Secret], out[townPassword], out[buttonPhone] = "secret", "a password", "the phone button's number"
	if cfg.MySQL.DSN != "" {
		out[cfg.MySQL.DSN] = "mysql.dsn"
	}
	for secret, what := range out {
		if len(secret) < 8 {
			w.Errorf("%s is too short to be looked for", what)
		}
	}
	return out
}

// gets lists the paths of every GET of the document, with real things in the places of parameters.
func (w *town) gets() (paths []string) {
	w.Helper()
	document := w.send("", "GET", "/openapi.json", nil, 200)["paths"].(map[string]any)
	for path, item := range document {
		// The bytes of a picture are those that somebody uploaded.
		if _, ok := item.(map[string]any)["get"]; !ok || path == "/files/{key}" {
			continue
		}
		if !strings.Contains(path, "{") {
			paths = append(paths, path+queries["GET "+path])
			continue
		}
		full, ok := w.concrete(path)
		if !ok {
			if full, ok = w.shared(path); !ok {
				w.Errorf("GET %s: there is no such thing; make one in furnish", path)
				continue
			}
		}
		paths = append(paths, full+queries["GET "+path])
	}
	return append(paths, "/metrics", "/readyz", "/openapi.json")
}

// shared fills the path of a thing that is nobody's in particular.
func (w *town) shared(path string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "/api/v1/products/{id}"); ok {
		return strings.Replace(w.values["/api/admin/v1/products/{id}"], "/api/admin/v1", "/api/v1", 1) + rest, true
	}
	return "", false
}

// read asks for a path and returns the whole answer, headers too.
func (w *town) read(token, path string) (int, string) {
	w.Helper()
	req := httptest.NewRequestWithContext(w.Context(), http.MethodGet, path, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	w.router.ServeHTTP(rec, req)
	var b strings.Builder
	_ = rec.Header().Write(&b)
	return rec.Code, b.String() + rec.Body.String()
}

// tables lists all tables.
func (w *town) tables() (tables []string) {
	w.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if w.shop.Store.Dialect() == store.MySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	if err := w.shop.Store.Read(w.Context()).Raw(query).Scan(&tables).Error; err != nil {
		w.Fatal(err)
	}
	slices.Sort(tables)
	return tables
}
