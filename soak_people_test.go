package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// soakGoods are what there is to buy: plenty of two things and a few of a third, and what every shopper may claim.
type soakGoods struct {
	goods

	skus    []int64
	start   map[int64]int64 // stock by SKU
	coupons []int64         // templates
}

// soakShelf fills the shop. Unpaid orders close after seconds, and what follows takes seconds too.
func (s *shop) soakShelf() *soakGoods {
	s.t.Helper()
	g := &soakGoods{goods: *s.sell(50_000, 5*time.Second), start: map[int64]int64{}}
	g.add(g.sku, 50_000)
	a := g.admin
	type made struct {
		ID   int64 `json:"id"`
		SKUs []struct {
			ID int64 `json:"id"`
		} `json:"skus"`
	}
	for _, stock := range []int64{50_000, 60} {
		category := as[made](a, a.call(201, "POST", "/api/admin/v1/categories", map[string]any{"name": newKey()}))
		product := as[made](a, a.call(201, "POST", "/api/admin/v1/products", map[string]any{
			"name": "潮汐壶 " + newKey(), "category_id": category.ID, "skus": []any{map[string]any{"specs": map[string]any{}, "price_fen": 3301, "stock": stock}},
		}))
		a.call(200, "POST", fmt.Sprintf("/api/admin/v1/products/%d/publish", product.ID), nil)
		g.add(product.SKUs[0].ID, stock)
	}
	a.call(201, "POST", "/api/admin/v1/freight-rules", map[string]any{"name": "全国", "kind": "piece", "first_units": 1, "first_fen": 700, "step_units": 1, "step_fen": 150, "free_over_fen": 20_000})
	for stage, ms := range map[string]int{"confirm": 4000, "ship": 3000, "remind": 1000, "aftersale": 2000} {
		a.call(201, "POST", "/api/admin/v1/timeout-policies", map[string]any{"stage": stage, "duration_ms": ms})
	}
	for _, terms := range []map[string]any{{"kind": "amount", "amount_fen": 333}, {"kind": "percent", "percent_off": 15}, {"kind": "amount", "amount_fen": 1_000_000}} {
		terms["name"], terms["scope"], terms["threshold_fen"], terms["total"], terms["per_shopper"] = "soak", "all", 0, 100_000, 1000
		terms["starts_at"], terms["ends_at"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		g.coupons = append(g.coupons, as[made](a, a.call(201, "POST", "/api/admin/v1/coupons", terms)).ID)
	}
	return g
}

func (g *soakGoods) add(sku, stock int64) {
	g.skus = append(g.skus, sku)
	g.start[sku] = stock
}

// soakShopper is a shopper whose rounds are all alike but for what the dice say.
type soakShopper struct {
	caller

	index   int
	address int64
}

func (s *soak) shopper(i int) *soakShopper {
	who := fmt.Sprintf("shopper-%d", i)
	return &soakShopper{caller: caller{soak: s, person: person{t: s.t}, who: who}, index: i}
}

func (c *soakShopper) live(ctx context.Context) {
	for round := 0; ctx.Err() == nil; round++ {
		c.dice = c.soak.dice(c.who, round)
		if c.token == "" || c.chance(10) {
			c.login(ctx)
		}
		if c.chance(30) {
			c.ask(ctx, "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", c.soak.g.coupons[c.dice.IntN(len(c.soak.g.coupons))]), nil, nil)
		}
		if o, ok := c.place(ctx); ok {
			c.goOn(ctx, o)
		}
		c.confirmOne(ctx)
		c.askBack(ctx)
		c.goOnAsking(ctx)
		idle(ctx, time.Duration(50+c.dice.IntN(400))*time.Millisecond)
	}
}

func (c *soakShopper) login(ctx context.Context) {
	var got struct{ Token string }
	if r := c.ask(ctx, "POST", "/api/v1/auth/login", map[string]any{"code": "demo-" + c.who}, &got); r.status != 200 {
		return
	}
	c.token = got.Token
	if c.address != 0 {
		return
	}
	var made struct{ ID int64 }
	c.ask(ctx, "POST", "/api/v1/addresses", map[string]any{
		"name": "张三", "phone": "13800000000", "province": "浙江省", "city": "杭州市", "district": "西湖区", "detail": "文三路 1 号", "is_default": true,
	}, &made)
	c.address = made.ID
}

