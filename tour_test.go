package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTour is the README's tour on a fresh machine with one command (T76): everything a shopper does, the demo shop's own goods,
// a payment whose callback arrives, and an order that nobody pays.
func TestTour(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p, "TIDEMALL_DEMO=true")
		ann := s.shopper("ann")
		ann.awaitReady("ok")

		type product struct {
			ID   int64  `json:"id"`
			Name string `json:"name"`
		}
		browsed := as[listOf[product]](ann, ann.call(200, "GET", "/api/v1/products?limit=5", nil))
		if len(browsed.List) != 5 {
			t.Fatalf("the demo shop shows %d products, want 5 on a page", len(browsed.List))
		}
		first := browsed.List[0]
		found := as[listOf[product]](ann, ann.call(200, "GET", "/api/v1/products?q="+queryEscape(first.Name), nil))
		if len(found.List) == 0 || found.List[0].ID != first.ID {
			t.Fatalf("searching for %s finds %v", first.Name, found.List)
		}
		sku := tourSKU(ann, first.ID)
		before := tourStock(ann, first.ID, sku)

		ann.call(200, "POST", "/api/v1/cart/items", map[string]any{"sku_id": sku, "quantity": 2})
		cart := as[struct {
			Groups []struct {
				Items []struct {
					ID    int64 `json:"id"`
					SKUID int64 `json:"sku_id"`
				} `json:"items"`
			} `json:"groups"`
		}](ann, ann.call(200, "GET", "/api/v1/cart", nil))
		coupon := claimWithoutThreshold(ann)
		address := as[struct{ ID int64 }](ann, ann.call(201, "POST", "/api/v1/addresses", map[string]any{
			"name": "张三", "phone": "13800138000", "province": "广东省", "city": "深圳市", "detail": "科技园 1 号", "is_default": true,
		})).ID
		b := basket{Items: []item{{SKUID: sku, Quantity: 2, CartItemID: cart.Groups[0].Items[0].ID}}, AddressID: address, MyCouponID: coupon}

		paid := submitTwice(ann, placement{b, ann.quote(b)})
		if paid.DiscountFen == 0 || paid.PayableFen == 0 {
			t.Errorf("discount %d, payable %d: the coupon did not count", paid.DiscountFen, paid.PayableFen)
		}
		s.confirm(payTwice(ann, paid.No), 1)
		paid = ann.await(paid.No, "paid", 10*time.Second)
		if after := tourStock(ann, first.ID, sku); after != before-2 {
			t.Errorf("stock %d, want %d", after, before-2)
		}
		if groups := as[struct{ Groups []any }](ann, ann.call(200, "GET", "/api/v1/cart", nil)).Groups; len(groups) != 0 {
			t.Errorf("the cart still holds %v", groups)
		}
		wantCoupon(ann, coupon, "used")
		shipAndConfirm(s, ann, paid)
		reviewWithPicture(s, ann, paid.No, first.ID)
		leaveUnpaid(s, ann, first.ID, sku, address)
		wantReadOnlyGET(ann)
		s.audit()
	})
}

func queryEscape(s string) string { return strings.ReplaceAll(s, " ", "%20") }

type stocked struct {
	SKUs []struct {
		ID    int64 `json:"id"`
		Stock int64 `json:"stock"`
	} `json:"skus"`
}

// tourSKU returns a SKU of the product that is in stock.
func tourSKU(p person, product int64) int64 {
	p.t.Helper()
	for _, s := range as[stocked](p, p.call(200, "GET", fmt.Sprintf("/api/v1/products/%d", product), nil)).SKUs {
		if s.Stock >= 4 {
			return s.ID
		}
	}
	p.t.Fatalf("product %d has no SKU in stock", product)
	return 0
}

func tourStock(p person, product, sku int64) int64 {
	p.t.Helper()
	for _, s := range as[stocked](p, p.call(200, "GET", fmt.Sprintf("/api/v1/products/%d", product), nil)).SKUs {
		if s.ID == sku {
			return s.Stock
		}
	}
	p.t.Fatalf("SKU %d is gone", sku)
	return 0
}

