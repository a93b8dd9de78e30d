package demo

import (
	"image/color"

	"github.com/tidemall/tidemall/model"
)

// department is a root of the demo's tree with what is below it.
type department struct {
	name     string
	children []string
}

var departments = []department{
	{"服饰鞋包", []string{"上装", "鞋袜", "箱包配饰"}},
	{"数码影音", []string{"音频设备", "数码配件"}},
	{"居家生活", []string{"杯壶", "家纺灯饰", "香氛绿植"}},
	{"茶饮零食", []string{"茶与咖啡", "坚果点心"}},
	{"文具书籍", nil},
	{"礼品卡", nil},
}

// variant is a value of a product's first option: its name, and how the product looks in it.
type variant struct {
	name string
	col  color.RGBA
}

// product is a product of the demo. With variants and sizes it is sold in every combination of them.
type product struct {
	category string
	name     string
	subtitle string
	story    string
	thing    func(*canvas, color.RGBA)
	ground   color.RGBA
	option   string // name of the first option; empty with a single variant
	variants []variant
	size     string // name of the second option, if there are sizes
	sizes    []string
	prices   []model.Fen // of each size; a single one is that of all
	stock    int64       // of the first SKU; others differ
	weightG  int64
	virtual  bool
}

func one(col uint32) []variant { return []variant{{"", rgb(col)}} }