// place buys something at the price that a quote shows; false where that did not work out.
func (c *soakShopper) place(ctx context.Context) (o order, ok bool) {
	b := basket{AddressID: c.address}
	for _, at := range c.dice.Perm(len(c.soak.g.skus))[:1+c.dice.IntN(2)] {
		b.Items = append(b.Items, item{SKUID: c.soak.g.skus[at], Quantity: int64(1 + c.dice.IntN(3))})
	}
	if c.chance(30) {
		var added struct{ ID int64 }
		c.ask(ctx, "POST", "/api/v1/cart/items", map[string]any{"sku_id": b.Items[0].SKUID, "quantity": b.Items[0].Quantity}, &added)
		b.Items[0].CartItemID = added.ID
	}
	if c.chance(40) {
		b.MyCouponID = c.coupon(ctx)
	}
	var quote struct {
		PayableFen int64 `json:"payable_fen"`
	}
	if r := c.ask(ctx, "POST", "/api/v1/orders/quote", b, &quote); r.status != 200 {
		return o, false
	}
	if r := c.ask(ctx, "POST", "/api/v1/orders", placement{b, quote.PayableFen}, &o); r.status != 201 {
		return o, false
	}
	c.soak.mu.Lock()
	c.soak.placed = append(c.soak.placed, o.No)
	c.soak.mu.Unlock()
	return o, true
}

// coupon is one that the shopper holds and may use, or 0.
func (c *soakShopper) coupon(ctx context.Context) int64 {
	var mine listOf[struct{ ID int64 }]
	c.ask(ctx, "GET", "/api/v1/my/coupons?status=available&limit=10", nil, &mine)
	if len(mine.List) == 0 {
		return 0
	}
	return mine.List[c.dice.IntN(len(mine.List))].ID
}

// goOn is what becomes of an order that was placed.
func (c *soakShopper) goOn(ctx context.Context, o order) {
	at := "/api/v1/orders/" + o.No
	switch fate := c.dice.IntN(100); {
	case fate < 12:
		c.soak.did("left unopened")
	case fate < 22:
		c.ask(ctx, "POST", at+"/pay", nil, nil)
		c.soak.did("opened and left")
	case fate < 28:
		c.ask(ctx, "POST", at+"/cancel", nil, nil)
		c.soak.did("canceled unopened")
	case fate < 34:
		c.ask(ctx, "POST", at+"/pay", nil, nil)
		c.ask(ctx, "POST", at+"/cancel", nil, nil)
		c.soak.did("opened and canceled")
	case fate < 44:
		c.payLate(ctx, o)
	case fate < 48:
		c.payFormer(ctx, o)
	default:
		c.pay(ctx, o)
	}
}

// pay pays, after dismissing WeChat's sheet a few times.
func (c *soakShopper) pay(ctx context.Context, o order) {
	at := "/api/v1/orders/" + o.No
	for range 4 {
		var p payParams
		if r := c.ask(ctx, "POST", at+"/pay", nil, &p); r.status != 200 {
			break
		}
		result := "SUCCESS"
		switch c.dice.IntN(6) {
		case 0:
			continue // dismissed
		case 1:
			result = "FAIL"
		}
		var got struct {
			OutTradeNo string `json:"out_trade_no"`
			Amount     struct{ Total int64 }
		}
		c.phone(p, result, &got)
		if result == "SUCCESS" {
			c.notePaid(got.OutTradeNo, got.Amount.Total)
			break
		}
	}
	if c.chance(30) {
		c.ask(ctx, "POST", at+"/verify", nil, nil)
	}
}

// phone is wx.requestPayment: WeChat may refuse what is closed or paid by now.
func (c *soakShopper) phone(p payParams, result string, into any) {
	wx := person{t: c.t, base: c.soak.wx.base}
	r, err := wx.try("POST", "/sandbox/pay", map[string]any{"request_payment": p, "result": result})
	switch {
	case err != nil:
		c.t.Errorf("the simulator does not answer: %v", err)
	case r.status == 200:
		unmarshal(c.t, r, into)
	case r.status != 409:
		c.t.Errorf("the phone refuses to pay: %d %s", r.status, r.text)
	}
}

// notePaid remembers a payment; without a number there was none.
func (c *soakShopper) notePaid(number string, fen int64) {
	if number == "" {
		c.soak.did("refused by the phone")
		return
	}
	c.soak.did("paid")
	c.soak.mu.Lock()
	defer c.soak.mu.Unlock()
	c.soak.paid[number] = fen
}

// payLate opens an order, closes it, and pays all the same.
func (c *soakShopper) payLate(ctx context.Context, o order) {
	at := "/api/v1/orders/" + o.No
	if r := c.ask(ctx, "POST", at+"/pay", nil, nil); r.status != 200 {
		return
	}
	if c.chance(60) {
		c.ask(ctx, "POST", at+"/cancel", nil, nil)
	} else {
		idle(ctx, time.Until(o.PayDeadline.Add(time.Duration(c.dice.IntN(1000))*time.Millisecond)))
	}
	if r := c.ask(ctx, "GET", at, nil, &o); r.status == 200 && o.OutTradeNo != "" {
		c.soak.did("paid late")
		c.force(o.OutTradeNo)
	}
}

