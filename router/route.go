package router

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

// Kind says what sort of caller a route is for.
type Kind string

// The kinds of callers.
const (
	Anyone   Kind = "anyone"
	Visitor  Kind = "visitor"  // a shopper if a good token is there, else nobody in particular
	Shopper  Kind = "shopper"  // a logged-in shopper
	Merchant Kind = "merchant" // an admin who acts for a merchant
	Admin    Kind = "admin"    // an admin; one of the platform may act for no merchant
	Platform Kind = "platform" // an admin of the platform
)

// access says who may call a route.
type access struct {
	kind       Kind
	permission account.Permission // empty: any admin of the kind
}

var (
	anyone  = access{kind: Anyone}
	visitor = access{kind: Visitor}
	shopper = access{kind: Shopper}
)

func merchant(p account.Permission) access { return access{Merchant, p} }
func staff(p account.Permission) access    { return access{Admin, p} }
func platform(p account.Permission) access { return access{Platform, p} }

// Route is one line of a table, for tests and for the metrics.
type Route struct {
	Method, Path string // Path with {parameters}
	OperationID  string
	Who          Kind
	Permission   account.Permission
	Codes        []fault.Code
	Example      any // a body valid in form, or nil
	HasBody      bool
	Status       int  // of success
	Recorded     bool // its calls leave an entry in the change log
}

// doc describes a route for people.
type doc struct {
	Summary     string
	Description string
	ID          string // operation id; made from method and path where empty
	Tag         string // made from the path where empty
	Example     any    // of the request's body
	Status      int    // of success; 200, or 204 without a reply, where 0
	Codes       []fault.Code
	BodyLimit   int64         // bytes; 1 MiB where 0
	BodyTimeout time.Duration // for the whole body, also one that the operation does not want; 5 s where 0
	NoLimit     bool          // not rate limited
	Pace        pace          // of each caller on this route, beside the general one; none where zero
	Unrecorded  string        // why an admin's write leaves no entry in the change log; empty: it does
	Hidden      bool          // not in the document
	Head        bool          // a GET that answers HEAD too: the same without the body, which net/http leaves out
}

// Limits of bodies.
const (
	defaultBodyLimit   = 1 << 20
	defaultBodyTimeout = 5 * time.Second
)

type group struct {
	router *Router
	prefix string
}

func (r *Router) group(prefix string) *group { return &group{r, prefix} }

// route mounts an operation: method, path (with {parameters}, below the group's prefix), who may call it, the operation, what
// people should know.
func route[I, O any](g *group, method, path string, who access, fn func(context.Context, *I) (*O, error), d doc) {
	full := g.prefix + path
	op := huma.Operation{
		Method: method, Path: full, OperationID: d.ID, Summary: d.Summary, Description: d.Description, Tags: []string{d.Tag},
		DefaultStatus: d.Status, Hidden: d.Hidden,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // both are kept by guard, for every kind of body
	}
	if op.OperationID == "" {
		op.OperationID = operationID(method, full)
	}
	if d.Tag == "" {
		op.Tags = []string{tagOf(g.prefix, path)}
	}
	_, hasBody := reflect.TypeFor[I]().FieldByName("Body")
	if _, raw := reflect.TypeFor[I]().FieldByName("RawBody"); raw {
		hasBody = true
		op.BodyReadTimeout = 0 // -1 lifts the deadline, and a form of the wrong media type is never read
	}
	codes := allCodes(reflect.TypeFor[I](), hasBody, who, d)
	op.Responses = g.router.errorResponses(codes)
	op.Security = securityOf(who)
	if who.kind == Merchant || who.kind == Admin {
		op.Parameters = append(op.Parameters, merchantParam())
	}
	if who.permission != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nPermission: `" + string(who.permission) + "`.")
	}
	op.Middlewares = huma.Middlewares{g.router.guard(who, d, hasBody), foldMediaType}
	if changes(g.prefix, method, d) {
		fn = recorded(g.router, who, op.OperationID, fn)
	}
	answer := func(ctx context.Context, in *I) (*O, error) {
		err := checkText(in)
		var out *O
		if err == nil {
			out, err = fn(ctx, in)
		}
		if err == nil {
			return out, nil
		}
		p := api.NewProblem(err)
		if !slices.Contains(codes, fault.Code(p.Code)) {
			g.router.deps.Log.Warn("an error code is missing in the route table", "route", method+" "+full, "code", p.Code)
		}
		return nil, p
	}
	huma.Register(g.router.api, op, answer)
	if d.Head {
		op.Method, op.Hidden = http.MethodHead, true
		huma.Register(g.router.api, op, answer)
	}
	g.router.finish(method, full, d.Example)
	g.router.routes = append(g.router.routes, Route{
		Method: method, Path: full, OperationID: op.OperationID, Who: who.kind, Permission: who.permission, Codes: codes,
		Example: d.Example, HasBody: hasBody, Status: successOf(reflect.TypeFor[O](), d), Recorded: changes(g.prefix, method, d),
	})
	g.router.meter.known(method, full)
}

