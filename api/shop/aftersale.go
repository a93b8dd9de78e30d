package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/aftersale"
	"github.com/tidemall/tidemall/service/order"
)

// Aftersales has the shopper's operations of asking for money back.
type Aftersales struct {
	Service interface {
		api.AftersaleLister
		Ask(ctx context.Context, shopperID int64, no, key string, req aftersale.Request) (*aftersale.View, error)
		Get(ctx context.Context, shopperID, id int64) (*aftersale.View, error)
		Withdraw(ctx context.Context, shopperID, id int64) (*aftersale.View, error)
		SendBack(ctx context.Context, shopperID, id int64, p aftersale.Parcel) (*aftersale.View, error)
	}
	Pictures api.Pictures
}

// AftersalePart is how many pieces of a line are meant.
type AftersalePart struct {
	LineID   int64 `json:"line_id" minimum:"1" maximum:"9007199254740991"`
	Quantity int64 `json:"quantity" minimum:"1" maximum:"9999"`
}

// AftersaleBody is what the shopper asks for.
type AftersaleBody struct {
	Type   model.AftersaleType `json:"type" enum:"refund,return_refund" doc:"refund: money only. return_refund: goods that were shipped go back first"`
	Lines  []AftersalePart     `json:"lines" minItems:"1" maxItems:"100"`
	Reason string              `json:"reason" minLength:"1" maxLength:"200" doc:"For the merchant"`
}

// AftersaleAskInput asks for an after-sale of an order.
type AftersaleAskInput struct {
	api.OrderPath
	api.IdempotencyKey
	Body AftersaleBody
}

// Ask makes an after-sale.
func (a *Aftersales) Ask(ctx context.Context, in *AftersaleAskInput) (*api.Reply[api.Aftersale], error) {
	key, err := in.Optional()
	if err != nil {
		return nil, err
	}
	reason, err := api.Written("reason", in.Body.Reason)
	if err != nil {
		return nil, err
	}
	req := aftersale.Request{Type: in.Body.Type, Reason: reason, Lines: make([]order.RefundPart, len(in.Body.Lines))}
	for i, p := range in.Body.Lines {
		req.Lines[i] = order.RefundPart{LineID: p.LineID, Quantity: p.Quantity}
	}
	return a.one(a.Service.Ask(ctx, api.Shopper(ctx), in.No, key, req))
}

// AftersaleListInput asks for a page of the shopper's after-sales.
type AftersaleListInput struct {
	api.DeepInput
	Status model.AftersaleState `query:"status" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn" doc:"Only after-sales that stand here"`
}

// List returns the shopper's after-sales, newest first.
func (a *Aftersales) List(ctx context.Context, in *AftersaleListInput) (*api.Reply[api.Deep[api.Aftersale]], error) {
	f := aftersale.Filter{ShopperID: api.Shopper(ctx), State: in.Status}
	return api.AftersalePage(ctx, a.Service, f, in.DeepInput, a.Pictures)
}

// AftersaleInput names an after-sale.
type AftersaleInput struct{ api.IDPath }

// Get returns one of the shopper's after-sales.
func (a *Aftersales) Get(ctx context.Context, in *AftersaleInput) (*api.Reply[api.Aftersale], error) {
	return a.one(a.Service.Get(ctx, api.Shopper(ctx), in.ID))
}

// Withdraw takes an after-sale back.
func (a *Aftersales) Withdraw(ctx context.Context, in *AftersaleInput) (*api.Reply[api.Aftersale], error) {
	return a.one(a.Service.Withdraw(ctx, api.Shopper(ctx), in.ID))
}

// ReturnParcelBody is the parcel with which goods go back.
type ReturnParcelBody struct {
	Carrier    string `json:"carrier" minLength:"1" maxLength:"32" doc:"Code of the carrier, see GET /carriers"`
	TrackingNo string `json:"tracking_no" minLength:"1" maxLength:"64"`
}

// ReturnParcelInput names the parcel of an after-sale.
type ReturnParcelInput struct {
	api.IDPath
	Body ReturnParcelBody
}

// ReturnParcel records the parcel with which the goods go back.
func (a *Aftersales) ReturnParcel(ctx context.Context, in *ReturnParcelInput) (*api.Reply[api.Aftersale], error) {
	return a.one(a.Service.SendBack(ctx, api.Shopper(ctx), in.ID, aftersale.Parcel{Carrier: in.Body.Carrier, TrackingNo: in.Body.TrackingNo}))
}

func (a *Aftersales) one(v *aftersale.View, err error) (*api.Reply[api.Aftersale], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(api.AftersaleOf(*v, a.Pictures)), nil
}
