package order

import (
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// demand is what after-sales that are open ask for of one line.
type demand struct {
	// waiting are the pieces whose refund is not made yet; the line's RefundingQuantity does not hold them.
	waiting int64
	// unshipped says that some of those are not to be sent back: a refund takes pieces that were not shipped first.
	unshipped bool
	// returns are the pieces that come back to the merchant, their refund made or not.
	returns int64
}

type demands map[int64]demand

// demandsOn reads what the open after-sales of an order ask for, but for one of them, by line. The caller has the order's lock, or
// only shows it.
func demandsOn(db *gorm.DB, orderID, but int64) (demands, error) {
	var rows []struct {
		LineID, Quantity int64
		Type             model.AftersaleType
		State            model.AftersaleState
	}
	err := db.Raw(`SELECT l.line_id, l.quantity, a.type, a.state FROM aftersales a JOIN aftersale_lines l ON l.aftersale_id = a.id
		WHERE a.order_id = ? AND a.id <> ? AND a.state IN ?`, orderID, but, model.AftersalesOpen).Scan(&rows).Error
	on := demands{}
	for _, r := range rows {
		c := on[r.LineID]
		if r.State != model.AftersaleRefunding {
			c.waiting += r.Quantity
			c.unshipped = c.unshipped || r.Type == model.AftersaleRefundOnly
		}
		if r.Type == model.AftersaleReturn {
			c.returns += r.Quantity
		}
		on[r.LineID] = c
	}
	return on, store.Classify(err)
}

// free is how many pieces of a line nobody has asked for yet, and no refund has taken.
func (c demand) free(l model.OrderLine) int64 {
	return max(l.Quantity-l.RefundingQuantity-c.waiting, 0)
}

// returnable is how many pieces of a line the shopper has and may still ask to send back. Of what is refunded without being
// sent back, the pieces that were never shipped come first.
func (c demand) returnable(l model.OrderLine) int64 {
	kept := l.RefundingQuantity - l.RefundedQuantity + c.waiting - c.returns
	gone := l.RefundedQuantity - l.DroppedQuantity + c.returns + max(kept-l.Unshipped(), 0)
	return min(c.free(l), max(l.ShippedQuantity-gone, 0))
}

// AftersaleAmount checks that the shopper may ask for an after-sale of these pieces of the order, which the caller has locked, and
// returns what it would give back if every after-sale that is open were refunded before it. order_not_paid, order_closed,
// aftersale_expired, refund_too_old, refund_too_many, refund_too_much, validation_failed.
func (s *Service) AftersaleAmount(tx *store.Tx, o *model.Order, kind model.AftersaleType, want []RefundPart) (model.Fen, error) {
	if err := refundableState(o); err != nil {
		return 0, err
	}
	now := s.Now()
	if ends := s.aftersaleEnds(o); ends != 0 && now >= ends {
		return 0, fault.New(fault.AftersaleExpired)
	}
	d, err := s.dues(tx, o, 0, now)
	if err != nil {
		return 0, err
	}
	if kind == model.AftersaleReturn {
		if err := returnable(d, want); err != nil {
			return 0, err
		}
	}
	for i := range d.goods {
		l := &d.goods[i]
		n := min(d.demands[l.ID].waiting, l.Quantity-l.RefundingQuantity)
		if n > 0 {
			d.taken[l.ID] = min(d.taken[l.ID]+model.PartOf(net(*l), l.RefundingQuantity, n, l.Quantity), net(*l))
			l.RefundingQuantity += n
		}
	}
	var r model.Refund
	_, err = refundLines(o, d, nil, want, &r)
	return r.AmountFen, err
}

// returnable refuses pieces that the shopper does not have.
func returnable(d dues, want []RefundPart) error {
	refused := fault.New(fault.RefundTooMuch)
	for i, p := range want {
		at := slices.IndexFunc(d.goods, func(l model.OrderLine) bool { return l.ID == p.LineID })
		if at < 0 {
			continue // refundLines says so
		}
		if n := d.demands[p.LineID].returnable(d.goods[at]); p.Quantity > n {
			refused.With(fmt.Sprintf("lines[%d].quantity", i), fault.FieldRange,
				fmt.Sprintf("最多可退货 %d 件（仅限已发货的商品）", n), fmt.Sprintf("at most %d can be sent back, of what was shipped", n))
		}
	}
	if len(refused.Fields) > 0 {
		return refused
	}
	return nil
}

// aftersaleEnds is when after-sales of an order can no longer be asked for; 0 for never, or not yet known.
func (s *Service) aftersaleEnds(o *model.Order) model.Time {
	if s.AftersaleWindow == 0 || o.CompletedAt == 0 {
		return 0
	}
	return o.CompletedAt.Add(s.AftersaleWindow)
}

// dues is what a refund of an order is worked out from.
type dues struct {
	payment *model.Payment // that pays the order; nil for one that cost nothing
	refunds []model.Refund // made before
	goods   []model.OrderLine
	taken   map[int64]model.Fen // by line, by refunds that are open or succeeded
	freight model.Fen           // taken by those; one that was made while another was open that failed took all of it
	demands demands             // of open after-sales, but for the one that is refunded
}

// dues reads it, under the locks of the order and of its payment, and checks WeChat's limits.
func (s *Service) dues(tx *store.Tx, o *model.Order, aftersaleID int64, now model.Time) (d dues, err error) {
	if d.payment, err = payment.LockSettled(tx, o.ID); err != nil {
		return d, err
	}
	if d.refunds, err = payment.RefundsOf(tx.DB, o.ID); err != nil {
		return d, err
	}
	if err = refundable(d.payment, d.refunds, now); err != nil {
		return d, err
	}
	for _, r := range d.refunds {
		if r.State != model.RefundFailed {
			d.freight += r.FreightFen
		}
	}
	if d.goods, err = lines(tx.DB, o.ID); err != nil {
		return d, err
	}
	if d.taken, err = payment.LineAmounts(tx.DB, o.ID); err != nil {
		return d, err
	}
	d.demands, err = demandsOn(tx.DB, o.ID, aftersaleID)
	return d, err
}
