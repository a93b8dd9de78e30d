package notice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout"
)

func TestMain(m *testing.M) { os.Exit(sandboxtest.Run(m)) }

var people atomic.Int64

// desk is a service over a real database and the simulated WeChat, with a clock that tests move, and one order of a shopper of its
// own.
type desk struct {
	*Service
	t      *testing.T
	clock  atomic.Int64
	name   string // of the shopper
	order  model.Order
	refund model.Refund
	url    string

	mu        sync.Mutex
	scheduled []timeout.Task
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
	cfg.NotifyBaseURL = "http://127.0.0.1:1"
	client, err := wechat.New(cfg, wechat.Options{CallLimit: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("+08:00", 8*60*60)
	d := &desk{t: t, name: fmt.Sprintf("person-%d", people.Add(1)), url: b.URL()}
	d.clock.Store(time.Now().UnixMilli())
	d.Service = New(Deps{Store: s, Now: func() model.Time { return model.Time(d.clock.Load()) }, Log: slog.New(slog.DiscardHandler), WeChat: client, Tasks: d, Zone: zone})
	d.furnish()
	t.Cleanup(func() {
		d.control("DELETE", "/sandbox/faults", nil, nil)
		d.control("DELETE", "/sandbox/settings", nil, nil)
	})
	return d
}

// Schedule keeps the tasks for the test to look at.
func (d *desk) Schedule(_ context.Context, tasks ...timeout.Task) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scheduled = append(d.scheduled, tasks...)
	return nil
}

func (d *desk) advance(by time.Duration) { d.clock.Add(by.Milliseconds()) }

func (d *desk) insert(row any) {
	d.t.Helper()
	if err := d.Store.Read(d.t.Context()).Create(row).Error; err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) exec(query string, args ...any) {
	d.t.Helper()
	if err := d.Store.Read(d.t.Context()).Exec(query, args...).Error; err != nil {
		d.t.Fatal(err)
	}
}

// at is a time that tests can write down.
var at = model.At(time.Date(2026, 1, 31, 7, 1, 0, 0, time.UTC))

// furnish makes an order with everything that a message may speak of.
func (d *desk) furnish() {
	d.t.Helper()
	now := d.Now()
	d.insert(&model.Merchant{ID: 1, Name: "潮汐家居 Tide", Version: 1, CreatedAt: now, UpdatedAt: now})
	shopper := model.Shopper{OpenID: sandbox.OpenID(d.name), CreatedAt: now, UpdatedAt: now}
	d.insert(&shopper)
	d.order = model.Order{
		ID: 11, No: "T202601310123456789AB", MerchantID: 1, ShopperID: shopper.ID, State: model.OrderPending, OrderType: model.OrderTypeGoods, GoodsFen: 9900,
		PayableFen: 9900, IdemKey: "k", PayDeadline: now.Add(time.Hour), PaidAt: at, ShippedAt: at, ClosedAt: at, Version: 1, CreatedAt: at, UpdatedAt: now,
	}
	d.insert(&d.order)
	d.insert(&model.OrderLine{ID: 21, OrderID: 11, LineNo: 1, MerchantID: 1, Name: "亚麻混纺宽松长袖连衣裙 夏季新款 通勤百搭显瘦", Specs: map[string]string{}, Quantity: 2, PriceFen: 4950})
	d.insert(&model.Parcel{ID: 31, OrderID: 11, MerchantID: 1, Delivery: model.DeliveryExpress, Carrier: "SF", TrackingNo: "SF1234567890", State: model.ParcelWaiting, CreatedAt: at})
	d.refund = model.Refund{
		ID: 41, OrderID: 11, PaymentID: 51, MerchantID: 1, OutRefundNo: "T202601310123456789AB-R1", Kind: model.RefundMerchant, State: model.RefundSuccess,
		AmountFen: 4950, TotalFen: 9900, Reason: "缺货", Version: 2, CreatedAt: at, EndedAt: at,
	}
	d.insert(&d.refund)
}

// template sets the template of an event and turns it on.
func (d *desk) template(event string, fields map[string]string) {
	d.t.Helper()
	all, err := d.Templates(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, t := range all {
		if t.Event.Name == event {
			_, err = d.SetTemplate(d.t.Context(), event, Draft{TemplateID: d.templateID(event), Page: "pages/order/detail?no={order_no}", Fields: fields, Enabled: true, Version: t.Version})
		}
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// templateID is one that no other test uses.
func (d *desk) templateID(event string) string {
	return (strings.ReplaceAll(d.name, "-", "_") + "_" + event + strings.Repeat("0", 43))[:43]
}

// heard delivers the message of an event to its subscriber, as the relay does.
func (d *desk) heard(name string, change ...func(*order.Changed)) error {
	d.t.Helper()
	about := order.Changed{OrderID: 11, No: d.order.No, MerchantID: 1, ShopperID: d.order.ShopperID, State: model.OrderPaid, PayableFen: 9900, Version: 2, At: d.Now()}
	for _, c := range change {
		c(&about)
	}
	var payload any = about
	topic := map[string]string{EventPaid: order.TopicPaid, EventShipped: order.TopicShipped, EventExpiring: order.TopicReminder, EventClosed: order.TopicClosed, EventRefunded: payment.TopicRefundSucceeded}[name]
	if name == EventRefunded {
		payload = payment.RefundChanged{RefundID: 41, OrderID: 11, MerchantID: 1, AmountFen: 4950, At: d.Now()}
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range d.Subscribers() {
		if s.Topic == topic {
			return s.Handle(d.t.Context(), event.Message{ID: 1, Topic: topic, Payload: raw})
		}
	}
	d.t.Fatalf("nobody hears of %s", topic)
	return nil
}

// hear is heard that must go well; it returns the only message that was written.
func (d *desk) hear(name string) *model.SubscribeMessage {
	d.t.Helper()
	if err := d.heard(name, func(c *order.Changed) { c.CloseReason = model.CloseTimeout }); err != nil {
		d.t.Fatal(err)
	}
	rows := d.rows()
	if len(rows) != 1 {
		d.t.Fatalf("%d messages, want 1", len(rows))
	}
	return &rows[0]
}

func (d *desk) rows() (rows []model.SubscribeMessage) {
	d.t.Helper()
	if err := d.Store.Read(d.t.Context()).Order("id").Find(&rows).Error; err != nil {
		d.t.Fatal(err)
	}
	return rows
}

// run has the message's task run as it stands now, and returns the message afterwards.
func (d *desk) run(m *model.SubscribeMessage) *model.SubscribeMessage {
	d.t.Helper()
	d.clock.Store(max(d.clock.Load(), int64(*m.NextAt)))
	d.due(d.t.Context(), m.ID, *m.NextAt)
	now, err := d.byID(d.t.Context(), m.ID)
	if err != nil || now == nil {
		d.t.Fatal(now, err)
	}
	return now
}

func (d *desk) want(m *model.SubscribeMessage, state model.NoticeState, calls int, code string) {
	d.t.Helper()
	if m.State != state || m.Calls != calls || m.Code != code || (m.NextAt == nil) != (state != model.NoticeWaiting) || m.SentAt.IsZero() != (state != model.NoticeSent) {
		d.t.Errorf("%s after %d calls, code %q, next %v, sent %v (%s); want %s, %d, %q", m.State, m.Calls, m.Code, m.NextAt, m.SentAt, m.Error, state, calls, code)
	}
}

// told is what the shopper was sent.
type told struct {
	TemplateID string            `json:"template_id"`
	Page       string            `json:"page"`
	Values     map[string]string `json:"values"`
}

func (d *desk) told() []told {
	d.t.Helper()
	var reply struct{ List []told }
	d.control("GET", "/sandbox/messages?name="+d.name, nil, &reply)
	return reply.List
}

// fault makes the next calls go wrong.
func (d *desk) fault(f map[string]any) {
	f["path"] = "/cgi-bin/message/subscribe/send"
	d.control("POST", "/sandbox/faults", f, nil)
}

func (d *desk) control(method, path string, body, into any) {
	d.t.Helper()
	if status := sandboxtest.Control(d.t, d.url, method, path, body, into); status > 299 {
		d.t.Fatalf("%s %s: %d", method, path, status)
	}
}

// audited fails if an invariant of the merchants' separation is broken; the orders of these tests are not whole ones.
func (d *desk) audited() {
	d.t.Helper()
	report, err := audit.Run(d.t.Context(), d.Store, audit.Options{Now: d.Now()})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.ID == "A12" && c.Violations > 0 {
			d.t.Errorf("A12: %+v", c)
		}
	}
}

func sqlite(t *testing.T) *store.Store { return storetest.SQLite(t) }

func asFault(err error, into **fault.Error) bool { return errors.As(err, into) }
