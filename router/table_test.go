package router

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
)

// whole returns a router with every noun mounted. The nouns have no services: a test that gets as far as an operation panics,
// which is answered with 500.
func whole(t *testing.T) *Router {
	t.Helper()
	return New(Deps{Auth: tokens{}, Operations: hollow()})
}

var param = regexp.MustCompile(`\{[^}]+\}`)

// concrete fills the parameters of a path with values that have the right form.
func concrete(path string) string {
	path = strings.ReplaceAll(path, "{no}", "T202601310123456789AB")
	return param.ReplaceAllString(path, "1")
}

func bodyOf(t *testing.T, r Route) string {
	t.Helper()
	if !r.HasBody || r.Example == nil {
		return ""
	}
	b, err := json.Marshal(r.Example)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// open are the operations of the admin API that work without a token.
var open = []string{"POST /api/admin/v1/auth/login"}

// Case T70.
func TestT70_EveryAdminRouteRefusesStrangers(t *testing.T) {
	r := whole(t)
	seen := 0
	for _, route := range r.Routes() {
		if !strings.HasPrefix(route.Path, adminPrefix) || slices.Contains(open, route.Method+" "+route.Path) {
			continue
		}
		seen++
		if route.Who == Anyone || route.Who == Visitor || route.Who == Shopper {
			t.Errorf("%s %s is for %s", route.Method, route.Path, route.Who)
		}
		path, body := concrete(route.Path), bodyOf(t, route)
		for token, want := range map[string]int{"": 401, "Bearer x": 401, "Bearer shopper": 401, "Bearer admin": 403} {
			if token == "Bearer admin" && route.Permission == "" && route.Who != Platform {
				continue
			}
			got := call(t, r, route.Method, path, body, "Authorization", token, "Content-Type", "application/json")
			if got.StatusCode != want {
				t.Errorf("%s %s as %q: %d %s, want %d", route.Method, route.Path, token, got.StatusCode, got.Text, want)
			}
		}
	}
	if seen == 0 {
		t.Error("no admin route was found")
	}
}

func TestShopperRoutesRefuseStrangersAndAdmins(t *testing.T) {
	r := whole(t)
	for _, route := range r.Routes() {
		if route.Who != Shopper {
			continue
		}
		for _, token := range []string{"", "Bearer x", "Bearer boss"} {
			got := call(t, r, route.Method, concrete(route.Path), bodyOf(t, route), "Authorization", token, "Content-Type", "application/json")
			if got.StatusCode != 401 {
				t.Errorf("%s %s as %q: %d %s, want 401", route.Method, route.Path, token, got.StatusCode, got.Text)
			}
		}
	}
}

func TestT46_GetOnWriteRoutesDoesNothing(t *testing.T) {
	r := whole(t)
	readable := map[string]bool{}
	for _, route := range r.Routes() {
		if route.Method == http.MethodGet {
			readable[route.Path] = true
		}
	}
	for _, route := range r.Routes() {
		if route.Method == http.MethodGet || readable[route.Path] {
			continue
		}
		token := "Bearer shopper"
		if strings.HasPrefix(route.Path, adminPrefix) {
			token = "Bearer boss"
		}
		got := call(t, r, http.MethodGet, concrete(route.Path)+"?merchant_id=1", "", "Authorization", token)
		if got.StatusCode != 405 && got.StatusCode != 404 {
			t.Errorf("GET %s: %d %s, want 405 or 404", route.Path, got.StatusCode, got.Text)
		}
		if got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("GET %s: %s", route.Path, got.Header.Get("Content-Type"))
		}
	}
}

