package account

import "slices"

// Permission allows an admin one kind of operation; roles are named sets of them. The text is part of the API.
type Permission string

// The permissions. Reading is never implied by writing: a role names both.
const (
	CatalogRead    Permission = "catalog:read"
	CatalogWrite   Permission = "catalog:write"
	StockWrite     Permission = "stock:write"
	CouponRead     Permission = "coupon:read"
	CouponWrite    Permission = "coupon:write"
	ShippingRead   Permission = "shipping:read"
	ShippingWrite  Permission = "shipping:write"
	OrderRead      Permission = "order:read"
	OrderWrite     Permission = "order:write"
	RefundWrite    Permission = "refund:write"
	TimeoutRead    Permission = "timeout:read"
	TimeoutWrite   Permission = "timeout:write"
	MessageRead    Permission = "message:read"
	MessageWrite   Permission = "message:write"
	AnomalyRead    Permission = "anomaly:read"
	AnomalyWrite   Permission = "anomaly:write"
	ReviewRead     Permission = "review:read"
	ReviewWrite    Permission = "review:write"
	ReportRead     Permission = "report:read"
	ShopRead       Permission = "shop:read"
	ShopWrite      Permission = "shop:write"
	AccountRead    Permission = "account:read"
	AccountWrite   Permission = "account:write"
	MerchantRead   Permission = "merchant:read"
	MerchantWrite  Permission = "merchant:write"
	SubscribeRead  Permission = "subscribe:read"
	SubscribeWrite Permission = "subscribe:write"
)

// PermissionInfo describes a permission for people.
type PermissionInfo struct {
	Permission Permission
	ZH, EN     string
	// PlatformOnly permissions mean nothing in a merchant's role and are refused there.
	PlatformOnly bool
}

// Permissions lists all permissions in the order in which the panel shows them.
func Permissions() []PermissionInfo { return slices.Clone(permissions) }

var permissions = []PermissionInfo{
	{Permission: CatalogRead, ZH: "查看商品与分类", EN: "See products and categories"},
	{Permission: CatalogWrite, ZH: "编辑商品与分类", EN: "Edit products and categories"},
	{Permission: StockWrite, ZH: "调整库存", EN: "Adjust stock"},
	{Permission: CouponRead, ZH: "查看优惠券", EN: "See coupons"},
	{Permission: CouponWrite, ZH: "编辑优惠券", EN: "Edit coupons"},
	{Permission: ShippingRead, ZH: "查看运费规则", EN: "See freight rules"},
	{Permission: ShippingWrite, ZH: "编辑运费规则", EN: "Edit freight rules"},
	{Permission: OrderRead, ZH: "查看订单与售后", EN: "See orders and after-sales"},
	{Permission: OrderWrite, ZH: "发货、改价、关闭订单", EN: "Ship, re-price and close orders"},
	{Permission: RefundWrite, ZH: "退款与处理售后", EN: "Refund and answer after-sales"},
	{Permission: TimeoutRead, ZH: "查看超时任务与策略", EN: "See deadlines and their policies"},
	{Permission: TimeoutWrite, ZH: "编辑超时策略、重试任务", EN: "Edit deadline policies and retry tasks"},
	{Permission: MessageRead, ZH: "查看本地消息", EN: "See messages"},
	{Permission: MessageWrite, ZH: "重试或跳过消息", EN: "Retry or skip messages"},
	{Permission: AnomalyRead, ZH: "查看资金异常", EN: "See anomalies"},
	{Permission: AnomalyWrite, ZH: "处理资金异常", EN: "Resolve anomalies"},
	{Permission: ReviewRead, ZH: "查看评价与待审内容", EN: "See reviews and held content"},
	{Permission: ReviewWrite, ZH: "回复、隐藏评价，审核内容", EN: "Answer and hide reviews, decide on held content"},
	{Permission: ReportRead, ZH: "查看报表", EN: "See reports"},
	{Permission: ShopRead, ZH: "查看店铺设置", EN: "See the shop's settings"},
	{Permission: ShopWrite, ZH: "编辑店铺设置", EN: "Edit the shop's settings"},
	{Permission: AccountRead, ZH: "查看管理员、角色与操作日志", EN: "See admins, roles and the change log"},
	{Permission: AccountWrite, ZH: "编辑管理员与角色", EN: "Edit admins and roles"},
	{Permission: SubscribeRead, ZH: "查看订阅消息", EN: "See subscribe messages", PlatformOnly: true},
	{Permission: SubscribeWrite, ZH: "编辑订阅消息模板", EN: "Edit the templates of subscribe messages", PlatformOnly: true},
	{Permission: MerchantRead, ZH: "查看商家", EN: "See merchants", PlatformOnly: true},
	{Permission: MerchantWrite, ZH: "编辑商家", EN: "Edit merchants", PlatformOnly: true},
}

// infoOf returns what is known of a permission; ok is false where there is none of that name.
func infoOf(p Permission) (info PermissionInfo, ok bool) {
	i := slices.IndexFunc(permissions, func(i PermissionInfo) bool { return i.Permission == p })
	if i < 0 {
		return PermissionInfo{}, false
	}
	return permissions[i], true
}