// claimWithoutThreshold claims a coupon of the demo shop's that any basket may use.
func claimWithoutThreshold(p person) int64 {
	p.t.Helper()
	for _, c := range as[listOf[struct {
		ID           int64  `json:"id"`
		Kind         string `json:"kind"`
		ThresholdFen int64  `json:"threshold_fen"`
		Claimable    bool   `json:"claimable"`
	}]](p, p.call(200, "GET", "/api/v1/coupons", nil)).List {
		if c.Claimable && c.ThresholdFen == 0 && c.Kind == "amount" {
			return as[struct{ ID int64 }](p, p.call(200, "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", c.ID), nil)).ID
		}
	}
	p.t.Fatal("the demo shop has no coupon for everything")
	return 0
}

func wantCoupon(p person, id int64, status string) {
	p.t.Helper()
	for _, c := range as[listOf[struct {
		ID     int64  `json:"id"`
		Status string `json:"status"`
	}]](p, p.call(200, "GET", "/api/v1/my/coupons", nil)).List {
		if c.ID == id {
			if c.Status != status {
				p.t.Errorf("the coupon is %s, want %s", c.Status, status)
			}
			return
		}
	}
	p.t.Errorf("the coupon is not among the shopper's")
}

// submitTwice places an order twice at the same instant with the same key (T66): one order comes of it, whatever status which
// of the two gets.
func submitTwice(p person, body placement) order {
	p.t.Helper()
	key, replies := newKey(), make([]reply, 2)
	var both sync.WaitGroup
	for i := range replies {
		both.Go(func() { replies[i], _ = p.try("POST", "/api/v1/orders", body, "Idempotency-Key", key) })
	}
	both.Wait()
	var orders [2]order
	for i, r := range replies {
		if r.status != 201 {
			p.t.Fatalf("T66: the same submit twice: %d %s", r.status, r.text)
		}
		orders[i] = as[order](p, r)
	}
	if all := as[listOf[order]](p, p.call(200, "GET", "/api/v1/orders", nil)).List; len(all) != 1 || orders[0].No != orders[1].No {
		p.t.Fatalf("T66: the same submit twice made %d orders", len(all))
	}
	body.Items[0].Quantity++
	p.refused(422, "idempotency_key_reused", "POST", "/api/v1/orders", body, "Idempotency-Key", key)
	return orders[0]
}

// payTwice taps pay twice at once (T47): one attempt.
func payTwice(p person, no string) payParams {
	p.t.Helper()
	replies := make([]reply, 2)
	var both sync.WaitGroup
	for i := range replies {
		both.Go(func() { replies[i], _ = p.try("POST", "/api/v1/orders/"+no+"/pay", nil) })
	}
	both.Wait()
	for _, r := range replies {
		if r.status != 200 {
			p.t.Fatalf("T47: pay twice at once: %d %s", r.status, r.text)
		}
	}
	return as[payParams](p, replies[1])
}

// shipAndConfirm has the merchant ship an order and the shopper confirm it.
func shipAndConfirm(s *shop, p person, o order) {
	p.t.Helper()
	admin := s.admin()
	shipped := as[order](admin, admin.call(200, "POST", "/api/admin/v1/orders/"+o.No+"/ship", map[string]any{
		"parcels": []any{map[string]any{"delivery": "express", "carrier": "SF", "tracking_no": "SF1234567890"}},
	}))
	if shipped.Status != "shipped" || len(shipped.Attempts) != 1 || len(shipped.Payments) != 1 || !shipped.Payments[0].Settled {
		p.t.Errorf("after shipping: %+v, want shipped with one attempt and one settled payment", shipped)
	}
	if got := as[order](p, p.call(200, "POST", "/api/v1/orders/"+o.No+"/confirm", nil)); got.Status != "completed" {
		p.t.Errorf("after confirming: %s", got.Status)
	}
}

