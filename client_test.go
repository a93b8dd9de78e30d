package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/stall"
)

// person is somebody who talks to a shop over HTTP: a shopper, an admin, or nobody yet.
type person struct {
	t     *testing.T
	base  string
	token string
}

// reply is what the shop answered.
type reply struct {
	status int
	header http.Header
	text   string
	took   time.Duration // but for the time that the machine stood still
}

// httpClient bounds every request: a shop that hangs fails the test.
var httpClient = &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// try makes a request; the error is the connection's.
func (p person) try(method, path string, body any, headers ...string) (reply, error) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return reply{}, err
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, p.base+path, in)
	if err != nil {
		return reply{}, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	began := time.Now()
	resp, err := httpClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), lateness(began, time.Now())}, err
}

// call makes a request that must be answered with the status and returns the answer.
func (p person) call(want int, method, path string, body any, headers ...string) reply {
	p.t.Helper()
	r, err := p.try(method, path, body, headers...)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	if r.status != want {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, r.status, r.text, want)
	}
	return r
}

// as decodes an answer.
func as[T any](p person, r reply) (v T) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(r.text), &v); err != nil {
		p.t.Fatalf("%v in %s", err, r.text)
	}
	return v
}

// refused makes a request that must be refused with the status and the code.
func (p person) refused(status int, code, method, path string, body any, headers ...string) reply {
	p.t.Helper()
	r := p.call(status, method, path, body, headers...)
	problem := as[struct {
		Status    int    `json:"status"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
	}](p, r)
	if problem.Code != code || problem.Status != status || problem.RequestID == "" || !strings.HasPrefix(r.header.Get("Content-Type"), "application/problem+json") {
		p.t.Fatalf("%s %s: %s, want code %s", method, path, r.text, code)
	}
	return r
}

// listOf is the shape of every list.
type listOf[T any] struct {
	List []T `json:"list"`
}

// with returns the person at another address: after a restart, or at another replica.
func (p person) with(s *shop) person {
	p.base = s.url()
	return p
}

// shopper logs in as demo-name; "" is somebody without a token.
func (s *shop) shopper(name string) person {
	s.t.Helper()
	p := person{t: s.t, base: s.url()}
	if name != "" {
		p.token = as[struct{ Token string }](p, p.call(200, "POST", "/api/v1/auth/login", map[string]any{"code": "demo-" + name})).Token
	}
	return p
}

// admin logs in as the platform administrator.
func (s *shop) admin() person {
	s.t.Helper()
	p := person{t: s.t, base: s.url()}
	p.token = as[struct{ Token string }](p, p.call(200, "POST", "/api/admin/v1/auth/login", map[string]any{"username": "admin", "password": password})).Token
	return p
}

// wechat is the simulator's controls.
func (s *shop) wechat() person { return person{t: s.t, base: s.sandbox()} }

// eventually asks until the answer is yes, with stall.Patience. state says what it is meanwhile.
func eventually(t *testing.T, within time.Duration, what string, ask func() (yes bool, state string)) {
	t.Helper()
	for patience := stall.NewPatience(within); ; time.Sleep(20 * time.Millisecond) {
		yes, state := ask()
		if yes {
			return
		}
		if patience.Over() {
			t.Fatalf("not within %v: %s; it is %s", within, what, state)
		}
	}
}

// untilAfter is how long it is from now to an instant, if any, and so much longer.
func untilAfter(at time.Time, more time.Duration) time.Duration { return max(0, time.Until(at)) + more }

// awaitReady waits until /readyz says one of the statuses.
func (p person) awaitReady(statuses ...string) {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "/readyz says "+strings.Join(statuses, " or "), func() (bool, string) {
		r, err := p.try("GET", "/readyz", nil)
		if err != nil {
			return false, err.Error()
		}
		var body struct{ Status string }
		_ = json.Unmarshal([]byte(r.text), &body)
		return r.status == 200 && slices.Contains(statuses, body.Status), r.text
	})
}

// order is what the shop tells of an order.
type order struct {
	No          string    `json:"no"`
	Status      string    `json:"status"`
	Closing     bool      `json:"closing"`
	CloseReason string    `json:"close_reason"`
	GoodsFen    int64     `json:"goods_fen"`
	DiscountFen int64     `json:"discount_fen"`
	PayableFen  int64     `json:"payable_fen"`
	RefundedFen int64     `json:"refunded_fen"`
	PayDeadline time.Time `json:"pay_deadline"`
	ClosedAt    time.Time `json:"closed_at"`
	PaidAt      time.Time `json:"paid_at"`
	OutTradeNo  string    `json:"out_trade_no"`
	Actions     []string  `json:"actions"`
	Version     int64     `json:"version"`
	Address     *struct{} `json:"address"`
	Lines       []struct {
		ID       int64 `json:"id"`
		SKUID    int64 `json:"sku_id"`
		Quantity int64 `json:"quantity"`
	} `json:"lines"`

	// What only the panel sees.
	Events []struct {
		To    string `json:"to"`
		Actor string `json:"actor"`
	} `json:"events"`
	Payments []struct {
		TransactionID string `json:"transaction_id"`
		Settled       bool   `json:"settled"`
	} `json:"payments"`
	Refunds []struct {
		OutRefundNo string `json:"out_refund_no"`
		Status      string `json:"status"`
		AmountFen   int64  `json:"amount_fen"`
	} `json:"refunds"`
	Attempts []struct {
		OutTradeNo string `json:"out_trade_no"`
		Status     string `json:"status"`
	} `json:"attempts"`
}

// keys makes Idempotency-Keys.
var keys atomic.Int64

func newKey() string { return fmt.Sprintf("process-test-%08d", keys.Add(1)) }

type basket struct {
	Items      []item `json:"items"`
	AddressID  int64  `json:"address_id,omitempty"`
	MyCouponID int64  `json:"my_coupon_id,omitempty"`
}

type item struct {
	SKUID      int64 `json:"sku_id"`
	Quantity   int64 `json:"quantity"`
	CartItemID int64 `json:"cart_item_id,omitempty"`
}

// placement is a basket with the price that the shopper saw.
type placement struct {
	basket

	ExpectedPayableFen int64 `json:"expected_payable_fen"`
}

// quote returns what a basket costs.
func (p person) quote(b basket) int64 {
	p.t.Helper()
	return as[struct {
		PayableFen int64 `json:"payable_fen"`
	}](p, p.call(200, "POST", "/api/v1/orders/quote", b)).PayableFen
}

// place buys a basket at its price.
func (p person) place(b basket) order {
	p.t.Helper()
	return as[order](p, p.call(201, "POST", "/api/v1/orders", placement{b, p.quote(b)}, "Idempotency-Key", newKey()))
}

// buy buys pieces of one SKU.
func (p person) buy(sku, quantity int64) order {
	p.t.Helper()
	return p.place(basket{Items: []item{{SKUID: sku, Quantity: quantity}}})
}

func (p person) order(no string) order {
	p.t.Helper()
	return as[order](p, p.call(200, "GET", "/api/v1/orders/"+no, nil))
}

// await waits until an order has the status.
func (p person) await(no, status string, within time.Duration) (o order) {
	p.t.Helper()
	eventually(p.t, within, "order "+no+" is "+status, func() (bool, string) {
		o = p.order(no)
		return o.Status == status, fmt.Sprintf("%s (closing: %v)", o.Status, o.Closing)
	})
	return o
}

// awaitClosedOnTime waits for an order to close by timeout, and fails if that was early or later than allowed after the deadline, but
// for the time that the machine stood still.
func (p person) awaitClosedOnTime(no string, late time.Duration) order {
	p.t.Helper()
	o := p.await(no, "closed", untilAfter(p.order(no).PayDeadline, late+10*time.Second))
	after := lateness(o.PayDeadline, o.ClosedAt)
	if o.CloseReason != "timeout" || after < 0 || after > late {
		p.t.Errorf("order %s closed by %q %v after its deadline, want by timeout within %v", no, o.CloseReason, after, late)
	}
	p.t.Logf("order %s closed %v after its deadline", no, after)
	return o
}

// payParams is what wx.requestPayment takes.
type payParams struct {
	TimeStamp string `json:"timeStamp"`
	NonceStr  string `json:"nonceStr"`
	Package   string `json:"package"`
	SignType  string `json:"signType"`
	PaySign   string `json:"paySign"`
}

// pay opens an order for payment.
func (p person) pay(no string) payParams {
	p.t.Helper()
	return as[payParams](p, p.call(200, "POST", "/api/v1/orders/"+no+"/pay", nil))
}

// confirm does what the phone does after wx.requestPayment: the money is WeChat's, and WeChat calls back so many times.
func (s *shop) confirm(pay payParams, callbacks int) {
	s.t.Helper()
	s.wechat().call(200, "POST", "/sandbox/pay", map[string]any{
		"prepay_id": strings.TrimPrefix(pay.Package, "prepay_id="), "request_payment": pay, "result": "SUCCESS", "notify": map[string]any{"times": callbacks},
	})
}

// fault makes the simulator misbehave until noFaults.
func (s *shop) fault(path, mode string, more map[string]any) {
	s.t.Helper()
	body := map[string]any{"path": path, "mode": mode, "count": -1}
	maps.Copy(body, more)
	r, err := s.wechat().try("POST", "/sandbox/faults", body)
	if err != nil || r.status/100 != 2 {
		s.t.Fatalf("fault: %v %d %s", err, r.status, r.text)
	}
}

func (s *shop) noFaults() {
	s.t.Helper()
	r, err := s.wechat().try("DELETE", "/sandbox/faults", nil)
	if err != nil || r.status/100 != 2 {
		s.t.Fatalf("faults: %v %d %s", err, r.status, r.text)
	}
}

// goods is what a test sells: one SKU that needs no delivery.
type goods struct {
	admin    person
	product  int64
	sku      int64
	policy   int64
	policyAt int64 // its version
}

// sell puts a product with so many pieces at 9,900 fen on the shelf, with a pay policy of the given duration for all orders.
func (s *shop) sell(stock int64, toPay time.Duration) *goods {
	s.t.Helper()
	g := &goods{admin: s.admin()}
	type thing struct {
		ID      int64 `json:"id"`
		Version int64 `json:"version"`
		SKUs    []struct {
			ID int64 `json:"id"`
		} `json:"skus"`
	}
	category := as[thing](g.admin, g.admin.call(201, "POST", "/api/admin/v1/categories", map[string]any{"name": newKey()}))
	product := as[thing](g.admin, g.admin.call(201, "POST", "/api/admin/v1/products", map[string]any{
		"name": "潮汐杯 " + newKey(), "category_id": category.ID, "virtual": true,
		"skus": []any{map[string]any{"specs": map[string]any{}, "price_fen": 9900, "stock": stock}},
	}))
	g.admin.call(200, "POST", fmt.Sprintf("/api/admin/v1/products/%d/publish", product.ID), nil)
	g.product, g.sku = product.ID, product.SKUs[0].ID
	policy := as[thing](g.admin, g.admin.call(201, "POST", "/api/admin/v1/timeout-policies", map[string]any{"stage": "pay", "duration_ms": toPay.Milliseconds()}))
	g.policy, g.policyAt = policy.ID, policy.Version
	return g
}

// toPay changes how long new orders may be paid.
func (g *goods) toPay(d time.Duration) {
	g.admin.t.Helper()
	g.policyAt = as[struct{ Version int64 }](g.admin, g.admin.call(200, "PUT", fmt.Sprintf("/api/admin/v1/timeout-policies/%d", g.policy),
		map[string]any{"duration_ms": d.Milliseconds(), "version": g.policyAt})).Version
}

// stock is what is left on the shelf.
func (g *goods) stock() int64 {
	g.admin.t.Helper()
	return as[struct {
		SKUs []struct{ Stock int64 } `json:"skus"`
	}](g.admin, g.admin.call(200, "GET", fmt.Sprintf("/api/admin/v1/products/%d", g.product), nil)).SKUs[0].Stock
}

// wantStock fails unless so many pieces are left.
func (g *goods) wantStock(want int64) {
	g.admin.t.Helper()
	if got := g.stock(); got != want {
		g.admin.t.Errorf("stock is %d, want %d", got, want)
	}
}

// order is an order with its history and its money.
func (g *goods) order(no string) order {
	g.admin.t.Helper()
	return as[order](g.admin, g.admin.call(200, "GET", "/api/admin/v1/orders/"+no, nil))
}

// wantEvents fails unless an order went through exactly these states.
func (g *goods) wantEvents(no string, states ...string) {
	g.admin.t.Helper()
	var got []string
	for _, e := range g.order(no).Events {
		got = append(got, e.To)
	}
	if !slices.Equal(got, states) {
		g.admin.t.Errorf("order %s went through %v, want %v", no, got, states)
	}
}
