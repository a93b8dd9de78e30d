package order

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout"
)

func TestMain(m *testing.M) { os.Exit(sandboxtest.Run(m)) }

// line is the real client on its way to the simulated WeChat, where tests can be a moment before or after a call.
type line struct {
	*wechat.Client

	mu       sync.Mutex
	before   map[string]func()
	after    map[string]func(err error) error
	count    map[string]int
	patience time.Duration
}

func (l *line) call(ctx context.Context, op string, do func(ctx context.Context) error) error {
	l.mu.Lock()
	l.count[op]++
	before, after := l.before[op], l.after[op]
	patience := l.patience
	l.mu.Unlock()
	if before != nil {
		before()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := do(ctx)
	if after != nil {
		return after(err)
	}
	return err
}

func (l *line) calls(op string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[op]
}

// The client waits long enough for a machine that stands still; where the answer never comes a test waits less.
const (
	patient   = 30 * time.Second
	impatient = 500 * time.Millisecond
)

// waits says for how long the answers to calls are waited for from now on.
func (l *line) waits(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.patience = d
}

// onceBefore runs fn before the next call of the operation.
func (l *line) onceBefore(op string, fn func()) {
	var once sync.Once
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before[op] = func() { once.Do(fn) }
}

// onceAfter runs fn between the next call's effect and its answer, which fn may change.
func (l *line) onceAfter(op string, fn func(err error) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after[op] = func(err error) error {
		l.mu.Lock()
		delete(l.after, op)
		l.mu.Unlock()
		return fn(err)
	}
}

func (l *line) Prepay(ctx context.Context, r wechat.PrepayRequest) (id string, err error) {
	err = l.call(ctx, "prepay", func(ctx context.Context) (err error) { id, err = l.Client.Prepay(ctx, r); return err })
	return id, err
}

func (l *line) Query(ctx context.Context, no string) (t wechat.Transaction, err error) {
	err = l.call(ctx, "query", func(ctx context.Context) (err error) { t, err = l.Client.Query(ctx, no); return err })
	return t, err
}

func (l *line) Close(ctx context.Context, no string) error {
	return l.call(ctx, "close", func(ctx context.Context) error { return l.Client.Close(ctx, no) })
}

func (l *line) Refund(ctx context.Context, r wechat.RefundRequest) (got wechat.Refund, err error) {
	err = l.call(ctx, "refund", func(ctx context.Context) (err error) { got, err = l.Client.Refund(ctx, r); return err })
	return got, err
}

func (l *line) QueryRefund(ctx context.Context, no string) (got wechat.Refund, err error) {
	err = l.call(ctx, "query refund", func(ctx context.Context) (err error) { got, err = l.Client.QueryRefund(ctx, no); return err })
	return got, err
}

func (l *line) UploadShipping(ctx context.Context, up wechat.ShippingUpload) error {
	return l.call(ctx, "upload", func(ctx context.Context) error { return l.Client.UploadShipping(ctx, up) })
}

// till is a shop that the simulated WeChat pays. The clock of the shop moves by hand, WeChat's does not.
type till struct {
	*shop
	bank *sandbox.Server
	line *line
	sku  int64
}

var buyers atomic.Int64

func eachTill(t *testing.T, test func(t *testing.T, tl *till)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, newTill(t, s)) })
}

func mysqlStore(t *testing.T) *store.Store { return storetest.MySQL(t) }

func newTill(t *testing.T, s *store.Store) *till {
	t.Helper()
	b := sandboxtest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cfg, err := wechat.FromSandbox(ctx, b.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.NotifyBaseURL = "http://127.0.0.1:1" // callbacks are lost unless a test delivers them
	client, err := wechat.New(cfg, wechat.Options{CallLimit: patient})
	if err != nil {
		t.Fatal(err)
	}
	tl := &till{shop: newShop(t, s), bank: b}
	tl.line = &line{Client: client, before: map[string]func(){}, after: map[string]func(error) error{}, count: map[string]int{}, patience: patient}
	tl.Service.WeChat = tl.line
	tl.sku = tl.shop.sku(product{price: 150, stock: 10, virtual: true})
	tl.settings(m{"refund_hold": true})
	t.Cleanup(func() {
		tl.control("DELETE", "/sandbox/faults", nil, nil)
		tl.control("DELETE", "/sandbox/settings", nil, nil)
	})
	return tl
}

// buyer is a shopper whom WeChat knows.
func (tl *till) buyer() int64 {
	row := model.Shopper{OpenID: sandbox.OpenID(fmt.Sprintf("buyer-%d", buyers.Add(1))), CreatedAt: tl.Now(), UpdatedAt: tl.Now()}
	tl.insert(&row)
	return row.ID
}

// unpaid is the fixture of the cases: one order of 100 fen, stock 10 before it, one coupon locked.
func (tl *till) unpaid() *model.Order {
	tl.t.Helper()
	me := tl.buyer()
	o, err := tl.Place(tl.t.Context(), me, tl.basket(me, tl.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 50}), Item{SKUID: tl.sku, Quantity: 1}))
	if err != nil {
		tl.t.Fatal(err)
	}
	if o.PayableFen != 100 {
		tl.t.Fatalf("payable %d, want 100", o.PayableFen)
	}
	return o
}

