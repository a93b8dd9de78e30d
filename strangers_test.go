package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/router"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// town is a whole shop with two merchants and two shoppers. Everything in it belongs to the merchant Alpha or to Ann; Beta and
// Bob are the strangers.
type town struct {
	*testing.T

	shop   *app.App
	router *router.Router

	boss, alpha, beta, ann, bob string // tokens
	alphaID                     int64

	// values has for each path with parameters, up to its last one, the path of the thing of Alpha or Ann.
	values map[string]string
}

// warned keeps what is logged.
type warned struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *warned) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *warned) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

const townPassword = "correct horse"

func newTown(t *testing.T, env ...string) *town {
	t.Helper()
	cfg, _, err := config.Load("", append([]string{
		"TIDEMALL_DATA_DIR=" + t.TempDir(), "TIDEMALL_HTTP_ADDR=127.0.0.1:0", "TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:0",
		"TIDEMALL_ADMIN_PASSWORD=" + townPassword, "TIDEMALL_DEMO=false", "TIDEMALL_REDIS_ADDRS=none",
	}, env...))
	if err != nil {
		t.Fatal(err)
	}
	var warnings warned
	log := slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))
	shop, err := app.New(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if text := warnings.String(); strings.Contains(text, "missing in the route table") {
			t.Errorf("a table does not name a code that its operation gives: %s", text)
		}
		if text := warnings.String(); strings.Contains(text, "missing in the change log") {
			t.Errorf("an admin's operation changed something and did not record it: %s", text)
		}
	})
	if err := shop.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	deps, err := surface(shop, log)
	if err != nil {
		t.Fatal(err)
	}
	w := &town{T: t, shop: shop, router: router.New(deps), values: map[string]string{}}
	w.boss = w.text(w.send("", "POST", "/api/admin/v1/auth/login", map[string]any{"username": "admin", "password": townPassword}, 200), "token")
	w.ann = w.text(w.send("", "POST", "/api/v1/auth/login", map[string]any{"code": "demo-ann"}, 200), "token")
	w.bob = w.text(w.send("", "POST", "/api/v1/auth/login", map[string]any{"code": "demo-bob"}, 200), "token")
	w.alpha, w.beta = w.merchant("alpha"), w.merchant("beta")
	return w
}

// call sends a request and returns the status and the decoded body.
func (w *town) call(token, method, path string, body any, headers ...string) (int, map[string]any) {
	w.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			w.Fatal(err)
		}
	}
	req := httptest.NewRequestWithContext(w.Context(), method, path, bytes.NewReader(b))
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.router.ServeHTTP(rec, req)
	var out map[string]any
	_ = json.Unmarshal(rec.Body.Bytes(), &out)
	return rec.Code, out
}

// send is call with the status that must come back.
func (w *town) send(token, method, path string, body any, want int, headers ...string) map[string]any {
	w.Helper()
	status, out := w.call(token, method, path, body, headers...)
	if status != want {
		w.Fatalf("%s %s: %d %v, want %d", method, path, status, out, want)
	}
	return out
}

func (w *town) text(m map[string]any, key string) string {
	w.Helper()
	s, ok := m[key].(string)
	if !ok {
		w.Fatalf("no text %s in %v", key, m)
	}
	return s
}

func (w *town) id(m map[string]any) int64 {
	w.Helper()
	n, ok := m["id"].(float64)
	if !ok {
		w.Fatalf("no id in %v", m)
	}
	return int64(n)
}

// merchant makes a merchant with an owner and returns the owner's token.
func (w *town) merchant(name string) string {
	w.Helper()
	m := w.id(w.send(w.boss, "POST", "/api/admin/v1/merchants", map[string]any{"name": name}, 201))
	roles := w.send(w.boss, "GET", fmt.Sprintf("/api/admin/v1/roles?merchant_id=%d", m), nil, 200)["list"].([]any)
	role := w.id(roles[0].(map[string]any))
	w.send(w.boss, "POST", "/api/admin/v1/admins",
		map[string]any{"username": name, "password": townPassword, "role_id": role, "merchant_id": m}, 201)
	if name == "alpha" {
		w.alphaID = m
	}
	return w.text(w.send("", "POST", "/api/admin/v1/auth/login", map[string]any{"username": name, "password": townPassword}, 200), "token")
}

