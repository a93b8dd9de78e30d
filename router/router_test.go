package router

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

// tokens is an authenticator for tests: "shopper", "admin" (no permission), "clerk" (order:read), "boss" (of the platform).
type tokens struct{}

func (tokens) AuthenticateShopper(_ context.Context, token string) (api.ShopperIdentity, error) {
	if token != "shopper" {
		return api.ShopperIdentity{}, fault.New(fault.TokenInvalid)
	}
	return api.ShopperIdentity{ID: 7}, nil
}

func (tokens) AuthenticateAdmin(_ context.Context, token string, named int64) (api.AdminIdentity, error) {
	switch token {
	case "admin":
		return api.AdminIdentity{ID: 1, MerchantID: 5}, nil
	case "clerk":
		return api.AdminIdentity{ID: 2, MerchantID: 5, Permissions: []account.Permission{account.OrderRead}}, nil
	case "boss":
		var all []account.Permission
		for _, p := range account.Permissions() {
			all = append(all, p.Permission)
		}
		return api.AdminIdentity{ID: 3, Platform: true, MerchantID: named, Named: named, Permissions: all}, nil
	}
	return api.AdminIdentity{}, fault.New(fault.TokenInvalid)
}

type demoItem struct {
	SKUID    int64 `json:"sku_id" minimum:"1" maximum:"9007199254740991"`
	Quantity int64 `json:"quantity" minimum:"1" maximum:"999"`
}

type demoBody struct {
	Items []demoItem  `json:"items" minItems:"1" maxItems:"3"`
	Name  string      `json:"name" minLength:"2" maxLength:"4"`
	Kind  string      `json:"kind,omitempty" enum:"a,b"`
	At    *model.Time `json:"at,omitempty"`
}

type demoInput struct {
	api.DeepInput
	Body demoBody
}

type demoReply struct {
	Name    string     `json:"name"`
	At      model.Time `json:"at,omitempty"`
	Shopper int64      `json:"shopper"`
}

func demo(context.Context, *demoInput) (*api.Reply[demoReply], error) {
	return api.Body(demoReply{Name: "ok", At: 1}), nil
}

type orderReply struct {
	No string `json:"no"`
}

// newDemo serves operations made for these tests.
func newDemo(t *testing.T, extra func(*group), d Deps) *Router {
	t.Helper()
	d.Auth = tokens{}
	r := New(d)
	g := r.group("/api/v1")
	route(g, "POST", "/demo", anyone, demo, doc{Summary: "Demo"})
	route(g, "GET", "/orders/{no}", shopper, func(_ context.Context, in *api.OrderPath) (*api.Reply[orderReply], error) {
		return api.Body(orderReply{in.No}), nil
	}, doc{Summary: "An order"})
	route(g, "POST", "/orders/quote", shopper, demo, doc{Summary: "Quote"})
	if extra != nil {
		extra(g)
	}
	return r
}

type reply struct {
	*http.Response

	Body map[string]any
	Text string
}

func call(t *testing.T, h http.Handler, method, path, body string, headers ...string) reply {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	out := reply{Response: w.Result(), Text: w.Body.String()}
	_ = json.Unmarshal(w.Body.Bytes(), &out.Body)
	return out
}