func (tl *till) control(method, path string, body, into any) int {
	tl.t.Helper()
	return sandboxtest.Control(tl.t, tl.bank.URL(), method, path, body, into)
}

type m = map[string]any

func (tl *till) fault(f m) {
	tl.t.Helper()
	var reply m
	if status := tl.control("POST", "/sandbox/faults", f, &reply); status != 201 {
		tl.t.Fatalf("fault refused: %d %v", status, reply)
	}
}

// silent has the next call of the path end without an answer, done or not. The connection is lost then: how long the test would have
// to wait for the end of its patience, and whether the call was done before, would depend on the machine.
func (tl *till) silent(path string, done bool) {
	tl.t.Helper()
	mode := "timeout"
	if done {
		mode = "timeout_after"
	}
	tl.fault(m{"path": path, "mode": mode, "delay_ms": 1})
}

func (tl *till) settings(change m) {
	tl.t.Helper()
	var reply m
	if status := tl.control("POST", "/sandbox/settings", change, &reply); status != 200 {
		tl.t.Fatalf("settings refused: %d %v", status, reply)
	}
}

// open calls Pay and returns the prepay_id.
func (tl *till) open(o *model.Order) string {
	tl.t.Helper()
	p, err := tl.Pay(tl.t.Context(), o.ShopperID, o.No)
	if err != nil {
		tl.t.Fatal(err)
	}
	return strings.TrimPrefix(p.Package, "prepay_id=")
}

// phone pays the prepay_id at WeChat; no callback is sent.
func (tl *till) phone(prepayID string) {
	tl.t.Helper()
	var reply m
	if status := tl.control("POST", "/sandbox/pay", m{"prepay_id": prepayID, "notify": m{"times": 0}}, &reply); status != 200 {
		tl.t.Fatalf("WeChat refuses to be paid: %v", reply)
	}
}

// paidLate makes WeChat believe that the number was paid, even if it is closed. The callback of it goes nowhere.
func (tl *till) paidLate(no string) {
	tl.t.Helper()
	var reply m
	if status := tl.control("POST", "/sandbox/notify", m{"to": "pay", "out_trade_no": no, "times": 1}, &reply); status != 200 {
		tl.t.Fatalf("late payment refused: %v", reply)
	}
}

// word is what WeChat says of a number.
func (tl *till) word(no string) wechat.Transaction {
	tl.t.Helper()
	t, err := tl.line.Client.Query(tl.t.Context(), no)
	if err != nil {
		tl.t.Fatal(err)
	}
	return t
}

// callback is what the callback does with WeChat's word.
func (tl *till) callback(no string) error {
	_, err := tl.Settle(context.Background(), tl.word(no))
	return err
}

