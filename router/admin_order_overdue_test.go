package router

import (
	"context"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// lateOrder is the one order there is: paid, not shipped in time, with an after-sale that was not answered in time.
type lateOrder struct{ asked []order.Filter }

func (l *lateOrder) view(f order.Filter) order.View {
	due, at := model.Time(1_800_000_000_000), model.Time(1_800_000_060_000)
	return order.View{Order: model.Order{No: someOrder, State: model.OrderPaid, ShipDueAt: &due, ShipOverdueAt: &at, ConfirmDueAt: &at}, ForMerchant: f.MerchantID != 0}
}

func (l *lateOrder) List(_ context.Context, f order.Filter, _ store.Page) ([]order.View, int64, error) {
	l.asked = append(l.asked, f)
	return []order.View{l.view(f)}, 1, nil
}

func (l *lateOrder) ListAfter(ctx context.Context, f order.Filter, _ store.Cursor, _ int) ([]order.View, *store.Cursor, error) {
	rows, _, err := l.List(ctx, f, store.Page{})
	return rows, nil, err
}

func (l *lateOrder) GetForMerchant(_ context.Context, merchantID int64, _ string) (*order.Detail, error) {
	at := model.Time(1_800_000_000_000)
	v := l.view(order.Filter{MerchantID: merchantID})
	v.ForMerchant = true
	v.Aftersales = []order.Aftersale{
		{Aftersale: model.Aftersale{ID: 7, Type: model.AftersaleRefundOnly, State: model.AftersaleRequested, AnswerOverdueAt: &at, CreatedAt: at}},
		{Aftersale: model.Aftersale{ID: 8, Type: model.AftersaleReturn, State: model.AftersaleRequested, AnswerDeadline: &at, CreatedAt: at}},
	}
	return &order.Detail{View: v}, nil
}

func (l *lateOrder) Timeline(context.Context, int64, string) ([]order.Moment, int64, error) {
	return []order.Moment{{At: 1, Kind: order.MomentEvent, Actor: "admin:3", Status: "paid"}}, 1, nil
}

// lateList is lateOrder for a shopper, who can do nothing here but list.
type lateList struct {
	lateOrder
	*order.Service
}

func (l *lateList) List(ctx context.Context, f order.Filter, p store.Page) ([]order.View, int64, error) {
	return l.lateOrder.List(ctx, f, p)
}

func (l *lateList) ListAfter(ctx context.Context, f order.Filter, after store.Cursor, limit int) ([]order.View, *store.Cursor, error) {
	return l.lateOrder.ListAfter(ctx, f, after, limit)
}

// The merchant can list what is overdue and sees it on the order; the shopper sees only when the order completes by itself.
func TestOverdueOrdersAreTheMerchantsToSee(t *testing.T) {
	late, mine := &lateOrder{}, &lateList{}
	h := New(Deps{Auth: withChief{}, Operations: Operations{
		AdminOrders: &admin.Orders{Service: late, Pictures: keys{}}, ShopOrders: &shop.Orders{Service: mine, Pictures: keys{}},
	}})
	got := as(t, h, "one", "GET", "/api/admin/v1/orders?ship_overdue=true", "", 200)
	row := list(got.Body["list"])[0]
	if row["ship_overdue"] != true || row["ship_due_at"] != "2027-01-15T08:00:00.000Z" || len(late.asked) != 1 || !late.asked[0].ShipOverdue {
		t.Errorf("asked %+v, shown %s", late.asked, got.Text)
	}
	as(t, h, "one", "GET", "/api/admin/v1/orders", "", 200)
	if late.asked[1].ShipOverdue {
		t.Error("every list asks for overdue orders")
	}
	detail := as(t, h, "one", "GET", "/api/admin/v1/orders/"+someOrder, "", 200)
	sales := list(detail.Body["aftersales"])
	if detail.Body["ship_overdue"] != true || sales[0]["answer_overdue"] != true || sales[1]["answer_overdue"] != nil || sales[1]["answer_due_at"] != "2027-01-15T08:00:00.000Z" {
		t.Errorf("detail %s", detail.Text)
	}
	got = as(t, h, "ann", "GET", "/api/v1/orders", "", 200)
	if row := list(got.Body["list"])[0]; row["ship_overdue"] != nil || row["ship_due_at"] != nil || row["confirm_due_at"] != "2027-01-15T08:01:00.000Z" {
		t.Errorf("the shopper is shown %s", got.Text)
	}
}
