package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
	"github.com/tidemall/tidemall/timeout"
)

const merchantID = 1

type m = map[string]any

// till is a shop over a real database and a WeChat of its own, with a clock that tests move.
type till struct {
	*testing.T
	bank   *sandbox.Server
	client *wechat.Client
	store  *store.Store
	orders *order.Service
	bills  *reconcile.Service
	sku    int64
	clock  atomic.Int64
	seq    atomic.Int64
	day    reconcile.Day // of the payments that tests make
}

func eachTill(t *testing.T, test func(t *testing.T, tl *till)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, newTill(t, s)) })
}

func newTill(t *testing.T, s *store.Store) *till {
	tl := &till{T: t, store: s}
	now := time.Now()
	tl.clock.Store(now.UnixMilli())
	tl.day = reconcile.DayOf(model.At(now))
	bank, err := sandbox.New(sandbox.Options{DataDir: sandboxtest.DataDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	bank.Start()
	t.Cleanup(func() { _ = bank.Stop() })
	tl.bank = bank
	cfg, err := wechat.FromSandbox(t.Context(), bank.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.NotifyBaseURL = "http://127.0.0.1:1"
	if tl.client, err = wechat.New(cfg, wechat.Options{}); err != nil {
		t.Fatal(err)
	}
	tl.settings(m{"bill_today": true, "refund_hold": true})
	tl.orders = order.New(order.Deps{
		Store: s, Now: tl.now, Log: slog.New(slog.DiscardHandler), Catalog: shelf{}, Policies: tl, Tasks: tl, WeChat: tl.client,
		MaxUnpaid: 20, Zone: time.UTC,
	})
	tl.bills = tl.replica(tl.client)
	tl.fill()
	return tl
}

// replica is another process over the same database.
func (tl *till) replica(w reconcile.WeChat) *reconcile.Service {
	return reconcile.New(reconcile.Deps{Store: tl.store, Now: tl.now, Log: slog.New(slog.DiscardHandler), WeChat: w, Orders: settler{tl.orders}, Tasks: tl})
}

type settler struct{ *order.Service }

func (s settler) Settle(ctx context.Context, t wechat.Transaction) error {
	_, err := s.Service.Settle(ctx, t)
	return err
}

type shelf struct{}

func (shelf) Sellables(db *gorm.DB, ids []int64) ([]catalog.Sellable, error) {
	return catalog.Sellables(db, ids)
}
func (shelf) CategoryPath(_, categoryID int64) []int64 { return []int64{categoryID} }

func (tl *till) Resolve(string, policy.Query) policy.Decision {
	return policy.Decision{Duration: 30 * time.Minute}
}
func (tl *till) Schedule(context.Context, ...timeout.Task) error { return nil }
func (tl *till) now() model.Time                                 { return model.Time(tl.clock.Load()) }

func (tl *till) insert(rows ...any) {
	tl.Helper()
	for _, row := range rows {
		if err := tl.store.Read(tl.Context()).Create(row).Error; err != nil {
			tl.Fatal(err)
		}
	}
}

// fill puts a virtual product on the shelf, which needs no address.
func (tl *till) fill() {
	now := tl.now()
	p := &model.Product{
		MerchantID: merchantID, Name: "潮汐茶", Virtual: true, Published: true, MinPriceFen: 100, Version: 1, CreatedAt: now, ChangedAt: now,
		Images: []model.Image{}, Options: []model.ProductOption{},
	}
	tl.insert(&model.Merchant{ID: merchantID, Name: "m1", Version: 1, CreatedAt: now, UpdatedAt: now}, p)
	k := model.SKU{ProductID: p.ID, MerchantID: merchantID, Specs: map[string]string{}, PriceFen: 100, Stock: 10_000, CreatedAt: now, UpdatedAt: now}
	tl.insert(&k)
	err := tl.store.Tx(tl.Context(), func(tx *store.Tx) error { return inventory.Open(tx, []model.SKU{k}, "test", now) })
	if err != nil {
		tl.Fatal(err)
	}
	tl.sku = k.ID
}

// paidAtWeChat is an order that was paid at WeChat; the shop has not heard of it. It returns the order's number at WeChat.
func (tl *till) paidAtWeChat() (o *model.Order, tradeNo string) {
	tl.Helper()
	n := tl.seq.Add(1)
	shopper := &model.Shopper{OpenID: sandbox.OpenID(fmt.Sprintf("ann%d", n)), CreatedAt: tl.now(), UpdatedAt: tl.now()}
	tl.insert(shopper)
	o, err := tl.orders.Place(tl.Context(), shopper.ID, order.Placement{
		Basket: order.Basket{Items: []order.Item{{SKUID: tl.sku, Quantity: 2}}}, Key: fmt.Sprintf("key-%08d", n), ExpectedPayableFen: 200,
	})
	if err != nil {
		tl.Fatal(err)
	}
	params, err := tl.orders.Pay(tl.Context(), shopper.ID, o.No)
	if err != nil {
		tl.Fatal(err)
	}
	var t struct {
		OutTradeNo string `json:"out_trade_no"`
	}
	tl.control("POST", "/sandbox/pay", m{"prepay_id": strings.TrimPrefix(params.Package, "prepay_id="), "notify": m{"times": 0}}, &t)
	return o, t.OutTradeNo
}

// paid is an order that was paid, and the shop knows.
func (tl *till) paid() (o *model.Order, t wechat.Transaction) {
	tl.Helper()
	o, no := tl.paidAtWeChat()
	t, err := tl.client.Query(tl.Context(), no)
	if err == nil {
		_, err = tl.orders.Settle(tl.Context(), t)
	}
	if err != nil {
		tl.Fatal(err)
	}
	tl.exec("UPDATE payments SET paid_at = ? WHERE transaction_id = ?", tl.noon(), t.TransactionID)
	return o, t
}

// refunded is a refund of a paid order that WeChat has made; the shop knows if it hears of it.
func (tl *till) refunded(heard bool) *model.Refund {
	tl.Helper()
	o, t := tl.paid()
	r, err := tl.orders.Refund(tl.Context(), merchantID, o.No, "", order.RefundRequest{Reason: "test", Actor: "admin:1"})
	if err != nil {
		tl.Fatal(err)
	}
	_, err = tl.client.Refund(tl.Context(), wechat.RefundRequest{TransactionID: t.TransactionID, OutRefundNo: r.OutRefundNo, RefundFen: int64(r.AmountFen), TotalFen: int64(r.TotalFen)})
	if err != nil {
		tl.Fatal(err)
	}
	tl.control("POST", "/sandbox/refunds/"+r.OutRefundNo, m{"status": "SUCCESS", "notify": m{"times": 0}}, nil)
	if heard {
		got, err := tl.client.QueryRefund(tl.Context(), r.OutRefundNo)
		if err == nil {
			err = tl.orders.RefundResult(tl.Context(), got)
		}
		if err != nil {
			tl.Fatal(err)
		}
		tl.exec("UPDATE refunds SET ended_at = ? WHERE id = ?", tl.noon(), r.ID)
	}
	return r
}

func (tl *till) control(method, path string, body, into any) {
	tl.Helper()
	if status := sandboxtest.Control(tl.T, tl.bank.URL(), method, path, body, into); status > 299 {
		tl.Fatalf("%s %s: %d", method, path, status)
	}
}

func (tl *till) settings(change m) {
	tl.Helper()
	tl.control("POST", "/sandbox/settings", change, nil)
}

// until moves the clock to when the bill of the day is asked for.
func (tl *till) until(day reconcile.Day) { tl.clock.Store(int64(day.Ready())) }

// handle runs the task of a day as the timeout module would, and returns what it said.
func (tl *till) handle(s *reconcile.Service, day reconcile.Day, due model.Time) timeout.Outcome {
	tl.Helper()
	return s.Kinds()[0].Handler.Handle(tl.Context(), []timeout.Task{{Kind: reconcile.KindBill, Key: fmt.Sprint(int64(day)), Due: int64(due)}})[0]
}

// run does everything that is due now, like the timeout module, until nothing is.
func (tl *till) run() {
	tl.Helper()
	for range 100 {
		tasks, err := tl.bills.Kinds()[0].Source.Due(tl.Context(), timeout.Cursor{}, int64(tl.now()), 10)
		if err != nil {
			tl.Fatal(err)
		}
		if len(tasks) == 0 {
			return
		}
		for _, task := range tasks {
			if o := tl.bills.Kinds()[0].Handler.Handle(tl.Context(), []timeout.Task{task})[0]; o.Err() != nil {
				tl.Fatalf("%s: %v", task.Key, o.Err())
			}
		}
	}
	tl.Fatal("something is due for ever")
}

// reconcile has the day run again until it ended.
func (tl *till) reconcile() *model.Bill {
	tl.Helper()
	if _, err := tl.bills.Run(tl.Context(), tl.day); err != nil {
		tl.Fatal(err)
	}
	tl.run()
	return tl.bill(tl.day)
}

func (tl *till) bill(day reconcile.Day) *model.Bill {
	tl.Helper()
	b, _, _, err := tl.bills.Get(tl.Context(), day, store.Page{Number: 1, Limit: 1})
	if err != nil {
		tl.Fatal(err)
	}
	return b
}

// differences are those of the day: "kind ref bill shop status".
func (tl *till) differences(day reconcile.Day) []string {
	tl.Helper()
	_, rows, total, err := tl.bills.Get(tl.Context(), day, store.Page{Number: 1, Limit: 100})
	if err != nil || total != int64(len(rows)) {
		tl.Fatal(total, err)
	}
	out := []string{}
	for _, r := range rows {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %d %d %s", r.Kind, r.Ref, r.BillFen, r.ShopFen, r.State)))
	}
	return out
}

func (tl *till) wantDifferences(day reconcile.Day, want ...string) {
	tl.Helper()
	got := tl.differences(day)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		tl.Errorf("differences of %s:\ngot  %s\nwant %s", day, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	if n := tl.bill(day).Differences; n != int64(len(want)) {
		tl.Errorf("the bill counts %d differences, want %d", n, len(want))
	}
}

func (tl *till) exec(query string, args ...any) {
	tl.Helper()
	if err := tl.store.Read(tl.Context()).Exec(query, args...).Error; err != nil {
		tl.Fatal(err)
	}
}

// noon is the middle of the day of the tests' payments, far from either midnight.
func (tl *till) noon() model.Time { return tl.day.Start().Add(12 * time.Hour) }

func (tl *till) number(query string, args ...any) (n int64) {
	tl.Helper()
	if err := tl.store.Read(tl.Context()).Raw(query, args...).Scan(&n).Error; err != nil {
		tl.Fatal(err)
	}
	return n
}

// audited checks the shop's invariants.
func (tl *till) audited() {
	tl.Helper()
	tl.exec("UPDATE messages SET state = 'sent', sent_at = ? WHERE state = 'pending'", tl.now()) // no relay runs here
	report, err := audit.Run(tl.Context(), tl.store, audit.Options{Now: tl.now(), OverdueAlarm: 48 * time.Hour})
	if err != nil {
		tl.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Violations > 0 {
			tl.Errorf("%s: %d violations: %v", c.ID, c.Violations, c.Examples)
		}
	}
}