// anotherSession logs Alpha's owner in once more and returns the id of that session.
func (w *town) anotherSession() int64 {
	w.Helper()
	w.send("", "POST", "/api/admin/v1/auth/login", map[string]any{"username": "alpha", "password": townPassword}, 200)
	for _, s := range w.send(w.alpha, "GET", "/api/admin/v1/auth/sessions", nil, 200)["list"].([]any) {
		if one := s.(map[string]any); one["current"] == false {
			return w.id(one)
		}
	}
	w.Fatal("the other session is not listed")
	return 0
}

// thing says which thing a path with one parameter stands for.
func (w *town) thing(path string, value any) {
	w.values[path] = regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(path, fmt.Sprint(value))
}

// furnish makes one of everything for Alpha and Ann.
func (w *town) furnish() {
	w.Helper()
	const a, s = "/api/admin/v1", "/api/v1"
	role := w.id(w.send(w.alpha, "POST", a+"/roles", map[string]any{"name": "客服", "permissions": []string{"order:read"}}, 201))
	clerk := w.id(w.send(w.alpha, "POST", a+"/admins", map[string]any{"username": "clerk", "password": townPassword, "role_id": role}, 201))
	category := w.id(w.send(w.alpha, "POST", a+"/categories", map[string]any{"name": "女装"}, 201))
	product := w.send(w.alpha, "POST", a+"/products", map[string]any{
		"name": "连衣裙", "category_id": category, "skus": []any{map[string]any{"specs": map[string]string{}, "price_fen": 9900, "stock": 10}},
	}, 201)
	sku := w.id(product["skus"].([]any)[0].(map[string]any))
	w.send(w.alpha, "POST", fmt.Sprintf("%s/products/%d/publish", a, w.id(product)), nil, 200)
	coupon := w.id(w.send(w.alpha, "POST", a+"/coupons", map[string]any{
		"name": "立减", "kind": "amount", "amount_fen": 100, "threshold_fen": 0, "scope": "all", "total": 10, "per_shopper": 5,
		"starts_at": "2020-01-01T00:00:00Z", "ends_at": "2090-01-01T00:00:00Z",
	}, 201))
	freight := w.id(w.send(w.alpha, "POST", a+"/freight-rules", map[string]any{
		"name": "包邮", "kind": "piece", "regions": []string{}, "first_units": 1, "first_fen": 0, "step_units": 1, "step_fen": 0,
	}, 201))
	policy := w.id(w.send(w.alpha, "POST", a+"/timeout-policies", map[string]any{"stage": "pay", "duration_ms": 1_800_000, "merchant_id": w.alphaID}, 201))
	address := w.id(w.send(w.ann, "POST", s+"/addresses", map[string]any{
		"name": "安", "phone": "13812345678", "province": "上海市", "city": "上海市", "detail": "人民大道 200 号",
	}, 201))
	w.send(w.ann, "POST", s+"/cart/items", map[string]any{"sku_id": sku, "quantity": 1}, 200)
	group := w.send(w.ann, "GET", s+"/cart", nil, 200)["groups"].([]any)[0].(map[string]any)
	order := w.send(w.ann, "POST", s+"/orders", map[string]any{
		"items": []any{map[string]any{"sku_id": sku, "quantity": 1}}, "address_id": address, "expected_payable_fen": 9900,
	}, 201, "Idempotency-Key", "strangers-1")
	no := w.text(order, "no")
	w.send(w.ann, "POST", s+"/orders/"+no+"/pay", nil, 200)
	order = w.send(w.ann, "GET", s+"/orders/"+no, nil, 200)

	var row model.Order
	db := w.shop.Store.Read(w.Context())
	if err := db.Where("no = ?", no).Take(&row).Error; err != nil {
		w.Fatal(err)
	}
	now := w.shop.Now()
	anomaly := model.Anomaly{MerchantID: row.MerchantID, Kind: "amount", Ref: "r1", OrderID: row.ID, Detail: "{}", State: model.AnomalyOpen, Seen: 1, CreatedAt: now}
	message := model.Message{Topic: "order.changed", Key: "order:999", Seq: 1, MerchantID: row.MerchantID, Payload: "{}", State: model.MessageDead, CreatedAt: now}
	hold := model.ContentHold{Kind: model.HoldRemark, RefID: row.ID, MerchantID: row.MerchantID, ShopperID: row.ShopperID, Text: "放门口", Reason: model.HoldDoubtful, State: model.HoldHeld, Version: 1, CreatedAt: now}
	parcel := model.Parcel{ID: 1 << 40, OrderID: row.ID, MerchantID: row.MerchantID, Delivery: model.DeliveryExpress, Carrier: "SF", TrackingNo: "1", State: model.ParcelWaiting, CreatedAt: now}
	said := model.Review{
		MerchantID: row.MerchantID, OrderID: row.ID, ProductID: w.id(product), ShopperID: row.ShopperID, Specs: map[string]string{}, Rating: 5, Pictures: []model.Image{},
		State: model.ReviewVisible, Version: 1, CreatedAt: now,
	}
	job := model.Job{ID: 1 << 40, MerchantID: row.MerchantID, Kind: model.JobShipBatch, State: model.JobDone, Params: "{}", CreatedAt: now, EndedAt: now}
	for _, v := range []any{&anomaly, &message, &hold, &parcel, &said, &job} {
		if err := db.Create(v).Error; err != nil {
			w.Fatal(err)
		}
	}
	sale := model.Aftersale{
		ID: 1, OrderID: row.ID, MerchantID: row.MerchantID, ShopperID: row.ShopperID, Type: model.AftersaleReturn, State: model.AftersaleRequested,
		Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	if err := db.Create(&sale).Error; err != nil {
		w.Fatal(err)
	}
	for path, value := range map[string]any{
		a + "/aftersales/{id}": sale.ID, s + "/aftersales/{id}": sale.ID,
		a + "/roles/{id}": role, a + "/admins/{id}": clerk, a + "/auth/sessions/{id}": w.anotherSession(),
		a + "/categories/{id}": category, a + "/products/{id}": w.id(product), a + "/skus/{id}": sku, a + "/coupons/{id}": coupon,
		a + "/freight-rules/{id}": freight, a + "/timeout-policies/{id}": policy, a + "/orders/{no}": no, a + "/anomalies/{id}": anomaly.ID,
		a + "/content-holds/{id}": hold.ID, a + "/jobs/{id}": job.ID, a + "/reviews/{id}": said.ID, a + "/messages/{id}": message.ID, s + "/addresses/{id}": address, s + "/orders/{no}": no,
		s + "/cart/items/{id}":                   w.id(group["items"].([]any)[0].(map[string]any)),
		s + "/orders/by-trade-no/{out_trade_no}": w.text(order, "out_trade_no"),
	} {
		w.thing(path, value)
	}
	w.values[a+"/orders/{no}/parcels/{id}"] = fmt.Sprintf("%s/orders/%s/parcels/%d", a, no, parcel.ID)
	w.values[a+"/timeouts/{kind}/{key}"] = fmt.Sprintf("%s/timeouts/pay/%d", a, row.ID)
}

// shared are the routes whose things belong to nobody in particular: the shop window, what only the platform has, and the kinds of tasks,
// of which everybody sees their own.
var shared = []string{
	"GET /api/admin/v1/timeouts/{kind}/waiting",
	"PUT /api/admin/v1/subscribe-templates/{event}", "GET /api/admin/v1/bills/{day}", "POST /api/admin/v1/bills/{day}/run",
	"GET /api/v1/products/{id}", "GET /api/v1/products/{id}/reviews", "POST /api/v1/coupons/{id}/claim", "GET /files/{key}", "GET /api/admin/v1/merchants/{id}", "PUT /api/admin/v1/merchants/{id}",
}

// queries are what routes require besides the path.
var queries = map[string]string{"DELETE /api/admin/v1/timeout-policies/{id}": "?version=1", "DELETE /api/admin/v1/roles/{id}": "?version=1"}

// concrete fills a route's path with the thing of Alpha or Ann.
func (w *town) concrete(path string) (string, bool) {
	cut := strings.LastIndex(path, "}") + 1
	thing, ok := w.values[path[:cut]]
	return thing + path[cut:], ok
}

// digest sums up every row of the tables that only people change; when sessions were last seen is written by and by.
func (w *town) digest() string {
	w.Helper()
	db := w.shop.Store.Read(w.Context())
	sum := sha256.New()
	for _, table := range w.tables() {
		if slices.Contains([]string{"messages", "subscriber_receipts", "task_failures", "timeout_meta", "timeout_members", "timeout_shards", "timeout_lateness", "timeout_replicas", "settings", "admin_sessions"}, table) {
			continue
		}
		var rows []map[string]any
		if err := db.Table(table).Find(&rows).Error; err != nil {
			w.Fatal(err)
		}
		lines := make([]string, len(rows))
		for i, r := range rows {
			b, err := json.Marshal(r)
			if err != nil {
				w.Fatal(err)
			}
			lines[i] = string(b)
		}
		slices.Sort(lines)
		_, _ = fmt.Fprintln(sum, table, lines)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// eachTown runs the test on SQLite and on MySQL.
func eachTown(t *testing.T, test func(w *town)) {
	t.Run("sqlite", func(t *testing.T) { test(newTown(t)) })
	t.Run("mysql", func(t *testing.T) { test(newTown(t, "TIDEMALL_MYSQL_DSN="+testserver.MySQL(t))) })
}

// A stranger who names somebody else's thing learns nothing and changes nothing, on every route of the table; its owner gets
// something else than 404 by the same call.
// Case T68.
func TestT68_StrangersGet404OnEveryRoute(t *testing.T) {
	eachTown(t, func(w *town) {
		w.furnish()
		type try struct {
			route router.Route
			path  string
			owner string
		}
		var tries []try
		for _, route := range w.router.Routes() {
			name := route.Method + " " + route.Path
			if !strings.Contains(route.Path, "{") || slices.Contains(shared, name) {
				continue
			}
			path, ok := w.concrete(route.Path)
			if !ok {
				w.Errorf("%s: nobody owns such a thing; make one in furnish", name)
				continue
			}
			one := try{route, path + queries[name], w.alpha}
			if route.Who == router.Shopper {
				one.owner = w.ann
			}
			tries = append(tries, one)
		}
		for token, want := range map[string]int{w.alpha: 1, w.beta: 0} {
			if list := w.send(token, "GET", "/api/admin/v1/timeouts/pay/waiting", nil, 200)["list"].([]any); len(list) != want {
				w.Errorf("of Alpha's one order that waits to be paid, %d tasks are seen, want %d", len(list), want)
			}
		}
		before := w.digest()
		for _, x := range tries {
			name := x.route.Method + " " + x.route.Path
			stranger := w.beta
			if x.route.Who == router.Shopper {
				stranger = w.bob
			}
			if status, body := w.call(stranger, x.route.Method, x.path, x.route.Example, "Idempotency-Key", "strangers-2"); status != http.StatusNotFound {
				w.Errorf("%s by a stranger: %d %v, want 404", name, status, body)
			}
			if status, body := w.call("", x.route.Method, x.path, x.route.Example); status != http.StatusUnauthorized {
				w.Errorf("%s by nobody: %d %v, want 401", name, status, body)
			}
		}
		if w.digest() != before {
			w.Error("a stranger changed something")
		}
		for _, x := range tries {
			if status, body := w.call(x.owner, x.route.Method, x.path, x.route.Example, "Idempotency-Key", "strangers-3"); status == http.StatusNotFound || status == 401 || status == 403 || status >= 500 {
				w.Errorf("%s %s by its owner: %d %v, so the stranger's 404 proves nothing", x.route.Method, x.route.Path, status, body)
			}
		}
	})
}

// T39: whatever somebody else does, an order stays unpaid; only WeChat's word settles it.
func TestT39_NobodyElseMakesAnOrderPaid(t *testing.T) {
	eachTown(t, func(w *town) {
		w.furnish()
		path := w.values["/api/v1/orders/{no}"]
		for _, verb := range []string{"/pay", "/verify", "/cancel", "/confirm"} {
			w.send(w.bob, "POST", path+verb, nil, 404)
			w.send("", "POST", path+verb, nil, 401)
			w.send(w.alpha, "POST", path+verb, nil, 401)
		}
		for _, to := range []string{"/notify/wechat/pay", "/notify/wechat/refund"} {
			if status, body := w.call("", "POST", to, map[string]any{"event_type": "TRANSACTION.SUCCESS"}); status < 400 {
				w.Errorf("an unsigned callback to %s: %d %v", to, status, body)
			}
		}
		if got := w.send(w.ann, "POST", path+"/verify", nil, 200); got["status"] != "pending_payment" {
			w.Errorf("the owner's verify of an order that nobody paid: %v", got["status"])
		}
	})
}