// foldMediaType writes the type of the body in lower case, which is how huma knows it: to HTTP the case means nothing (RFC 9110,
// 8.3.1). The parameters keep theirs, since a multipart form's boundary is taken as it is.
func foldMediaType(ctx huma.Context, next func(huma.Context)) {
	h := humagin.Unwrap(ctx).Request.Header
	if name, params, _ := strings.Cut(h.Get("Content-Type"), ";"); name != "" {
		name = strings.ToLower(strings.TrimSpace(name))
		if params != "" {
			name += ";" + params
		}
		h.Set("Content-Type", name)
	}
	next(ctx)
}

// finish adds the example to the document.
func (r *Router) finish(method, path string, example any) {
	item := r.api.OpenAPI().Paths[path]
	if item == nil || example == nil {
		return
	}
	for m, op := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete} {
		if m == method && op != nil && op.RequestBody != nil {
			for _, media := range op.RequestBody.Content {
				media.Example = example
			}
		}
	}
}

func successOf(out reflect.Type, d doc) int {
	if d.Status != 0 {
		return d.Status
	}
	if _, ok := out.FieldByName("Body"); ok {
		return http.StatusOK
	}
	return http.StatusNoContent
}

// allCodes adds the codes that follow from the route's shape to those that its table names.
func allCodes(in reflect.Type, hasBody bool, who access, d doc) []fault.Code {
	codes := append(slices.Clone(d.Codes), fault.InternalError, fault.DatabaseUnavailable, fault.Starting)
	if !d.NoLimit {
		codes = append(codes, fault.RateLimited)
	}
	if hasBody {
		codes = append(codes, fault.MalformedBody, fault.MissingBody, fault.UnsupportedMedia)
	}
	codes = append(codes, fault.BodyTooLarge, fault.SlowBody)
	if in.NumField() > 0 {
		codes = append(codes, fault.ValidationFailed)
	}
	if strings.Contains(fmt.Sprint(pathParams(in)), "{") {
		codes = append(codes, fault.NotFoundError)
	}
	switch who.kind {
	case Shopper:
		codes = append(codes, fault.TokenRequired, fault.TokenInvalid)
	case Merchant, Admin, Platform:
		codes = append(codes, fault.TokenRequired, fault.TokenInvalid, fault.PermissionDenied, fault.MerchantDisabled, fault.NotFoundError)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// pathParams lists the path parameters of an input as {name}.
func pathParams(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		if p := f.Tag.Get("path"); p != "" {
			out = append(out, "{"+p+"}")
		}
	}
	return out
}

func operationID(method, path string) string {
	path = strings.TrimPrefix(path, "/api")
	path = strings.Replace(path, "/v1", "", 1)
	path = strings.NewReplacer("{", "by-", "}", "", "/", "-", "_", "-").Replace(strings.Trim(path, "/"))
	if rest, ok := strings.CutPrefix(path, "admin-"); ok {
		return "admin-" + strings.ToLower(method) + "-" + rest
	}
	return strings.ToLower(method) + "-" + path
}

func tagOf(prefix, path string) string {
	noun, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch prefix {
	case adminPrefix:
		return "admin " + noun
	case shopPrefix:
		return "shop " + noun
	}
	return "operations"
}