func TestErrorsNameTheFieldAndNeverEchoTheValue(t *testing.T) {
	r := newDemo(t, nil, Deps{})
	const good = `{"items":[{"sku_id":1,"quantity":1}],"name":"abc"`
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		errors string // "field code" joined by a comma
	}{
		"right":             {good + `}`, 200, "", ""},
		"no body":           {``, 400, "missing_body", ""},
		"not JSON":          {`{"items":`, 400, "malformed_body", ""},
		"trailing":          {good + `}x`, 400, "malformed_body", ""},
		"null":              {`null`, 422, "validation_failed", " wrong_type"},
		"missing field":     {`{"items":[{"sku_id":1,"quantity":1}]}`, 422, "validation_failed", "name required"},
		"missing deep":      {`{"items":[{"sku_id":1}],"name":"abc"}`, 422, "validation_failed", "items[0].quantity required"},
		"unknown":           {good + `,"secret":"hunter2"}`, 422, "validation_failed", "secret unknown_field"},
		"wrong case":        {`{"Items":[{"sku_id":1,"quantity":1}],"items":[{"sku_id":1,"quantity":1}],"name":"abc"}`, 422, "validation_failed", "Items unknown_field"},
		"negative":          {`{"items":[{"sku_id":1,"quantity":-5}],"name":"abc"}`, 422, "validation_failed", "items[0].quantity out_of_range"},
		"fraction":          {`{"items":[{"sku_id":1,"quantity":1.5}],"name":"abc"}`, 422, "validation_failed", "items[0].quantity wrong_type"},
		"integral fraction": {`{"items":[{"sku_id":1,"quantity":2.0}],"name":"abc"}`, 422, "validation_failed", "items.quantity wrong_type"},
		"huge":              {`{"items":[{"sku_id":99999999999999999999,"quantity":1}],"name":"abc"}`, 422, "validation_failed", "items[0].sku_id out_of_range"},
		"text for number":   {`{"items":[{"sku_id":"1","quantity":1}],"name":"abc"}`, 422, "validation_failed", "items[0].sku_id wrong_type"},
		"short":             {`{"items":[{"sku_id":1,"quantity":1}],"name":"hunter2"}`, 422, "validation_failed", "name wrong_length"},
		"no items":          {`{"items":[],"name":"abc"}`, 422, "validation_failed", "items wrong_length"},
		"choice":            {good + `,"kind":"hunter2"}`, 422, "validation_failed", "kind not_a_choice"},
		"bad time":          {good + `,"at":"yesterday"}`, 422, "validation_failed", "at wrong_format"},
		"good time":         {good + `,"at":"2026-01-31T08:00:00+08:00"}`, 200, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, r, "POST", "/api/v1/demo", c.body, "Content-Type", "application/json")
			if got.StatusCode != c.status {
				t.Fatalf("status %d, want %d: %s", got.StatusCode, c.status, got.Text)
			}
			if c.status == 200 {
				if diff := cmp.Diff(`{"name":"ok","at":"1970-01-01T00:00:00.001Z","shopper":0}`, strings.TrimSpace(got.Text)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if ct := got.Header.Get("Content-Type"); ct != "application/problem+json" {
				t.Errorf("content type %q", ct)
			}
			if got.Body["code"] != c.code || got.Body["request_id"] == "" || got.Body["request_id"] != got.Header.Get("X-Request-Id") {
				t.Errorf("got %s, want code %s and the request id", got.Text, c.code)
			}
			if strings.Contains(got.Text, "hunter2") {
				t.Errorf("a value is echoed: %s", got.Text)
			}
			if s := fieldsOf(got.Body); s != c.errors {
				t.Errorf("errors %q, want %q", s, c.errors)
			}
		})
	}
}

func fieldsOf(body map[string]any) string {
	var out []string
	list, _ := body["errors"].([]any)
	for _, e := range list {
		m := e.(map[string]any)
		field, named := m["field"].(string)
		if named && field == "" {
			field = "an empty field" // to be absent where it is the whole body
		}
		out = append(out, field+" "+m["code"].(string))
		if m["message"] == "" {
			out = append(out, "without message")
		}
	}
	return strings.Join(out, ",")
}

func TestProblemsOfThePathTheQueryAndTheMethod(t *testing.T) {
	r := newDemo(t, nil, Deps{})
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/api/v1/orders/T202601310123456789AB", 200, ""},
		{"GET", "/api/v1/orders/quote", 404, "not_found"}, // a write route's path that is also a read path
		{"GET", "/api/v1/orders/T20260131012345678IAB", 404, "not_found"},
		{"GET", "/api/v1/demo", 405, "method_not_allowed"},
		{"DELETE", "/api/v1/orders/quote", 405, "method_not_allowed"},
		{"GET", "/api/v1/nothing", 404, "not_found"},
		{"GET", "/api/v1/demo/", 404, "not_found"},
		{"POST", "/notify/nothing", 404, "not_found"},
	} {
		got := call(t, r, c.method, c.path, "", "Authorization", "Bearer shopper")
		if got.StatusCode != c.status || (c.code != "" && got.Body["code"] != c.code) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, got.StatusCode, got.Text, c.status, c.code)
		}
	}
	body := `{"items":[{"sku_id":1,"quantity":1}],"name":"abc"}`
	for query, want := range map[string]string{
		"page=0": "page out_of_range", "limit=101": "limit out_of_range", "page=x": "page wrong_type", "after=@": "after wrong_format",
		"limit=9999999999999999999": "limit wrong_type",
	} {
		got := call(t, r, "POST", "/api/v1/demo?"+query, body, "Content-Type", "application/json")
		if got.StatusCode != 422 || fieldsOf(got.Body) != want {
			t.Errorf("%s: %d %s, want 422 with %q", query, got.StatusCode, got.Text, want)
		}
	}
	got := call(t, r, "POST", "/api/v1/demo", body, "Content-Type", "text/plain")
	if got.StatusCode != 415 || got.Body["code"] != "unsupported_media_type" {
		t.Errorf("text/plain: %d %s", got.StatusCode, got.Text)
	}
}

