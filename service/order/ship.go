package order

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/idempotency"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

// maxParcels is how many parcels WeChat takes for one order.
const maxParcels = 15

// Shipment is what a merchant hands over at once.
type Shipment struct {
	Parcels []ShipmentParcel `json:"parcels"`
}

// ShipmentParcel is one parcel. Carrier and TrackingNo are express parcels' alone. Where no parcel of the shipment has lines,
// everything that is left to ship is in the first.
type ShipmentParcel struct {
	Delivery   model.Delivery `json:"delivery"`
	Carrier    string         `json:"carrier,omitempty"`
	TrackingNo string         `json:"tracking_no,omitempty"`
	Lines      []RefundPart   `json:"lines,omitempty"`
}

// Ship records what was handed over. The order is shipped when nothing is left to ship; until then it stays paid. Uploading
// the shipping information to WeChat is a task of its own (see upload.go) and is never waited for. key, if not empty, is the Idempotency-Key.
// order_not_paid, order_closed, order_state (shipped already), refund_open, validation_failed, idempotency_key_reused.
func (s *Service) Ship(ctx context.Context, merchantID int64, no, key, actor string, sh Shipment) (*View, error) {
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, err
	}
	if err := s.checkParcels(sh); err != nil {
		return nil, err
	}
	id, err := s.Store.NextIDs(ctx, "parcels", int64(len(sh.Parcels)))
	if err != nil {
		return nil, err
	}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		o, err := s.lock(tx, seen.ID)
		if err != nil {
			return err
		}
		before, err := idempotency.Bind(tx, fmt.Sprintf("ship:%d", o.ID), key, sh, o.ID, s.Now())
		if err != nil {
			return err
		}
		if before != 0 {
			changelog.Nothing(ctx)
			return nil
		}
		return s.shipRecorded(tx, o, id, actor, sh)
	})
	if err != nil {
		return nil, err
	}
	return s.byIDView(ctx, seen.ID)
}

// ParcelIDs returns the first of n successive ids for ShipIn. It commits on its own, so it is called outside any transaction.
func (s *Service) ParcelIDs(ctx context.Context, n int64) (int64, error) {
	return s.Store.NextIDs(ctx, "parcels", n)
}

// ShipIn is Ship within the caller's transaction, without a key; firstID is what ParcelIDs gave for as many parcels.
func (s *Service) ShipIn(tx *store.Tx, merchantID int64, no, actor string, firstID int64, sh Shipment) error {
	if err := s.checkParcels(sh); err != nil {
		return err
	}
	o, err := one(tx.Raw("SELECT * FROM orders WHERE no = ? AND merchant_id = ?"+tx.ForUpdate(), no, merchantID))
	if err != nil {
		return err
	}
	return s.shipRecorded(tx, o, firstID, actor, sh)
}

func (s *Service) shipRecorded(tx *store.Tx, o *model.Order, firstID int64, actor string, sh Shipment) error {
	was := o.State
	if err := s.ship(tx, o, firstID, actor, sh); err != nil {
		return err
	}
	return changelog.Record(tx, changelog.Order, o.No, map[string]any{"merchant_id": o.MerchantID, "state": was}, map[string]any{"state": o.State, "parcels": sh.Parcels})
}

