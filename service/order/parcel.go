package order

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

// ParcelChange is what can be changed of an express parcel. Version is the order's that was read; 0 is not compared.
type ParcelChange struct {
	Carrier    string
	TrackingNo string
	Version    int64
}

// ChangeParcel gives an express parcel another carrier or tracking number, and uploads that to WeChat. Once WeChat has all of the
// order, it takes one such correction: correction_used after it, before anything is changed. not_found, validation_failed,
// order_state (closed, completed), state_conflict (no express parcel), stale_version.
func (s *Service) ChangeParcel(ctx context.Context, merchantID int64, no string, parcelID int64, actor string, c ParcelChange) error {
	c.TrackingNo = strings.TrimSpace(c.TrackingNo)
	if err := c.check(); err != nil {
		return err
	}
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		o, err := s.lock(tx, seen.ID)
		if err != nil {
			return err
		}
		p, err := changeable(tx, o, parcelID, c)
		if err != nil {
			return err
		}
		if p.Carrier == c.Carrier && p.TrackingNo == c.TrackingNo {
			changelog.Nothing(ctx)
			return nil
		}
		if err := s.changeParcel(tx, o, p, actor, c); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Order, o.No,
			map[string]any{"merchant_id": o.MerchantID, "parcel": map[string]any{"id": p.ID, "carrier": p.Carrier, "tracking_no": p.TrackingNo}},
			map[string]any{"parcel": map[string]any{"id": p.ID, "carrier": c.Carrier, "tracking_no": c.TrackingNo}})
	})
}

func (c ParcelChange) check() error {
	wrong := fault.New(fault.ValidationFailed)
	if _, known := shipping.CarrierOf(c.Carrier); !known {
		wrong.With("carrier", fault.FieldChoice, "须为 GET /carriers 中的承运商编码", "must be a code of GET /carriers")
	}
	if c.TrackingNo == "" {
		wrong.With("tracking_no", fault.FieldRequired, "必填", "is required")
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// changeable reads the parcel of a locked order, and refuses what cannot be changed.
func changeable(tx *store.Tx, o *model.Order, parcelID int64, c ParcelChange) (*model.Parcel, error) {
	var rows []model.Parcel
	if err := tx.Where("id = ? AND order_id = ?", parcelID, o.ID).Limit(1).Find(&rows).Error; err != nil {
		return nil, err
	}
	switch {
	case len(rows) == 0:
		return nil, fault.New(fault.NotFoundError)
	case c.Version != 0 && c.Version != o.Version:
		return nil, fault.New(fault.StaleVersion)
	case o.State != model.OrderPaid && o.State != model.OrderShipped:
		return nil, fault.New(fault.OrderState)
	case rows[0].Delivery != model.DeliveryExpress:
		return nil, fault.New(fault.StateConflict).Say("只有快递包裹有承运商和运单号", "Only express parcels have a carrier and a tracking number")
	}
	return &rows[0], nil
}

func (s *Service) changeParcel(tx *store.Tx, o *model.Order, p *model.Parcel, actor string, c ParcelChange) error {
	u, err := uploadOf(tx.DB, o.ID)
	if err != nil {
		return err
	}
	if u != nil && u.Corrections >= MaxCorrections {
		return fault.New(fault.CorrectionUsed)
	}
	now := s.Now()
	reason := fmt.Sprintf("parcel %d is %s %s, was %s %s", p.ID, c.Carrier, c.TrackingNo, p.Carrier, p.TrackingNo)
	ok, err := s.transition(tx, change{to: o.State, actor: actor, reason: reason, at: now}, o)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("changing a parcel of order %d: %w", o.ID, errMoved)
	}
	state := p.State
	if model.ParcelTransitions.Allowed(state, model.ParcelWaiting) {
		state = model.ParcelWaiting
	}
	n, err := tx.Affected("UPDATE parcels SET carrier = ?, tracking_no = ?, state = ? WHERE id = ? AND carrier = ? AND tracking_no = ? AND state = ?",
		c.Carrier, c.TrackingNo, state, p.ID, p.Carrier, p.TrackingNo, p.State)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("changing parcel %d: %w", p.ID, errMoved)
	}
	return s.renewUpload(tx, o, now)
}

// RetryUpload has the upload of an order's shipping information tried now: one that WeChat refused, or one that waits for its next
// call. not_found, state_conflict where there is nothing to upload.
func (s *Service) RetryUpload(ctx context.Context, merchantID int64, no string) error {
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		o, err := s.lock(tx, seen.ID)
		if err != nil {
			return err
		}
		u, err := uploadOf(tx.DB, o.ID)
		if err != nil {
			return err
		}
		if u == nil || u.State != model.UploadRefused && (u.State != model.UploadWaiting || u.NextAt == nil) {
			return fault.New(fault.StateConflict).Say("没有可重试的发货信息上传", "There is no upload of shipping information to try again")
		}
		now := s.Now()
		if err := s.renewUpload(tx, o, now); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Order, no,
			map[string]any{"merchant_id": merchantID, "shipping_upload": u.State, "next_at": u.NextAt}, map[string]any{"shipping_upload": model.UploadWaiting, "next_at": now})
	})
}

// UploadFilter narrows the list of uploads; both fields are required.
type UploadFilter struct {
	MerchantID int64
	State      model.UploadState
}

// OrderUpload is an upload with the number of its order.
type OrderUpload struct {
	model.ShippingUpload
	OrderNo string
}

func (f UploadFilter) on(db *gorm.DB) *gorm.DB {
	return db.Model(&model.ShippingUpload{}).Where("merchant_id = ? AND state = ?", f.MerchantID, f.State)
}

// Uploads returns a page of the merchant's uploads of shipping information, newest first, and how many there are.
func (s *Service) Uploads(ctx context.Context, f UploadFilter, p store.Page) ([]OrderUpload, int64, error) {
	var n int64
	if err := f.on(s.Store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.ShippingUpload
	if err := f.on(s.Store.Read(ctx)).Order("created_at DESC, id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	out, err := s.numbered(ctx, rows)
	return out, n, err
}

// UploadsAfter returns up to limit uploads that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (s *Service) UploadsAfter(ctx context.Context, f UploadFilter, after store.Cursor, limit int) ([]OrderUpload, *store.Cursor, error) {
	var rows []model.ShippingUpload
	q := s.Store.After(f.on(s.Store.Read(ctx)), "shipping_uploads", "ix_shipping_uploads_merchant", after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(u model.ShippingUpload) store.Cursor { return store.Cursor{At: u.CreatedAt, ID: u.ID} })
	out, err := s.numbered(ctx, rows)
	return out, next, err
}

// numbered adds the numbers of the orders to uploads.
func (s *Service) numbered(ctx context.Context, rows []model.ShippingUpload) ([]OrderUpload, error) {
	out, ids, at := make([]OrderUpload, len(rows)), make([]int64, len(rows)), map[int64]int{}
	for i, r := range rows {
		out[i], ids[i], at[r.ID] = OrderUpload{ShippingUpload: r}, r.ID, i
	}
	var orders []model.Order
	if err := s.Store.Read(ctx).Select("id, no").Where("id IN ?", ids).Find(&orders).Error; err != nil {
		return nil, store.Classify(err)
	}
	for _, o := range orders {
		out[at[o.ID]].OrderNo = o.No
	}
	return out, nil
}