// A media type is the same in any case (RFC 9110, 8.3.1), and space around it means nothing.
func TestMediaTypesAreFolded(t *testing.T) {
	r := newDemo(t, nil, Deps{})
	for contentType, status := range map[string]int{
		"": 200, "application/json": 200, "APPLICATION/JSON": 200, "Application/Json; charset=UTF-8": 200, "application/json ; charset=utf-8": 200,
		"TEXT/PLAIN": 415, "application/jsonp": 415,
	} {
		got := call(t, r, "POST", "/api/v1/demo", `{"items":[{"sku_id":1,"quantity":1}],"name":"abc"}`, "Content-Type", contentType)
		if got.StatusCode != status || status == 415 && !strings.Contains(got.Text, "请使用 application/json") {
			t.Errorf("%q: %d %s, want %d", contentType, got.StatusCode, got.Text, status)
		}
	}
	if got := call(t, r, "POST", "/api/v1/demo", `{`, "Content-Type", "application/json"); got.Body["detail"] != "请求体不是合法的 JSON" {
		t.Errorf("half an object: %s", got.Text)
	}
}

// What a number may be is written as a person would, without an exponent.
func TestBoundsAreWrittenInFull(t *testing.T) {
	type body struct {
		Fen   int64   `json:"fen" minimum:"-20000000" maximum:"10000000000"`
		Less  int64   `json:"less" maximum:"999999999"`
		Most  int64   `json:"most" maximum:"9007199254740991"`
		Share float64 `json:"share" minimum:"0.00001" multipleOf:"0.00001"`
		Step  int64   `json:"step" multipleOf:"1000000000000000000000"`
	}
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/bounds", anyone, func(context.Context, *struct{ Body body }) (*api.Empty, error) { return nil, nil }, doc{Summary: "Bounds"})
	}, Deps{})
	for sent, want := range map[string]string{
		`"fen":10000000001`: "必须 ≤ 10000000000", `"fen":-20000001`: "必须 ≥ -20000000", `"less":1000000000`: "必须 ≤ 999999999",
		`"most":9007199254740992`: "必须 ≤ 9007199254740991", `"share":0`: "必须 ≥ 0.00001", `"step":5`: "必须是 1000000000000000000000 的倍数",
	} {
		name, _, _ := strings.Cut(sent, ":")
		good := map[string]string{`"fen"`: `"fen":0`, `"less"`: `"less":0`, `"most"`: `"most":0`, `"share"`: `"share":0.00001`, `"step"`: `"step":0`}
		good[name] = sent
		got := call(t, r, "POST", "/api/v1/bounds", "{"+strings.Join(slices.Collect(maps.Values(good)), ",")+"}", "Content-Type", "application/json")
		if got.StatusCode != 422 || !strings.Contains(got.Text, `"message":"`+want+`"`) {
			t.Errorf("%s: %d %s, want %s", sent, got.StatusCode, got.Text, want)
		}
	}
}

func TestLanguageFollowsAcceptLanguage(t *testing.T) {
	r := newDemo(t, nil, Deps{})
	for header, english := range map[string]bool{
		"": false, "zh-CN": false, "en": true, "en-US,en;q=0.9,zh;q=0.8": true, "zh-CN,zh;q=0.9,en;q=0.8": false, "fr": false,
		"fr,en;q=0.5": true, "nonsense;;": false, "*": false,
	} {
		got := call(t, r, "GET", "/api/v1/orders/T202601310123456789AB", "", "Accept-Language", header)
		want := fault.Lookup(fault.TokenRequired).Text.ZH
		if english {
			want = fault.Lookup(fault.TokenRequired).Text.EN
		}
		if got.Body["title"] != want || got.Body["detail"] != want {
			t.Errorf("%q: %s", header, got.Text)
		}
	}
}

