package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// upload is one call that is to be made.
type upload struct {
	id       int64 // of the order
	revision int64
	due      model.Time // when it was to be made
	until    model.Time // the end of the claim
	at       model.Time // its upload_time
	hash     string     // of what it says
	finished bool       // nothing follows
	parcels  []int64
	info     wechat.ShippingUpload
}

// claimUpload takes an upload that is due for one call, and says what to call with. nil where there is nothing to call for:
// WeChat has it already, would refuse it, or the rest of the order is waited for.
func (s *Service) claimUpload(ctx context.Context, id int64, due model.Time) (up *upload, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		up = nil
		o, err := s.lock(tx, id)
		if err != nil {
			return err
		}
		u, err := uploadOf(tx.DB, id)
		if err != nil {
			return err
		}
		if u == nil || u.NextAt == nil || *u.NextAt != due {
			return errMoved
		}
		now := s.Now()
		next, why, err := s.uploadContent(tx, o, u)
		switch {
		case err != nil:
			return err
		case why != "":
			return s.refuseUpload(tx, u, next.parcels, errors.New(why), now)
		case !next.finished && next.info.Logistics != wechat.LogisticsExpress: // only express can be uploaded in parts
			return s.moveUpload(tx, u, u.State, map[string]any{"next_at": nil, "updated_at": now})
		case next.hash == u.SentHash && u.SentAt == u.CalledAt: // after a call whose answer was lost WeChat may have something else
			if err := moveParcels(tx, next.parcels, model.ParcelUploaded, now); err != nil {
				return err
			}
			return s.moveUpload(tx, u, model.UploadDone, map[string]any{"next_at": nil, "error": "", "updated_at": now})
		}
		next.at = max(now, u.CalledAt+1)
		next.info.UploadTime = next.at.Std()
		next.due, next.until, up = due, now.Add(uploadCall), next
		return s.moveUpload(tx, u, u.State, map[string]any{
			"next_at": next.until, "calls": u.Calls + 1, "called_at": next.at, "called_hash": next.hash, "updated_at": now,
		})
	})
	return up, err
}

// uploadContent is what WeChat is to know of the order as it is now. why, if not empty, says why WeChat would refuse it.
func (s *Service) uploadContent(tx *store.Tx, o *model.Order, u *model.ShippingUpload) (up *upload, why string, err error) {
	up = &upload{id: o.ID, revision: u.Revision}
	paid, err := payment.LockSettled(tx, o.ID)
	if err != nil {
		return nil, "", err
	}
	if paid == nil {
		return nil, "", fmt.Errorf("order %d is to be uploaded and has no settled payment", o.ID)
	}
	a, err := payment.AttemptByID(tx.DB, paid.AttemptID)
	if err != nil {
		return nil, "", err
	}
	if a == nil {
		return nil, "", fmt.Errorf("payment %d has no attempt", paid.ID)
	}
	goods, err := lines(tx.DB, o.ID)
	if err != nil {
		return nil, "", err
	}
	parcels, err := parcelsOf(tx, o.ID)
	if err != nil {
		return nil, "", err
	}
	up.finished = !slices.ContainsFunc(goods, func(l model.OrderLine) bool { return l.Unshipped() > 0 })
	for _, p := range parcels {
		up.parcels = append(up.parcels, p.ID)
	}
	up.info = wechat.ShippingUpload{OutTradeNo: a.OutTradeNo, OpenID: a.OpenID, Logistics: wechat.LogisticsExpress}
	express := slices.DeleteFunc(slices.Clone(parcels), func(p Parcel) bool { return p.Delivery != model.DeliveryExpress })
	if len(express) == 0 {
		up.info.Logistics = logistics[parcels[0].Delivery]
		up.info.Parcels = []wechat.ParcelInfo{{ItemDesc: describe(goods, parcels...)}}
	} else {
		why = expressContent(up, o, u, goods, express)
	}
	up.hash = contentHash(up.info)
	up.info.Correction = u.Finished || u.CalledHash != "" && u.CalledHash != up.hash
	return up, why, nil
}

