package aftersale

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shop"
	"github.com/tidemall/tidemall/service/store"
)

// Answer is a merchant's answer to an after-sale.
type Answer struct {
	Text    string // for the shopper; empty keeps what was said before
	Version int64  // of the after-sale that was read
	Actor   string // "admin:3"
}

// Approve agrees to an after-sale: a refund is made at once, goods that are to come back are waited for, at returnTo or, where that is
// nil, where the shop's settings say; where nothing does, the answer's text has to. stale_version, state_conflict, validation_failed,
// refund_too_old, refund_too_many, refund_too_much.
func (s *Service) Approve(ctx context.Context, merchantID, id int64, returnTo *model.Contact, ans Answer) (*View, error) {
	if returnTo != nil {
		if err := shop.CheckContact("return_address", returnTo); err != nil {
			return nil, err
		}
	}
	return s.answered(ctx, merchantID, id, ans, func(tx *store.Tx, o *model.Order, a *model.Aftersale, refundID int64) error {
		switch {
		case a.State != model.AftersaleRequested:
			return wrongState(a)
		case a.Type == model.AftersaleReturn:
			if err := s.sendTo(tx, a, returnTo); err != nil {
				return err
			}
			return must(s.orders.ChangeAftersale(tx, o, a, model.AftersaleApproved, ans.Actor))
		}
		if returnTo != nil {
			return fault.New(fault.ValidationFailed).With("return_address", fault.FieldUnknown, "仅退款，没有商品要寄回", "is of no use: nothing is sent back")
		}
		return must(s.orders.RefundAftersale(tx, o, a, refundID, ans.Actor))
	})
}

// sendTo keeps where the goods of an after-sale go back to; to is nil for where the shop's settings say.
func (s *Service) sendTo(tx *store.Tx, a *model.Aftersale, to *model.Contact) error {
	if to == nil {
		own, err := shop.ReturnTo(tx.DB, a.MerchantID)
		if err != nil || own.Address == "" {
			return err
		}
		to = &own
	}
	a.ReturnTo = to
	res := tx.Model(&model.Aftersale{}).Where("id = ? AND version = ?", a.ID, a.Version).UpdateColumns(&model.Aftersale{ReturnTo: to})
	return must(res.RowsAffected == 1, res.Error)
}

// Reject refuses an after-sale: at once, where approved goods do not come, or where what came back is not as it was said.
// stale_version, state_conflict.
func (s *Service) Reject(ctx context.Context, merchantID, id int64, ans Answer) (*View, error) {
	return s.answered(ctx, merchantID, id, ans, func(tx *store.Tx, o *model.Order, a *model.Aftersale, _ int64) error {
		if !model.AftersaleTransitions.Allowed(a.State, model.AftersaleRejected) {
			return wrongState(a)
		}
		return must(s.orders.ChangeAftersale(tx, o, a, model.AftersaleRejected, ans.Actor))
	})
}

// Receive records that the goods came back, with or without a parcel that the shopper named, and makes the refund. restock says that
// they are for sale again; their stock rises when the refund has succeeded. stale_version, state_conflict, refund_too_old,
// refund_too_many, refund_too_much.
func (s *Service) Receive(ctx context.Context, merchantID, id int64, restock bool, ans Answer) (*View, error) {
	return s.answered(ctx, merchantID, id, ans, func(tx *store.Tx, o *model.Order, a *model.Aftersale, refundID int64) error {
		if a.State != model.AftersaleApproved && a.State != model.AftersaleReturning {
			return wrongState(a)
		}
		a.Restock = restock
		return must(s.orders.RefundAftersale(tx, o, a, refundID, ans.Actor))
	})
}

// answered runs a merchant's answer: the version is compared, what was said is noted.
func (s *Service) answered(ctx context.Context, merchantID, id int64, ans Answer,
	fn func(tx *store.Tx, o *model.Order, a *model.Aftersale, refundID int64) error,
) (*View, error) {
	who := whose{merchantID: merchantID}
	if _, err := s.find(ctx, who, id); err != nil { // a stranger takes no id
		return nil, err
	}
	refundID, err := s.orders.NewRefundID(ctx)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, who, id, func(tx *store.Tx, o *model.Order, a *model.Aftersale) error {
		if a.Version != ans.Version {
			return fault.New(fault.StaleVersion)
		}
		was := *a
		a.AnsweredBy = ans.Actor
		if ans.Text != "" {
			a.Answer = ans.Text
		}
		if err := fn(tx, o, a, refundID); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Aftersale, id, was, a)
	})
	if err != nil {
		return nil, err
	}
	return s.GetForMerchant(ctx, merchantID, id)
}