func TestErrorsOfServices(t *testing.T) {
	next := error(nil)
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/fail", anyone, func(context.Context, *struct{}) (*api.Empty, error) { return nil, next }, doc{Summary: "Fails"})
	}, Deps{})
	for _, c := range []struct {
		err    error
		status int
		want   string // part of the body
	}{
		{nil, 204, ""},
		{errors.New("password=hunter2"), 500, `"code":"internal_error"`},
		{fault.Wrap(fault.DatabaseUnavailable, errors.New("hunter2")).After(1500 * time.Millisecond), 503, `"retry_after_ms":1500`},
		{fault.New(fault.RateLimited), 429, `"retry_after_ms":1000`},
		{fault.New(fault.PriceChanged).Put("quote", map[string]int{"payable_fen": 5}).Put("status", 1), 409, `"quote":{"payable_fen":5}`},
		{fault.New(fault.StockInsufficient).With("items[1].quantity", fault.FieldStock, "库存仅剩 3 件", "only 3 left"), 409, `"errors":[{"field":"items[1].quantity","code":"stock_short","message":"库存仅剩 3 件"}]`},
		{fault.New(fault.IdempotencyKeyReused), 422, `"idempotency_key_reused"`},
	} {
		next = c.err
		got := call(t, r, "POST", "/api/v1/fail", "")
		if got.StatusCode != c.status || !strings.Contains(got.Text, c.want) || strings.Contains(got.Text, "hunter2") {
			t.Errorf("%v: %d %s, want %d with %s", c.err, got.StatusCode, got.Text, c.status, c.want)
		}
		if s, ok := got.Body["status"].(float64); c.status >= 400 && (!ok || int(s) != c.status) {
			t.Errorf("status in the body: %s", got.Text)
		}
		if after := got.Header.Get("Retry-After"); (c.status == 503 && after != "2") || (c.status == 429 && after != "1") {
			t.Errorf("Retry-After %q of %d", after, c.status)
		}
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/panic", anyone, func(context.Context, *struct{}) (*api.Empty, error) { panic("hunter2") }, doc{Summary: "Panics"})
	}, Deps{})
	got := call(t, r, "POST", "/api/v1/panic", "")
	if got.StatusCode != 500 || got.Body["code"] != "internal_error" || strings.Contains(got.Text, "hunter2") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

// A body over the limit is refused whether it announces its length or not, and on operations that read none.
func TestBodyOverTheLimit(t *testing.T) {
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/nobody", anyone, func(context.Context, *struct{}) (*api.Empty, error) { return nil, nil }, doc{Summary: "Takes no body"})
	}, Deps{})
	server := httptest.NewServer(r)
	defer server.Close()
	fill := func(n int) string {
		head := `{"items":[{"sku_id":1,"quantity":1}],"name":"abc"`
		return head + strings.Repeat(" ", n-len(head)-1) + "}"
	}
	for _, c := range []struct {
		path    string
		size    int
		chunked bool
		status  int
	}{
		{"/api/v1/demo", 1 << 20, false, 200},
		{"/api/v1/demo", 1 << 20, true, 200},
		{"/api/v1/demo", 1<<20 + 1, false, 413},
		{"/api/v1/demo", 1<<20 + 1, true, 413},
		{"/api/v1/nobody", 1<<20 + 1, false, 413},
		{"/api/v1/nobody", 1<<20 + 1, true, 413},
	} {
		var body io.Reader = strings.NewReader(fill(c.size))
		if c.chunked {
			body = io.MultiReader(body)
		}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+c.path, body)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%+v: %d %s", c, resp.StatusCode, text)
		}
	}
}

func TestSlowBodyIs408AndAFastOneLeavesNoDeadline(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := newDemo(t, func(g *group) {
		route(g, "POST", "/slow", anyone, func(ctx context.Context, _ *demoInput) (*api.Empty, error) {
			close(entered)
			<-release
			return nil, ctx.Err()
		}, doc{Summary: "Works longer than a body may take", BodyTimeout: 100 * time.Millisecond})
	}, Deps{})
	server := httptest.NewServer(r)
	defer server.Close()
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() { _, _ = pw.Write([]byte(`{"items":`)) }()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/v1/slow", pr)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 408 || !strings.Contains(string(text), "slow_body") {
		t.Errorf("slow body: %d %s", resp.StatusCode, text)
	}
	done := make(chan int, 1)
	fast := func() {
		resp, err := http.Post(server.URL+"/api/v1/slow", "application/json", strings.NewReader(`{"items":[{"sku_id":1,"quantity":1}],"name":"abc"}`))
		if err != nil {
			done <- 0
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}
	for tries, reached := 0, false; !reached; tries++ {
		go fast()
		select {
		case <-entered:
			reached = true
		case status := <-done:
			if status != 408 || tries == 20 { // where the machine stood still the fast body was a slow one
				t.Fatalf("a fast body: %d", status)
			}
		case <-time.After(time.Minute):
			t.Fatal("the operation was not called")
		}
	}
	<-time.After(250 * time.Millisecond) // past the body's deadline: only real time can show that it was lifted
	close(release)
	if status := <-done; status != 204 {
		t.Errorf("an operation that outlives the body's deadline: %d", status)
	}
}

