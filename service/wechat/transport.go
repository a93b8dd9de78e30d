package wechat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/silenceper/wechat/v2/util"

	"github.com/tidemall/tidemall/service/store/outside"
)

// maxReply bounds what is read of any reply but the file of a bill, maxBill that, packed and unpacked.
const (
	maxReply = 1 << 20
	maxBill  = 1 << 30
	billPath = "/v3/billdownload/"
)

var wechatHosts = map[string]bool{"api.weixin.qq.com": true, "api.mch.weixin.qq.com": true}

var (
	errBlockedHost = errors.New("host is not WeChat's")
	errLongReply   = errors.New("reply beyond all measure")
)

// outbound sends a request to WeChat, or to the simulator that stands in, and
// refuses every other host. Path and query stay as they are: they are signed. The reply
// is read whole here, because wechatpay-go does not close every body it is given; the file
// of a bill alone is left to its reader.
type outbound struct {
	sandbox *url.URL // nil: the real WeChat
	next    http.RoundTripper
}

func (o outbound) RoundTrip(req *http.Request) (*http.Response, error) {
	if !wechatHosts[req.URL.Host] {
		return nil, errBlockedHost
	}
	outside.Call("WeChat's " + req.URL.Path)
	if o.sandbox != nil {
		clone := req.Clone(req.Context())
		clone.Host = req.URL.Host // the simulator still sees whom it plays
		clone.URL.Scheme, clone.URL.Host = o.sandbox.Scheme, o.sandbox.Host
		req = clone
	}
	resp, err := o.next.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusOK && strings.HasPrefix(req.URL.Path, billPath) {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxReply {
		return nil, errLongReply
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// newHTTPClient is the client of everything that goes to WeChat. It follows no
// redirect: WeChat sends none, and a followed one would carry signed headers away. Its
// limit is the context's, which Client.call sets.
func newHTTPClient(sandbox *url.URL) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 32
	if sandbox != nil {
		base.Proxy = nil
	}
	return &http.Client{
		Transport:     outbound{sandbox: sandbox, next: base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// route travels in the context of a call through the mini-program library, whose
// HTTP client is one global for the process. It says whose client carries the call
// and brings back what the library drops.
type route struct {
	client *http.Client
	status int    // of the last reply
	token  string // the access token that was used
}

type routeKey struct{}

func (c *Client) routed(ctx context.Context) (context.Context, *route) {
	r := &route{client: c.http}
	return context.WithValue(ctx, routeKey{}, r), r
}

// routing is the transport behind the library's global client: it hands each request
// to the Client it belongs to, so several may live in one process, and refuses what
// belongs to none.
type routing struct{}

func (routing) RoundTrip(req *http.Request) (*http.Response, error) {
	r, ok := req.Context().Value(routeKey{}).(*route)
	if !ok {
		return nil, errBlockedHost
	}
	resp, err := r.client.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.status = resp.StatusCode
	return resp, nil
}

var installRouting = sync.OnceFunc(func() {
	util.DefaultHTTPClient = &http.Client{
		Transport:     routing{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
})
