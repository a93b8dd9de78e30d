package coupon

import "github.com/tidemall/tidemall/service/fault"

// Reason says why a coupon cannot be used; it is part of the API and never changes. Empty means usable.
type Reason string

// Reasons, in the order in which Evaluate looks for them.
const (
	ReasonOtherMerchant Reason = "other_merchant"
	ReasonUsed          Reason = "used"
	ReasonLocked        Reason = "locked"
	ReasonExpired       Reason = "expired"
	ReasonNotStarted    Reason = "not_started"
	ReasonScope         Reason = "out_of_scope"
	ReasonThreshold     Reason = "below_threshold"
	ReasonNoSaving      Reason = "no_saving"
)

var reasonTexts = map[Reason]fault.Text{
	ReasonOtherMerchant: {ZH: "不适用于该商家的商品", EN: "It is for another merchant's goods"},
	ReasonUsed:          {ZH: "优惠券已使用", EN: "It was used already"},
	ReasonLocked:        {ZH: "优惠券已被另一个未付款订单占用", EN: "Another unpaid order holds it"},
	ReasonExpired:       {ZH: "优惠券已过期", EN: "It has expired"},
	ReasonNotStarted:    {ZH: "优惠券尚未到使用时间", EN: "It cannot be used yet"},
	ReasonScope:         {ZH: "没有适用的商品", EN: "It does not apply to any of these goods"},
	ReasonThreshold:     {ZH: "适用商品的金额未达到使用门槛", EN: "The goods it applies to are below its threshold"},
	ReasonNoSaving:      {ZH: "使用后应付金额不会减少", EN: "It would not make this order cheaper"},
}

// Text returns the reason in both languages.
func (r Reason) Text() fault.Text { return reasonTexts[r] }
