package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

const (
	crowdSKUs = 200
	// ordersEach is how many orders a shopper places.
	ordersEach = 10
	priceFen   = 1000
	crowdStock = 1_000_000
)

// crowd is a shop of 200 products with shoppers who order and do not pay.
type crowd struct {
	app *app.App
	o   Options

	skus     []int64
	shoppers []buyer
}

type buyer struct{ id, address int64 }

// place fills the shelf, lets the shoppers order two pieces each time, and returns how many orders a second that made.
func (c *crowd) place(ctx context.Context) (perSecond float64, err error) {
	c.o.Progress("filling the shop")
	if err := c.fillShelf(ctx); err != nil {
		return 0, err
	}
	if err := c.invite(ctx, (c.o.Count+ordersEach-1)/ordersEach); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range c.o.Callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(c.o.Count) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := c.order(ctx, int(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	stopTelling := c.tell(&next)
	wg.Wait()
	stopTelling()
	return float64(c.o.Count) / time.Since(began).Seconds(), context.Cause(ctx)
}

// tell says every second how many orders are placed, until it is stopped.
func (c *crowd) tell(next *atomic.Int64) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.o.Progress(fmt.Sprintf("%d of %d orders placed", min(next.Load(), int64(c.o.Count)), c.o.Count))
			case <-end:
				return
			}
		}
	})
	return func() { close(end); wg.Wait() }
}

func (c *crowd) order(ctx context.Context, i int) error {
	me := c.shoppers[i%len(c.shoppers)]
	one := rand.IntN(len(c.skus))
	two := (one + 1 + rand.IntN(len(c.skus)-1)) % len(c.skus)
	_, err := c.app.Orders.Place(ctx, me.id, order.Placement{
		Basket: order.Basket{Items: []order.Item{{SKUID: c.skus[one], Quantity: 1}, {SKUID: c.skus[two], Quantity: 1}}, AddressID: me.address},
		Key:    fmt.Sprintf("bench-%d", i), ExpectedPayableFen: 2 * priceFen,
	})
	return err
}

// fillShelf publishes products with more stock than is ordered.
func (c *crowd) fillShelf(ctx context.Context) error {
	s := c.app.Store
	var merchant int64
	if err := s.Read(ctx).Raw("SELECT MIN(id) FROM merchants").Scan(&merchant).Error; err != nil {
		return store.Classify(err)
	}
	stock := int64(crowdStock)
	return s.Tx(ctx, func(tx *store.Tx) error {
		c.skus = nil // a transaction may be repeated
		category, err := c.app.Catalog.CreateCategoryIn(tx, merchant, catalog.CategoryDraft{Name: "bench"})
		if err != nil {
			return err
		}
		for i := range crowdSKUs {
			made, err := c.app.Catalog.CreateIn(tx, merchant, "bench", catalog.Draft{
				CategoryID: category.ID, Name: fmt.Sprintf("商品 %d", i+1),
				SKUs: []catalog.SKUDraft{{PriceFen: priceFen, Stock: &stock, WeightG: 100}},
			})
			if err != nil {
				return err
			}
			if err := c.app.Catalog.PublishIn(tx, merchant, made.ID); err != nil {
				return err
			}
			for _, sku := range made.SKUs {
				c.skus = append(c.skus, sku.ID)
			}
		}
		return nil
	})
}

// invite makes shoppers with an address each.
func (c *crowd) invite(ctx context.Context, n int) error {
	now := c.app.Now()
	for i := range n {
		row := model.Shopper{OpenID: fmt.Sprintf("bench-%d", i), CreatedAt: now, UpdatedAt: now}
		if err := c.app.Store.Read(ctx).Create(&row).Error; err != nil {
			return store.Classify(err)
		}
		address, err := c.app.Accounts.AddAddress(ctx, row.ID, account.AddressInput{
			Name: "张三", Phone: "13800000000", Province: "浙江省", City: "杭州市", District: "西湖区", Detail: "文三路 1 号",
		})
		if err != nil {
			return err
		}
		c.shoppers = append(c.shoppers, buyer{row.ID, address.ID})
	}
	if len(c.shoppers) == 0 || len(c.skus) < 2 {
		return errors.New("bench: nobody to order, or nothing to be ordered")
	}
	return nil
}
