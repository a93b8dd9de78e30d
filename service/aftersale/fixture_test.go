package aftersale

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout"
)

const merchantID = 1

func TestMain(m *testing.M) { os.Exit(sandboxtest.Run(m)) }

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// desk is where after-sales are asked for and answered: the service over a real database, with a clock that tests move.
type desk struct {
	*Service
	t      tester
	orders *order.Service
	store  *store.Store
	url    string // of the simulated WeChat
	clock  atomic.Int64
	seq    atomic.Int64
	answer time.Duration // the policy's for the merchant's answer

	mu    sync.Mutex
	tasks []timeout.Task
}

func eachDesk(t *testing.T, test func(t *testing.T, d *desk)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, newDesk(t, s)) })
}

func newDesk(t *testing.T, s *store.Store) *desk {
	t.Helper()
	b := sandboxtest.Shared(t)
	cfg, err := wechat.FromSandbox(t.Context(), b.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.NotifyBaseURL = "http://127.0.0.1:1" // callbacks are lost: the task asks
	client, err := wechat.New(cfg, wechat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, store: s, url: b.URL(), answer: 48 * time.Hour}
	d.clock.Store(time.Now().UnixMilli())
	d.orders = order.New(order.Deps{
		Store: s, Now: d.time, Log: slog.New(slog.DiscardHandler), Catalog: shelf{}, Policies: d, Tasks: d, WeChat: client, MaxUnpaid: 1000,
		Zone: time.UTC, AftersaleWindow: 15 * 24 * time.Hour,
	})
	d.Service = New(s, d.time, d.orders)
	d.insert(&model.Merchant{ID: merchantID, Name: "m1", Version: 1, CreatedAt: d.time(), UpdatedAt: d.time()})
	return d
}

type shelf struct{}

func (shelf) Sellables(db *gorm.DB, ids []int64) ([]catalog.Sellable, error) {
	return catalog.Sellables(db, ids)
}
func (shelf) CategoryPath(_, categoryID int64) []int64 { return []int64{categoryID} }

func (d *desk) Resolve(stage string, _ policy.Query) policy.Decision {
	switch stage {
	case policy.StagePay:
		return policy.Decision{Duration: 30 * time.Minute}
	case policy.StageAftersale:
		return policy.Decision{Duration: d.answer}
	}
	return policy.Decision{}
}

func (d *desk) Schedule(_ context.Context, tasks ...timeout.Task) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks = append(d.tasks, tasks...)
	return nil
}

func (d *desk) time() model.Time         { return model.Time(d.clock.Load()) }
func (d *desk) advance(by time.Duration) { d.clock.Add(by.Milliseconds()) }

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%v", err)
	}
}

func (d *desk) wantCode(err error, want fault.Code) {
	d.t.Helper()
	if !fault.Is(err, want) {
		d.t.Errorf("got %v, want %s", err, want)
	}
}

func (d *desk) insert(row any) {
	d.t.Helper()
	d.must(d.store.Read(context.Background()).Create(row).Error)
}

func (d *desk) exec(query string, args ...any) {
	d.t.Helper()
	d.must(d.store.Read(context.Background()).Exec(query, args...).Error)
}

func (d *desk) number(query string, args ...any) (n int64) {
	d.t.Helper()
	d.must(d.store.Read(context.Background()).Raw(query, args...).Scan(&n).Error)
	return n
}

// good is what is bought: so many pieces at a price.
type good struct {
	quantity int64
	price    model.Fen
}

// sku makes a product with 10 pieces in stock.
func (d *desk) sku(price model.Fen) int64 {
	now := d.time()
	p := model.Product{
		MerchantID: merchantID, Name: fmt.Sprintf("商品%d", d.seq.Add(1)), Published: true, MinPriceFen: price, Version: 1, CreatedAt: now,
		ChangedAt: now, Images: []model.Image{}, Options: []model.ProductOption{},
	}
	d.insert(&p)
	k := model.SKU{
		ProductID: p.ID, MerchantID: merchantID, Specs: map[string]string{}, PriceFen: price, Stock: 10, WeightG: 100, CreatedAt: now, UpdatedAt: now,
	}
	d.insert(&k)
	d.must(d.store.Tx(context.Background(), func(tx *store.Tx) error { return inventory.Open(tx, []model.SKU{k}, "test", now) }))
	return k.ID
}