// payFormer opens an order, has the merchant change its price, and pays the number of the former price, before or after opening it anew.
func (c *soakShopper) payFormer(ctx context.Context, o order) {
	at := "/api/v1/orders/" + o.No
	if r := c.ask(ctx, "POST", at+"/pay", nil, nil); r.status != 200 {
		return
	}
	if r := c.ask(ctx, "GET", at, nil, &o); r.status != 200 || o.OutTradeNo == "" {
		return
	}
	merchant := caller{soak: c.soak, person: person{t: c.t, token: c.soak.g.admin.token}, dice: c.dice, who: c.who + "-merchant", keys: c.keys}
	merchant.ask(ctx, "POST", "/api/admin/v1/orders/"+o.No+"/price", map[string]any{"adjust_fen": 17, "version": o.Version}, nil)
	if c.chance(50) {
		c.ask(ctx, "POST", at+"/pay", nil, nil)
	}
	c.soak.did("paid the former price")
	c.force(o.OutTradeNo)
	if c.chance(50) {
		c.pay(ctx, o)
	}
}

// force has WeChat say that a number was paid, until the shop takes its word.
func (c *soakShopper) force(number string) {
	wx := person{t: c.t, base: c.soak.wx.base}
	var got struct{ Responses []struct{ Status int } }
	for deadline := time.Now().Add(insistence); ; {
		r, err := wx.try("POST", "/sandbox/notify", map[string]any{"to": "pay", "out_trade_no": number, "times": 1 + c.dice.IntN(2), "parallel": true})
		if err != nil || r.status != 200 {
			c.t.Errorf("the simulator: %v %d %s", err, r.status, r.text)
			return
		}
		unmarshal(c.t, r, &got)
		if got.Responses[0].Status/100 == 2 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Errorf("the word that %s is paid is refused for good: %s", number, r.text)
			return
		}
		idle(context.Background(), 200*time.Millisecond)
	}
}

func (c *soakShopper) confirmOne(ctx context.Context) {
	var mine listOf[order]
	if r := c.ask(ctx, "GET", "/api/v1/orders?status=shipped&limit=5", nil, &mine); r.status != 200 || len(mine.List) == 0 || !c.chance(50) {
		return
	}
	c.ask(ctx, "POST", "/api/v1/orders/"+mine.List[c.dice.IntN(len(mine.List))].No+"/confirm", nil, nil)
	c.soak.did("confirmed")
}

// askBack asks for money back, with or without sending the goods.
func (c *soakShopper) askBack(ctx context.Context) {
	if !c.chance(25) {
		return
	}
	var mine listOf[order]
	status := []string{"paid", "shipped", "completed"}[c.dice.IntN(3)]
	c.ask(ctx, "GET", "/api/v1/orders?limit=10&status="+status, nil, &mine)
	if len(mine.List) == 0 {
		return
	}
	o := mine.List[c.dice.IntN(len(mine.List))]
	if !c.soak.mayAskBack(o.No, false) {
		return
	}
	l := o.Lines[c.dice.IntN(len(o.Lines))]
	kind := []string{"refund", "return_refund"}[c.dice.IntN(2)]
	r := c.ask(ctx, "POST", "/api/v1/orders/"+o.No+"/aftersales", map[string]any{
		"type": kind, "reason": "不想要了", "lines": []any{map[string]any{"line_id": l.ID, "quantity": 1 + c.dice.Int64N(l.Quantity)}},
	}, nil)
	if r.status/100 == 2 {
		c.soak.did("asked for " + kind)
	}
}

// aftersale is what a person sees of one.
type aftersale struct {
	ID      int64    `json:"id"`
	Version int64    `json:"version"`
	Actions []string `json:"actions"`
}

// goOnAsking does one of the things that can be done with what was asked for.
func (c *soakShopper) goOnAsking(ctx context.Context) {
	c.act(ctx, "/api/v1/aftersales", 40, func(action string, _ aftersale) any {
		if action == "return-parcel" {
			return map[string]any{"carrier": "SF", "tracking_no": fmt.Sprintf("SF%d", c.dice.Int64N(1e12))}
		}
		return nil
	})
}

