package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// village is a whole shop with things that cost nothing, so that an order is completed in a moment.
type village struct {
	*testing.T
	*app.App

	merchant, sku, product int64
	people                 int
	failed                 time.Time // when the last check began whose failure opened the breaker
}

func eachVillage(t *testing.T, test func(v *village)) {
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
			v := &village{T: t, App: running(t, parts.env(t)...)}
			v.furnish()
			test(v)
			r, err := audit.Run(t.Context(), v.Store, audit.Options{Now: v.Now()})
			if err != nil || !r.OK {
				t.Errorf("audit: %+v, %v", r, err)
			}
		})
	}
}

func (v *village) furnish() {
	v.Helper()
	var merchant model.Merchant
	if err := v.Store.Read(v.Context()).First(&merchant).Error; err != nil {
		v.Fatal(err)
	}
	now := v.Now()
	product := model.Product{
		MerchantID: merchant.ID, Name: "试用装", Virtual: true, Published: true, Version: 1, CreatedAt: now, ChangedAt: now,
		Images: []model.Image{}, Options: []model.ProductOption{},
	}
	v.insert(&product)
	sku := model.SKU{ProductID: product.ID, MerchantID: merchant.ID, Specs: map[string]string{}, Stock: 1000, CreatedAt: now, UpdatedAt: now}
	v.insert(&sku)
	v.insert(&model.LedgerEntry{MerchantID: merchant.ID, SKUID: sku.ID, Kind: model.LedgerInitial, Delta: 1000, CreatedAt: now})
	v.merchant, v.sku, v.product = merchant.ID, sku.ID, product.ID

	inbox := payment.Inbox{Store: v.Store, Now: v.Now}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		q := r.URL.Query()
		p, err := v.WeChat.ParsePush(wechat.PushQuery{
			MsgSignature: q.Get("msg_signature"), Timestamp: q.Get("timestamp"), Nonce: q.Get("nonce"), EncryptType: q.Get("encrypt_type"),
		}, body.Bytes())
		if err == nil {
			_, err = inbox.Take(r.Context(), p.ID, p.Event, func(tx *store.Tx) error {
				if effect := v.Pushes()[p.Event]; effect != nil {
					return effect(tx, p)
				}
				return nil
			})
		}
		if err != nil {
			v.Error(err)
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	v.Cleanup(server.Close)
	v.control("POST", "/sandbox/settings", map[string]any{"push_url": server.URL}, 200)
}

func (v *village) insert(row any) {
	v.Helper()
	if err := v.Store.Read(v.Context()).Create(row).Error; err != nil {
		v.Fatal(err)
	}
}

// control calls the sandbox.
func (v *village) control(method, path string, body map[string]any, want int) {
	v.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		v.Fatal(err)
	}
	req, err := http.NewRequestWithContext(v.Context(), method, v.SandboxURL+path, bytes.NewReader(raw))
	if err != nil {
		v.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		v.Fatalf("%s %s: %d", method, path, resp.StatusCode)
	}
}

func (v *village) number(query string, args ...any) (n int64) {
	v.Helper()
	if err := v.Store.Read(v.Context()).Raw(query, args...).Scan(&n).Error; err != nil {
		v.Fatal(err)
	}
	return n
}

func (v *village) await(what string, done func() bool) {
	v.Helper()
	storetest.Await(v.T, 20*time.Second, what, done)
}

// shopper makes a shopper whom the simulated WeChat knows.
func (v *village) shopper() int64 {
	v.Helper()
	v.people++
	row := model.Shopper{OpenID: sandbox.OpenID(fmt.Sprint("villager", v.people)), Nickname: "微信用户", CreatedAt: v.Now(), UpdatedAt: v.Now()}
	v.insert(&row)
	return row.ID
}

func (v *village) basket(remark string) order.Placement {
	v.people++
	return order.Placement{Basket: order.Basket{Items: []order.Item{{SKUID: v.sku, Quantity: 1}}}, Remark: remark, Key: fmt.Sprintf("key-%08d", v.people)}
}

// completed makes an order that its shopper has received, and returns it with its line.
func (v *village) completed(shopperID int64) (o *model.Order, lineID int64) {
	v.Helper()
	o, err := v.Orders.Place(v.Context(), shopperID, v.basket(""))
	if err == nil {
		_, err = v.Orders.Ship(v.Context(), v.merchant, o.No, "", "admin:1", order.Shipment{Parcels: []order.ShipmentParcel{{Delivery: model.DeliveryVirtual}}})
	}
	if err == nil {
		_, err = v.Orders.Confirm(v.Context(), shopperID, o.No)
	}
	if err != nil {
		v.Fatal(err)
	}
	return o, v.number("SELECT id FROM order_lines WHERE order_id = ?", o.ID)
}