// reviewWithPicture reviews the only line of a completed order with a picture. It is shown once WeChat's push has passed the picture,
// and leaves the lists when the merchant hides it.
func reviewWithPicture(s *shop, p person, no string, product int64) {
	p.t.Helper()
	type rated struct {
		List []struct {
			Nickname, Content string
			Rating            int
			Pictures          []struct{ URL string }
		} `json:"list"`
		Rating struct {
			Count int64            `json:"count"`
			Stars map[string]int64 `json:"stars"`
		} `json:"rating"`
	}
	list := func() rated {
		return as[rated](p, p.call(200, "GET", fmt.Sprintf("/api/v1/products/%d/reviews?with_pictures=true&rating=4&limit=1", product), nil))
	}
	done := as[struct {
		Actions []string `json:"actions"`
		Lines   []struct {
			ID         int64 `json:"id"`
			Reviewable bool  `json:"reviewable"`
		} `json:"lines"`
	}](p, p.call(200, "GET", "/api/v1/orders/"+no, nil))
	if !slices.Contains(done.Actions, "review") || len(done.Lines) != 1 || !done.Lines[0].Reviewable {
		p.t.Fatalf("a completed order shows %+v: %s", done, p.call(200, "GET", "/api/v1/orders/"+no, nil).text)
	}
	before := list().Rating
	review := map[string]any{"line_id": done.Lines[0].ID, "rating": 4, "content": "违规", "pictures": []any{map[string]any{"url": p.upload()}}}
	p.refused(422, "content_refused", "POST", "/api/v1/orders/"+no+"/reviews", review)
	review["content"] = "颜色很正"
	p.call(201, "POST", "/api/v1/orders/"+no+"/reviews", review)
	p.refused(409, "review_exists", "POST", "/api/v1/orders/"+no+"/reviews", review)
	eventually(p.t, 20*time.Second, "the review is shown", func() (bool, string) {
		got := list()
		return len(got.List) == 1 && got.List[0].Content == "颜色很正" && len(got.List[0].Pictures) == 1 && strings.HasSuffix(got.List[0].Nickname, "***") &&
			got.Rating.Count == before.Count+1 && got.Rating.Stars["4"] == before.Stars["4"]+1, fmt.Sprintf("%+v", got)
	})
	admin := s.admin()
	mine := as[listOf[struct {
		ID      int64 `json:"id"`
		Version int64 `json:"version"`
	}]](admin, admin.call(200, "GET", fmt.Sprintf("/api/admin/v1/reviews?status=visible&unanswered=true&product_id=%d&limit=1", product), nil)).List
	if len(mine) != 1 {
		p.t.Fatal("the merchant does not see the review")
	}
	admin.call(200, "POST", fmt.Sprintf("/api/admin/v1/reviews/%d/hide", mine[0].ID), map[string]any{"version": mine[0].Version})
	if got := list(); len(got.List) != 0 || got.Rating.Count != before.Count {
		p.t.Errorf("a hidden review is listed: %+v", got)
	}
}

// upload stores a picture as a phone does and returns its URL.
func (p person) upload() string {
	p.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "a.png")
	if err == nil {
		err = png.Encode(part, image.NewGray(image.Rect(0, 0, 16, 16)))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, p.base+"/api/v1/files", &body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := httpClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var stored struct{ URL string }
	if err := json.NewDecoder(resp.Body).Decode(&stored); err != nil || resp.StatusCode != http.StatusCreated {
		p.t.Fatalf("upload: %d, %v", resp.StatusCode, err)
	}
	return stored.URL
}

