package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/api/notify"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/telemetry/leaktest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/stall"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(sandboxtest.Run(m))
}

// orders is the service, behind which a test can make it stumble.
type orders struct {
	*order.Service

	mu      sync.Mutex
	stumble []func(ctx context.Context) error // instead of the next calls
}

func (o *orders) next() func(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.stumble) == 0 {
		return nil
	}
	next := o.stumble[0]
	o.stumble = o.stumble[1:]
	return next
}

func (o *orders) Settle(ctx context.Context, t wechat.Transaction) (order.Settled, error) {
	if stumble := o.next(); stumble != nil {
		return order.Settled{}, stumble(ctx)
	}
	return o.Service.Settle(ctx, t)
}

func (o *orders) RefundResult(ctx context.Context, r wechat.Refund) error {
	if stumble := o.next(); stumble != nil {
		return stumble(ctx)
	}
	return o.Service.RefundResult(ctx, r)
}

// shop is a shop with WeChat's callbacks mounted, where WeChat reaches it.
type shop struct {
	*testing.T
	store   *store.Store
	orders  *orders
	bank    *sandbox.Server
	url     string
	metrics *prometheus.Registry
	sku     int64
	effects map[string]notify.PushEffect
	log     *bytes.Buffer
	records *callback.Recorder
}

const merchantID = 1

func now() model.Time { return model.At(time.Now()) }

type shelf struct{}

func (shelf) Sellables(db *gorm.DB, ids []int64) ([]catalog.Sellable, error) {
	return catalog.Sellables(db, ids)
}
func (shelf) CategoryPath(_, id int64) []int64 { return []int64{id} }
func (shelf) Resolve(string, policy.Query) policy.Decision {
	return policy.Decision{Duration: 30 * time.Minute}
}
func (shelf) Schedule(context.Context, ...timeout.Task) error { return nil }

func eachShop(t *testing.T, test func(s *shop)) {
	storetest.Each(t, func(t *testing.T, st *store.Store) { test(newShop(t, st)) })
}

