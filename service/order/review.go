package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// LineForReview reads a shopper's order with the line that is to be reviewed. not_found for somebody else's order, order_state
// while it is not completed, validation_failed where it has no such line, review_exists, and review_closed after the time for it or
// where every piece was refunded.
func (s *Service) LineForReview(ctx context.Context, shopperID int64, no string, lineID int64) (*model.Order, *model.OrderLine, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, nil, err
	}
	goods, err := lines(s.Store.Read(ctx), o.ID)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.reviewable(o, goods, lineID)
	return o, l, err
}

// TakeForReview marks the line as reviewed, under the order's lock: of two reviews of a line one gets through. Errors are those of
// LineForReview.
func (s *Service) TakeForReview(tx *store.Tx, orderID, lineID int64, now model.Time) error {
	o, err := s.lock(tx, orderID)
	if err != nil {
		return err
	}
	goods, err := lines(tx.DB, orderID)
	if err != nil {
		return err
	}
	if _, err := s.reviewable(o, goods, lineID); err != nil {
		return err
	}
	n, err := tx.Affected("UPDATE order_lines SET reviewed_at = ? WHERE id = ? AND reviewed_at = 0", now, lineID)
	if err == nil && n == 0 {
		return fault.New(fault.ReviewExists)
	}
	return err
}

func (s *Service) reviewable(o *model.Order, goods []model.OrderLine, lineID int64) (*model.OrderLine, error) {
	if o.State != model.OrderCompleted {
		return nil, fault.New(fault.OrderState).Say("订单完成后才能评价", "An order can be reviewed once it is completed")
	}
	for i, l := range goods {
		switch {
		case l.ID != lineID:
			continue
		case l.ReviewedAt != 0:
			return nil, fault.New(fault.ReviewExists)
		case !canReview(l, s.reviewUntil(o), s.Now()):
			return nil, fault.New(fault.ReviewClosed)
		}
		return &goods[i], nil
	}
	return nil, fault.New(fault.ValidationFailed).With("line_id", fault.FieldChoice, "不是该订单的商品", "is no line of this order")
}

// reviewUntil is the end of the time in which the lines of a completed order can be reviewed; 0 before it is completed.
func (s *Service) reviewUntil(o *model.Order) model.Time {
	if o.State != model.OrderCompleted || s.ReviewFor == 0 {
		return 0
	}
	return o.CompletedAt.Add(s.ReviewFor)
}

func canReview(l model.OrderLine, until, now model.Time) bool {
	return now < until && l.ReviewedAt == 0 && l.RefundedQuantity < l.Quantity
}

// Reviewable reports whether the shopper can review a line of the order now.
func (v View) Reviewable(l model.OrderLine) bool { return canReview(l, v.ReviewUntil, v.ReadAt) }
