package order

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// List returns a page of orders, newest first, and how many there are. It is not for lists that are searched for.
func (s *Service) List(ctx context.Context, f Filter, p store.Page) ([]View, int64, error) {
	var n int64
	if err := f.on(s.Store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Order
	err := f.on(s.Store.Read(ctx)).Order("created_at DESC, id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	views, err := s.views(ctx, rows)
	return f.shown(views), n, err
}

// shown notes on the orders who reads them.
func (f Filter) shown(views []View) []View {
	for i := range views {
		views[i].ForMerchant = f.MerchantID != 0
	}
	return views
}

// Count returns how many orders there are. It is not for lists that are searched for.
func (s *Service) Count(ctx context.Context, f Filter) (n int64, err error) {
	err = f.on(s.Store.Read(ctx)).Count(&n).Error
	return n, store.Classify(err)
}

// ListAfter returns up to limit orders that follow the cursor, newest first, and the cursor of the next page; nil at the end. It
// costs the same at any depth. Where the list is searched for, a page may have fewer orders, or none, and yet another may follow.
// validation_failed where too many shoppers have the nickname.
func (s *Service) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	read := s.inOrder
	if f.Searched() || f.ShipOverdue {
		read = s.search
	}
	rows, next, err := read(ctx, f, after, limit)
	if err != nil {
		return nil, nil, err
	}
	views, err := s.views(ctx, rows)
	return f.shown(views), next, err
}

// inOrder reads a page of a list that an index has.
func (s *Service) inOrder(ctx context.Context, f Filter, after store.Cursor, limit int) ([]model.Order, *store.Cursor, error) {
	var rows []model.Order
	q := s.Store.After(f.on(s.Store.Read(ctx)), "orders", f.index(), after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, placeOf)
	return rows, next, nil
}

// placeOf is an order's place in the list.
func placeOf(o model.Order) store.Cursor { return store.Cursor{At: o.CreatedAt, ID: o.ID} }
