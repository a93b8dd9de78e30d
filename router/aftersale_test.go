package router

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/aftersale"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// sales writes down what the operations ask of after-sales, and fails where a test says so.
type sales struct {
	asked []string
	fail  error
}

func (f *sales) ask(merchant bool, format string, args ...any) (*aftersale.View, error) {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	if f.fail != nil {
		return nil, f.fail
	}
	return f.view(merchant), nil
}

func (f *sales) view(merchant bool) *aftersale.View {
	at := model.Time(1_800_000_000_000)
	return &aftersale.View{
		Aftersale: model.Aftersale{
			ID: 5, ShopperID: 7, Type: model.AftersaleReturn, State: model.AftersaleApproved, Reason: "尺码", Answer: "寄回", AnsweredBy: "admin:1",
			AmountFen: 66, Restock: true, AnswerDeadline: &at, AnswerOverdueAt: &at, Version: 2, CreatedAt: 1, UpdatedAt: 2,
		},
		OrderNo: someOrder, ForMerchant: merchant,
		Lines:  []aftersale.Line{{OrderLine: model.OrderLine{ID: 4, SKUID: 3, ProductID: 2, Name: "连衣裙", Image: "k", PriceFen: 50, Quantity: 9}, Asked: 2}},
		Refund: &model.Refund{OutRefundNo: "R1", State: model.RefundPending, AmountFen: 66, FreightFen: 6, Error: "NOT_ENOUGH"},
	}
}

func (f *sales) Ask(_ context.Context, shopper int64, no, key string, req aftersale.Request) (*aftersale.View, error) {
	return f.ask(false, "ask %d %s %q %+v", shopper, no, key, req)
}

func (f *sales) Get(_ context.Context, shopper, id int64) (*aftersale.View, error) {
	return f.ask(false, "get %d %d", shopper, id)
}

func (f *sales) GetForMerchant(_ context.Context, merchant, id int64) (*aftersale.View, error) {
	return f.ask(true, "get for %d %d", merchant, id)
}

func (f *sales) Withdraw(_ context.Context, shopper, id int64) (*aftersale.View, error) {
	return f.ask(false, "withdraw %d %d", shopper, id)
}

func (f *sales) SendBack(_ context.Context, shopper, id int64, p aftersale.Parcel) (*aftersale.View, error) {
	return f.ask(false, "send back %d %d %+v", shopper, id, p)
}

func (f *sales) Approve(_ context.Context, merchant, id int64, returnTo *model.Contact, ans aftersale.Answer) (*aftersale.View, error) {
	to := ""
	if returnTo != nil {
		to = fmt.Sprintf(" to %+v", *returnTo)
	}
	return f.ask(true, "approve %d %d%s %+v", merchant, id, to, ans)
}

func (f *sales) Reject(_ context.Context, merchant, id int64, ans aftersale.Answer) (*aftersale.View, error) {
	return f.ask(true, "reject %d %d %+v", merchant, id, ans)
}

func (f *sales) Receive(_ context.Context, merchant, id int64, restock bool, ans aftersale.Answer) (*aftersale.View, error) {
	return f.ask(true, "receive %d %d %v %+v", merchant, id, restock, ans)
}

func (f *sales) List(_ context.Context, filter aftersale.Filter, p store.Page) ([]aftersale.View, int64, error) {
	v, err := f.ask(filter.MerchantID != 0, "list %+v %+v", filter, p)
	return []aftersale.View{*v}, 3, err
}

func (f *sales) ListAfter(_ context.Context, filter aftersale.Filter, _ store.Cursor, limit int) ([]aftersale.View, *store.Cursor, error) {
	v, err := f.ask(filter.MerchantID != 0, "list after %+v %d", filter, limit)
	return []aftersale.View{*v}, nil, err
}

func newSalesRouter(f *sales) *Router {
	return New(Deps{Auth: people{}, Operations: Operations{
		ShopAftersales:  &shop.Aftersales{Service: f, Pictures: keys{}},
		AdminAftersales: &admin.Aftersales{Service: f, Pictures: keys{}},
		AdminCarriers:   &admin.Carriers{},
	}})
}