func newShop(t *testing.T, st *store.Store) *shop {
	t.Helper()
	b := sandboxtest.Shared(t)
	s := &shop{T: t, store: st, bank: b, metrics: prometheus.NewRegistry(), effects: map[string]notify.PushEffect{}, log: new(bytes.Buffer)}
	engine := gin.New()
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	s.url = server.URL
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cfg, err := wechat.FromSandbox(ctx, b.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.NotifyBaseURL = server.URL
	t.Cleanup(func() { server.Close(); leaktest.Check(t, s.log.String(), b.Credentials()) })
	client, err := wechat.New(cfg, wechat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.orders = &orders{Service: order.New(order.Deps{
		Store: st, Now: now, Log: slog.New(slog.DiscardHandler), Catalog: shelf{}, Policies: shelf{}, Tasks: shelf{}, WeChat: client,
		MaxUnpaid: 100, Zone: time.UTC,
	})}
	s.records = callback.New(callback.Deps{Store: st, Now: now, Log: slog.New(slog.DiscardHandler)})
	shared := notify.New(slog.New(slog.NewTextHandler(s.log, nil)), s.metrics, s.records)
	engine.POST("/notify/wechat/pay", (&notify.Pay{Shared: shared, WeChat: client, Orders: s.orders}).Handle)
	engine.POST("/notify/wechat/refund", (&notify.Refund{Shared: shared, WeChat: client, Orders: s.orders}).Handle)
	push := &notify.Push{Shared: shared, WeChat: client, Inbox: payment.Inbox{Store: st, Now: now}, Effects: s.effects}
	engine.GET("/notify/wechat/push", push.Echo)
	engine.POST("/notify/wechat/push", push.Handle)
	s.fill()
	return s
}

func (s *shop) insert(row any) {
	s.Helper()
	if err := s.store.Read(s.Context()).Create(row).Error; err != nil {
		s.Fatal(err)
	}
}

func (s *shop) fill() {
	s.insert(&model.Merchant{ID: merchantID, Name: "m", Version: 1, CreatedAt: 1, UpdatedAt: 1})
	p := model.Product{
		MerchantID: merchantID, Name: "茶", Virtual: true, Published: true, MinPriceFen: 100, Version: 1, CreatedAt: 1, ChangedAt: 1,
		Images: []model.Image{}, Options: []model.ProductOption{},
	}
	s.insert(&p)
	k := model.SKU{ProductID: p.ID, MerchantID: merchantID, Specs: map[string]string{}, PriceFen: 100, Stock: 10, CreatedAt: 1, UpdatedAt: 1}
	s.insert(&k)
	s.sku = k.ID
	if err := s.store.Tx(s.Context(), func(tx *store.Tx) error { return inventory.Open(tx, []model.SKU{k}, "test", now()) }); err != nil {
		s.Fatal(err)
	}
}

var shoppers = struct {
	sync.Mutex
	n int
}{}

// opened is an order of 100 fen that was opened at WeChat; no is its number there.
func (s *shop) opened() (o *model.Order, no string) {
	s.Helper()
	shoppers.Lock()
	shoppers.n++
	who := model.Shopper{OpenID: sandbox.OpenID(fmt.Sprintf("notified-%d", shoppers.n)), CreatedAt: 1, UpdatedAt: 1}
	shoppers.Unlock()
	s.insert(&who)
	o, err := s.orders.Place(s.Context(), who.ID, order.Placement{
		Basket: order.Basket{Items: []order.Item{{SKUID: s.sku, Quantity: 1}}}, ExpectedPayableFen: 100, Key: "key-00000001",
	})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.orders.Pay(s.Context(), who.ID, o.No); err != nil {
		s.Fatal(err)
	}
	return o, o.No + "-1"
}

func (s *shop) control(method, path string, body, into any) int {
	s.Helper()
	return sandboxtest.Control(s.T, s.bank.URL(), method, path, body, into)
}

type m = map[string]any

type answer struct {
	Status int
	Body   string
}

// notice has WeChat send a callback made to order, and returns the shop's answers.
func (s *shop) notice(order m) []answer {
	s.Helper()
	var reply struct{ Responses []answer }
	if status := s.control("POST", "/sandbox/notify", order, &reply); status != 200 {
		s.Fatalf("notice %v: status %d", order, status)
	}
	for _, a := range reply.Responses { // N20: WeChat goes by the status, so a failure must not hide in the body
		if a.Status < 300 && strings.Contains(a.Body, "FAIL") || a.Status >= 300 && !strings.Contains(a.Body, "FAIL") {
			s.Errorf("answered %d with %q", a.Status, a.Body)
		}
	}
	return reply.Responses
}

func (s *shop) wantStatus(what string, answers []answer, want ...int) {
	s.Helper()
	if len(answers) != len(want) {
		s.Fatalf("%s: %d answers", what, len(answers))
	}
	for i, a := range answers {
		if a.Status != want[i] {
			s.Errorf("%s: answer %d is %d %q, want %d", what, i+1, a.Status, a.Body, want[i])
		}
	}
}

func (s *shop) number(query string, args ...any) (n int64) {
	s.Helper()
	if err := s.store.Read(s.Context()).Raw(query, args...).Scan(&n).Error; err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *shop) wantState(o *model.Order, want model.OrderState) {
	s.Helper()
	var got string
	if err := s.store.Read(s.Context()).Raw("SELECT state FROM orders WHERE id = ?", o.ID).Scan(&got).Error; err != nil {
		s.Fatal(err)
	}
	if got != string(want) {
		s.Errorf("order is %s, want %s", got, want)
	}
}

func (s *shop) audited() {
	s.Helper()
	r, err := audit.Run(s.Context(), s.store, audit.Options{Now: now()})
	if err != nil || !r.OK {
		s.Errorf("audit: %+v, %v", r, err)
	}
}

// Case N01.
func TestN01_TwiceInParallelAndAgain(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		s.wantStatus("parallel", s.notice(m{"to": "pay", "out_trade_no": no, "times": 2, "parallel": true}), 204, 204)
		s.wantStatus("again", s.notice(m{"to": "pay", "out_trade_no": no}), 204)
		s.wantState(o, model.OrderPaid)
		if n := s.number("SELECT version FROM orders WHERE id = ?", o.ID); n != 2 {
			s.Errorf("version %d", n)
		}
		s.audited()
	})
}