// leaveUnpaid places an order under a policy of a few seconds and does not pay: on its deadline it closes, and stock and coupon
// come back.
func leaveUnpaid(s *shop, p person, product, sku, address int64) {
	p.t.Helper()
	admin := s.admin()
	admin.call(201, "POST", "/api/admin/v1/timeout-policies", map[string]any{"stage": "pay", "duration_ms": 15_000, "order_type": "goods"})
	template := as[struct{ ID int64 }](admin, admin.call(201, "POST", "/api/admin/v1/coupons", map[string]any{
		"name": "减 1 元", "kind": "amount", "amount_fen": 100, "threshold_fen": 0, "scope": "all", "total": 10, "per_shopper": 1,
		"starts_at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "ends_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	})).ID
	coupon := as[struct{ ID int64 }](p, p.call(200, "POST", fmt.Sprintf("/api/v1/coupons/%d/claim", template), nil)).ID
	before := tourStock(p, product, sku)
	o := p.place(basket{Items: []item{{SKUID: sku, Quantity: 2}}, AddressID: address, MyCouponID: coupon})
	if stock := tourStock(p, product, sku); stock != before-2 {
		p.t.Errorf("stock %d while the order waits, want %d", stock, before-2)
	}
	wantCoupon(p, coupon, "locked")
	p.awaitClosedOnTime(o.No, 3*time.Second)
	if stock := tourStock(p, product, sku); stock != before {
		p.t.Errorf("stock %d after the order closed, want %d", stock, before)
	}
	wantCoupon(p, coupon, "available")
	p.refused(409, "order_closed", "POST", "/api/v1/orders/"+o.No+"/pay", nil)
}

// wantReadOnlyGET asks as a shopper with GET for every path that only takes other methods (T46): 405. Where the path also is one for
// reading, whose last part is looked up as an id, there is no such thing: 404, or 401 where only admins may look.
func wantReadOnlyGET(p person) {
	p.t.Helper()
	var spec struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(p.call(200, "GET", "/openapi.json", nil).text), &spec); err != nil {
		p.t.Fatal(err)
	}
	var readable []string
	for path, methods := range spec.Paths {
		if methods["get"] != nil {
			readable = append(readable, path)
		}
	}
	asked := 0
	for path, methods := range spec.Paths {
		if methods["get"] != nil || !strings.HasPrefix(path, "/api/") {
			continue
		}
		for strings.Contains(path, "{") {
			path = path[:strings.Index(path, "{")] + "1" + path[strings.Index(path, "}")+1:]
		}
		asked++
		r, err := p.try("GET", path, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		if slices.ContainsFunc(readable, func(template string) bool { return fits(path, template) }) {
			want := 404
			if strings.HasPrefix(path, "/api/admin/") {
				want = 401
			}
			if r.status != want {
				p.t.Errorf("T46: GET %s: %d, want %d", path, r.status, want)
			}
		} else if r.status != 405 || r.header.Get("Allow") == "" {
			p.t.Errorf("T46: GET %s: %d %s, Allow %q, want 405", path, r.status, r.text, r.header.Get("Allow"))
		}
	}
	if asked < 20 {
		p.t.Errorf("T46: only %d paths asked, the specification must be longer", asked)
	}
	if r := p.call(200, "GET", "/metrics", nil); !strings.Contains(r.text, "tidemall_http_requests_total{") || !strings.Contains(r.text, "tidemall_timeout_lateness_seconds") {
		p.t.Error("/metrics lacks the promised series")
	} else {
		p.documented(r.text)
	}
	if got := p.call(200, "GET", "/docs", nil); !strings.Contains(got.text, "<html") {
		p.t.Error("/docs is no page")
	}
}

// documented finds every series of the shop in docs/metrics.md or docs/timeout.md.
func (p person) documented(series string) {
	p.t.Helper()
	var docs []byte
	for _, name := range []string{"docs/metrics.md", "docs/timeout.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		docs = append(docs, text...)
	}
	names := regexp.MustCompile(`(?m)^# TYPE (tidemall_\w+)`).FindAllStringSubmatch(series, -1)
	if len(names) < 15 {
		p.t.Errorf("/metrics has only %d series of the shop", len(names))
	}
	for _, name := range names {
		if !bytes.Contains(docs, []byte("`"+name[1])) {
			p.t.Errorf("the docs do not tell of the metric %s", name[1])
		}
	}
}

// fits reports whether a path is one of a template with parameters.
func fits(path, template string) bool {
	parts := strings.Split(path, "/")
	return slices.EqualFunc(parts, strings.Split(template, "/"), func(part, name string) bool { return part == name || strings.HasPrefix(name, "{") })
}