func TestAftersaleOperations(t *testing.T) {
	const mine, theirs = "/api/v1/aftersales", "/api/admin/v1/aftersales"
	const place = "/api/v1/orders/" + someOrder + "/aftersales"
	for _, c := range []struct {
		who, method, path, body string
		status                  int
		asked                   string // what reaches the service
	}{
		{
			"ann", "POST", place, `{"type":"return_refund","lines":[{"line_id":4,"quantity":2}],"reason":"尺码"}`, 201,
			"ask 7 " + someOrder + ` "" {Type:return_refund Lines:[{LineID:4 Quantity:2}] Reason:尺码}`,
		},
		{"ann", "POST", place, `{"type":"gift","lines":[{"line_id":4,"quantity":2}],"reason":"x"}`, 422, ""},
		{"ann", "POST", place, `{"type":"refund","lines":[],"reason":"x"}`, 422, ""},
		{"ann", "POST", place, `{"type":"refund","lines":[{"line_id":4,"quantity":0}],"reason":"x"}`, 422, ""}, // R09
		{"ann", "POST", place, `{"type":"refund","lines":[{"line_id":4,"quantity":1}],"reason":""}`, 422, ""},
		{"ann", "POST", place, `{"type":"refund","lines":[{"line_id":4,"quantity":1}],"reason":" \n　"}`, 422, ""},
		{"one", "POST", place, `{"type":"refund","lines":[{"line_id":4,"quantity":1}],"reason":"x"}`, 401, ""},
		{"bob", "GET", mine + "?status=refunded&limit=5", "", 200, "list {ShopperID:8 MerchantID:0 State:refunded Overdue:false Type: OrderNo: Queue:false} {Number:1 Limit:5}"},
		{"bob", "GET", mine + "?after=", "", 200, "list after {ShopperID:8 MerchantID:0 State: Overdue:false Type: OrderNo: Queue:false} 20"},
		{"ann", "GET", mine + "/5", "", 200, "get 7 5"},
		{"ann", "POST", mine + "/5/withdraw", "", 200, "withdraw 7 5"},
		{"ann", "POST", mine + "/5/return-parcel", `{"carrier":"SF","tracking_no":"SF1"}`, 200, "send back 7 5 {Carrier:SF TrackingNo:SF1}"},
		{"ann", "POST", mine + "/5/return-parcel", `{"carrier":"SF"}`, 422, ""},
		{"one", "GET", theirs + "?status=requested&overdue=true&type=refund&sort=due", "", 200, "list {ShopperID:0 MerchantID:1 State:requested Overdue:true Type:refund OrderNo: Queue:true} {Number:1 Limit:20}"},
		{"one", "GET", theirs + "?status=odd", "", 422, ""},
		{"one", "GET", theirs + "?order_no=T1&sort=newest&after=", "", 200, "list after {ShopperID:0 MerchantID:1 State: Overdue:false Type: OrderNo:T1 Queue:false} 20"},
		{"one", "GET", theirs + "?sort=odd", "", 422, ""},
		{"two", "GET", theirs + "/5", "", 200, "get for 2 5"},
		{"one", "POST", theirs + "/5/approve", `{"version":1}`, 200, "approve 1 5 {Text: Version:1 Actor:admin:1}"},
		{
			"one", "POST", theirs + "/5/approve", `{"version":1,"return_address":{"name":"仓库","phone":"021-62345678","address":"上海市"}}`, 200,
			"approve 1 5 to {Name:仓库 Phone:021-62345678 Address:上海市} {Text: Version:1 Actor:admin:1}",
		},
		{"one", "POST", theirs + "/5/approve", `{"version":1,"return_address":{"name":"仓库"}}`, 422, ""},
		{"one", "POST", theirs + "/5/approve", `{"answer":"寄回"}`, 422, ""},
		{"one", "POST", theirs + "/5/reject", `{"answer":"no","version":1}`, 200, "reject 1 5 {Text:no Version:1 Actor:admin:1}"},
		{"one", "POST", theirs + "/5/reject", `{"version":1}`, 422, ""},
		{"one", "POST", theirs + "/5/reject", `{"answer":"　","version":1}`, 422, ""},
		{"one", "POST", theirs + "/5/approve", `{"answer":" 　","version":1}`, 200, "approve 1 5 {Text: Version:1 Actor:admin:1}"},
		{"two", "POST", theirs + "/5/receive", `{"version":3}`, 200, "receive 2 5 true {Text: Version:3 Actor:admin:2}"},
		{"two", "POST", theirs + "/5/receive", `{"version":3,"restock":true}`, 200, "receive 2 5 true {Text: Version:3 Actor:admin:2}"},
		{"two", "POST", theirs + "/5/receive", `{"version":3,"restock":false}`, 200, "receive 2 5 false {Text: Version:3 Actor:admin:2}"},
		{"idle", "POST", theirs + "/5/approve", `{"version":1}`, 403, ""},
		{"idle", "GET", theirs, "", 403, ""},
		{"ann", "POST", theirs + "/5/approve", `{"version":1}`, 401, ""},
		{"ann", "GET", "/api/v1/carriers", "", 200, ""},
	} {
		f := &sales{}
		as(t, newSalesRouter(f), c.who, c.method, c.path, c.body, c.status)
		if got := strings.Join(f.asked, "; "); got != c.asked {
			t.Errorf("%s %s as %s asked %q, want %q", c.method, c.path, c.who, got, c.asked)
		}
	}
}

