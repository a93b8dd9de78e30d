package api

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/aftersale"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// OrderAftersale is an after-sale as an order shows it.
type OrderAftersale struct {
	ID            int64                `json:"id"`
	Type          model.AftersaleType  `json:"type" enum:"refund,return_refund"`
	Status        model.AftersaleState `json:"status" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn"`
	Reason        string               `json:"reason,omitempty"`
	AmountFen     model.Fen            `json:"amount_fen" doc:"What it gives back; an estimate until its refund is made"`
	Lines         []AftersalePart      `json:"lines"`
	AnswerDueAt   model.Time           `json:"answer_due_at,omitempty" format:"date-time" doc:"When the merchant is to have answered"`
	AnswerOverdue bool                 `json:"answer_overdue,omitempty" doc:"It was not answered in time, and still is not; merchants only"`
	CreatedAt     model.Time           `json:"created_at" format:"date-time"`
}

// AftersalePart is how many pieces of a line are meant.
type AftersalePart struct {
	LineID   int64 `json:"line_id"`
	Quantity int64 `json:"quantity"`
}

func orderAftersaleOf(a order.Aftersale, merchant bool) OrderAftersale {
	out := OrderAftersale{
		ID: a.ID, Type: a.Type, Status: a.State, Reason: a.Reason, AmountFen: a.AmountFen, Lines: make([]AftersalePart, len(a.Lines)),
		AnswerDueAt: instant(a.AnswerDeadline), AnswerOverdue: merchant && a.AnswerOverdueAt != nil, CreatedAt: a.CreatedAt,
	}
	for i, l := range a.Lines {
		out.Lines[i] = AftersalePart{LineID: l.LineID, Quantity: l.Quantity}
	}
	return out
}

// Aftersale is a shopper's request for money back, as shoppers and merchants see it.
type Aftersale struct {
	ID            int64                `json:"id"`
	OrderNo       string               `json:"order_no" example:"T202601310123456789AB"`
	Type          model.AftersaleType  `json:"type" enum:"refund,return_refund" doc:"refund: money only. return_refund: the goods go back to the merchant first"`
	Status        model.AftersaleState `json:"status" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn" doc:"Where it stands"`
	Reason        string               `json:"reason" doc:"The shopper's"`
	Answer        string               `json:"answer,omitempty" doc:"The merchant's, such as where to send the goods or why not"`
	AmountFen     model.Fen            `json:"amount_fen" doc:"What it gives back; an estimate until its refund is made"`
	Lines         []AftersaleLine      `json:"lines"`
	Carrier       string               `json:"carrier,omitempty" doc:"Of the parcel that the shopper sent back"`
	TrackingNo    string               `json:"tracking_no,omitempty" doc:"Of the parcel that the shopper sent back"`
	ReturnAddress *ReturnAddress       `json:"return_address,omitempty" doc:"Where the goods go back to, as it was when that was approved. Before that, merchants see here what an approval would say: the shop's own"`
	Restock       bool                 `json:"restock,omitempty" doc:"The goods that came back are for sale again; merchants only"`
	Refund        *AftersaleRefund     `json:"refund,omitempty" doc:"Its refund, once there is one"`
	AnswerDueAt   model.Time           `json:"answer_due_at,omitempty" format:"date-time" doc:"When the merchant is to have answered, or received what was sent back"`
	AnswerOverdue bool                 `json:"answer_overdue,omitempty" doc:"That was not done in time, and still is not; merchants only"`
	OverdueAt     model.Time           `json:"answer_overdue_at,omitempty" format:"date-time" doc:"Since when; merchants only"`
	ShopperID     int64                `json:"shopper_id,omitempty" doc:"Merchants only"`
	AnsweredBy    string               `json:"answered_by,omitempty" example:"admin:3" doc:"The admin who answered last; merchants only"`
	Actions       []string             `json:"actions" doc:"What the caller can do with it now: withdraw, return-parcel; approve, reject, receive"`
	CreatedAt     model.Time           `json:"created_at" format:"date-time"`
	UpdatedAt     model.Time           `json:"updated_at" format:"date-time"`
	Version       int64                `json:"version" doc:"Rises with every change"`
}

// ReturnAddress is where goods go back to.
type ReturnAddress struct {
	Name    string `json:"name,omitempty" maxLength:"64" example:"潮汐仓库"`
	Phone   string `json:"phone,omitempty" maxLength:"20" example:"021-62345678"`
	Address string `json:"address" maxLength:"255" example:"上海市黄浦区人民大道 200 号"`
}

