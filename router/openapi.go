package router

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

const schemaPrefix = "#/components/schemas/"

func openAPIConfig(deps Deps) huma.Config {
	registry := huma.NewMapRegistry(schemaPrefix, newNamer().name)
	// model.Time writes itself as text; as far as clients are concerned it is a date-time.
	registry.RegisterTypeAlias(reflect.TypeFor[model.Time](), reflect.TypeFor[time.Time]())
	cfg := huma.DefaultConfig("Tidemall", deps.Version)
	cfg.Info.Description = "The shop's API. Money is in integer fen, times are RFC 3339 UTC with three digits, errors are problem+json with a stable `code`."
	cfg.Components = &huma.Components{
		Schemas: registry,
		SecuritySchemes: map[string]*huma.SecurityScheme{
			"shopper": {Type: "http", Scheme: "bearer", Description: "token of POST /api/v1/auth/login"},
			"admin":   {Type: "http", Scheme: "bearer", Description: "token of POST /api/admin/v1/auth/login"},
		},
	}
	if deps.PublicURL != "" {
		cfg.Servers = []*huma.Server{{URL: strings.TrimRight(deps.PublicURL, "/")}}
	}
	cfg.CreateHooks = nil // else $schema enters every body
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.Formats = map[string]huma.Format{"application/json": api.JSON, "json": api.JSON}
	cfg.Transformers = []huma.Transformer{api.Localized}
	return cfg
}

// Describe returns the OpenAPI document of the whole API as indented JSON, without a shop behind it.
func Describe(version string) ([]byte, error) {
	return json.MarshalIndent(New(Deps{Version: version, Operations: hollow()}).api.OpenAPI(), "", "  ")
}

// hollow has every noun and no services: enough to describe the operations, and to refuse whoever may not call them.
func hollow() Operations {
	var ops Operations
	v := reflect.ValueOf(&ops).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.New(v.Type().Field(i).Type.Elem()))
	}
	return ops
}

func securityOf(who access) []map[string][]string {
	switch who.kind {
	case Shopper:
		return []map[string][]string{{"shopper": {}}}
	case Visitor:
		return []map[string][]string{{}, {"shopper": {}}}
	case Merchant, Admin, Platform:
		return []map[string][]string{{"admin": {}}}
	}
	return nil
}

func merchantParam() *huma.Param {
	low, high := 1.0, float64(1<<53-1)
	return &huma.Param{
		Name: "merchant_id", In: "query",
		Description: "The merchant that an admin of the platform acts for; the first one where absent",
		Schema:      &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &low, Maximum: &high},
	}
}

// errorResponses documents the codes by status.
func (r *Router) errorResponses(codes []fault.Code) map[string]*huma.Response {
	schema := r.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "Problem")
	byStatus := map[int][]fault.Code{}
	for _, c := range codes {
		byStatus[api.StatusOf(c)] = append(byStatus[api.StatusOf(c)], c)
	}
	out := map[string]*huma.Response{}
	for status, codes := range byStatus {
		var text strings.Builder
		enum := make([]any, 0, len(codes))
		for _, c := range codes {
			text.WriteString("- `" + string(c) + "`: " + fault.Lookup(c).Text.EN + "\n")
			enum = append(enum, string(c))
		}
		out[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status) + "\n\n" + text.String(),
			Content: map[string]*huma.MediaType{"application/problem+json": {Schema: &huma.Schema{AllOf: []*huma.Schema{
				schema, {Type: huma.TypeObject, Properties: map[string]*huma.Schema{"code": {Type: huma.TypeString, Enum: enum}}},
			}}}},
		}
	}
	return out
}

// namer gives every type a name of its own in the document: the last element of its package, then its name (ShopOrder,
// AdminOrder); types of package api and the arguments of generic ones alike (ListShopOrder).
type namer struct {
	names map[reflect.Type]string
	taken map[string]reflect.Type
}

func newNamer() *namer {
	return &namer{names: map[reflect.Type]string{}, taken: map[string]reflect.Type{}}
}

func (n *namer) name(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := n.names[t]; ok {
		return name
	}
	name := hint
	if t.Name() != "" {
		name = qualified(t.PkgPath(), t.Name())
	}
	for i, base := 2, name; n.taken[name] != nil; i++ {
		name = base + strconv.Itoa(i)
	}
	n.names[t], n.taken[name] = name, t
	return name
}

// qualified writes "github.com/tidemall/tidemall/api", "List[…/api/shop.Order]" as ListShopOrder.
func qualified(pkg, name string) string {
	base, args, generic := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	out := base
	if i := strings.LastIndex(pkg, "/"); i >= 0 {
		if last := pkg[i+1:]; !slices.Contains([]string{"api", "model"}, last) {
			out = upperFirst(last) + base
		}
	}
	if !generic {
		return out
	}
	for arg := range strings.SplitSeq(args, ",") {
		out += qualifiedArg(strings.TrimLeft(arg, "*[]"))
	}
	return out
}

// qualifiedArg writes a type argument, which has its package in front and may be generic itself.
func qualifiedArg(arg string) string {
	head, _, _ := strings.Cut(arg, "[")
	dot := strings.LastIndex(head, ".")
	if dot < 0 {
		return upperFirst(arg)
	}
	return qualified(arg[:dot], arg[dot+1:])
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