// Cases T40, T41.
func TestT40_T41_N03_N05_CallbacksThatDoNotFit(t *testing.T) {
	eachShop(t, func(s *shop) {
		for name, c := range map[string]struct {
			order     m
			anomalies int64
		}{
			"total 1":           {m{"override": m{"amount_total": 1}}, 1},
			"total 101":         {m{"override": m{"amount_total": 101}}, 1},
			"total missing":     {m{"drop": []string{"amount.total"}}, 1},
			"currency USD":      {m{"override": m{"currency": "USD"}}, 1},
			"another appid":     {m{"override": m{"appid": "wxother"}}, 1},
			"another mchid":     {m{"override": m{"mchid": "1900000002"}}, 1},
			"N14 NOTPAY":        {m{"override": m{"trade_state": "NOTPAY"}}, 0},
			"another event":     {m{"override": m{"event_type": "TRANSACTION.REFUND"}}, 0},
			"another resource":  {m{"override": m{"original_type": "refund"}}, 0},
			"N13 a refund here": {m{"content": "refund"}, 0},
		} {
			o, no := s.opened()
			c.order["to"], c.order["out_trade_no"] = "pay", no
			for range 2 {
				s.wantStatus(name, s.notice(c.order), 400)
			}
			s.wantState(o, model.OrderPending)
			if n := s.number("SELECT COUNT(*) FROM anomalies WHERE order_id = ?", o.ID); n != c.anomalies {
				s.Errorf("%s: %d anomalies, want %d", name, n, c.anomalies)
			}
			if n := s.number("SELECT COUNT(*) FROM payments WHERE order_id = ?", o.ID); n != 0 {
				s.Errorf("%s: %d payments", name, n)
			}
			s.wantStatus(name+", then the right one", s.notice(m{"to": "pay", "out_trade_no": no}), 204)
			s.wantState(o, model.OrderPaid)
		}
		s.audited()
	})
}

func TestN06_N08_N09_CallbacksThatAreNotWeChats(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		n := 0
		for name, order := range map[string]m{
			"another key": {"tamper": "wrong_key"}, "a byte flipped": {"tamper": "body"}, "another serial": {"tamper": "serial"},
			"N09 signtest": {"tamper": "signtest"}, "a broken signature": {"tamper": "signature"}, "no signature": {"tamper": "missing_header"},
			"no timestamp": {"tamper": "missing_header", "header": "Wechatpay-Timestamp"},
			"N06 too old":  {"timestamp_offset_s": -301}, "N06 of the future": {"timestamp_offset_s": 330},
		} {
			order["to"], order["out_trade_no"] = "pay", no
			s.wantStatus(name, s.notice(order), 401)
			n++
		}
		for name, order := range map[string]m{"bad nonce": {"tamper": "bad_nonce"}, "no resource": {"tamper": "no_resource"}} {
			order["to"], order["out_trade_no"] = "pay", no
			s.wantStatus(name, s.notice(order), 400)
		}
		s.wantState(o, model.OrderPending)
		if got := s.number("SELECT COUNT(*) FROM anomalies"); got != 0 {
			s.Errorf("%d anomalies: anybody can send those", got)
		}
		if lines := strings.Count(s.log.String(), "outcome=unverified"); lines != 1 {
			s.Errorf("%d log lines of %d strangers, want a sample of one", lines, n)
		}
		want := fmt.Sprintf("# HELP tidemall_wechat_notices_total Callbacks of WeChat by address and outcome.\n# TYPE tidemall_wechat_notices_total counter\n"+
			"tidemall_wechat_notices_total{outcome=\"malformed\",to=\"pay\"} 2\ntidemall_wechat_notices_total{outcome=\"unverified\",to=\"pay\"} %d\n", n)
		if err := testutil.GatherAndCompare(s.metrics, strings.NewReader(want), "tidemall_wechat_notices_total"); err != nil {
			s.Error(err)
		}
		s.wantStatus("N06 290 s old", s.notice(m{"to": "pay", "out_trade_no": no, "timestamp_offset_s": -290}), 204)
		s.wantState(o, model.OrderPaid)
	})
}