// checkParcels checks what can be seen without the order.
func (s *Service) checkParcels(sh Shipment) error {
	wrong := fault.New(fault.ValidationFailed)
	if len(sh.Parcels) < 1 || len(sh.Parcels) > maxParcels {
		return wrong.With("parcels", fault.FieldLength, "须有 1 至 15 个包裹", "must be 1 to 15 parcels")
	}
	named := 0
	for i, p := range sh.Parcels {
		at := fmt.Sprintf("parcels[%d].", i)
		if len(p.Lines) > 0 {
			named++
		}
		if p.Delivery != sh.Parcels[0].Delivery {
			wrong.With(at+"delivery", fault.FieldChoice, "一个订单的包裹须用同一种配送方式", "must be the same for all parcels")
		}
		if p.Delivery != model.DeliveryExpress {
			if p.Carrier != "" {
				wrong.With(at+"carrier", fault.FieldUnknown, "只有快递包裹有承运商", "only express parcels have a carrier")
			}
			if p.TrackingNo != "" {
				wrong.With(at+"tracking_no", fault.FieldUnknown, "只有快递包裹有运单号", "only express parcels have a tracking number")
			}
			continue
		}
		if _, known := shipping.CarrierOf(p.Carrier); !known {
			wrong.With(at+"carrier", fault.FieldChoice, "须为 GET /carriers 中的承运商编码", "must be a code of GET /carriers")
		}
		if strings.TrimSpace(p.TrackingNo) == "" {
			wrong.With(at+"tracking_no", fault.FieldRequired, "必填", "is required")
		}
	}
	if sh.Parcels[0].Delivery != model.DeliveryExpress && len(sh.Parcels) > 1 {
		wrong.With("parcels", fault.FieldLength, "只有快递可以分多个包裹", "only express shipments can have several parcels")
	}
	if named > 0 && named < len(sh.Parcels) {
		wrong.With("parcels", fault.FieldRequired, "要么每个包裹都写明商品，要么都不写", "either every parcel names its lines, or none")
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

func (s *Service) ship(tx *store.Tx, o *model.Order, firstID int64, actor string, sh Shipment) error {
	switch o.State {
	case model.OrderPending:
		return fault.New(fault.OrderNotPaid)
	case model.OrderClosed:
		return fault.New(fault.OrderClosed)
	case model.OrderPaid:
	default:
		return fault.New(fault.OrderState).Say("订单已发货", "The order is shipped already")
	}
	goods, content, err := s.shippable(tx, o, sh)
	if err != nil {
		return err
	}
	now := s.Now()
	if err := roomForParcels(tx, o, sh); err != nil {
		return err
	}
	if err := s.insertParcels(tx, o, firstID, sh, content, now); err != nil {
		return err
	}
	if err := s.renewUpload(tx, o, now); err != nil {
		return err
	}
	left := int64(0)
	for _, l := range goods {
		left += max(l.Unshipped(), 0)
	}
	c := change{to: model.OrderPaid, actor: actor, reason: "shipped in part", at: now}
	if left == 0 {
		c.to, c.reason, c.set = model.OrderShipped, "shipped", map[string]any{"shipped_at": now}
	}
	ok, err := s.transition(tx, c, o)
	if err == nil && !ok {
		err = fmt.Errorf("shipping order %d: %w", o.ID, errMoved)
	}
	return err
}

// shippable works out what is in each parcel, and counts it on the lines, which it returns. Pieces that were refunded before they
// were shipped are not; a line with an open refund cannot be. Nor can one with an after-sale, not answered yet, that asks for the
// money of what was not shipped: the answer would come too late. One that sends shipped pieces back holds nothing up.
func (s *Service) shippable(tx *store.Tx, o *model.Order, sh Shipment) (goods []model.OrderLine, content [][]RefundPart, err error) {
	if held, err := payment.HasOpen(tx.DB, o.ID, payment.AnomalyForeignRefund); err != nil {
		return nil, nil, err
	} else if held {
		return nil, nil, fault.New(fault.RefundOpen).Say("微信侧有本店未发起的退款，处理异常后方可发货", "WeChat shows a refund that the shop did not make; resolve the anomaly first")
	}
	if goods, err = lines(tx.DB, o.ID); err != nil {
		return nil, nil, err
	}
	open, err := payment.OpenLines(tx.DB, o.ID)
	if err != nil {
		return nil, nil, err
	}
	asked, err := demandsOn(tx.DB, o.ID, 0)
	if err != nil {
		return nil, nil, err
	}
	content = make([][]RefundPart, len(sh.Parcels))
	for i, p := range sh.Parcels {
		content[i] = p.Lines
		if err := strangeLines(goods, p.Lines); err != nil {
			return nil, nil, err
		}
	}
	if len(content[0]) == 0 {
		for _, l := range goods {
			if n := l.Unshipped(); n > 0 {
				content[0] = append(content[0], RefundPart{LineID: l.ID, Quantity: n})
			}
		}
	}
	wrong := fault.New(fault.ValidationFailed)
	for i, parts := range content {
		for j, part := range parts {
			at := slices.IndexFunc(goods, func(l model.OrderLine) bool { return l.ID == part.LineID })
			if open[part.LineID] {
				return nil, nil, fault.New(fault.RefundOpen)
			}
			if asked[part.LineID].unshipped {
				return nil, nil, fault.New(fault.RefundOpen).Say("买家申请了退款，请先处理售后", "The shopper asks for money back; answer the after-sale first")
			}
			l := &goods[at]
			if n := max(l.Unshipped(), 0); part.Quantity < 1 || part.Quantity > n {
				wrong.With(fmt.Sprintf("parcels[%d].lines[%d].quantity", i, j), fault.FieldRange, fmt.Sprintf("待发 %d 件", n), fmt.Sprintf("%d are left to ship", n))
				continue
			}
			l.ShippedQuantity += part.Quantity
		}
	}
	if len(wrong.Fields) > 0 {
		return nil, nil, wrong
	}
	return goods, content, nil
}

// roomForParcels refuses a shipment with which the order would have more parcels than WeChat takes.
func roomForParcels(tx *store.Tx, o *model.Order, sh Shipment) error {
	var there int64
	if err := tx.Raw("SELECT COUNT(*) FROM parcels WHERE order_id = ?", o.ID).Scan(&there).Error; err != nil {
		return err
	}
	if room := maxParcels - there; int64(len(sh.Parcels)) > room {
		return fault.New(fault.ValidationFailed).With("parcels", fault.FieldLength,
			fmt.Sprintf("一个订单最多 15 个包裹，还可以发 %d 个", room), fmt.Sprintf("an order has up to 15 parcels; %d more can be sent", room))
	}
	return nil
}

// insertParcels writes the parcels. They are not uploaded to WeChat where it has no payment to attach them to.
func (s *Service) insertParcels(tx *store.Tx, o *model.Order, firstID int64, sh Shipment, content [][]RefundPart, now model.Time) error {
	var rows []model.ParcelLine
	for i, p := range sh.Parcels {
		parcel := model.Parcel{
			ID: firstID + int64(i), OrderID: o.ID, MerchantID: o.MerchantID, Delivery: p.Delivery, Carrier: p.Carrier,
			TrackingNo: strings.TrimSpace(p.TrackingNo), State: model.ParcelWaiting, CreatedAt: now,
		}
		if o.PayableFen == 0 {
			parcel.State = model.ParcelSkipped
		}
		if err := tx.Create(&parcel).Error; err != nil {
			return err
		}
		for _, part := range content[i] {
			rows = append(rows, model.ParcelLine{ParcelID: parcel.ID, LineID: part.LineID, Quantity: part.Quantity})
			n, err := tx.Affected("UPDATE order_lines SET shipped_quantity = shipped_quantity + ? WHERE id = ? AND shipped_quantity + ? <= quantity - dropped_quantity",
				part.Quantity, part.LineID, part.Quantity)
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("shipping line %d: %w", part.LineID, errMoved)
			}
		}
	}
	return tx.Create(&rows).Error
}
