package order

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/testserver"
)

const (
	benchSKUs     = 1000
	benchShoppers = 4000
	benchCallers  = 16
	benchRounds   = 5
	benchRound    = 3 * time.Second
)

// BenchmarkPlaceAgainstFloor measures the place service (two lines, a coupon) against a floor: the same rows written in one
// transaction by the fewest statements, without looking at anything. Rounds of both alternate in one run, on a real MySQL;
// the median of each is reported, and their ratio.
func BenchmarkPlaceAgainstFloor(b *testing.B) {
	for _, hot := range []bool{false, true} {
		b.Run(map[bool]string{false: "1000_skus", true: "one_hot_sku"}[hot], func(b *testing.B) {
			ground := newBenchGround(b, hot)
			var service, floor []float64
			for range benchRounds {
				service = append(service, ground.round(b, ground.place))
				floor = append(floor, ground.round(b, ground.floor))
			}
			slices.Sort(service)
			slices.Sort(floor)
			s, f := service[benchRounds/2], floor[benchRounds/2]
			b.ReportMetric(0, "ns/op") // whole rounds are measured, not b.N
			b.ReportMetric(s, "orders/s")
			b.ReportMetric(f, "floor-orders/s")
			b.ReportMetric(s/f, "ratio")
			ground.sound()
		})
	}
}

// benchGround is a shop of 1,000 SKUs with many shoppers, each with an address and coupons.
type benchGround struct {
	*shop
	hot       bool
	firstSKU  int64
	addresses map[int64]int64
	next      atomic.Int64 // the next coupon, and with it its shopper
	coupons   int64
}

func newBenchGround(b *testing.B, hot bool) *benchGround {
	b.Helper()
	g := &benchGround{shop: newShop(b, storetest.MySQL(b)), hot: hot, addresses: map[int64]int64{}}
	g.MaxUnpaid = 1 << 40
	g.Tasks = startedEngine(b, g.Service)
	for i := range benchSKUs {
		id := g.sku(product{price: 1000, stock: 1 << 40})
		if i == 0 {
			g.firstSKU = id
		}
	}
	now := g.Now()
	for i := range benchShoppers {
		id := int64(i + 1)
		g.insert(&model.Shopper{ID: id, OpenID: fmt.Sprintf("bench-%d", id), CreatedAt: now, UpdatedAt: now})
		g.addresses[id] = g.addressOf(id)
	}
	g.insert(&model.CouponTemplate{
		ID: 1, MerchantID: merchantID, Name: "满减", Kind: model.CouponAmount, AmountFen: 100, Scope: model.ScopeAll,
		ScopeIDs: []int64{}, Total: 1 << 40, PerShopper: 1 << 40, StartsAt: now - 1000, EndsAt: now + 1e9, Version: 1, CreatedAt: now, UpdatedAt: now,
	})
	g.insert(&model.FreightRule{MerchantID: merchantID, Name: "默认", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, FirstFen: 800, StepUnits: 1, StepFen: 100, Version: 1, CreatedAt: now, UpdatedAt: now})
	return g
}

// startedEngine is the timeout module on a real Redis, as a shop runs it: placing includes the scheduling of the deadline.
func startedEngine(b *testing.B, s *Service) *timeout.Engine {
	b.Helper()
	client := redis.NewUniversalClient(timeout.RedisOptions([]string{testserver.Redis(b)}))
	engine, err := timeout.New(timeout.Options{DB: s.Store.SQL(), Redis: client, Prefix: "bench", Node: "bench", Log: s.Log})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range s.Kinds() {
		if err := engine.Register(k); err != nil {
			b.Fatal(err)
		}
	}
	if err := engine.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(engine.Stop(context.Background()), client.Close()); err != nil {
			b.Error(err)
		}
	})
	return engine
}

// round runs one side for a while with many callers and returns the orders a second. Coupons are made before the clock starts.
func (g *benchGround) round(b *testing.B, one func(*testing.B, int64)) float64 {
	g.issue(b, 30_000)
	first := g.next.Load()
	start := time.Now()
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() {
			for time.Since(start) < benchRound {
				coupon := g.next.Add(1)
				if coupon > g.coupons {
					b.Error("out of coupons: raise their number")
					return
				}
				one(b, coupon)
			}
		})
	}
	wg.Wait()
	return float64(g.next.Load()-first) / time.Since(start).Seconds()
}

// issue tops the unused coupons up to n.
func (g *benchGround) issue(b *testing.B, n int64) {
	for g.coupons-g.next.Load() < n {
		rows := make([]model.Coupon, 1000)
		for i := range rows {
			id := g.coupons + int64(i) + 1
			rows[i] = model.Coupon{
				ID: id, TemplateID: 1, MerchantID: merchantID, ShopperID: shopperOf(id), Seq: id, State: model.CouponAvailable,
				ExpiresAt: g.Now() + 1e9, CreatedAt: g.Now(), UpdatedAt: g.Now(),
			}
		}
		if err := g.Store.Read(b.Context()).Create(&rows).Error; err != nil {
			b.Fatal(err)
		}
		g.coupons += 1000
	}
}

