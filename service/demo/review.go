package demo

import (
	"fmt"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
)

// people write the demo's reviews.
var people = []string{"林小满", "阿哲", "陈一", "Mia", "周舟", "晚风"}

// opinion is a review of the demo.
type opinion struct {
	product string
	who     int // of people
	rating  int
	days    int // ago
	text    string
	answer  string
	picture bool // shows the product
}

var opinions = []opinion{
	{"潮汐纯棉圆领T恤", 0, 5, 3, "料子厚实不透，洗了五六次领口没松，准备再来一件雾蓝。", "谢谢喜欢，雾蓝下周补齐 XL 码。", true},
	{"潮汐纯棉圆领T恤", 1, 4, 9, "版型正，平时穿 L 买 L 就行。物流慢了一天。", "", false},
	{"潮汐纯棉圆领T恤", 3, 5, 16, "", "", false},
	{"潮汐纯棉圆领T恤", 4, 3, 30, "颜色比图片深一点，其他没毛病。", "不同屏幕会有色差，七天内可以换色，联系客服即可。", false},
	{"连帽抓绒卫衣", 2, 5, 5, "里面的绒很软，冬天骑车够暖。", "", true},
	{"连帽抓绒卫衣", 5, 4, 21, "帽子有点大，暖和是真的暖和。", "", false},
	{"轻羽缓震跑鞋", 1, 5, 2, "跑了三个十公里，脚后跟不累，很轻。", "", false},
	{"轻羽缓震跑鞋", 4, 4, 12, "建议比皮鞋大半码。", "是的，脚背高的朋友也可以选大半码。", false},
	{"美利奴羊毛中筒袜 三双装", 0, 5, 8, "一整天不闷脚。", "", false},
	{"海浪帆布托特包", 3, 5, 6, "能装下电脑和饭盒，布很挺。", "", true},
	{"海浪帆布托特包", 5, 2, 40, "收到时有一根线头，剪掉了。", "抱歉，已补发五元券给您。", false},
	{"城市通勤双肩包 22L", 2, 5, 4, "下雨天试过，电脑没湿。", "", false},
}

// addReviews writes the reviews of products, and who wrote them. images are the pictures of every product.
func (f *Filler) addReviews(tx *store.Tx, merchantID int64, products map[string]int64, images [][]model.Image) error {
	now := f.Now()
	shoppers := make([]model.Shopper, len(people))
	for i, name := range people {
		// WeChat gives no such openid, so nobody can log in as them.
		shoppers[i] = model.Shopper{OpenID: fmt.Sprintf("demo:%d", i+1), Nickname: name, CreatedAt: now, UpdatedAt: now}
	}
	if err := tx.Create(&shoppers).Error; err != nil {
		return err
	}
	for i, p := range shelf {
		for _, o := range opinions {
			if o.product != p.name {
				continue
			}
			at := now.Add(-time.Duration(o.days) * 24 * time.Hour)
			r := model.Review{
				MerchantID: merchantID, ProductID: products[p.name], ShopperID: shoppers[o.who].ID, Specs: map[string]string{}, Rating: o.rating,
				Content: o.text, Pictures: []model.Image{}, CreatedAt: at, UpdatedAt: at,
			}
			if p.option != "" {
				r.Specs[p.option] = p.variants[0].name
			}
			if o.picture {
				r.Pictures = images[i][:1]
			}
			if o.answer != "" {
				r.Answer, r.AnsweredAt, r.AnsweredBy = o.answer, at.Add(3*time.Hour), actor
			}
			if err := review.Import(tx, &r); err != nil {
				return err
			}
		}
	}
	return nil
}
