package order

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

// shop is a service over a real database with a clock that tests move, and what tests need to fill and read it.
type shop struct {
	*Service
	t     testing.TB
	clock atomic.Int64
	seq   atomic.Int64
	// tasks are the deadlines that were scheduled.
	mu    sync.Mutex
	tasks []timeout.Task
	// payFor is the pay policy's duration.
	payFor time.Duration
	// stages are the durations of the stages beside paying; those that are not there have no deadline.
	stages map[string]time.Duration
	// counts is what the batches told of the rows they change, by kind: expected, affected.
	counts map[string][2]int64
}

const merchantID = 1

// eachShop runs a test with a fresh shop on every dialect.
func eachShop(t *testing.T, test func(t *testing.T, sh *shop)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, newShop(t, s)) })
}

func newShop(t testing.TB, s *store.Store) *shop {
	sh := &shop{t: t, payFor: 30 * time.Minute, stages: map[string]time.Duration{}, counts: map[string][2]int64{}}
	sh.clock.Store(time.Now().UnixMilli())
	sh.Service = New(Deps{
		Store: s, Now: func() model.Time { return model.Time(sh.clock.Load()) }, Log: slog.New(slog.DiscardHandler),
		Catalog: shelf{}, Policies: sh, Tasks: sh, MaxUnpaid: 20, Zone: time.UTC, Rows: sh.counted,
	})
	sh.insert(&model.Merchant{ID: merchantID, Name: "m1", Version: 1, CreatedAt: sh.Now(), UpdatedAt: sh.Now()})
	return sh
}

// shelf is the catalogue without its in-memory tree: a category is its own path.
type shelf struct{}

func (shelf) Sellables(db *gorm.DB, ids []int64) ([]catalog.Sellable, error) {
	return catalog.Sellables(db, ids)
}
func (shelf) CategoryPath(_, categoryID int64) []int64 { return []int64{categoryID} }

// Resolve gives every order the same durations.
func (sh *shop) Resolve(stage string, _ policy.Query) policy.Decision {
	if stage == policy.StagePay {
		return policy.Decision{Duration: sh.payFor}
	}
	return policy.Decision{Duration: sh.stages[stage]}
}

func (sh *shop) counted(kind string, expected, affected int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := sh.counts[kind]
	sh.counts[kind] = [2]int64{n[0] + expected, n[1] + affected}
}

// Schedule keeps the tasks for the test to look at.
func (sh *shop) Schedule(_ context.Context, tasks ...timeout.Task) error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.tasks = append(sh.tasks, tasks...)
	return nil
}

func (sh *shop) scheduled() []timeout.Task {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return append([]timeout.Task(nil), sh.tasks...)
}

// advance moves the shop's clock.
func (sh *shop) advance(d time.Duration) { sh.clock.Add(d.Milliseconds()) }

func (sh *shop) insert(row any) {
	sh.t.Helper()
	if err := sh.Store.Read(sh.t.Context()).Create(row).Error; err != nil {
		sh.t.Fatal(err)
	}
}

// shopper makes a shopper and returns the id.
func (sh *shop) shopper() int64 {
	row := model.Shopper{OpenID: fmt.Sprintf("openid-%d", sh.seq.Add(1)), CreatedAt: sh.Now(), UpdatedAt: sh.Now()}
	sh.insert(&row)
	return row.ID
}

// product is a product to be made; zero fields get sensible values.
type product struct {
	merchant, category int64
	price              model.Fen
	stock              int64
	virtual            bool
}

// sku makes a published product with one SKU and returns the SKU's id.
func (sh *shop) sku(p product) int64 {
	sh.t.Helper()
	n := sh.seq.Add(1)
	if p.merchant == 0 {
		p.merchant = merchantID
	}
	row := model.Product{
		MerchantID: p.merchant, CategoryID: p.category, Name: fmt.Sprintf("商品%d", n), Virtual: p.virtual, Published: true,
		MinPriceFen: p.price, Version: 1, CreatedAt: sh.Now(), ChangedAt: sh.Now(), Images: []model.Image{}, Options: []model.ProductOption{},
	}
	sh.insert(&row)
	k := model.SKU{
		ProductID: row.ID, MerchantID: p.merchant, Specs: map[string]string{}, PriceFen: p.price, Stock: p.stock, WeightG: 100,
		CreatedAt: sh.Now(), UpdatedAt: sh.Now(),
	}
	sh.insert(&k)
	err := sh.Store.Tx(sh.t.Context(), func(tx *store.Tx) error { return inventory.Open(tx, []model.SKU{k}, "test", sh.Now()) })
	if err != nil {
		sh.t.Fatal(err)
	}
	return k.ID
}