func TestWhoMayCall(t *testing.T) {
	r := newDemo(t, func(g *group) {
		who := func(ctx context.Context, _ *struct{}) (*api.Reply[demoReply], error) {
			return api.Body(demoReply{Name: api.Caller(ctx), Shopper: api.Shopper(ctx)}), nil
		}
		a := g.router.group(adminPrefix)
		route(g, "GET", "/visitor", visitor, who, doc{Summary: "v"})
		route(g, "GET", "/shopper", shopper, who, doc{Summary: "s"})
		route(a, "GET", "/merchant", merchant(account.OrderRead), who, doc{Summary: "m"})
		route(a, "GET", "/admin", staff(""), who, doc{Summary: "a"})
		route(a, "GET", "/platform", platform(account.MerchantRead), who, doc{Summary: "p"})
	}, Deps{})
	const a = "/api/admin/v1"
	for _, c := range []struct {
		path, token string
		status      int
		code        string
	}{
		{"/api/v1/visitor", "", 200, ""},
		{"/api/v1/visitor", "Bearer gone", 200, ""},
		{"/api/v1/visitor", "Bearer shopper", 200, "shopper:7"},
		{"/api/v1/shopper", "", 401, "token_required"},
		{"/api/v1/shopper", "Bearer gone", 401, "token_invalid"},
		{"/api/v1/shopper", "Basic shopper", 401, "token_invalid"},
		{"/api/v1/shopper", "Bearer boss", 401, "token_invalid"},
		{"/api/v1/shopper", "bearer shopper", 200, "shopper:7"},
		{a + "/merchant", "Bearer shopper", 401, "token_invalid"},
		{a + "/merchant", "Bearer admin", 403, "permission_denied"},
		{a + "/merchant", "Bearer clerk", 200, "admin:2"},
		{a + "/merchant", "Bearer boss", 404, "not_found"}, // no merchant to act for
		{a + "/merchant?merchant_id=5", "Bearer boss", 200, "admin:3"},
		{a + "/merchant?merchant_id=x", "Bearer boss", 422, "validation_failed"},
		{a + "/admin", "Bearer admin", 200, "admin:1"},
		{a + "/platform", "Bearer clerk", 403, "permission_denied"},
		{a + "/platform", "Bearer boss", 200, "admin:3"},
	} {
		got := call(t, r, "GET", c.path, "", "Authorization", c.token)
		if got.StatusCode != c.status || (c.status != 200 && got.Body["code"] != c.code) || (c.status == 200 && got.Body["name"] != c.code) {
			t.Errorf("%s as %q: %d %s, want %d %s", c.path, c.token, got.StatusCode, got.Text, c.status, c.code)
		}
		if c.status == 401 && got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s as %q: no WWW-Authenticate", c.path, c.token)
		}
	}
}

func TestRateLimitCountsCallersApart(t *testing.T) {
	r := newDemo(t, nil, Deps{Limits: Limits{Enabled: true, Shopper: 1, IP: 2}})
	path := "/api/v1/orders/T202601310123456789AB"
	var last reply
	for i := range 4 {
		last = call(t, r, "GET", path, "", "Authorization", "Bearer shopper")
		if i < 3 && last.StatusCode != 200 {
			t.Errorf("request %d: %d", i, last.StatusCode)
		}
	}
	if last.StatusCode != 429 || last.Header.Get("Retry-After") == "" || last.Body["retry_after_ms"] == nil || last.Body["code"] != "rate_limited" {
		t.Errorf("the fourth of three at once: %d %s", last.StatusCode, last.Text)
	}
	if got := call(t, r, "GET", path, ""); got.StatusCode != 401 {
		t.Errorf("another caller: %d", got.StatusCode)
	}
	for range 50 {
		if got := call(t, r, "GET", "/healthz", ""); got.StatusCode != 200 {
			t.Fatalf("healthz: %d", got.StatusCode)
		}
	}
}

