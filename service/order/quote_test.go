package order

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
)

// freeOver makes a rule of the shop's: delivery costs fen, and nothing from an amount of goods.
func (sh *shop) freeOver(goods, fen model.Fen) {
	sh.insert(&model.FreightRule{
		MerchantID: merchantID, Name: "默认", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, FirstFen: fen, FreeOverFen: goods,
		Version: 1, CreatedAt: 1, UpdatedAt: 1,
	})
}

// offers says of the shopper's coupons, in the order in which they were made, whether each can be used and what it saves.
func (sh *shop) offers(shopperID int64, b Basket) string {
	sh.t.Helper()
	q, err := sh.Quote(sh.t.Context(), shopperID, b)
	if err != nil {
		sh.t.Fatal(err)
	}
	var out []string
	for _, c := range q.Coupons {
		if c.Usable {
			out = append(out, fmt.Sprint(c.SavingFen))
		} else {
			out = append(out, fmt.Sprintf("%s:%d", c.Reason, c.SavingFen))
		}
	}
	return strings.Join(out, ",")
}

// refusesCoupon places the basket with the coupon and wants it refused as one that saves nothing, with nothing left behind.
func (sh *shop) refusesCoupon(shopperID int64, p Placement, couponID int64) {
	sh.t.Helper()
	p.CouponID = couponID
	_, quoted := sh.Quote(sh.t.Context(), shopperID, p.Basket)
	_, placed := sh.Place(sh.t.Context(), shopperID, p)
	for _, err := range []error{quoted, placed} {
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.CouponUnusable || len(e.Fields) != 1 || e.Fields[0].Field != "my_coupon_id" || e.Fields[0].Code != "no_saving" {
			sh.t.Errorf("got %v, want coupon_unusable: no_saving", err)
		}
	}
	if sh.couponState(couponID) != model.CouponAvailable || sh.number("SELECT COUNT(*) FROM orders WHERE coupon_id = ?", couponID) != 0 {
		sh.t.Errorf("the coupon is %s after it was refused", sh.couponState(couponID))
	}
}

// A coupon that takes the goods below free delivery saves less than it takes off, and one that saves nothing is not spent.
func TestCouponThatCostsTheFreeDelivery(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k := sh.shopper(), sh.sku(product{price: 29900, stock: 9})
		sh.freeOver(29900, 1800)
		ten := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 1000})
		eighteen := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 1800})
		twenty := sh.coupon(me, model.CouponTemplate{Kind: model.CouponAmount, AmountFen: 2000})
		delivery := sh.coupon(me, model.CouponTemplate{Kind: model.CouponFreeShipping})
		p := sh.basket(me, 0, Item{SKUID: k, Quantity: 1})
		if p.ExpectedPayableFen != 29900 {
			t.Errorf("without a coupon %d, want 29900", p.ExpectedPayableFen)
		}
		if got, want := sh.offers(me, p.Basket), "no_saving:0,no_saving:0,200,no_saving:0"; got != want {
			t.Errorf("with an address the coupons save %q, want %q", got, want)
		}
		if got, want := sh.offers(me, Basket{Items: p.Items}), "1000,1800,2000,0"; got != want {
			t.Errorf("without an address the coupons save %q, want %q", got, want)
		}
		for c, payable := range map[int64]model.Fen{ten: 30700, eighteen: 29900, delivery: 29900} {
			if q, err := sh.Quote(t.Context(), me, Basket{Items: p.Items, CouponID: c}); err != nil || q.FreightFen != nil {
				t.Errorf("chosen before there is an address: %+v, %v", q, err)
			}
			p.ExpectedPayableFen = payable // with it
			sh.refusesCoupon(me, p, c)
		}
		// 29900 − 2000 + 1800 = 29700 = 29900 − 200.
		o, err := sh.Place(t.Context(), me, sh.basket(me, twenty, p.Items...))
		if err != nil || o.DiscountFen != 2000 || o.FreightFen != 1800 || o.PayableFen != 29700 {
			t.Errorf("with 2000 off: %+v, %v", o, err)
		}
		sh.sound()
	})
}

