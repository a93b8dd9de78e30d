package router

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/fault"
)

// guard runs before huma reads anything: who is it, may they, not too often, and how much body at most.
func (r *Router) guard(who access, d doc, hasBody bool) func(huma.Context, func(huma.Context)) {
	own := r.limits.own(d.Pace)
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humagin.Unwrap(ctx)
		limit, timeout := d.BodyLimit, d.BodyTimeout
		if limit == 0 {
			limit = defaultBodyLimit
		}
		if timeout == 0 {
			timeout = defaultBodyTimeout
		}
		err := r.authenticate(c, who)
		if !d.NoLimit {
			if tooMany := r.limits.take(c, own); tooMany != nil {
				err = tooMany
			}
		}
		if err == nil {
			err = permit(c.Request.Context(), who)
		}
		if err == nil {
			err = limitBody(c, limit, timeout)
		}
		if err == nil && !hasBody {
			err = discardBody(c)
		}
		if err != nil {
			api.WriteProblem(c.Writer, c.Request, err)
			return
		}
		next(ctx)
	}
}

// authenticate finds out who calls and records it in the context.
func (r *Router) authenticate(c *gin.Context, who access) error {
	if who.kind == Anyone {
		return nil
	}
	ctx := c.Request.Context()
	token, err := bearer(c.GetHeader("Authorization"))
	if who.kind == Visitor || who.kind == Shopper {
		var s api.ShopperIdentity
		if err == nil {
			s, err = r.deps.Auth.AuthenticateShopper(ctx, token)
		}
		switch {
		case err == nil:
			api.SetShopper(ctx, s)
		case who.kind == Visitor && isToken(err): // a token that has run out must not close the catalogue
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	named, err := merchantOf(c.Query("merchant_id"))
	if err != nil {
		return err
	}
	a, err := r.deps.Auth.AuthenticateAdmin(ctx, token, named)
	if err != nil {
		return err
	}
	api.SetAdmin(ctx, a)
	return nil
}

// permit reports whether the caller that authenticate found may call the route.
func permit(ctx context.Context, who access) error {
	a := api.Admin(ctx)
	switch who.kind {
	case Anyone, Visitor, Shopper:
		return nil
	case Platform:
		if !a.Platform {
			return fault.New(fault.PermissionDenied).Say("此操作仅限平台管理员", "Only admins of the platform may do this")
		}
	case Merchant, Admin:
	}
	if who.permission != "" && !a.Can(who.permission) {
		return fault.New(fault.PermissionDenied).Say("缺少权限 "+string(who.permission), "The permission "+string(who.permission)+" is missing")
	}
	if who.kind == Merchant && a.MerchantID == 0 {
		return fault.New(fault.NotFoundError).Say("还没有商家，请先创建", "There is no merchant yet; create one first")
	}
	return nil
}

func isToken(err error) bool {
	return fault.Is(err, fault.TokenRequired) || fault.Is(err, fault.TokenInvalid)
}

func bearer(header string) (string, error) {
	if header == "" {
		return "", fault.New(fault.TokenRequired)
	}
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.New(fault.TokenInvalid)
	}
	return token, nil
}

func merchantOf(query string) (int64, error) {
	if query == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(query, 10, 64)
	if err != nil || id < 1 || id >= 1<<53 {
		return 0, fault.New(fault.ValidationFailed).With("merchant_id", fault.FieldRange, "", "")
	}
	return id, nil
}

// nobody is the authenticator of a router without one.
type nobody struct{}

func (nobody) AuthenticateShopper(context.Context, string) (api.ShopperIdentity, error) {
	return api.ShopperIdentity{}, fault.New(fault.TokenInvalid)
}

func (nobody) AuthenticateAdmin(context.Context, string, int64) (api.AdminIdentity, error) {
	return api.AdminIdentity{}, fault.New(fault.TokenInvalid)
}

// maxDrained is how much of a body that nobody wanted is read all the same.
const maxDrained = 32 << 20

// hurry gives a body that is announced its time before anything looks at the request: net/http reads what a handler left of it
// before it sends the reply, and would wait for ever for a body that never comes. A route with a time of its own sets it when it
// begins to read. The next request on the connection does not inherit the deadline: net/http sets its own for each.
//
// Of more than 256 kB net/http reads nothing and closes the connection, and whoever is still sending meets a reset instead of the reply
// (RFC 9112 section 9.6). So the rest of a body is read here; but of one that is sent only if it is wanted (Expect), nothing comes.
func hurry(c *gin.Context) {
	body := c.Request.Body
	if c.Request.ContentLength == 0 || body == http.NoBody {
		c.Next()
		return
	}
	setReadDeadline(http.NewResponseController(c.Writer), time.Now().Add(defaultBodyTimeout))
	c.Next()
	if c.GetHeader("Expect") == "" && body != nil {
		_, _ = io.CopyN(io.Discard, body, maxDrained)
	}
}

// setReadDeadline leaves out what cannot be helped: a recorder has no connection, and one that is gone says so at the next read.
func setReadDeadline(control *http.ResponseController, t time.Time) { _ = control.SetReadDeadline(t) }

// limitBody refuses a body that announces more than limit bytes, and bounds what is read and how long reading may take.
func limitBody(c *gin.Context, limit int64, timeout time.Duration) error {
	if c.Request.ContentLength > limit {
		return fault.New(fault.BodyTooLarge)
	}
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		return nil
	}
	c.Request.Body = &slowBody{
		ReadCloser: http.MaxBytesReader(c.Writer, c.Request.Body, limit),
		control:    http.NewResponseController(c.Writer), timeout: timeout,
	}
	return nil
}

// discardBody reads a body that the operation does not want before it runs. Left to net/http it would be read before the reply,
// when its time may be over because the operation took long; and whoever hangs up is noticed only behind the body's end.
func discardBody(c *gin.Context) error {
	if c.Request.Body == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
		return api.BodyError(err)
	}
	return nil
}

// slowBody ends a body that does not arrive in time. The deadline starts with the first read and is lifted with the end: left in
// place it would end the request's context while the operation still works. A body that ends otherwise keeps it, for net/http
// reads on before it sends the reply.
type slowBody struct {
	io.ReadCloser

	control *http.ResponseController
	timeout time.Duration
	started bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.started {
		b.started = true
		setReadDeadline(b.control, time.Now().Add(b.timeout))
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		setReadDeadline(b.control, time.Time{})
	}
	return n, err
}
