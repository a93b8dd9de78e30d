package demo

import (
	"html"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
)

// draft makes what an admin would have entered. images are those of the variants.
func (p product) draft(images []model.Image) catalog.Draft {
	d := catalog.Draft{
		Name: p.name, Subtitle: p.subtitle, Virtual: p.virtual, Images: images, Options: p.options(),
		DetailHTML: "<h3>" + html.EscapeString(p.name) + "</h3><p>" + html.EscapeString(p.story) + "</p>" + p.promise(),
	}
	for i, v := range p.variants {
		for j := range max(1, len(p.sizes)) {
			specs := map[string]string{}
			if p.option != "" {
				specs[p.option] = v.name
			}
			if len(p.sizes) > 0 {
				specs[p.size] = p.sizes[j]
			}
			stock := p.stockOf(i, j)
			sku := catalog.SKUDraft{Specs: specs, PriceFen: p.prices[min(j, len(p.prices)-1)], Stock: &stock, WeightG: p.weightG}
			if len(p.variants) > 1 {
				sku.Image = images[i].Key
			}
			d.SKUs = append(d.SKUs, sku)
		}
	}
	return d
}

func (p product) options() []model.ProductOption {
	options := []model.ProductOption{}
	if p.option != "" {
		first := model.ProductOption{Name: p.option}
		for _, v := range p.variants {
			first.Values = append(first.Values, v.name)
		}
		options = append(options, first)
	}
	if len(p.sizes) > 0 {
		options = append(options, model.ProductOption{Name: p.size, Values: p.sizes})
	}
	return options
}

// stockOf gives the combinations different stock, and every seventh one none, so that a sold-out one is there to be seen.
func (p product) stockOf(variant, size int) int64 {
	if (variant*3+size)%7 == 5 {
		return 0
	}
	return max(0, p.stock-int64(variant*5+size*3)%max(1, p.stock))
}

func (p product) promise() string {
	if p.virtual {
		return "<ul><li>付款后由商家发送卡密，无需收货地址</li><li>未使用可在七天内退款</li></ul>"
	}
	return "<ul><li>满 99 元包邮（偏远地区除外）</li><li>七天无理由退换，运费我们承担</li><li>四十八小时内发货</li></ul>"
}

// offers are coupon templates of every kind and scope, open for a year.
func offers(merchantID int64, now model.Time, categories, products map[string]int64) []model.CouponTemplate {
	offer := func(t model.CouponTemplate) model.CouponTemplate {
		t.MerchantID, t.StartsAt, t.EndsAt, t.Version, t.CreatedAt, t.UpdatedAt = merchantID, now, now.Add(365*24*time.Hour), 1, now, now
		if t.ScopeIDs == nil {
			t.Scope, t.ScopeIDs = model.ScopeAll, []int64{}
		}
		return t
	}
	return []model.CouponTemplate{
		offer(model.CouponTemplate{Name: "新人立减 5 元", Kind: model.CouponAmount, AmountFen: 500, Total: 100_000, PerShopper: 1, ValidDays: 30}),
		offer(model.CouponTemplate{Name: "满 200 减 30", Kind: model.CouponAmount, AmountFen: 3000, ThresholdFen: 20_000, Total: 10_000, PerShopper: 2}),
		offer(model.CouponTemplate{
			Name: "数码影音 85 折，最多减 100 元", Kind: model.CouponPercent, PercentOff: 15, MaxDiscountFen: 10_000, ThresholdFen: 10_000,
			Scope: model.ScopeCategory, ScopeIDs: []int64{categories["数码影音"]}, Total: 5000, PerShopper: 1, ValidDays: 15,
		}),
		offer(model.CouponTemplate{
			Name: "陶瓷马克杯立减 10 元", Kind: model.CouponAmount, AmountFen: 1000,
			Scope: model.ScopeProduct, ScopeIDs: []int64{products["手作陶瓷马克杯"]}, Total: 500, PerShopper: 1,
		}),
		offer(model.CouponTemplate{Name: "免运费券", Kind: model.CouponFreeShipping, Total: 20_000, PerShopper: 3, ValidDays: 60}),
	}
}

// freight is cheap where most people live, dearer where parcels go far, and free from an amount of goods.
func freight(merchantID int64, now model.Time) []model.FreightRule {
	rule := func(r model.FreightRule) model.FreightRule {
		r.MerchantID, r.Kind, r.FirstUnits, r.StepUnits, r.Version, r.CreatedAt, r.UpdatedAt = merchantID, model.FreightPiece, 1, 1, 1, now, now
		return r
	}
	return []model.FreightRule{
		rule(model.FreightRule{Name: "默认运费", Regions: []string{}, FirstFen: 800, StepFen: 200, FreeOverFen: 9900, Sort: 100}),
		rule(model.FreightRule{
			Name: "偏远地区", Regions: []string{"新疆维吾尔自治区", "西藏自治区", "青海省", "宁夏回族自治区", "内蒙古自治区"},
			FirstFen: 1800, StepFen: 600, FreeOverFen: 39_900, Sort: 10,
		}),
	}
}