// act takes one of the latest after-sales, at a chance, and one of the actions that it offers.
func (c *caller) act(ctx context.Context, list string, percent int, body func(action string, a aftersale) any) {
	if !c.chance(percent) {
		return
	}
	var found listOf[aftersale]
	c.ask(ctx, "GET", list+"?limit=20", nil, &found)
	open := slices.DeleteFunc(found.List, func(a aftersale) bool { return len(a.Actions) == 0 })
	if len(open) == 0 {
		return
	}
	a := open[c.dice.IntN(len(open))]
	action := a.Actions[c.dice.IntN(len(a.Actions))]
	if r := c.ask(ctx, "POST", fmt.Sprintf("%s/%d/%s", list, a.ID, action), body(action, a), nil); r.status/100 == 2 {
		c.soak.did("after-sale: " + action)
	}
}

// soakMerchant is somebody in the panel.
type soakMerchant struct{ caller }

func (s *soak) merchant(i int) *soakMerchant {
	who := fmt.Sprintf("merchant-%d", i)
	return &soakMerchant{caller{soak: s, person: person{t: s.t, token: s.g.admin.token}, who: who}}
}

func (c *soakMerchant) live(ctx context.Context) {
	for round := 0; ctx.Err() == nil; round++ {
		c.dice = c.soak.dice(c.who, round)
		status := []string{"paid", "paid", "paid", "pending_payment", "shipped"}[c.dice.IntN(5)]
		var found listOf[order]
		c.ask(ctx, "GET", "/api/admin/v1/orders?limit=20&status="+status, nil, &found)
		if len(found.List) > 0 {
			c.work(ctx, found.List[c.dice.IntN(len(found.List))])
		}
		c.act(ctx, "/api/admin/v1/aftersales", 60, func(action string, a aftersale) any {
			body := map[string]any{"version": a.Version, "answer": "好的"}
			if action == "receive" {
				body["restock"] = c.chance(50)
			}
			return body
		})
		if c.chance(5) {
			c.toPay(ctx, time.Duration(2000+c.dice.IntN(6000))*time.Millisecond)
		}
		idle(ctx, time.Duration(50+c.dice.IntN(200))*time.Millisecond)
	}
}

// work does something with an order.
func (c *soakMerchant) work(ctx context.Context, o order) {
	switch {
	case o.Status == "pending_payment" && c.chance(70):
		c.change(ctx, o, "/price", map[string]any{"adjust_fen": max(-o.PayableFen, int64(c.dice.IntN(400)-300)), "version": o.Version})
	case o.Status == "pending_payment":
		c.change(ctx, o, "/close", nil)
	case o.Status == "paid" && c.chance(60):
		c.change(ctx, o, "/ship", map[string]any{"parcels": c.parcels(o)})
	case c.soak.mayAskBack(o.No, true):
		c.change(ctx, o, "/refund", c.refund(o))
	}
}

func (c *soakMerchant) change(ctx context.Context, o order, what string, body any) {
	if r := c.ask(ctx, "POST", "/api/admin/v1/orders/"+o.No+what, body, nil); r.status/100 == 2 {
		c.soak.did("merchant: " + strings.TrimPrefix(what, "/"))
	}
}

// parcels are everything, or a piece of one line, by courier or across the counter.
func (c *soakMerchant) parcels(o order) []any {
	p := map[string]any{"delivery": "express", "carrier": "SF", "tracking_no": fmt.Sprintf("SF%d", c.dice.Int64N(1e12))}
	switch {
	case o.Address == nil:
		p = map[string]any{"delivery": "virtual"}
	case c.chance(20):
		p = map[string]any{"delivery": "pickup"}
	case c.chance(40):
		l := o.Lines[c.dice.IntN(len(o.Lines))]
		p["lines"] = []any{map[string]any{"line_id": l.ID, "quantity": 1 + c.dice.Int64N(l.Quantity)}}
	}
	return []any{p}
}

// refund is for everything that is left, or for some of a line.
func (c *soakMerchant) refund(o order) map[string]any {
	body := map[string]any{"reason": "缺货"}
	if c.chance(70) {
		l := o.Lines[c.dice.IntN(len(o.Lines))]
		body["lines"] = []any{map[string]any{"line_id": l.ID, "quantity": 1 + c.dice.Int64N(l.Quantity)}}
	}
	return body
}

// toPay changes how long new orders may be paid; another merchant's change may be first.
func (c *soakMerchant) toPay(ctx context.Context, d time.Duration) {
	var policies listOf[struct{ ID, Version int64 }]
	c.ask(ctx, "GET", "/api/admin/v1/timeout-policies", nil, &policies)
	for _, p := range policies.List {
		if p.ID == c.soak.g.policy {
			c.ask(ctx, "PUT", fmt.Sprintf("/api/admin/v1/timeout-policies/%d", p.ID), map[string]any{"duration_ms": d.Milliseconds(), "version": p.Version}, nil)
		}
	}
}
