// Package sandbox plays WeChat for tests and for the demo shop: mini-program login,
// phone numbers and access tokens, WeChat Pay v3 with real signatures in both
// directions, real AES-GCM notifications with resends, WeChat's rules and error
// codes, and a switch for every fault that the real one shows.
//
// WeChat offers no sandbox for Pay v3, so this one is what makes the shop testable.
// It is a server of its own and shares no code with the client that it tests. The
// README beside this file lists its controls.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where a sandbox lives and how fast its time runs.
type Options struct {
	DataDir string       // keys and books, created with mode 0700; required
	Addr    string       // empty: 127.0.0.1 on a spare port. Beyond loopback anybody can read the keys; it is logged as a warning
	Log     *slog.Logger // nil: silent

	// ResendScale shortens WeChat's resend schedule (15 s, 15 s, 30 s, 3 min, …, 24 h 4 min
	// in all). 0 means 1/15: the first resend after one second. It is the setting resend_scale.
	ResendScale float64

	// PushURL is where message pushes go, the setting push_url; empty: beside the payment callback of the latest order.
	PushURL string
}

// Server is one simulated WeChat with one mini-program and one merchant.
type Server struct {
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	keys     *keyring
	books    *books
	faults   faultList
	chaos    chaos
	calls    callLog
	out      *http.Client  // carries notifications
	pushURL  string        // what the setting is reset to
	tosses   atomic.Uint64 // of the coin since the settings were changed

	ctx    context.Context // ends with Stop; releases held requests and waiting deliveries
	cancel context.CancelFunc
	work   sync.WaitGroup // serving, deliveries and refunds under way
}

// New takes its address, opens the data directory, makes keys on the first start and
// reads the books. The address comes first, so that a second sandbox started by
// mistake stops before it touches the books of the first. URL is known from here on.
func New(opts Options) (*Server, error) {
	if opts.DataDir == "" {
		return nil, errors.New("sandbox: DataDir is required")
	}
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	listener, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s := &Server{log: opts.Log, out: newNotifier(), listener: listener, pushURL: opts.PushURL}
	if err := s.open(opts); err != nil {
		listener.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) open(opts Options) (err error) {
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
		return err
	}
	if s.keys, err = openKeyring(opts.DataDir); err != nil {
		return err
	}
	if s.books, err = openBooks(opts.DataDir); err != nil {
		return err
	}
	s.pushURL = opts.PushURL
	return s.books.change(func() {
		if opts.ResendScale > 0 {
			s.books.settings.ResendScale = opts.ResendScale
		}
		if s.pushURL != "" {
			s.books.settings.PushURL = s.pushURL
		}
		s.books.save("settings", "", s.books.settings)
	})
}

// Start serves, and takes up the deliveries and refunds that a former run left open.
func (s *Server) Start() {
	if !onLoopback(s.listener.Addr()) {
		s.log.Warn("the WeChat sandbox listens beyond loopback: whoever reaches it can read its keys and mark orders paid", "addr", s.listener.Addr().String())
	}
	s.work.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the WeChat sandbox serves no more", "err", err)
		}
	})
	s.resume()
	s.log.Info("WeChat sandbox", "url", s.URL())
}

// URL is the base of everything the sandbox serves, such as http://127.0.0.1:8081. A
// listener on all addresses is reached through loopback here.
func (s *Server) URL() string {
	addr := s.listener.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// Stop ends serving and returns when nothing of the sandbox runs any more. Deliveries
// that are open are taken up at the next Start.
func (s *Server) Stop() error {
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	s.listener.Close() // the HTTP server knows it only after Start
	s.work.Wait()
	s.out.CloseIdleConnections()
	return s.books.close()
}

// Credentials are what WeChat would issue to the merchant.
func (s *Server) Credentials() Credentials { return s.keys.Credentials }

func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// handler mounts WeChat's paths and the sandbox's own controls.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range s.wechatEndpoints() {
		mux.Handle(e.path, s.received(e))
	}
	s.mountControls(mux)
	s.mountPages(mux)
	return mux
}

// endpoint is one of WeChat's paths.
type endpoint struct {
	path    string
	methods map[string]http.HandlerFunc
}

func (s *Server) wechatEndpoints() []endpoint {
	get := func(path string, h http.HandlerFunc) endpoint {
		return endpoint{path, map[string]http.HandlerFunc{http.MethodGet: h}}
	}
	post := func(path string, h http.HandlerFunc) endpoint {
		return endpoint{path, map[string]http.HandlerFunc{http.MethodPost: h}}
	}
	return []endpoint{
		get("/sns/jscode2session", s.login),
		get("/cgi-bin/token", s.plainToken),
		post("/cgi-bin/stable_token", s.stableToken),
		post("/wxa/business/getuserphonenumber", s.withToken(s.phone)),
		post("/cgi-bin/message/subscribe/send", s.withToken(s.sendSubscribe)),
		post("/wxa/msg_sec_check", s.withToken(s.checkText)),
		post("/wxa/media_check_async", s.withToken(s.checkMedia)),
		post("/wxa/sec/order/upload_shipping_info", s.withToken(s.uploadShipping)),
		post("/wxa/sec/order/get_order", s.withToken(s.shippingOrder)),
		post("/wxa/sec/order/get_order_list", s.withToken(s.shippingOrders)),
		post("/wxa/sec/order/notify_confirm_receive", s.withToken(s.nudge)),
		post("/wxa/sec/order/is_trade_managed", s.withToken(s.tradeManaged)),
		post("/wxa/sec/order/update_order_detail_path", s.withToken(s.setOrderPath)),
		post("/wxa/sec/order/get_order_detail_path", s.withToken(s.getOrderPath)),
		post("/cgi-bin/express/delivery/open_msg/get_delivery_list", s.withToken(s.deliveryList)),
		post("/v3/pay/transactions/jsapi", s.signed(s.prepay)),
		get("/v3/pay/transactions/out-trade-no/{out_trade_no}", s.signed(s.queryByNo)),
		post("/v3/pay/transactions/out-trade-no/{out_trade_no}/close", s.signed(s.closeOrder)),
		get("/v3/pay/transactions/id/{transaction_id}", s.signed(s.queryByID)),
		post(refundPath, s.signed(s.createRefund)),
		get("/v3/refund/domestic/refunds/{out_refund_no}", s.signed(s.queryRefund)),
		get("/v3/certificates", s.signed(s.certificates)),
		get("/v3/bill/tradebill", s.signed(s.tradeBill)),
		get("/v3/billdownload/file", s.billFile),
		{"/sns/", nil},
		{"/cgi-bin/", nil},
		{"/wxa/", nil},
		{"/v3/", nil}, // unknown paths are recorded too
	}
}
