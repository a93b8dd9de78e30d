package job

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

// orderPart is how many orders a part has.
const orderPart = 1000

var orderColumns = []column{
	{"order_no", "订单号", false},
	{"status", "状态", false},
	{"close_reason", "关闭原因", false},
	{"created_at", "下单时间", false},
	{"paid_at", "付款时间", false},
	{"shipped_at", "发货时间", false},
	{"completed_at", "完成时间", false},
	{"closed_at", "关闭时间", false},
	{"goods", "商品金额", false},
	{"discount", "优惠", false},
	{"freight", "运费", false},
	{"adjustment", "改价", false},
	{"payable", "应付", false},
	{"refunded", "已退款", false},
	{"lines", "商品", false},
	{"quantity", "件数", false},
	{"name", "收货人", false},
	{"phone", "电话", false},
	{"province", "省", false},
	{"city", "市", false},
	{"district", "区", false},
	{"address", "详细地址", false},
	{"remark", "买家备注", false},
	{"carrier", "快递公司", false},
	{"tracking_no", "运单号", false},
	{"out_trade_no", "商户单号", false},
}

// Words of the glossary.
var (
	orderWords = map[model.OrderState]fault.Text{
		model.OrderPending: {ZH: "待付款", EN: "pending_payment"}, model.OrderPaid: {ZH: "待发货", EN: "paid"}, model.OrderShipped: {ZH: "待收货", EN: "shipped"},
		model.OrderCompleted: {ZH: "已完成", EN: "completed"}, model.OrderClosed: {ZH: "已关闭", EN: "closed"},
	}
	closeWords = map[model.CloseReason]fault.Text{
		model.CloseTimeout: {ZH: "超时", EN: "timeout"}, model.CloseShopper: {ZH: "买家取消", EN: "shopper"},
		model.CloseMerchant: {ZH: "商家关闭", EN: "merchant"}, model.CloseRefunded: {ZH: "已退款", EN: "refunded"},
	}
)

type orderParams struct {
	Filter  order.Filter
	English bool
}

// ExportOrders makes a job that writes the orders of the merchant's list into a file, newest first. It fails with state_conflict where
// MaxOpen jobs have not ended.
func (s *Service) ExportOrders(ctx context.Context, by Caller, f order.Filter) (model.Job, error) {
	f.MerchantID = by.MerchantID
	return s.export(ctx, by, model.JobOrderExport, orderParams{f, by.English})
}

type orderExport struct {
	*Service
	orderParams
}

func (r *Runner) beginOrderExport(ctx context.Context, j *model.Job) (work, error) {
	p, err := params[orderParams](j)
	if err != nil {
		return nil, err
	}
	p.Filter.MerchantID = j.MerchantID
	w := &orderExport{r.Service, p}
	if p.Filter.Searched() { // nobody knows how many there are before all were looked at
		return w, nil
	}
	total, err := r.Orders.Count(ctx, p.Filter)
	if err != nil {
		return nil, err
	}
	return w, r.count(ctx, j, total)
}

func (w *orderExport) next(ctx context.Context, j *model.Job) (*step, error) {
	orders, more, err := w.Orders.ListAfter(ctx, w.Filter, store.Cursor{At: j.CursorAt, ID: j.CursorID}, orderPart)
	if err != nil || len(orders) == 0 && more == nil && j.Step > 0 {
		return nil, err
	}
	out := newWriter()
	if j.Step == 0 {
		out.head(orderColumns, w.English)
	}
	next := store.Cursor{}
	for _, o := range orders {
		w.write(out, o)
		next = store.Cursor{At: o.CreatedAt, ID: o.ID}
	}
	if more != nil { // a search may have looked further than it found
		next = *more
	}
	return w.exportPart(ctx, j, out, len(orders), next)
}

func (w *orderExport) write(out *writer, o order.View) {
	a := o.Address
	if a == nil {
		a = &model.OrderAddress{}
	}
	lines, pieces := make([]string, len(o.Lines)), int64(0)
	for i, l := range o.Lines {
		words := []string{l.Name}
		for _, name := range slices.Sorted(maps.Keys(l.Specs)) {
			words = append(words, name+":"+l.Specs[name])
		}
		lines[i] = fmt.Sprintf("%s ×%d", strings.Join(words, " "), l.Quantity)
		pieces += l.Quantity
	}
	carriers, numbers := make([]string, len(o.Parcels)), make([]string, len(o.Parcels))
	for i, p := range o.Parcels {
		carriers[i], numbers[i] = p.Carrier, p.TrackingNo
		if c, known := shipping.CarrierOf(p.Carrier); known {
			carriers[i] = w.pick(c.Name)
		}
	}
	out.line(
		o.No, w.pick(orderWords[o.State]), w.pick(closeWords[o.CloseReason]),
		w.time(o.CreatedAt), w.time(o.PaidAt), w.time(o.ShippedAt), w.time(o.CompletedAt), w.time(o.ClosedAt),
		yuan(o.GoodsFen), yuan(o.DiscountFen), yuan(o.FreightFen), yuan(o.AdjustmentFen), yuan(o.PayableFen), yuan(o.RefundedFen),
		strings.Join(lines, "; "), count(pieces),
		a.Name, maskedPhone(a.Phone), a.Province, a.City, a.District, a.Detail,
		o.VisibleRemark(), strings.Join(carriers, "; "), strings.Join(numbers, "; "), o.OutTradeNo,
	)
}

func (w *orderExport) pick(t fault.Text) string {
	if w.English {
		return t.EN
	}
	return t.ZH
}

func (s *Service) time(t model.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().In(s.Zone).Format("2006-01-02 15:04:05")
}

// maskedPhone leaves the first three and the last four digits of a number: a file goes further than a page.
func maskedPhone(phone string) string {
	if len(phone) < 8 {
		return strings.Repeat("*", len(phone))
	}
	return phone[:3] + strings.Repeat("*", len(phone)-7) + phone[len(phone)-4:]
}