// bought is an order that a new shopper has placed, with a coupon and freight where there are any, and not paid.
func (d *desk) bought(coupon, freight model.Fen, goods ...good) *model.Order {
	d.t.Helper()
	now, n := d.time(), d.seq.Add(1)
	d.exec("DELETE FROM freight_rules")
	if freight > 0 {
		d.insert(&model.FreightRule{MerchantID: merchantID, Name: "f", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, FirstFen: freight, StepUnits: 1, Version: 1})
	}
	me := model.Shopper{OpenID: sandbox.OpenID(fmt.Sprintf("after-%d-%d", now, n)), CreatedAt: now, UpdatedAt: now}
	d.insert(&me)
	address := model.Address{ShopperID: me.ID, Name: "张三", Phone: "13800000000", Province: "浙江省", City: "杭州市", Detail: "文三路 1 号", CreatedAt: now, UpdatedAt: now}
	d.insert(&address)
	b := order.Basket{AddressID: address.ID}
	if coupon > 0 {
		tpl := model.CouponTemplate{
			MerchantID: merchantID, Name: "券", Kind: model.CouponAmount, AmountFen: coupon, Scope: model.ScopeAll, ScopeIDs: []int64{}, Total: 10,
			PerShopper: 1, Issued: 1, StartsAt: now.Add(-time.Hour), EndsAt: now.Add(1000 * time.Hour), Version: 1,
		}
		d.insert(&tpl)
		c := model.Coupon{TemplateID: tpl.ID, MerchantID: merchantID, ShopperID: me.ID, Seq: 1, State: model.CouponAvailable, ExpiresAt: tpl.EndsAt}
		d.insert(&c)
		b.CouponID = c.ID
	}
	for _, g := range goods {
		b.Items = append(b.Items, order.Item{SKUID: d.sku(g.price), Quantity: g.quantity})
	}
	q, err := d.orders.Quote(context.Background(), me.ID, b)
	d.must(err)
	o, err := d.orders.Place(context.Background(), me.ID, order.Placement{Basket: b, ExpectedPayableFen: q.PayableFen, Key: fmt.Sprintf("after-%08d", n)})
	d.must(err)
	return o
}

// paid is bought and paid by WeChat's word alone: the simulated WeChat has never heard of it.
func (d *desk) paid(coupon, freight model.Fen, goods ...good) *model.Order {
	d.t.Helper()
	o := d.bought(coupon, freight, goods...)
	if o.PayableFen == 0 {
		return o
	}
	a := model.PaymentAttempt{ID: o.ID, OrderID: o.ID, MerchantID: merchantID, OutTradeNo: o.No + "-1", State: model.AttemptOpen, AmountFen: o.PayableFen, CreatedAt: d.time()}
	d.insert(&a)
	_, err := d.orders.Settle(context.Background(), wechat.Transaction{
		OutTradeNo: a.OutTradeNo, TransactionID: "t" + a.OutTradeNo, TradeState: wechat.TradeSuccess, AmountTotal: int64(a.AmountFen),
		PayerTotal: int64(a.AmountFen), Currency: wechat.Currency,
	})
	d.must(err)
	return d.reload(o)
}

// paidForReal is bought and paid at the simulated WeChat, which can then refund it.
func (d *desk) paidForReal(coupon, freight model.Fen, goods ...good) *model.Order {
	d.t.Helper()
	o := d.bought(coupon, freight, goods...)
	p, err := d.orders.Pay(context.Background(), o.ShopperID, o.No)
	d.must(err)
	d.control("/sandbox/pay", map[string]any{"prepay_id": strings.TrimPrefix(p.Package, "prepay_id="), "notify": map[string]any{"times": 0}})
	_, err = d.orders.Verify(context.Background(), o.ShopperID, o.No)
	d.must(err)
	return d.reload(o)
}

func (d *desk) control(path string, body any) {
	d.t.Helper()
	if status := sandboxtest.Control(d.t, d.url, "POST", path, body, nil); status > 299 {
		d.t.Fatalf("%s: %d", path, status)
	}
}

func (d *desk) reload(o *model.Order) *model.Order {
	d.t.Helper()
	var row model.Order
	d.must(d.store.Read(context.Background()).Where("id = ?", o.ID).Take(&row).Error)
	return &row
}

func (d *desk) lines(o *model.Order) []model.OrderLine {
	d.t.Helper()
	var rows []model.OrderLine
	d.must(d.store.Read(context.Background()).Where("order_id = ?", o.ID).Order("line_no").Find(&rows).Error)
	return rows
}

// stock is that of the order's lines' SKUs, in their order.
func (d *desk) stock(o *model.Order) (all []int64) {
	for _, l := range d.lines(o) {
		all = append(all, d.number("SELECT stock FROM skus WHERE id = ?", l.SKUID))
	}
	return all
}

func (d *desk) ship(o *model.Order, parts ...order.RefundPart) error {
	_, err := d.orders.Ship(context.Background(), merchantID, o.No, "", "admin:1", order.Shipment{Parcels: []order.ShipmentParcel{
		{Delivery: model.DeliveryExpress, Carrier: "ZTO", TrackingNo: "75312345678901", Lines: parts},
	}})
	return err
}