// shelf is ordered as it is shown.
var shelf = []product{
	{
		"上装", "潮汐纯棉圆领T恤", "Tide crew-neck cotton tee", "220 克新疆长绒棉，缩水率低于 3%，领口双针锁边，洗三十次不变形。", shirt, mist,
		"颜色",
		[]variant{{"米白", rgb(0xf3f0e8)}, {"雾蓝", rgb(0x8aa9bd)}, {"炭黑", rgb(0x3b424d)}},
		"尺码",
		[]string{"S", "M", "L", "XL"},
		[]model.Fen{7900},
		36, 220, false,
	},
	{
		"上装", "连帽抓绒卫衣", "Brushed fleece hoodie", "内里短绒抓毛，轻而不臃肿；罗纹收口，帽绳可拆。", hoodie, dusk,
		"颜色",
		[]variant{{"石板灰", rgb(0x64748b)}, {"苔绿", rgb(0x7d9a80)}},
		"尺码",
		[]string{"M", "L", "XL"},
		[]model.Fen{16900},
		24, 560, false,
	},
	{
		"鞋袜", "轻羽缓震跑鞋", "Featherlight running shoes", "单只 218 克，网面透气，后跟软支撑，适合五到十公里的日常训练。", sneaker, leaf,
		"颜色",
		[]variant{{"珊瑚", rgb(0xd98b73)}, {"海盐", rgb(0x9db8c4)}},
		"尺码",
		[]string{"38", "39", "40", "41", "42", "43"},
		[]model.Fen{32900},
		12, 760, false,
	},
	{
		"鞋袜", "美利奴羊毛中筒袜 三双装", "Merino crew socks, 3 pairs", "六成美利奴羊毛，吸湿不闷；脚跟加厚，冬天也能穿进皮鞋。", sock, sand,
		"颜色",
		[]variant{{"灰绿", rgb(0x8fb3a0)}, {"燕麦", rgb(0xd9c7a5)}},
		"", nil,
		[]model.Fen{8900},
		60, 150, false,
	},
	{
		"箱包配饰", "海浪帆布托特包", "Wave canvas tote", "十六安厚帆布，能装下一台十五寸电脑和两本书；内袋带拉链。", tote, petal,
		"", one(0xe3c79a), "", nil,
		[]model.Fen{5900},
		80, 380, false,
	},
	{
		"箱包配饰", "城市通勤双肩包 22L", "City backpack 22 L", "防泼水面料，独立电脑仓，背面透气格纹，雨天也放心。", backpack, cloud,
		"颜色",
		[]variant{{"深海蓝", rgb(0x3d5a6c)}, {"沙岩", rgb(0xb9a48a)}},
		"", nil,
		[]model.Fen{25900},
		18, 920, false,
	},
	{
		"箱包配饰", "羊绒混纺围巾", "Cashmere-blend scarf", "三成羊绒，触感柔软；长一米八，两种围法都够。", scarf, mist,
		"颜色",
		[]variant{{"米白", rgb(0xf3ead9)}, {"酒红", rgb(0x8d4a52)}},
		"", nil,
		[]model.Fen{19900},
		15, 180, false,
	},
	{
		"箱包配饰", "轻量三折晴雨伞", "Light folding umbrella", "整伞 265 克，UPF 50+，十骨抗风，一键收开。", umbrella, sand,
		"", one(0xcfd8dc), "", nil,
		[]model.Fen{6900},
		0, 265, false,
	},

	{
		"音频设备", "头戴式主动降噪耳机", "Over-ear noise-cancelling headphones", "三档降噪，续航四十小时；蓝牙与 3.5mm 有线双模。", headphones, dusk,
		"颜色",
		[]variant{{"石墨", rgb(0x4b5563)}, {"月白", rgb(0xd7dde3)}},
		"", nil,
		[]model.Fen{79900},
		20, 450, false,
	},
	{
		"音频设备", "真无线蓝牙耳机 Air3", "True wireless Bluetooth earbuds Air3", "单耳 4.2 克，入耳检测，充电盒支持 USB-C 与无线充电。", earbuds, petal,
		"颜色",
		[]variant{{"白", rgb(0xe8ecef)}, {"珊瑚", rgb(0xd98b73)}},
		"", nil,
		[]model.Fen{29900},
		45, 120, false,
	},
	{
		"音频设备", "书架蓝牙音箱", "Bookshelf Bluetooth speaker", "榉木箱体，二分频，四十瓦；可两只组成立体声。", speaker, petal,
		"", one(0xd9b98a), "", nil,
		[]model.Fen{45900},
		9, 2600, false,
	},
	{
		"数码配件", "65W 氮化镓快充套装", "65 W GaN fast charger", "一个 USB-C 到底：手机、平板、轻薄本都能充；附一米五编织线。", charger, cloud,
		"", one(0x3d5a6c), "", nil,
		[]model.Fen{12900},
		70, 210, false,
	},
	{
		"数码配件", "磁吸移动电源 10000mAh", "Magnetic power bank 10,000 mAh", "厚 14 毫米，贴上就充；可带上飞机。", powerbank, sand,
		"颜色",
		[]variant{{"豆绿", rgb(0x8fb3a0)}, {"雾灰", rgb(0xa7b0ba)}},
		"", nil,
		[]model.Fen{18900},
		33, 230, false,
	},
	{
		"数码配件", "三模矮轴机械键盘", "Low-profile tri-mode keyboard", "蓝牙、2.4G、有线三模；茶轴手感，七十五键紧凑布局。", keyboard, cloud,
		"轴体",
		[]variant{{"茶轴", rgb(0xd8d2c4)}, {"红轴", rgb(0xc98a7d)}},
		"", nil,
		[]model.Fen{39900},
		14, 640, false,
	},
	{
		"数码配件", "极简石英腕表", "Minimal quartz watch", "四十毫米表盘，蓝宝石镜面，五十米防水；表带可快拆。", watch, dusk,
		"表带",
		[]variant{{"石板灰", rgb(0x64748b)}, {"棕", rgb(0x8b6a4f)}},
		"", nil,
		[]model.Fen{59900},
		7, 90, false,
	},

	{
		"杯壶", "手作陶瓷马克杯", "Hand-made ceramic mug", "每只釉色略有不同；350 毫升，可进微波炉与洗碗机。", mug, leaf,
		"颜色",
		[]variant{{"赤陶", rgb(0xd0826a)}, {"海盐", rgb(0xb7cbd2)}, {"墨绿", rgb(0x4f7263)}},
		"", nil,
		[]model.Fen{4900},
		50, 360, false,
	},
	{
		"杯壶", "316 不锈钢保温杯", "Stainless thermos bottle", "内胆 316 不锈钢，六小时保温 65℃；杯口圆润不硌嘴。", thermos, petal,
		"颜色",
		[]variant{{"奶茶", rgb(0xd9bd93)}, {"雾蓝", rgb(0x7f9fb3)}},
		"容量",
		[]string{"350ml", "500ml"},
		[]model.Fen{9900, 11900},
		28, 320, false,
	},
	{
		"杯壶", "紫砂侧把茶壶", "Clay side-handle teapot", "宜兴原矿紫砂，容量 180 毫升，出水利落。", teapot, cloud,
		"", one(0x7b4f3f), "", nil,
		[]model.Fen{23900},
		6, 290, false,
	},
	{
		"家纺灯饰", "床头阅读灯", "Bedside reading lamp", "三档色温，旋钮无级调光；亚麻灯罩，光不刺眼。", lamp, sand,
		"", one(0x8fb3a0), "", nil,
		[]model.Fen{21900},
		11, 1500, false,
	},
	{
		"家纺灯饰", "泰国天然乳胶枕", "Natural latex pillow", "乳胶含量 93%，波浪护颈，枕套可机洗。", pillow, mist,
		"高度",
		[]variant{{"低枕 8cm", rgb(0xefe9dc)}, {"高枕 11cm", rgb(0xdfe6e4)}},
		"", nil,
		[]model.Fen{26900},
		16, 1300, false,
	},
	{
		"家纺灯饰", "精梳棉毛巾 三条装", "Combed cotton towels, set of 3", "32 股精梳棉，下水不掉色，越洗越软。", towels, dusk,
		"颜色",
		[]variant{{"雾蓝", rgb(0x7f9fb3)}, {"陶粉", rgb(0xd6a397)}},
		"", nil,
		[]model.Fen{6900},
		42, 420, false,
	},
	{
		"香氛绿植", "大豆蜡香薰蜡烛", "Soy wax scented candle", "天然大豆蜡，燃烧约四十小时；前调佛手柑，尾调雪松。", candle, leaf,
		"香型",
		[]variant{{"雪松", rgb(0x7d9a80)}, {"无花果", rgb(0xb98a96)}, {"海盐", rgb(0x9db8c4)}},
		"", nil,
		[]model.Fen{11900},
		25, 380, false,
	},
	{
		"香氛绿植", "虎尾兰桌面盆栽", "Snake plant in a pot", "耐阴耐旱，半月浇一次水；陶盆直径 12 厘米。", plant, petal,
		"", one(0xd9b98a), "", nil,
		[]model.Fen{4500},
		22, 900, false,
	},

	{
		"茶与咖啡", "明前龙井 50g", "Longjing green tea, 50 g", "清明前手采一芽一叶，铁罐充氮，开罐有豆香。", tin, cloud,
		"", one(0x4f7263), "", nil,
		[]model.Fen{16800},
		30, 130, false,
	},
	{
		"茶与咖啡", "云南精品咖啡豆", "Yunnan single-origin coffee beans", "保山水洗豆，中度烘焙，坚果与红糖的甜；下单后现烘。", pouch, sand,
		"烘焙度",
		[]variant{{"浅烘", rgb(0xc7a574)}, {"中烘", rgb(0x9c7a55)}, {"深烘", rgb(0x6f5340)}},
		"规格",
		[]string{"227g", "454g"},
		[]model.Fen{6800, 12000},
		40, 240, false,
	},
	{
		"坚果点心", "每日混合坚果罐", "Daily mixed nuts", "腰果、杏仁、核桃、蔓越莓，低温烘烤不加油盐。", jar, mist,
		"", one(0xd2a36a), "", nil,
		[]model.Fen{7900},
		55, 520, false,
	},
	{
		"坚果点心", "海盐可可曲奇", "Sea-salt cocoa cookies", "法国发酵黄油，可可含量 64%，独立小包。", cookies, leaf,
		"口味",
		[]variant{{"海盐可可", rgb(0xb98552)}, {"抹茶", rgb(0x9aae72)}},
		"", nil,
		[]model.Fen{3900},
		64, 300, false,
	},

	{
		"文具书籍", "布面硬壳笔记本 A5", "Cloth hardcover notebook A5", "192 页 100 克道林纸，可平摊，钢笔不洇。", notebook, leaf,
		"内页",
		[]variant{{"横线", rgb(0xd0826a)}, {"点阵", rgb(0x3d5a6c)}, {"空白", rgb(0xb9a48a)}},
		"", nil,
		[]model.Fen{3900},
		75, 340, false,
	},
	{
		"文具书籍", "六角原木铅笔 十二支", "Hexagonal pencils, box of 12", "椴木笔杆，2B 石墨，附转笔刀。", pens, petal,
		"", one(0xe0b458), "", nil,
		[]model.Fen{1900},
		120, 110, false,
	},
	{
		"文具书籍", "《海的边界》三册套装", "The Edge of the Sea, 3 volumes", "潮间带观察笔记，全彩手绘插图，附地图一张。", books, cloud,
		"", one(0x5b8196), "", nil,
		[]model.Fen{12800},
		18, 1450, false,
	},
	{
		"礼品卡", "Tidemall 电子礼品卡", "Tidemall e-gift card", "卡密在付款后由商家发送，全场通用，三年有效，不需要收货地址。", card, leaf,
		"", one(0x5f9e92), "面值",
		[]string{"100 元", "200 元", "500 元"},
		[]model.Fen{10000, 20000, 50000},
		500, 0, true,
	},
}