// The merchant is told who answered, what is overdue and what WeChat said; the shopper is not.
func TestAftersaleReplies(t *testing.T) {
	f := &sales{}
	h := newSalesRouter(f)
	mine := as(t, h, "ann", "GET", "/api/v1/aftersales/5", "", 200).Body
	theirs := as(t, h, "one", "GET", "/api/admin/v1/aftersales/5", "", 200).Body
	for _, name := range []string{"shopper_id", "answered_by", "answer_overdue", "answer_overdue_at", "restock", "steps"} {
		if mine[name] != nil || theirs[name] == nil {
			t.Errorf("%s: the shopper reads %v, the merchant %v", name, mine[name], theirs[name])
		}
	}
	line, refund := list(mine["lines"])[0], mine["refund"].(map[string]any)
	if mine["order_no"] != someOrder || mine["status"] != "approved" || mine["amount_fen"] != 66.0 || line["quantity"] != 2.0 || line["line_id"] != 4.0 ||
		refund["freight_fen"] != 6.0 || refund["error"] != nil || theirs["refund"].(map[string]any)["error"] != "NOT_ENOUGH" {
		t.Errorf("the shopper reads %v, the merchant %v", mine, theirs)
	}
	if got := fmt.Sprint(mine["actions"], theirs["actions"]); got != "[return-parcel withdraw] [receive reject]" {
		t.Errorf("actions %s", got)
	}
	page := as(t, h, "ann", "GET", "/api/v1/aftersales?limit=1", "", 200).Body
	if page["total"] != 3.0 || page["next"] == nil || len(list(page["list"])) != 1 {
		t.Errorf("page %v", page)
	}
	for _, code := range []fault.Code{fault.StaleVersion, fault.StateConflict, fault.RefundTooOld, fault.RefundTooMany, fault.RefundTooMuch} {
		f.fail = fault.New(code)
		refused(t, h, "one", "POST", "/api/admin/v1/aftersales/5/approve", `{"version":1}`, 409, code, "")
	}
	for _, code := range []fault.Code{fault.AftersaleExpired, fault.AftersaleLimit, fault.OrderNotPaid, fault.OrderClosed} {
		f.fail = fault.New(code)
		refused(t, h, "ann", "POST", "/api/v1/orders/"+someOrder+"/aftersales", `{"type":"refund","lines":[{"line_id":4,"quantity":1}],"reason":"x"}`, 409, code, "")
	}
}