// tryAsk asks for pieces of the order's first line.
func (d *desk) tryAsk(o *model.Order, kind model.AftersaleType, quantity int64) (*View, error) {
	return d.Ask(context.Background(), o.ShopperID, o.No, "", Request{
		Type: kind, Reason: "不想要了", Lines: []order.RefundPart{{LineID: d.lines(o)[0].ID, Quantity: quantity}},
	})
}

func (d *desk) ask(o *model.Order, kind model.AftersaleType, quantity int64) *View {
	d.t.Helper()
	v, err := d.tryAsk(o, kind, quantity)
	d.must(err)
	return v
}

// answers are the merchant's, by the verb of the operation.
func (d *desk) answers(verb string, v *View) (*View, error) {
	ans := Answer{Text: verb, Version: v.Version, Actor: "admin:3"}
	switch ctx := context.Background(); verb {
	case "approve":
		return d.Approve(ctx, merchantID, v.ID, nil, ans)
	case "reject":
		return d.Reject(ctx, merchantID, v.ID, ans)
	case "receive":
		return d.Receive(ctx, merchantID, v.ID, true, ans)
	case "withdraw":
		return d.Withdraw(ctx, v.ShopperID, v.ID)
	case "return":
		return d.SendBack(ctx, v.ShopperID, v.ID, Parcel{Carrier: "ZTO", TrackingNo: "7531999"})
	}
	return nil, fmt.Errorf("no verb %s", verb)
}

func (d *desk) does(verb string, v *View, want model.AftersaleState) *View {
	d.t.Helper()
	got, err := d.answers(verb, v)
	d.must(err)
	if got.State != want {
		d.t.Fatalf("%s: %s, want %s", verb, got.State, want)
	}
	return got
}

func (d *desk) fresh(v *View) *View {
	d.t.Helper()
	got, err := d.GetForMerchant(context.Background(), merchantID, v.ID)
	d.must(err)
	return got
}

// wechatSays gives the refund of an after-sale its result.
func (d *desk) wechatSays(v *View, status wechat.RefundStatus) *View {
	d.t.Helper()
	r := d.fresh(v).Refund
	if r == nil {
		d.t.Fatalf("after-sale %d has no refund", v.ID)
	}
	if r.State != model.RefundSuccess {
		d.must(d.orders.RefundResult(context.Background(), wechat.Refund{
			OutRefundNo: r.OutRefundNo, Status: status, AmountRefund: int64(r.AmountFen), AmountTotal: int64(r.TotalFen),
		}))
	}
	return d.fresh(v)
}

// run does everything of a kind that is due now, as the timeout module would.
func (d *desk) run(kind string) (n int) {
	d.t.Helper()
	for _, k := range d.orders.Kinds() {
		if k.Name != kind {
			continue
		}
		tasks, err := k.Source.Due(context.Background(), timeout.Cursor{}, int64(d.time()), 250)
		d.must(err)
		for _, task := range tasks {
			k.Handler.Handle(context.Background(), []timeout.Task{task})
		}
		n = len(tasks)
	}
	return n
}

// called makes every refund due that was made, and calls WeChat.
func (d *desk) called() {
	d.t.Helper()
	var rows []model.Message
	d.must(d.store.Read(context.Background()).Where("topic = ?", payment.TopicRefundCreated).Find(&rows).Error)
	for _, sub := range d.orders.Subscribers() {
		for _, r := range rows {
			if sub.Topic == r.Topic {
				d.must(sub.Handle(context.Background(), event.Message{ID: r.ID, Topic: r.Topic, Key: r.Key, Seq: r.Seq, Payload: []byte(r.Payload)}))
			}
		}
	}
	d.run(order.KindRefund)
}

// topics are those of the after-sale's messages, in their order.
func (d *desk) topics(v *View) string {
	d.t.Helper()
	var topics []string
	d.must(d.store.Read(context.Background()).Raw("SELECT topic FROM messages WHERE msg_key = ? ORDER BY seq", "aftersale:"+strconv.FormatInt(v.ID, 10)).Scan(&topics).Error)
	return strings.ReplaceAll(strings.Join(topics, " "), "aftersale.", "")
}

// audited fails where an invariant is broken. Messages count as delivered: the tests run no relay.
func (d *desk) audited() {
	d.t.Helper()
	d.exec("UPDATE messages SET state = 'sent', sent_at = ? WHERE state = 'pending'", d.time())
	r, err := audit.Run(context.Background(), d.store, audit.Options{Now: d.time()})
	d.must(err)
	for _, c := range r.Checks {
		if c.Violations > 0 {
			d.t.Errorf("%s %s: %+v", c.ID, c.Name, c.Findings)
		}
	}
}

// together runs fn n times at once and returns its errors.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { <-start; errs[i] = fn(i) })
	}
	close(start)
	wg.Wait()
	return errs
}
