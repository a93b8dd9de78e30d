package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
)

// OrderChanges has the merchant's operations that change orders.
type OrderChanges struct {
	Service interface {
		Ship(ctx context.Context, merchantID int64, no, key, actor string, sh order.Shipment) (*order.View, error)
		Close(ctx context.Context, merchantID int64, no, actor string) (*order.View, error)
		Reprice(ctx context.Context, merchantID int64, no, actor string, r order.Repricing) (*order.View, error)
		Refund(ctx context.Context, merchantID int64, no, key string, req order.RefundRequest) (*model.Refund, error)
		SetMerchantRemark(ctx context.Context, merchantID int64, no, actor, text string, version int64) error
	}
	// Orders shows the order after the change.
	Orders *Orders
}

// OrderPart is how many pieces of a line are meant.
type OrderPart struct {
	LineID   int64 `json:"line_id" minimum:"1" maximum:"9007199254740991"`
	Quantity int64 `json:"quantity" minimum:"1" maximum:"9999"`
}

func partsOf(in []OrderPart) []order.RefundPart {
	parts := make([]order.RefundPart, len(in))
	for i, p := range in {
		parts[i] = order.RefundPart{LineID: p.LineID, Quantity: p.Quantity}
	}
	return parts
}

// ShipParcel is a parcel that is handed over.
type ShipParcel struct {
	Delivery   model.Delivery `json:"delivery" enum:"express,same_city,virtual,pickup"`
	Carrier    string         `json:"carrier,omitempty" maxLength:"32" doc:"Code of the carrier, see GET /carriers; express only"`
	TrackingNo string         `json:"tracking_no,omitempty" maxLength:"64" doc:"Express only"`
	Lines      []OrderPart    `json:"lines,omitempty" minItems:"1" maxItems:"100" doc:"What is in it; where no parcel says so, everything left to ship is in the first"`
}

// ShipBody is what a merchant hands over at once.
type ShipBody struct {
	Parcels []ShipParcel `json:"parcels" minItems:"1" maxItems:"15"`
}

// ShipInput ships an order or a part of it.
type ShipInput struct {
	api.OrderPath
	api.IdempotencyKey
	Body ShipBody
}

// Ship records parcels that were handed over.
func (c *OrderChanges) Ship(ctx context.Context, in *ShipInput) (*api.Reply[OrderDetail], error) {
	key, err := in.Optional()
	if err != nil {
		return nil, err
	}
	sh := order.Shipment{Parcels: make([]order.ShipmentParcel, len(in.Body.Parcels))}
	for i, p := range in.Body.Parcels {
		sh.Parcels[i] = order.ShipmentParcel{Delivery: p.Delivery, Carrier: p.Carrier, TrackingNo: p.TrackingNo, Lines: partsOf(p.Lines)}
	}
	_, err = c.Service.Ship(ctx, api.Admin(ctx).MerchantID, in.No, key, api.Caller(ctx), sh)
	return c.after(ctx, in.OrderPath, err)
}

// Close closes an unpaid order.
func (c *OrderChanges) Close(ctx context.Context, in *OrderGetInput) (*api.Reply[OrderDetail], error) {
	_, err := c.Service.Close(ctx, api.Admin(ctx).MerchantID, in.No, api.Caller(ctx))
	return c.after(ctx, in.OrderPath, err)
}

// PriceBody is the new adjustment in place of the former one.
type PriceBody struct {
	AdjustFen model.Fen `json:"adjust_fen" minimum:"-10000000000" maximum:"10000000000" doc:"The total adjustment in place of the former; negative lowers the price. Where nothing is left to pay the order is paid at once"`
	Version   int64     `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The order's version that was read"`
}

// PriceInput changes an unpaid order's price.
type PriceInput struct {
	api.OrderPath
	Body PriceBody
}

// Price changes an unpaid order's price.
func (c *OrderChanges) Price(ctx context.Context, in *PriceInput) (*api.Reply[OrderDetail], error) {
	_, err := c.Service.Reprice(ctx, api.Admin(ctx).MerchantID, in.No, api.Caller(ctx), order.Repricing{AdjustFen: in.Body.AdjustFen, Version: in.Body.Version})
	return c.after(ctx, in.OrderPath, err)
}

// RefundBody says what is to be paid back.
type RefundBody struct {
	Lines  []OrderPart `json:"lines,omitempty" minItems:"1" maxItems:"100" doc:"Pieces to refund; absent: everything that no refund has taken yet, freight too if nothing was shipped"`
	Reason string      `json:"reason" minLength:"1" maxLength:"80" doc:"The shopper reads it at WeChat"`
}

// RefundInput refunds an order or a part of it.
type RefundInput struct {
	api.OrderPath
	api.IdempotencyKey
	Body RefundBody
}

// Refund starts a refund.
func (c *OrderChanges) Refund(ctx context.Context, in *RefundInput) (*api.Reply[OrderDetail], error) {
	key, err := in.Optional()
	if err != nil {
		return nil, err
	}
	reason, err := api.Written("reason", in.Body.Reason)
	if err != nil {
		return nil, err
	}
	_, err = c.Service.Refund(ctx, api.Admin(ctx).MerchantID, in.No, key, order.RefundRequest{
		Actor: api.Caller(ctx), Lines: partsOf(in.Body.Lines), Reason: reason,
	})
	return c.after(ctx, in.OrderPath, err)
}

func (c *OrderChanges) after(ctx context.Context, no api.OrderPath, err error) (*api.Reply[OrderDetail], error) {
	if err != nil {
		return nil, err
	}
	return c.Orders.Get(ctx, &OrderGetInput{no})
}