// headAsGet asks by GET and by HEAD and wants the same status and headers, and no body of HEAD (RFC 9110, 9.3.2).
func headAsGet(t *testing.T, h http.Handler, path string) {
	t.Helper()
	server := httptest.NewServer(h) // it is what leaves the body out
	defer server.Close()
	ask := func(method string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", "head-and-get")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Header.Del("Date") // a second may have begun
		return resp, string(body)
	}
	get, sent := ask("GET")
	head, none := ask("HEAD")
	if diff := cmp.Diff(get.Header, head.Header); head.StatusCode != get.StatusCode || head.ContentLength != int64(len(sent)) || none != "" || diff != "" {
		t.Errorf("HEAD %s: %d, length %d, body %q; GET: %d with %d bytes; %s", path, head.StatusCode, head.ContentLength, none, get.StatusCode, len(sent), diff)
	}
}

func TestStartingAnswersEverythingAlike(t *testing.T) {
	r := Starting()
	for _, c := range []struct{ method, path string }{
		{"GET", "/healthz"}, {"HEAD", "/readyz"}, {"GET", "/metrics"}, {"POST", "/notify/wechat/pay"}, {"DELETE", "/api/v1/addresses/1"}, {"GET", "/"},
	} {
		got := call(t, r, c.method, c.path, "", "Accept-Language", "en")
		if got.StatusCode != 503 || got.Body["code"] != "starting" || got.Body["title"] != "The shop is starting; try again in a moment" ||
			got.Header.Get("Retry-After") != "1" || got.Body["request_id"] == "" {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, got.StatusCode, got.Header, got.Text)
		}
	}
}

func TestOps(t *testing.T) {
	state := map[string]error{}
	check := func(name string, essential bool) Check {
		return Check{name, essential, func(context.Context) error { return state[name] }}
	}
	r := New(Deps{Checks: []Check{check("database", true), check("redis", false)}})
	for _, c := range []struct {
		broken, status string
		code           int
	}{{"", "ok", 200}, {"redis", "degraded", 200}, {"database", "unavailable", 503}} {
		clear(state)
		if c.broken != "" {
			state[c.broken] = errors.New("hunter2")
		}
		got := call(t, r, "GET", "/readyz", "")
		if got.StatusCode != c.code || got.Body["status"] != c.status || strings.Contains(got.Text, "hunter2") {
			t.Errorf("%s broken: %d %s", c.broken, got.StatusCode, got.Text)
		}
		headAsGet(t, r, "/readyz")
		headAsGet(t, r, "/healthz")
	}
	fresh := New(Deps{})
	if got := call(t, fresh, "GET", "/metrics", ""); got.StatusCode != 200 || !strings.Contains(got.Text, "tidemall_http_requests_total") {
		t.Errorf("metrics before any request: %d %s", got.StatusCode, got.Text)
	}
	call(t, fresh, "BREW", "/nothing?token=hunter2", "")
	if got := call(t, fresh, "GET", "/metrics", ""); !strings.Contains(got.Text, `tidemall_http_requests_total{method="OTHER",route="unmatched",status="404"} 1`) {
		t.Errorf("metrics: %s", got.Text)
	}
	spec := call(t, fresh, "GET", "/openapi.json", "")
	if spec.StatusCode != 200 || spec.Body["openapi"] != "3.1.0" {
		t.Errorf("openapi: %d %.200s", spec.StatusCode, spec.Text)
	}
	docs := call(t, fresh, "GET", "/docs", "")
	if docs.StatusCode != 200 || !strings.Contains(docs.Text, "swagger") || regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(docs.Text) {
		t.Errorf("docs: %d %.300s", docs.StatusCode, docs.Text)
	}
	if csp := docs.Header.Get("Content-Security-Policy"); strings.Count(csp, "'sha256-") != strings.Count(docs.Text, "<script>") || strings.Contains(csp, "script-src 'unsafe") {
		t.Errorf("policy of the docs: %s", csp)
	}
	for _, m := range []string{"swagger-ui-bundle.js", "swagger-ui.css"} {
		if got := call(t, fresh, "GET", "/docs/"+m, ""); got.StatusCode != 200 || len(got.Text) < 1000 {
			t.Errorf("%s: %d", m, got.StatusCode)
		}
	}
}