// AftersaleLine is what of an order's line an after-sale is about.
type AftersaleLine struct {
	LineID    int64             `json:"line_id"`
	SKUID     int64             `json:"sku_id"`
	ProductID int64             `json:"product_id"`
	Name      string            `json:"name"`
	Image     string            `json:"image,omitempty" format:"uri"`
	Specs     map[string]string `json:"specs"`
	PriceFen  model.Fen         `json:"price_fen" doc:"Of one piece, before discount"`
	Quantity  int64             `json:"quantity" doc:"Of the pieces that were bought, those that it is about"`
}

// AftersaleRefund is the money on its way back.
type AftersaleRefund struct {
	OutRefundNo string            `json:"out_refund_no" doc:"WeChat knows the refund by it"`
	Status      model.RefundState `json:"status" enum:"pending,processing,success,abnormal,failed"`
	AmountFen   model.Fen         `json:"amount_fen"`
	FreightFen  model.Fen         `json:"freight_fen" doc:"The part of amount_fen that is freight"`
	Error       string            `json:"error,omitempty" doc:"What WeChat said last, if it refused; merchants only"`
	Calls       int               `json:"calls,omitempty" doc:"How often WeChat was called about it; merchants only"`
	CalledAt    model.Time        `json:"called_at,omitempty" format:"date-time" doc:"When WeChat was last called to make it; merchants only"`
	NextAt      model.Time        `json:"next_at,omitempty" format:"date-time" doc:"When WeChat is called or asked next; merchants only"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
	EndedAt     model.Time        `json:"ended_at,omitempty" format:"date-time"`
}

// AftersaleOf shows an after-sale to whom it was read for.
func AftersaleOf(v aftersale.View, pics Pictures) Aftersale {
	out := Aftersale{
		ID: v.ID, OrderNo: v.OrderNo, Type: v.Type, Status: v.State, Reason: v.Reason, Answer: v.Answer, AmountFen: v.AmountFen,
		Carrier: v.Carrier, TrackingNo: v.TrackingNo, AnswerDueAt: instant(v.AnswerDeadline), Actions: some(v.Actions()),
		CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, Version: v.Version, Lines: make([]AftersaleLine, len(v.Lines)),
	}
	if v.ReturnTo != nil {
		to := ReturnAddress(*v.ReturnTo)
		out.ReturnAddress = &to
	}
	for i, l := range v.Lines {
		out.Lines[i] = AftersaleLine{
			LineID: l.ID, SKUID: l.SKUID, ProductID: l.ProductID, Name: l.Name, Image: pics.URL(l.Image), Specs: l.Specs,
			PriceFen: l.PriceFen, Quantity: l.Asked,
		}
	}
	if r := v.Refund; r != nil {
		out.Refund = &AftersaleRefund{OutRefundNo: r.OutRefundNo, Status: r.State, AmountFen: r.AmountFen, FreightFen: r.FreightFen, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	}
	if v.ForMerchant {
		out.Restock, out.AnswerOverdue, out.ShopperID, out.AnsweredBy = v.Restock, v.AnswerOverdueAt != nil, v.ShopperID, v.AnsweredBy
		out.OverdueAt = instant(v.AnswerOverdueAt)
		if r := v.Refund; r != nil {
			out.Refund.Error, out.Refund.Calls, out.Refund.CalledAt, out.Refund.NextAt = r.Error, r.Calls, r.CalledAt, instant(r.NextAt)
		}
	}
	return out
}

// instant is 0 for nil.
func instant(t *model.Time) model.Time {
	if t == nil {
		return 0
	}
	return *t
}

// AftersaleLister reads pages of after-sales.
type AftersaleLister interface {
	List(ctx context.Context, f aftersale.Filter, p store.Page) ([]aftersale.View, int64, error)
	ListAfter(ctx context.Context, f aftersale.Filter, after store.Cursor, limit int) ([]aftersale.View, *store.Cursor, error)
}

// AftersalePage reads a page of after-sales by number or by cursor, as the caller asked.
func AftersalePage(ctx context.Context, s AftersaleLister, f aftersale.Filter, in DeepInput, pics Pictures) (*Reply[Deep[Aftersale]], error) {
	views, next, total, err := DeepRows(ctx, in,
		func(ctx context.Context, after store.Cursor, limit int) ([]aftersale.View, *store.Cursor, error) {
			return s.ListAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]aftersale.View, int64, error) { return s.List(ctx, f, p) },
		func(v aftersale.View) store.Cursor { return f.At(v.Aftersale) })
	if err != nil {
		return nil, err
	}
	rows := make([]Aftersale, len(views))
	for i, v := range views {
		rows[i] = AftersaleOf(v, pics)
	}
	return NewDeep(rows, next, total, in), nil
}