// What a machine needs of the tables: ids, a summary, examples where strangers' ids are tried, known codes, bounded integers.
func TestTablesAreComplete(t *testing.T) {
	r := whole(t)
	ids := map[string]string{}
	for _, route := range r.Routes() {
		name := route.Method + " " + route.Path
		if other, twice := ids[route.OperationID]; twice {
			t.Errorf("%s and %s have the operation id %s", name, other, route.OperationID)
		}
		ids[route.OperationID] = name
		for _, c := range route.Codes {
			if !slices.Contains(fault.Codes(), c) {
				t.Errorf("%s: %q is no code", name, c)
			}
		}
		if route.HasBody && route.Example == nil && strings.Contains(route.Path, "{") {
			t.Errorf("%s has a path parameter and a body but no doc.Example", name)
		}
		if op := operation(r, route); op != nil && op["summary"] == nil {
			t.Errorf("%s has no summary", name)
		}
	}
}

func TestEveryIntegerOfAnInputIsBounded(t *testing.T) {
	r := whole(t)
	spec := document(t, r)
	for _, route := range r.Routes() {
		op := operation(r, route)
		if op == nil {
			continue
		}
		for _, p := range list(op["parameters"]) {
			checkBounds(t, spec, route.Method+" "+route.Path+" "+p["name"].(string), p["schema"].(map[string]any), 0)
		}
		if body, ok := op["requestBody"].(map[string]any); ok {
			for _, media := range body["content"].(map[string]any) {
				if schema, ok := media.(map[string]any)["schema"].(map[string]any); ok {
					checkBounds(t, spec, route.Method+" "+route.Path+" body", schema, 0)
				}
			}
		}
	}
}

// checkBounds walks a schema: integers have both bounds, strings and lists a maximum.
func checkBounds(t *testing.T, spec map[string]any, where string, schema map[string]any, depth int) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = spec["components"].(map[string]any)["schemas"].(map[string]any)[strings.TrimPrefix(ref, schemaPrefix)].(map[string]any)
	}
	if depth > 8 {
		return
	}
	is := func(kind string) bool {
		if list, ok := schema["type"].([]any); ok {
			return slices.Contains(list, any(kind))
		}
		return schema["type"] == kind
	}
	switch {
	case is("integer"):
		if schema["minimum"] == nil || schema["maximum"] == nil {
			t.Errorf("%s: an integer without minimum or maximum", where)
		}
	case is("string"):
		if schema["maxLength"] == nil && schema["enum"] == nil && schema["pattern"] == nil && schema["format"] == nil &&
			schema["contentEncoding"] == nil && !strings.Contains(where, "Idempotency-Key") {
			t.Errorf("%s: a string without maxLength", where)
		}
	case is("array"):
		if schema["maxItems"] == nil {
			t.Errorf("%s: a list without maxItems", where)
		}
		checkBounds(t, spec, where+"[]", schema["items"].(map[string]any), depth+1)
	case is("object"):
		props, _ := schema["properties"].(map[string]any)
		for name, p := range props {
			checkBounds(t, spec, where+"."+name, p.(map[string]any), depth+1)
		}
		if extra, ok := schema["additionalProperties"].(map[string]any); ok {
			checkBounds(t, spec, where+".*", extra, depth+1)
		}
	}
}

func document(t *testing.T, r *Router) map[string]any {
	t.Helper()
	return call(t, r, "GET", "/openapi.json", "").Body
}

func operation(r *Router, route Route) map[string]any {
	b, err := json.Marshal(r.api.OpenAPI().Paths[route.Path])
	if err != nil {
		return nil
	}
	var item map[string]map[string]any
	if json.Unmarshal(b, &item) != nil {
		return nil
	}
	return item[strings.ToLower(route.Method)]
}

func list(v any) []map[string]any {
	raw, _ := v.([]any)
	out := make([]map[string]any, 0, len(raw))
	for _, m := range raw {
		out = append(out, m.(map[string]any))
	}
	return out
}

// Where a thing stands is its status in every body; state is a word of the code and of the tables.
func TestWhereThingsStandIsTheirStatus(t *testing.T) {
	components := document(t, whole(t))["components"].(map[string]any)
	var seen int
	for name, schema := range components["schemas"].(map[string]any) {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		if properties["status"] != nil {
			seen++
		}
		if properties["state"] != nil {
			t.Errorf("%s has a state", name)
		}
	}
	if seen == 0 {
		t.Error("no schema has a status")
	}
}