func (tl *till) attempts(o *model.Order) []*model.PaymentAttempt {
	tl.t.Helper()
	rows, err := payment.Attempts(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil {
		tl.t.Fatal(err)
	}
	return rows
}

func (tl *till) refunds(o *model.Order) []model.Refund {
	tl.t.Helper()
	rows, err := payment.RefundsOf(tl.Store.Read(tl.t.Context()), o.ID)
	if err != nil {
		tl.t.Fatal(err)
	}
	return rows
}

// paid is an order that was paid.
func (tl *till) paid() *model.Order {
	tl.t.Helper()
	o := tl.unpaid()
	tl.phone(tl.open(o))
	if err := tl.callback(o.No + "-1"); err != nil {
		tl.t.Fatal(err)
	}
	return tl.reload(o)
}

// run hands a task to its kind's handler, as the timeout module does, and returns the outcome.
func (tl *till) run(kind string, id int64, due model.Time) timeout.Outcome {
	tl.t.Helper()
	for _, k := range tl.Kinds() {
		if k.Name == kind {
			return k.Handler.Handle(context.Background(), []timeout.Task{{Kind: kind, Key: strconv.FormatInt(id, 10), Due: int64(due)}})[0]
		}
	}
	tl.t.Fatalf("no kind %s", kind)
	return timeout.Outcome{}
}

// due lists the tasks of a kind that the database says are due by the shop's clock.
func (tl *till) due(kind string) []timeout.Task {
	tl.t.Helper()
	for _, k := range tl.Kinds() {
		if k.Name == kind {
			tasks, err := k.Source.Due(tl.t.Context(), timeout.Cursor{}, int64(tl.Now()), 250)
			if err != nil {
				tl.t.Fatal(err)
			}
			return tasks
		}
	}
	return nil
}

// tick does everything that is due now, as the timeout module would, once. It returns how many tasks there were.
func (tl *till) tick() int {
	n := 0
	for _, k := range tl.Kinds() {
		tasks := tl.due(k.Name)
		n += len(tasks)
		for len(tasks) > 0 {
			size := max(k.Batch, 1)
			if k.Batch == 0 {
				size = timeout.MaxBatch
			}
			size = min(size, len(tasks))
			k.Handler.Handle(context.Background(), tasks[:size])
			tasks = tasks[size:]
		}
	}
	return n
}

// toDeadline moves the clock to the order's deadline.
func (tl *till) toDeadline(o *model.Order) {
	tl.clock.Store(max(tl.clock.Load(), int64(o.PayDeadline)))
}

// deliver gives the messages of a topic to the service's subscriber.
func (tl *till) deliver(topic string) {
	tl.t.Helper()
	var rows []model.Message
	if err := tl.Store.Read(tl.t.Context()).Where("topic = ?", topic).Order("id").Find(&rows).Error; err != nil {
		tl.t.Fatal(err)
	}
	for _, sub := range tl.Subscribers() {
		for _, r := range rows {
			if sub.Topic != topic {
				continue
			}
			if err := sub.Handle(tl.t.Context(), event.Message{ID: r.ID, Topic: r.Topic, Key: r.Key, Seq: r.Seq, Payload: []byte(r.Payload)}); err != nil {
				tl.t.Fatal(err)
			}
		}
	}
}

// called gives every refund that was made to WeChat, which holds them all until bankSays.
func (tl *till) called() {
	tl.t.Helper()
	tl.deliver(payment.TopicRefundCreated)
	tl.tick()
}

// bankSays gives a refund that WeChat holds its result; the callback of it goes nowhere.
func (tl *till) bankSays(outRefundNo, status string) {
	tl.t.Helper()
	var reply m
	if got := tl.control("POST", "/sandbox/refunds/"+outRefundNo, m{"status": status, "notify": m{"times": 0}}, &reply); got != 200 {
		tl.t.Fatalf("refund %s: %d %v", outRefundNo, got, reply)
	}
}

// refunded brings every refund of the order that was made to its success.
func (tl *till) refunded(o *model.Order) {
	tl.t.Helper()
	for range tl.refunds(o) { // of one payment, each waits for the one before
		tl.called()
		for _, r := range tl.refunds(o) {
			if r.State == model.RefundProcessing {
				tl.bankSays(r.OutRefundNo, "SUCCESS")
			}
		}
		tl.advance(11 * time.Minute) // longer than any pause between calls
		tl.tick()
	}
	for _, r := range tl.refunds(o) {
		if r.State != model.RefundSuccess {
			tl.t.Errorf("refund %s is %s: %s", r.OutRefundNo, r.State, r.Error)
		}
	}
}

// state is the order's state, close reason, stock of the SKU, and the coupon's state, in one line.
func (tl *till) state(o *model.Order) string {
	tl.t.Helper()
	now := tl.reload(o)
	text := string(now.State)
	if now.CloseReason != "" {
		text += "/" + string(now.CloseReason)
	}
	if now.ClosingReason != nil {
		text += " closing"
	}
	return fmt.Sprintf("%s stock=%d coupon=%s", text, tl.stock(tl.sku), tl.couponState(o.CouponID))
}

func (tl *till) want(o *model.Order, want string) {
	tl.t.Helper()
	if got := tl.state(o); got != want {
		tl.t.Errorf("order is %q, want %q", got, want)
	}
}

// audited fails where an invariant is broken. Messages count as delivered: the tests run no relay.
func (tl *till) audited() {
	tl.t.Helper()
	tl.exec("UPDATE messages SET state = 'sent', sent_at = ? WHERE state = 'pending'", tl.Now())
	r, err := audit.Run(context.Background(), tl.Store, audit.Options{Now: tl.Now()})
	if err != nil {
		tl.t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Violations > 0 {
			tl.t.Errorf("%s %s: %v", c.ID, c.Name, c.Examples)
		}
	}
}

func (tl *till) wantCode(err error, want fault.Code) {
	tl.t.Helper()
	if !fault.Is(err, want) {
		tl.t.Errorf("got %v, want %s", err, want)
	}
}

func (tl *till) exec(query string, args ...any) {
	tl.t.Helper()
	if err := tl.Store.Read(tl.t.Context()).Exec(query, args...).Error; err != nil {
		tl.t.Fatal(err)
	}
}
