package notice

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
)

// Source is where the value of a template's field comes from.
type Source struct {
	Name string
	Text fault.Text
	// Kinds are the kinds of fields that it may fill.
	Kinds []string

	always bool // for every event, else for those that name it
	of     func(f *facts) string
}

// What sorts of values may fill.
var (
	asText   = []string{"thing"}
	asName   = []string{"thing", "name"}
	asCode   = []string{"character_string", "thing"}
	asMoney  = []string{"amount", "thing"}
	asMoment = []string{"time", "date", "thing"}
	asCount  = []string{"number", "character_string", "thing"}
	asWord   = []string{"phrase", "thing"}
)

var sources = []Source{
	{"order_no", fault.Text{ZH: "订单号", EN: "Number of the order"}, asCode, true, func(f *facts) string { return f.order.No }},
	{"goods", fault.Text{ZH: "商品（多件时为首件与件数）", EN: "The goods; of several the first, and how many"}, asText, true, goods},
	{"quantity", fault.Text{ZH: "商品件数", EN: "How many pieces"}, asCount, true, func(f *facts) string { return strconv.FormatInt(f.pieces(), 10) }},
	{"amount", fault.Text{ZH: "订单金额", EN: "What the order costs"}, asMoney, true, func(f *facts) string { return yuan(f.order.PayableFen) }},
	{"status", fault.Text{ZH: "状态，如 已发货", EN: "The event in a word"}, asWord, true, func(f *facts) string { return f.event.status }},
	{"merchant", fault.Text{ZH: "商家名称", EN: "Name of the merchant"}, asName, true, func(f *facts) string { return f.merchant }},
	{"created_at", fault.Text{ZH: "下单时间", EN: "When the order was placed"}, asMoment, true, func(f *facts) string { return f.moment(f.order.CreatedAt) }},
	{"remark", fault.Text{ZH: "买家备注", EN: "The shopper's remark"}, asText, true, func(f *facts) string { return f.order.Remark }},
	{"paid_at", fault.Text{ZH: "支付时间", EN: "When it was paid"}, asMoment, false, func(f *facts) string { return f.moment(f.order.PaidAt) }},
	{"shipped_at", fault.Text{ZH: "发货时间", EN: "When it was shipped"}, asMoment, false, func(f *facts) string { return f.moment(f.order.ShippedAt) }},
	{"carrier", fault.Text{ZH: "物流公司", EN: "The carrier"}, asText, false, carrier},
	{"tracking_no", fault.Text{ZH: "物流单号", EN: "The tracking number"}, asCode, false, func(f *facts) string { return f.parcel.TrackingNo }},
	{"deadline", fault.Text{ZH: "支付截止时间", EN: "Until when it can be paid"}, asMoment, false, func(f *facts) string { return f.moment(f.order.PayDeadline) }},
	{"closed_at", fault.Text{ZH: "关闭时间", EN: "When it was closed"}, asMoment, false, func(f *facts) string { return f.moment(f.order.ClosedAt) }},
	{"close_reason", fault.Text{ZH: "关闭原因，如 超时未支付", EN: "Why it was closed, in a word"}, asWord, false, func(f *facts) string { return closeReasons[f.order.CloseReason] }},
	{"refund_amount", fault.Text{ZH: "退款金额", EN: "What was refunded"}, asMoney, false, func(f *facts) string { return yuan(f.refund.AmountFen) }},
	{"refund_at", fault.Text{ZH: "退款时间", EN: "When it was refunded"}, asMoment, false, func(f *facts) string { return f.moment(f.refund.EndedAt) }},
	{"refund_no", fault.Text{ZH: "退款单号", EN: "Number of the refund"}, asCode, false, func(f *facts) string { return f.refund.OutRefundNo }},
	{"refund_reason", fault.Text{ZH: "退款原因", EN: "Why it was refunded"}, asText, false, func(f *facts) string { return f.refund.Reason }},
}

var closeReasons = map[model.CloseReason]string{
	model.CloseTimeout: "超时未支付", model.CloseMerchant: "商家关闭", model.CloseShopper: "买家取消", model.CloseRefunded: "已全额退款",
}

// facts is what a message may speak of.
type facts struct {
	event    Event
	order    model.Order
	lines    []model.OrderLine
	merchant string
	openID   string
	parcel   model.Parcel // the newest; zero where there is none
	refund   model.Refund // zero for an event that is none
	zone     *time.Location
}

func (f *facts) pieces() (n int64) {
	for _, l := range f.lines {
		n += l.Quantity
	}
	return n
}

// moment writes a time in the form that WeChat takes as a time, a date, and a thing.
func (f *facts) moment(t model.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Std().In(f.zone).Format("2006年1月2日 15:04")
}

// goods names the goods so that the count is never what is cut off.
func goods(f *facts) string {
	if len(f.lines) == 0 {
		return ""
	}
	tail := ""
	if n := f.pieces(); n > 1 {
		tail = fmt.Sprintf("等%d件", n)
	}
	name := fit("thing", f.lines[0].Name)
	return cut(name, thingLimit-len([]rune(tail))) + tail
}

// carrier is what people call the company; parcels that no company takes are named by how they come.
func carrier(f *facts) string {
	if c, ok := shipping.CarrierOf(f.parcel.Carrier); ok {
		return c.Name.ZH
	}
	return cmp.Or(f.parcel.Carrier, deliveries[f.parcel.Delivery])
}

var deliveries = map[model.Delivery]string{
	model.DeliverySameCity: "同城配送", model.DeliveryVirtual: "虚拟发货", model.DeliveryPickup: "到店自提",
}

// wholeYuan is from where on an amount has more digits than WeChat takes; the fen are left out there.
const wholeYuan model.Fen = 10_000_000_000

func yuan(fen model.Fen) string {
	if fen >= wholeYuan {
		return fmt.Sprintf("%d元", fen/100)
	}
	return fmt.Sprintf("%d.%02d元", fen/100, fen%100)
}
