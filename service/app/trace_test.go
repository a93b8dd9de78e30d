package app_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/telemetry/collector"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// running is a whole shop that runs in this process.
func running(t *testing.T, env ...string) *app.App {
	t.Helper()
	cfg, _, err := config.Load("", append([]string{
		"TIDEMALL_DATA_DIR=" + t.TempDir(), "TIDEMALL_HTTP_ADDR=127.0.0.1:0", "TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:0", "TIDEMALL_DEMO=false",
	}, env...))
	if err != nil {
		t.Fatal(err)
	}
	shop, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := shop.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return shop
}

// stocked puts one product on the shelf and returns a basket with a piece of it, and a shopper.
func stocked(t *testing.T, shop *app.App) (shopperID int64, p order.Placement) {
	t.Helper()
	now := shop.Now()
	insert := func(row any) {
		if err := shop.Store.Read(t.Context()).Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}
	var merchant model.Merchant
	if err := shop.Store.Read(t.Context()).First(&merchant).Error; err != nil {
		t.Fatal(err)
	}
	product := model.Product{
		MerchantID: merchant.ID, Name: "礼品卡", Virtual: true, Published: true, MinPriceFen: 100, Version: 1, CreatedAt: now, ChangedAt: now,
		Images: []model.Image{}, Options: []model.ProductOption{},
	}
	insert(&product)
	sku := model.SKU{ProductID: product.ID, MerchantID: merchant.ID, Specs: map[string]string{}, PriceFen: 100, Stock: 5, CreatedAt: now, UpdatedAt: now}
	insert(&sku)
	shopper := model.Shopper{OpenID: "openid", CreatedAt: now, UpdatedAt: now}
	insert(&shopper)
	p.Items, p.ExpectedPayableFen, p.Key = []order.Item{{SKUID: sku.ID, Quantity: 1}}, 100, "key-12345678"
	return shopper.ID, p
}

// From the request that places an order over the deadline that closes it to the delivery of the messages of both there is one
// trace at the collector, and it is the one that the order's events name.
func TestOneTraceOverTheWholeShop(t *testing.T) {
	for _, parts := range []struct {
		name string
		env  func(t *testing.T) []string
	}{
		{"embedded", func(*testing.T) []string { return nil }},
		{"real", func(t *testing.T) []string {
			return []string{"TIDEMALL_MYSQL_DSN=" + testserver.MySQL(t), "TIDEMALL_REDIS_ADDRS=" + testserver.Redis(t)}
		}},
	} {
		t.Run(parts.name, func(t *testing.T) {
			spans := collector.Start(t)
			shop := running(t, append(parts.env(t), "TIDEMALL_OTEL_ENDPOINT="+spans.Endpoint)...)
			_, err := shop.Policies.Create(t.Context(), policy.By{Actor: "admin:1"}, policy.Draft{Stage: policy.StagePay, DurationMS: 1000, Enabled: true, RolloutPercent: 100})
			if err != nil {
				t.Fatal(err)
			}
			shopper, basket := stocked(t, shop)
			ctx, request := shop.Traces.Tracer("test").Start(t.Context(), "POST /orders")
			o, err := shop.Orders.Place(ctx, shopper, basket)
			request.End()
			if err != nil {
				t.Fatal(err)
			}

			trace := request.SpanContext().TraceID().String()
			ours := func(name string) collector.Span {
				return spans.Await(func(s collector.Span) bool { return s.Name == name && s.TraceID == trace })
			}
			place, closed := ours("order.place"), ours(order.TopicClosed)
			for _, c := range []struct {
				child  collector.Span
				parent string
			}{
				{place, request.SpanContext().SpanID().String()},
				{ours("BEGIN"), place.ID},
				{ours("COMMIT"), place.ID},
				{closed, place.ID},
				{ours("deliver " + order.TopicCreated), ours(order.TopicCreated).ID},
				{ours("deliver " + order.TopicClosed), closed.ID},
			} {
				if c.child.ParentID != c.parent {
					t.Errorf("%s is under %s, want %s", c.child.Name, c.child.ParentID, c.parent)
				}
			}
			batch := spans.Await(func(s collector.Span) bool { return slices.Contains(s.Links, closed.ID) })
			if batch.Name != "timeout.pay" || batch.TraceID == trace || !slices.Contains(closed.Links, batch.ID) {
				t.Errorf("the close is linked with %s in trace %s", batch.Name, batch.TraceID)
			}
			var ids []string
			err = shop.Store.Read(t.Context()).Raw("SELECT trace_id FROM order_events WHERE order_id = ? ORDER BY version", o.ID).Scan(&ids).Error
			if err != nil || !slices.Equal(ids, []string{trace, trace}) {
				t.Errorf("the events name %v, want %s twice (%v)", ids, trace, err)
			}
			// What nobody asked for makes no trace of its own: each begins with a request or a batch of deadlines.
			all, _ := spans.Spans()
			for _, s := range all {
				if s.ParentID == "" && s.Name != "POST /orders" && s.Name != "timeout.pay" {
					t.Errorf("a trace begins with %s", s.Name)
				}
			}
		})
	}
}