// logistics are WeChat's words for the ways of delivery that have no tracking number.
var logistics = map[model.Delivery]wechat.LogisticsType{
	model.DeliverySameCity: wechat.LogisticsSameCity, model.DeliveryVirtual: wechat.LogisticsVirtual, model.DeliveryPickup: wechat.LogisticsPickup,
}

// expressContent fills in the parcels that are tracked. An order that was uploaded as split stays so. Where a part of an order
// was sent and the rest handed over in another way, the parcels stand for the whole: WeChat takes one way for an order.
func expressContent(up *upload, o *model.Order, u *model.ShippingUpload, goods []model.OrderLine, express []Parcel) (why string) {
	up.info.AllDelivered = up.finished
	up.info.Split = len(express) > 1 || !up.finished || u.Split
	if len(express) > maxParcels {
		return fmt.Sprintf("WeChat takes %d parcels for an order, there are %d", maxParcels, len(express))
	}
	for _, p := range express {
		info := wechat.ParcelInfo{TrackingNo: p.TrackingNo, ExpressCompany: p.Carrier, ItemDesc: describeParcel(goods, p, express)}
		if c, _ := shipping.CarrierOf(p.Carrier); c.NeedsContact {
			if info.ReceiverPhone = contactOf(o); info.ReceiverPhone == "" {
				why = "a parcel by " + c.Name.EN + " needs the receiver's phone number, and the order has none"
			}
		}
		up.info.Parcels = append(up.info.Parcels, info)
	}
	return why
}

// contactOf is the receiver's phone number, masked but for its last digits; empty if the order has none.
func contactOf(o *model.Order) string {
	shown := digitsOf(o.Address)
	n := len(shown)
	if n <= phoneTail {
		return ""
	}
	return shown[:min(3, n-phoneTail)] + strings.Repeat("*", max(n-phoneTail-3, 0)) + shown[n-phoneTail:]
}

// describeParcel says what is in a parcel, as WeChat takes none without a description. Of a shipment whose parcels name no lines,
// only the first has any: nobody knows which of the goods are in which, so each is said to have all of them.
func describeParcel(goods []model.OrderLine, p Parcel, express []Parcel) string {
	if len(p.Lines) > 0 {
		return describe(goods, p)
	}
	return describe(goods, slices.DeleteFunc(slices.Clone(express), func(other Parcel) bool { return other.CreatedAt != p.CreatedAt })...)
}

// describe says what is in parcels: names and numbers of pieces, a line once.
func describe(goods []model.OrderLine, parcels ...Parcel) string {
	var parts []string
	for _, l := range goods {
		n := int64(0)
		for _, p := range parcels {
			for _, part := range p.Lines {
				if part.LineID == l.ID {
					n += part.Quantity
				}
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s*%d", l.Name, n))
		}
	}
	return strings.Join(parts, "; ")
}

// contentHash tells two uploads apart by what they say, whenever they say it.
func contentHash(info wechat.ShippingUpload) string {
	raw, err := json.Marshal(info)
	if err != nil {
		panic("order: " + err.Error()) // plain fields: cannot happen
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// parcelsOf reads the parcels of an order with what is in them, oldest first.
func parcelsOf(tx *store.Tx, orderID int64) ([]Parcel, error) {
	var rows []model.Parcel
	if err := tx.Where("order_id = ?", orderID).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, err
	}
	parcels, ids, at := make([]Parcel, len(rows)), make([]int64, len(rows)), map[int64]int{}
	for i, r := range rows {
		parcels[i], ids[i], at[r.ID] = Parcel{Parcel: r}, r.ID, i
	}
	var content []model.ParcelLine
	if err := tx.Where("parcel_id IN ?", ids).Order("parcel_id, line_id").Find(&content).Error; err != nil {
		return nil, err
	}
	for _, l := range content {
		p := &parcels[at[l.ParcelID]]
		p.Lines = append(p.Lines, l)
	}
	if len(parcels) == 0 {
		return nil, fmt.Errorf("order %d is to be uploaded and has no parcel", orderID)
	}
	return parcels, nil
}
