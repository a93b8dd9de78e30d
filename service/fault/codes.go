package fault

import "slices"

// The codes. Their texts say what to do next; the table below is complete (a test walks it).
const (
	InternalError        Code = "internal_error"
	MalformedBody        Code = "malformed_body"
	MissingBody          Code = "missing_body"
	UnsupportedMedia     Code = "unsupported_media_type"
	SlowBody             Code = "slow_body"
	BodyTooLarge         Code = "body_too_large"
	MethodNotAllowed     Code = "method_not_allowed"
	NotFoundError        Code = "not_found"
	TokenRequired        Code = "token_required"
	TokenInvalid         Code = "token_invalid"
	PermissionDenied     Code = "permission_denied"
	MerchantDisabled     Code = "merchant_disabled"
	LoginFailed          Code = "login_failed"
	LoginLocked          Code = "login_locked"
	LoginCodeInvalid     Code = "login_code_invalid"
	TOTPRequired         Code = "totp_required"
	TOTPInvalid          Code = "totp_invalid"
	ValidationFailed     Code = "validation_failed"
	RateLimited          Code = "rate_limited"
	DatabaseUnavailable  Code = "database_unavailable"
	Starting             Code = "starting"
	WeChatUnavailable    Code = "wechat_unavailable"
	WeChatRefused        Code = "wechat_refused"
	StaleVersion         Code = "stale_version"
	NameTaken            Code = "name_taken"
	InUse                Code = "in_use"
	IdempotencyKeyNeeded Code = "idempotency_key_required"
	IdempotencyKeyReused Code = "idempotency_key_reused"

	PriceChanged       Code = "price_changed"
	StockInsufficient  Code = "stock_insufficient"
	ProductUnavailable Code = "product_unavailable"
	CouponUnusable     Code = "coupon_unusable"
	CouponSoldOut      Code = "coupon_sold_out"
	CouponLimit        Code = "coupon_limit"
	CouponNotOpen      Code = "coupon_not_open"
	TotalBelowIssued   Code = "total_below_issued"
	MixedMerchants     Code = "mixed_merchants"
	AddressRequired    Code = "address_required"
	NoDelivery         Code = "no_delivery"
	UnpaidLimit        Code = "unpaid_limit"
	CartFull           Code = "cart_full"
	AddressLimit       Code = "address_limit"
	OrderClosed        Code = "order_closed"
	OrderClosing       Code = "order_closing"
	OrderBusy          Code = "order_busy"
	OrderAlreadyPaid   Code = "order_already_paid"
	OrderNotPaid       Code = "order_not_paid"
	OrderState         Code = "order_state"
	RefundOpen         Code = "refund_open"
	RefundTooMuch      Code = "refund_too_much"
	RefundTooOld       Code = "refund_too_old"
	RefundTooMany      Code = "refund_too_many"
	StateConflict      Code = "state_conflict"
	ContentRefused     Code = "content_refused"
	ReviewExists       Code = "review_exists"
	ReviewClosed       Code = "review_closed"
	CorrectionUsed     Code = "correction_used"
	ReceiptUnconfirmed Code = "receipt_unconfirmed"
	AftersaleExpired   Code = "aftersale_expired"
	AftersaleLimit     Code = "aftersale_limit"

	FieldRequired Code = "required"
	FieldUnknown  Code = "unknown_field"
	FieldType     Code = "wrong_type"
	FieldRange    Code = "out_of_range"
	FieldLength   Code = "wrong_length"
	FieldFormat   Code = "wrong_format"
	FieldChoice   Code = "not_a_choice"
	FieldDup      Code = "duplicate"
	FieldStock    Code = "stock_short"
	FieldGone     Code = "gone"
	FieldContent  Code = "not_allowed"
)

// Info is what the table knows of a code.
type Info struct {
	Class Class
	Text  Text
}