// address makes an address of the shopper's and returns its id.
func (sh *shop) addressOf(shopperID int64) int64 {
	row := model.Address{
		ShopperID: shopperID, Name: "张三", Phone: "13800000000", Province: "浙江省", City: "杭州市", District: "西湖区",
		Detail: "文三路 1 号", CreatedAt: sh.Now(), UpdatedAt: sh.Now(),
	}
	sh.insert(&row)
	return row.ID
}

// coupon gives the shopper a coupon of a new template and returns the coupon's id.
func (sh *shop) coupon(shopperID int64, tpl model.CouponTemplate) int64 {
	sh.t.Helper()
	if tpl.MerchantID == 0 {
		tpl.MerchantID = merchantID
	}
	if tpl.Scope == "" {
		tpl.Scope = model.ScopeAll
	}
	tpl.Name, tpl.Total, tpl.PerShopper, tpl.Issued, tpl.Version = "券", 10, 1, 1, 1
	tpl.StartsAt, tpl.EndsAt = sh.Now().Add(-time.Hour), sh.Now().Add(24*time.Hour)
	tpl.CreatedAt, tpl.UpdatedAt = sh.Now(), sh.Now()
	if tpl.ScopeIDs == nil {
		tpl.ScopeIDs = []int64{}
	}
	sh.insert(&tpl)
	row := model.Coupon{
		TemplateID: tpl.ID, MerchantID: tpl.MerchantID, ShopperID: shopperID, Seq: 1, State: model.CouponAvailable,
		ExpiresAt: tpl.EndsAt, CreatedAt: sh.Now(), UpdatedAt: sh.Now(),
	}
	sh.insert(&row)
	return row.ID
}

// basket is a placement of one item to the shopper's address, with the amount that a quote shows.
func (sh *shop) basket(shopperID int64, couponID int64, items ...Item) Placement {
	sh.t.Helper()
	p := Placement{Basket: Basket{Items: items, AddressID: sh.addressOf(shopperID), CouponID: couponID}, Key: fmt.Sprintf("key-%08d", sh.seq.Add(1))}
	if q, err := sh.Quote(sh.t.Context(), shopperID, p.Basket); err == nil {
		p.ExpectedPayableFen = q.PayableFen
	}
	return p
}

// order places an order of quantity pieces of the SKU for a new shopper.
func (sh *shop) order(skuID, quantity int64) *model.Order {
	sh.t.Helper()
	shopperID := sh.shopper()
	o, err := sh.Place(sh.t.Context(), shopperID, sh.basket(shopperID, 0, Item{SKUID: skuID, Quantity: quantity}))
	if err != nil {
		sh.t.Fatal(err)
	}
	return o
}

func (sh *shop) number(query string, args ...any) (n int64) {
	sh.t.Helper()
	if err := sh.Store.Read(sh.t.Context()).Raw(query, args...).Scan(&n).Error; err != nil {
		sh.t.Fatal(err)
	}
	return n
}

func (sh *shop) stock(skuID int64) int64 {
	return sh.number("SELECT stock FROM skus WHERE id = ?", skuID)
}

// reload reads the order again.
func (sh *shop) reload(o *model.Order) *model.Order {
	sh.t.Helper()
	now, err := one(sh.Store.Read(sh.t.Context()).Where("id = ?", o.ID))
	if err != nil {
		sh.t.Fatal(err)
	}
	return now
}

func (sh *shop) couponState(id int64) model.CouponState {
	var row model.Coupon
	if err := sh.Store.Read(sh.t.Context()).Where("id = ?", id).Take(&row).Error; err != nil {
		sh.t.Fatal(err)
	}
	return row.State
}