func shopperOf(coupon int64) int64 { return coupon%benchShoppers + 1 }

// items picks two SKUs; in a hot shop one of them is always the same.
func (g *benchGround) items() (one, two int64) {
	one = rand.Int64N(benchSKUs - 1)
	if g.hot {
		one = 0
	}
	return g.firstSKU + one, g.firstSKU + one + 1 + rand.Int64N(benchSKUs-1-one)
}

func (g *benchGround) place(b *testing.B, coupon int64) {
	me := shopperOf(coupon)
	one, two := g.items()
	// 2 × 1000 − 100 + 800 + 1 × 100
	_, err := g.Place(context.Background(), me, Placement{
		Basket: Basket{Items: []Item{{SKUID: one, Quantity: 1}, {SKUID: two, Quantity: 1}}, AddressID: g.addresses[me], CouponID: coupon},
		Key:    fmt.Sprintf("bench-%d", coupon), ExpectedPayableFen: 2800,
	})
	if err != nil {
		b.Error(err)
	}
}

// floor writes the rows of the same order with nothing but the writes: seven statements.
func (g *benchGround) floor(b *testing.B, coupon int64) {
	me := shopperOf(coupon)
	one, two := g.items()
	id, now, no := coupon+1<<40, g.Now(), newNumber(time.Now())
	address, _ := json.Marshal(model.OrderAddress{Name: "张三", Phone: "13800000000", Province: "浙江省", City: "杭州市", District: "西湖区", Detail: "文三路 1 号"})
	payload, _ := json.Marshal(Changed{OrderID: id, No: no, MerchantID: merchantID, ShopperID: me, State: model.OrderPending, PayableFen: 2800, Version: 1, At: now})
	key := fmt.Sprintf("order:%d", id)
	err := inTx(g.Store.SQL(), func(exec func(string, ...any)) {
		exec("INSERT INTO orders (id, no, merchant_id, shopper_id, state, close_reason, order_type, biz_line, goods_fen, discount_fen, freight_fen, adjustment_fen, payable_fen, refunded_fen, coupon_id, address, remark, idem_key, idem_hash, policy_id, policy_version, pay_deadline, claim_token, claim_until, closing_note, paid_at, shipped_at, completed_at, closed_at, version, created_at, updated_at) VALUES ("+marks(32)+")",
			id, no, merchantID, me, "pending_payment", "", "goods", "", 2000, 100, 900, 0, 2800, 0, coupon, address, "", fmt.Sprintf("bench-%d", coupon), strings.Repeat("0", 64), 0, 0, now+1800000, "", 0, "", 0, 0, 0, 0, 1, now, now)
		line := func(n, sku int64) []any {
			return []any{2*id + n, id, n, merchantID, sku, sku, "商品1", "", "{}", false, 1, 1000, 50, 0, 0, 0, 0, 0}
		}
		exec("INSERT INTO order_lines (id, order_id, line_no, merchant_id, product_id, sku_id, name, image, specs, `virtual`, quantity, price_fen, discount_fen, adjustment_fen, shipped_quantity, refunding_quantity, refunded_quantity, refunded_fen) VALUES ("+marks(18)+"), ("+marks(18)+")",
			append(line(1, one), line(2, two)...)...)
		exec("INSERT INTO order_events (order_id, version, from_state, to_state, actor, reason, trace_id, created_at) VALUES ("+marks(8)+")",
			id, 1, "", "pending_payment", ActorShopper(me), "placed", "", now)
		exec("INSERT INTO messages (topic, msg_key, seq, merchant_id, payload, trace, state, due_at, lease_token, lease_until, attempts, error, created_at, sent_at) VALUES ("+marks(14)+")",
			TopicCreated, key, 1, merchantID, payload, "", "pending", now, "", 0, 0, "", now, 0)
		entry := func(n, sku int64) []any {
			return []any{merchantID, sku, "reserve", -1, id, 2*id + n, 0, "", ActorShopper(me), now}
		}
		exec("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, line_id, refund_id, reason, actor, created_at) VALUES ("+marks(10)+"), ("+marks(10)+")",
			append(entry(1, one), entry(2, two)...)...)
		exec("UPDATE coupons SET state = 'locked', order_id = ?, updated_at = ? WHERE id = ? AND state = 'available'", id, now, coupon)
		exec("UPDATE skus SET stock = stock - 1, updated_at = ? WHERE id IN (?, ?) AND stock >= 1", now, one, two)
	})
	if err != nil {
		b.Error(err)
	}
}

func marks(n int) string { return strings.Repeat(", ?", n)[2:] }

// inTx runs statements in one transaction and stops at the first error.
func inTx(db *sql.DB, f func(exec func(string, ...any))) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	f(func(query string, args ...any) {
		if err == nil {
			_, err = tx.Exec(query, args...)
		}
	})
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