// A coupon for free shipping is for a freight: neither virtual goods nor free delivery spend it.
func TestFreeShippingNeedsAFreight(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		me, k, virtual := sh.shopper(), sh.sku(product{price: 10000, stock: 9}), sh.sku(product{price: 500, stock: 9, virtual: true})
		c := sh.coupon(me, model.CouponTemplate{Kind: model.CouponFreeShipping})
		p, card := sh.basket(me, 0, Item{SKUID: k, Quantity: 1}), sh.basket(me, 0, Item{SKUID: virtual, Quantity: 1})
		sh.refusesCoupon(me, p, c) // there are no rules: delivery is free
		sh.freeOver(20000, 1800)
		sh.refusesCoupon(me, card, c)
		card.AddressID = 0
		sh.refusesCoupon(me, card, c)
		if got := sh.offers(me, card.Basket); got != "no_saving:0" {
			t.Errorf("for virtual goods it saves %q", got)
		}
		two := p
		two.Items = []Item{{SKUID: k, Quantity: 2}}
		sh.refusesCoupon(me, two, c) // 20000: free
		if got := sh.offers(me, p.Basket); got != "1800" {
			t.Errorf("for 10000 of goods it saves %q, want 1800", got)
		}
		o, err := sh.Place(t.Context(), me, sh.basket(me, c, p.Items...))
		if err != nil || o.DiscountFen != 0 || o.FreightFen != 0 || o.PayableFen != 10000 || sh.couponState(c) != model.CouponLocked {
			t.Errorf("order %+v, %v, coupon %s", o, err, sh.couponState(c))
		}
		sh.sound()
	})
}

// genBasis is what a price may be made from: a few SKUs, freight rules, an address or none, coupons of every kind.
func genBasis(t *rapid.T) (items []Item, from basis) {
	fen := func(most int64, what string) model.Fen { return model.Fen(rapid.Int64Range(0, most).Draw(t, what)) }
	for id := range rapid.Int64Range(1, 3).Draw(t, "SKUs") {
		k := catalog.Sellable{OnSale: true}
		k.SKUID, k.ProductID, k.MerchantID, k.Stock, k.WeightG = id+1, id+1, merchantID, 9, 100
		k.PriceFen, k.Virtual = fen(3000, "price"), rapid.Bool().Draw(t, "virtual")
		from.goods = append(from.goods, k)
		items = append(items, Item{SKUID: k.SKUID, Quantity: rapid.Int64Range(1, 3).Draw(t, "quantity")})
	}
	var rules []model.FreightRule
	for id := range rapid.Int64Range(0, 2).Draw(t, "rules") {
		rules = append(rules, model.FreightRule{
			ID: id + 1, Kind: model.FreightPiece, FirstUnits: 1, FirstFen: fen(900, "first"), StepUnits: 1, StepFen: fen(100, "step"), FreeOverFen: fen(9000, "free over"),
		})
	}
	from.rules = func(int64) ([]model.FreightRule, error) { return rules, nil }
	if rapid.Bool().Draw(t, "address") {
		from.address = &model.OrderAddress{Province: "浙江省", City: "杭州市"}
	}
	for id := range rapid.Int64Range(1, 4).Draw(t, "coupons") {
		from.held = append(from.held, coupon.HeldCoupon{
			Coupon: model.Coupon{ID: id + 1, MerchantID: merchantID, State: model.CouponAvailable, ExpiresAt: 1},
			Template: model.CouponTemplate{
				MerchantID: merchantID, Scope: model.ScopeProduct, ScopeIDs: []int64{1, 2}, AmountFen: 1 + fen(2000, "off"), PercentOff: rapid.IntRange(1, 99).Draw(t, "percent"),
				Kind: rapid.SampledFrom([]model.CouponKind{model.CouponAmount, model.CouponPercent, model.CouponFreeShipping}).Draw(t, "kind"),
			},
		})
	}
	return items, from
}

// What a quote says of a coupon is what the price with it and the price without differ by, and it saves something: only before the
// freight is known a coupon for free shipping cannot tell what.
func TestSavingIsTheDifferenceProperty(t *testing.T) {
	s := New(Deps{Catalog: shelf{}, Now: func() model.Time { return 0 }})
	rapid.Check(t, func(t *rapid.T) {
		items, from := genBasis(t)
		without, err := s.price(Basket{Items: items}, from)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range without.Coupons {
			chosen := from
			chosen.held = from.held[i : i+1] // as a submit reads it
			with, err := s.price(Basket{Items: items, CouponID: c.Coupon.ID}, chosen)
			switch {
			case !c.Usable:
				if c.SavingFen != 0 || !fault.Is(err, fault.CouponUnusable) {
					t.Fatalf("unusable, saves %d, with it: %v", c.SavingFen, err)
				}
			case err != nil:
				t.Fatalf("usable, but with it: %v", err)
			case with.PayableFen != without.PayableFen-c.SavingFen:
				t.Fatalf("said to save %d of %d, leaves %d", c.SavingFen, without.PayableFen, with.PayableFen)
			case c.SavingFen <= 0 && (c.Template.Kind != model.CouponFreeShipping || without.FreightFen != nil):
				t.Fatalf("usable and saves %d", c.SavingFen)
			}
		}
	})
}
