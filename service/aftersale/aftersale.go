// Package aftersale is what shoppers ask for after paying: money back, with or without sending goods back. It asks, answers and
// lists; order makes the changes and the refunds, because a refund's result ends its after-sale in one transaction.
package aftersale

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// Orders is what orders do for after-sales. Each is called in a transaction that has the order's lock, but for NewRefundID.
type Orders interface {
	AftersaleAmount(tx *store.Tx, o *model.Order, kind model.AftersaleType, want []order.RefundPart) (model.Fen, error)
	CreateAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, lines []model.AftersaleLine) error
	ChangeAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, to model.AftersaleState, actor string) (ok bool, err error)
	RefundAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, refundID int64, actor string) (ok bool, err error)
	NewRefundID(ctx context.Context) (int64, error)
}

// Service is safe for concurrent use; many replicas may run over one database.
type Service struct {
	store  *store.Store
	now    func() model.Time
	orders Orders
}

// New returns the service.
func New(s *store.Store, now func() model.Time, orders Orders) *Service {
	return &Service{store: s, now: now, orders: orders}
}

// whose names a caller: a shopper, or a merchant. Nobody reaches an after-sale but its own.
type whose struct{ shopperID, merchantID int64 }

// find reads an after-sale without a lock. not_found if there is none, or it is somebody else's.
func (s *Service) find(ctx context.Context, w whose, id int64) (*model.Aftersale, error) {
	q := s.store.Read(ctx).Where("id = ?", id)
	if w.merchantID != 0 {
		q = q.Where("merchant_id = ?", w.merchantID)
	} else {
		q = q.Where("shopper_id = ?", w.shopperID)
	}
	var rows []model.Aftersale
	if err := q.Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFoundError)
	}
	return &rows[0], nil
}

// change runs fn under the lock of the after-sale's order, with both as they are then. Every change goes through it, so that two
// of one order follow one another; the alert alone may come between, which the version shows.
func (s *Service) change(ctx context.Context, w whose, id int64, fn func(tx *store.Tx, o *model.Order, a *model.Aftersale) error) error {
	seen, err := s.find(ctx, w, id)
	if err != nil {
		return err
	}
	return s.tx(ctx, func(tx *store.Tx) error {
		o, err := locked(tx, seen.OrderID)
		if err != nil {
			return err
		}
		var a model.Aftersale
		if err := tx.Raw("SELECT * FROM aftersales WHERE id = ?", id).Scan(&a).Error; err != nil {
			return err
		}
		return fn(tx, o, &a)
	})
}

// tx runs fn in a transaction, with the instants at which tests kill the shop.
func (s *Service) tx(ctx context.Context, fn func(tx *store.Tx) error) error {
	err := s.store.Tx(ctx, func(tx *store.Tx) error {
		err := fn(tx)
		failpoint.Hit("aftersale.written")
		return err
	})
	failpoint.Hit("aftersale.committed")
	return err
}

// locked reads an order under its row lock.
func locked(tx *store.Tx, id int64) (*model.Order, error) {
	var o model.Order
	err := tx.Raw("SELECT * FROM orders WHERE id = ?"+tx.ForUpdate(), id).Scan(&o).Error
	return &o, err
}

// must turns a change that could not be made into what the caller is told: somebody else was first.
func must(ok bool, err error) error {
	if err == nil && !ok {
		return fault.New(fault.StaleVersion)
	}
	return err
}

// wrongState says that the after-sale does not stand where the action begins.
func wrongState(a *model.Aftersale) error {
	return fault.New(fault.StateConflict).Say("该售后单当前状态不允许此操作", "The after-sale is "+string(a.State)+"; that does not allow this")
}
