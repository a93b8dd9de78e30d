package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// Uploads has the merchant's operations on what WeChat knows of the shipping.
type Uploads struct {
	Service interface {
		Uploads(ctx context.Context, f order.UploadFilter, p store.Page) ([]order.OrderUpload, int64, error)
		UploadsAfter(ctx context.Context, f order.UploadFilter, after store.Cursor, limit int) ([]order.OrderUpload, *store.Cursor, error)
		ChangeParcel(ctx context.Context, merchantID int64, no string, parcelID int64, actor string, c order.ParcelChange) error
		RetryUpload(ctx context.Context, merchantID int64, no string) error
	}
	// Orders shows the order after a change.
	Orders *Orders
}

// OrderUpload is where the upload of an order's shipping information to WeChat stands, and what WeChat says of the money.
type OrderUpload struct {
	Status          model.UploadState `json:"status" enum:"waiting,uploaded,refused,skipped" doc:"waiting: it goes out by itself. refused: WeChat does not take it, error says why. skipped: nothing was paid at WeChat"`
	Error           string            `json:"error,omitempty" doc:"What WeChat said last, if it did not take it"`
	Calls           int64             `json:"calls" doc:"Calls since the shipping last changed"`
	NextAt          model.Time        `json:"next_at,omitempty" format:"date-time" doc:"When WeChat is called next"`
	UploadedAt      model.Time        `json:"uploaded_at,omitempty" format:"date-time" doc:"When WeChat last took it"`
	CorrectionsLeft int64             `json:"corrections_left" doc:"Changes that WeChat still takes once it has the whole order"`
	SettlementDueAt model.Time        `json:"settlement_due_at,omitempty" format:"date-time" doc:"When WeChat gives the money free at the latest"`
	ReceivedAt      model.Time        `json:"received_at,omitempty" format:"date-time" doc:"When the goods were received, by WeChat's word"`
	ReceivedBy      model.ReceivedBy  `json:"received_by,omitempty" enum:"auto,shopper"`
	SettledAt       model.Time        `json:"settled_at,omitempty" format:"date-time" doc:"When WeChat gave the money free"`
}

func orderUploadOf(u model.ShippingUpload) OrderUpload {
	out := OrderUpload{
		Status: u.State, Error: u.Error, Calls: u.Calls, UploadedAt: u.UploadedAt, CorrectionsLeft: max(order.MaxCorrections-u.Corrections, 0),
		SettlementDueAt: u.SettlementDueAt, ReceivedAt: u.ReceivedAt, ReceivedBy: u.ReceivedBy, SettledAt: u.SettledAt,
	}
	if u.NextAt != nil {
		out.NextAt = *u.NextAt
	}
	return out
}

// ListedUpload is an upload with the number of its order.
type ListedUpload struct {
	OrderNo string `json:"order_no"`
	OrderUpload
	CreatedAt model.Time `json:"created_at" format:"date-time" doc:"When the order was first shipped"`
}

// UploadListInput asks for a page of uploads.
type UploadListInput struct {
	api.DeepInput
	Status model.UploadState `query:"status" enum:"waiting,uploaded,refused,skipped" default:"refused" doc:"Uploads that stand here"`
}

// All returns the merchant's uploads, newest first.
func (u *Uploads) All(ctx context.Context, in *UploadListInput) (*api.Reply[api.Deep[ListedUpload]], error) {
	f := order.UploadFilter{MerchantID: api.Admin(ctx).MerchantID, State: in.Status}
	rows, next, total, err := api.DeepRows(ctx, in.DeepInput,
		func(ctx context.Context, after store.Cursor, limit int) ([]order.OrderUpload, *store.Cursor, error) {
			return u.Service.UploadsAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]order.OrderUpload, int64, error) {
			return u.Service.Uploads(ctx, f, p)
		},
		func(r order.OrderUpload) store.Cursor { return store.Cursor{At: r.CreatedAt, ID: r.ID} })
	if err != nil {
		return nil, err
	}
	out := make([]ListedUpload, len(rows))
	for i, r := range rows {
		out[i] = ListedUpload{r.OrderNo, orderUploadOf(r.ShippingUpload), r.CreatedAt}
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}

// ParcelBody is what an express parcel is to be.
type ParcelBody struct {
	Carrier    string `json:"carrier" maxLength:"32" doc:"Code of the carrier, see GET /carriers"`
	TrackingNo string `json:"tracking_no" minLength:"1" maxLength:"64"`
	Version    int64  `json:"version,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The order's version that was read; compared where given"`
}

// ParcelInput changes a parcel of an order.
type ParcelInput struct {
	api.OrderPath
	api.IDPath
	Body ParcelBody
}

// Parcel gives an express parcel another carrier or tracking number.
func (u *Uploads) Parcel(ctx context.Context, in *ParcelInput) (*api.Reply[OrderDetail], error) {
	err := u.Service.ChangeParcel(ctx, api.Admin(ctx).MerchantID, in.No, in.ID, api.Caller(ctx), order.ParcelChange{
		Carrier: in.Body.Carrier, TrackingNo: in.Body.TrackingNo, Version: in.Body.Version,
	})
	if err != nil {
		return nil, err
	}
	return u.Orders.Get(ctx, &OrderGetInput{in.OrderPath})
}

// Retry has an order's upload tried now.
func (u *Uploads) Retry(ctx context.Context, in *OrderGetInput) (*api.Reply[OrderDetail], error) {
	if err := u.Service.RetryUpload(ctx, api.Admin(ctx).MerchantID, in.No); err != nil {
		return nil, err
	}
	return u.Orders.Get(ctx, in)
}