// Cases T34, T35, N16.
func TestT34_T35_N16_FailsThenWorks(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		s.orders.stumble = []func(ctx context.Context) error{
			func(context.Context) error { return fault.New(fault.DatabaseUnavailable) },
			func(context.Context) error { return errors.New("boom") },
			func(ctx context.Context) error { // a database that hangs
				if limit, ok := ctx.Deadline(); !ok || time.Until(limit) > 5*time.Second {
					s.Errorf("the end of the patience is %v; WeChat waits 5 s", limit)
				}
				<-ctx.Done()
				return ctx.Err()
			},
		}
		s.wantStatus("database away", s.notice(m{"to": "pay", "out_trade_no": no}), 503)
		s.wantStatus("boom", s.notice(m{"to": "pay", "out_trade_no": no}), 500)
		watch, start := stall.Start(), time.Now()
		defer watch.Stop()
		if hung := s.notice(m{"to": "pay", "out_trade_no": no}); watch.Between(start, time.Now()) == 0 { // or the answer may have come too late
			s.wantStatus("hangs", hung, 500)
		}
		s.wantState(o, model.OrderPending)
		s.wantStatus("resent", s.notice(m{"to": "pay", "out_trade_no": no, "times": 2}), 204, 204) // the second: its first answer was lost
		s.wantState(o, model.OrderPaid)
		s.audited()
	})
}

// The attempt's row is not there (yet): WeChat shall send it again.
func TestCallbackForAnUnknownNumber(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		s.wantStatus("unknown", s.notice(m{"to": "pay", "out_trade_no": no, "override": m{"out_trade_no": "T20260101AAAAAAAAAAAA-1"}}), 500)
		if n := s.number("SELECT COUNT(*) FROM anomalies WHERE kind = ?", payment.AnomalyUnknownPayment); n != 1 {
			s.Errorf("%d anomalies", n)
		}
		s.wantState(o, model.OrderPending)
	})
}

// Case C08.
func TestC08_CallbackAfterTheClose(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		if _, err := s.orders.Cancel(s.Context(), o.ShopperID, o.No); err != nil {
			s.Fatal(err)
		}
		s.wantStatus("late", s.notice(m{"to": "pay", "out_trade_no": no, "times": 2}), 204, 204)
		s.wantState(o, model.OrderClosed)
		if n := s.number("SELECT COUNT(*) FROM refunds WHERE order_id = ? AND out_refund_no = ? AND amount_fen = 100", o.ID, "L"+no); n != 1 {
			s.Errorf("%d refunds", n)
		}
		s.audited()
	})
}