var table = map[Code]Info{
	InternalError:        {Internal, Text{"服务器内部错误，请稍后重试；如仍失败请提供 request_id", "Something failed on the server. Try again later; if it stays, quote the request_id"}},
	MalformedBody:        {Malformed, Text{"请求体格式不正确", "The body is not well-formed"}},
	MissingBody:          {Malformed, Text{"缺少请求体", "The body is missing"}},
	UnsupportedMedia:     {Malformed, Text{"不支持的 Content-Type", "Unsupported media type"}},
	SlowBody:             {Malformed, Text{"请求体发送过慢，请检查网络后重试", "The body arrived too slowly; check the network and try again"}},
	BodyTooLarge:         {Malformed, Text{"请求体过大", "The body is too large"}},
	MethodNotAllowed:     {NotFound, Text{"此路径不支持该方法", "This path does not take that method"}},
	NotFoundError:        {NotFound, Text{"不存在", "Not there"}},
	TokenRequired:        {Unauthenticated, Text{"请先登录", "Log in first and send Authorization: Bearer <token>"}},
	TokenInvalid:         {Unauthenticated, Text{"登录已失效，请重新登录", "The token is not valid any more; log in again"}},
	PermissionDenied:     {Forbidden, Text{"没有此操作的权限", "You may not do this"}},
	MerchantDisabled:     {Forbidden, Text{"商家已停用", "This merchant is disabled"}},
	LoginFailed:          {Unauthenticated, Text{"用户名或密码不正确", "Username or password is wrong"}},
	LoginLocked:          {TooMany, Text{"登录失败次数过多，请稍后再试", "Too many failed logins; try again later"}},
	LoginCodeInvalid:     {Unauthenticated, Text{"登录凭证无效或已使用，请重新获取", "The login code is invalid or was used; get a new one from wx.login"}},
	TOTPRequired:         {Unauthenticated, Text{"请输入动态验证码", "Send the code of your authenticator app, or a recovery code, as totp"}},
	TOTPInvalid:          {Unauthenticated, Text{"动态验证码不正确或已使用，请输入新的验证码", "The code is wrong or was used; wait for the next one"}},
	ValidationFailed:     {Invalid, Text{"输入有误，详见 errors", "The input is not right; see errors"}},
	RateLimited:          {TooMany, Text{"请求过于频繁，请稍后再试", "Too many requests; try again later"}},
	DatabaseUnavailable:  {Unavailable, Text{"数据库暂时不可用，请稍后重试", "The database is not available; try again later"}},
	Starting:             {Unavailable, Text{"商城正在启动，请稍后重试", "The shop is starting; try again in a moment"}},
	WeChatUnavailable:    {Unavailable, Text{"微信暂时没有响应，请稍后重试", "WeChat does not answer; try again later"}},
	WeChatRefused:        {Conflict, Text{"微信拒绝了该请求", "WeChat refused this request"}},
	StaleVersion:         {Conflict, Text{"数据已被他人修改，请刷新后重试", "Somebody changed this meanwhile; read it again and retry"}},
	NameTaken:            {Conflict, Text{"名称已被使用", "The name is taken"}},
	InUse:                {Conflict, Text{"仍在使用中，不能删除", "Still in use; it cannot be removed"}},
	IdempotencyKeyNeeded: {Invalid, Text{"缺少或不合法的 Idempotency-Key（8–64 位字母、数字、_、-）", "Idempotency-Key is missing or not 8–64 of 0-9A-Za-z_-"}},
	IdempotencyKeyReused: {Invalid, Text{"Idempotency-Key 已用于另一个请求，请换一个", "This Idempotency-Key was used for another request; make a new one"}},
	PriceChanged:         {Conflict, Text{"价格已变化，请确认新的金额", "The price changed; look at the new quote and confirm"}},
	StockInsufficient:    {Conflict, Text{"库存不足，请减少数量", "Not enough stock; lower the quantity"}},
	ProductUnavailable:   {Conflict, Text{"商品已下架或不存在", "The product is off the shelf or gone"}},
	CouponUnusable:       {Conflict, Text{"优惠券不可用", "This coupon cannot be used here"}},
	CouponSoldOut:        {Conflict, Text{"优惠券已领完", "All coupons are claimed"}},
	CouponLimit:          {Conflict, Text{"已达到领取上限", "You have claimed as many as you may"}},
	CouponNotOpen:        {Conflict, Text{"不在领取时间内", "This coupon cannot be claimed now"}},
	TotalBelowIssued:     {Conflict, Text{"数量不能少于已发放的数量", "Total or limit may not be below what is issued"}},
	MixedMerchants:       {Invalid, Text{"一个订单只能包含同一商家的商品", "One order takes goods of one merchant only"}},
	AddressRequired:      {Invalid, Text{"请选择收货地址", "Choose an address to ship to"}},
	NoDelivery:           {Conflict, Text{"该地区不支持配送", "This region is not delivered to"}},
	UnpaidLimit:          {Conflict, Text{"未付款订单过多，请先付款或取消", "Too many unpaid orders; pay or cancel some first"}},
	AddressLimit:         {Conflict, Text{"收货地址数量已达上限，请先删除一些", "Too many addresses; remove one first"}},
	CartFull:             {Conflict, Text{"购物车已满", "The cart is full"}},
	OrderClosed:          {Conflict, Text{"订单已关闭", "The order is closed"}},
	OrderClosing:         {Conflict, Text{"订单正在关闭", "The order is being closed"}},
	OrderBusy:            {Conflict, Text{"订单正在处理，请稍后重试", "The order is being worked on; try again in a moment"}},
	OrderAlreadyPaid:     {Conflict, Text{"订单已付款", "The order is paid already"}},
	OrderNotPaid:         {Conflict, Text{"订单尚未付款", "The order is not paid yet"}},
	OrderState:           {Conflict, Text{"订单当前状态不允许此操作", "The order's state does not allow this"}},
	RefundOpen:           {Conflict, Text{"有进行中的退款，暂不能发货", "A refund is open for these lines; they cannot be shipped"}},
	RefundTooMuch:        {Conflict, Text{"退款超过可退数量或金额", "More than what can still be refunded"}},
	RefundTooOld:         {Conflict, Text{"支付已超过一年，微信不再支持退款，请线下处理", "Paid over a year ago; WeChat refunds no more, settle it directly"}},
	RefundTooMany:        {Conflict, Text{"该订单退款次数已达 50 次上限", "This order has had WeChat's limit of 50 refunds"}},
	StateConflict:        {Conflict, Text{"当前状态不允许此操作", "The present state does not allow this"}},
	ContentRefused:       {Invalid, Text{"内容未通过微信安全检测，请修改后再提交", "WeChat does not allow this content; change it and send it again"}},
	ReviewExists:         {Conflict, Text{"该商品已评价", "This line has its review already"}},
	ReviewClosed:         {Conflict, Text{"已超过可评价时间，或商品已全部退款", "This line cannot be reviewed: it was refunded, or the time for it is over"}},
	CorrectionUsed:       {Conflict, Text{"微信只允许更正一次发货信息，已使用", "WeChat takes one correction of the shipping information, and it was used"}},
	ReceiptUnconfirmed:   {Conflict, Text{"微信尚未显示该订单已确认收货，请先在微信中确认", "WeChat does not show the goods as received; confirm it there first"}},
	AftersaleExpired:     {Conflict, Text{"已超过售后申请期限，请联系商家", "The time to ask for an after-sale is over; ask the merchant"}},
	AftersaleLimit:       {Conflict, Text{"该订单的售后申请次数已达上限", "This order has had as many after-sales as it may"}},
	FieldRequired:        {Invalid, Text{"必填", "is required"}},
	FieldUnknown:         {Invalid, Text{"未知字段", "is not a known field"}},
	FieldType:            {Invalid, Text{"类型不正确", "has the wrong type"}},
	FieldRange:           {Invalid, Text{"超出范围", "is out of range"}},
	FieldLength:          {Invalid, Text{"长度不正确", "has the wrong length"}},
	FieldFormat:          {Invalid, Text{"格式不正确", "has the wrong format"}},
	FieldChoice:          {Invalid, Text{"不是可选值", "is not one of the choices"}},
	FieldDup:             {Invalid, Text{"重复", "is there twice"}},
	FieldStock:           {Conflict, Text{"库存不足", "is more than the stock"}},
	FieldGone:            {Conflict, Text{"已下架或不存在", "is off the shelf or gone"}},
	FieldContent:         {Invalid, Text{"含有不允许的内容", "has content that is not allowed"}},
}

// Lookup returns what the table knows of the code; an unknown code is an internal error.
func Lookup(code Code) Info {
	if info, ok := table[code]; ok {
		return info
	}
	return table[InternalError]
}

// Codes lists all codes, sorted.
func Codes() []Code {
	codes := make([]Code, 0, len(table))
	for c := range table {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return codes
}
