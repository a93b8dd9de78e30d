package aftersale

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

// Parcel is what the shopper sends back. Carrier is a code of shipping.Carriers.
type Parcel struct{ Carrier, TrackingNo string }

// SendBack records the parcel with which the shopper sends the goods of an approved after-sale back; until they are received it
// may be corrected. validation_failed, state_conflict.
func (s *Service) SendBack(ctx context.Context, shopperID, id int64, p Parcel) (*View, error) {
	p.TrackingNo = strings.TrimSpace(p.TrackingNo)
	wrong := fault.New(fault.ValidationFailed)
	if _, known := shipping.CarrierOf(p.Carrier); !known {
		wrong.With("carrier", fault.FieldChoice, "须为 GET /carriers 中的承运商编码", "must be a code of GET /carriers")
	}
	if p.TrackingNo == "" {
		wrong.With("tracking_no", fault.FieldRequired, "必填", "is required")
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	err := s.change(ctx, whose{shopperID: shopperID}, id, func(tx *store.Tx, o *model.Order, a *model.Aftersale) error {
		switch {
		case a.State != model.AftersaleApproved && a.State != model.AftersaleReturning:
			return wrongState(a)
		case a.State == model.AftersaleReturning && a.Carrier == p.Carrier && a.TrackingNo == p.TrackingNo:
			return nil
		}
		a.Carrier, a.TrackingNo = p.Carrier, p.TrackingNo
		return must(s.orders.ChangeAftersale(tx, o, a, model.AftersaleReturning, order.ActorShopper(shopperID)))
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, shopperID, id)
}