func TestRefundCallbacks(t *testing.T) {
	eachShop(t, func(s *shop) {
		o, no := s.opened()
		s.wantStatus("paid", s.notice(m{"to": "pay", "out_trade_no": no}), 204)
		r, err := s.orders.Refund(s.Context(), merchantID, o.No, "", order.RefundRequest{Reason: "缺货"})
		if err != nil {
			s.Fatal(err)
		}
		about := func(extra m) m {
			order := m{"to": "refund", "out_trade_no": no, "out_refund_no": r.OutRefundNo}
			maps.Copy(order, extra)
			return order
		}
		s.wantStatus("N13 a payment here", s.notice(about(m{"content": "pay"})), 400)
		s.wantStatus("R11 another amount", s.notice(about(m{"override": m{"amount_refund": 99}})), 400)
		s.wantStatus("another mchid", s.notice(about(m{"override": m{"mchid": "1900000002"}})), 400)
		s.wantStatus("another status", s.notice(about(m{"override": m{"refund_status": "CLOSED"}})), 400)
		s.wantStatus("forged", s.notice(about(m{"tamper": "wrong_key"})), 401)
		s.wantStatus("R13 unknown", s.notice(about(m{"override": m{"out_refund_no": "strange"}})), 500)
		s.wantState(o, model.OrderPaid)
		if n := s.number("SELECT COUNT(*) FROM anomalies"); n != 2 {
			s.Errorf("%d anomalies, want one of the misfits and one of the unknown refund", n)
		}
		s.wantStatus("right, twice", s.notice(about(m{"times": 2, "parallel": true})), 204, 204)
		s.wantState(o, model.OrderClosed)
		if n := s.number("SELECT stock FROM skus WHERE id = ?", s.sku); n != 10 {
			s.Errorf("stock %d", n)
		}
		s.audited()
	})
}

func TestBodiesThatAreNoCallbacks(t *testing.T) {
	s := newShop(t, storetest.SQLite(t))
	for _, path := range []string{"/notify/wechat/pay", "/notify/wechat/refund", "/notify/wechat/push"} {
		for name, c := range map[string]struct {
			body io.Reader
			want int
		}{
			"empty": {strings.NewReader(""), 401}, "garbage": {strings.NewReader("{"), 401},
			"3 MB": {bytes.NewReader(make([]byte, 3<<20)), 413},
		} {
			resp, err := http.Post(s.url+path, "application/json", c.body)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != c.want || !bytes.Contains(body, []byte("FAIL")) {
				t.Errorf("%s %s: %d %s, want %d", path, name, resp.StatusCode, body, c.want)
			}
		}
	}
}

func TestPushIsTakenOnce(t *testing.T) {
	eachShop(t, func(s *shop) {
		had, fails := 0, true
		s.effects["trade_manage_remind_shipping"] = func(*store.Tx, wechat.Push) error {
			if fails {
				return errors.New("boom")
			}
			had++
			return nil
		}
		push := m{"to": "push", "url": s.url + "/notify/wechat/push", "message": m{"MsgType": "event", "Event": "trade_manage_remind_shipping", "CreateTime": 1, "msg": "x"}}
		s.wantStatus("failing", s.notice(push), 500)
		fails = false
		s.wantStatus("again and again", s.notice(push), 200)
		push["times"] = 3
		for _, a := range s.notice(push) {
			if a.Status != 200 || a.Body != "success" {
				s.Errorf("answered %d %q", a.Status, a.Body)
			}
		}
		if n := s.number("SELECT COUNT(*) FROM push_messages WHERE event = 'trade_manage_remind_shipping'"); had != 1 || n != 1 {
			s.Errorf("had its effect %d times, %d rows", had, n)
		}
		push["times"] = 1
		for _, tamper := range []string{"signature", "missing_header", "body", "bad_nonce", "no_resource"} {
			push["tamper"] = tamper
			s.wantStatus(tamper, s.notice(push), 401)
		}
		push["tamper"], push["timestamp_offset_s"] = "none", -400
		s.wantStatus("too old", s.notice(push), 401)
		if n := s.number("SELECT COUNT(*) FROM push_messages"); n != 1 {
			s.Errorf("%d rows", n)
		}
	})
}

func TestPushEcho(t *testing.T) {
	s := newShop(t, storetest.SQLite(t))
	resp, err := http.Get(s.url + "/notify/wechat/push?signature=00&timestamp=1&nonce=2&echostr=hello")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 401 || bytes.Contains(body, []byte("hello")) {
		t.Errorf("answered %d %s", resp.StatusCode, body)
	}
}
