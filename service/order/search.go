package order

import (
	"context"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// searchLook is how many orders a search looks at for one page, at most: it then says how far it has come.
	searchLook = 2000
	// searchFirst is how many it looks at first; each next look takes in twice as many.
	searchFirst = 64
	// maxNamesakes is how many shoppers of one nickname are searched for.
	maxNamesakes = 20
	// maxAftersales is how many open after-sales the list of their orders is made of.
	maxAftersales = 2000
)

// candidates reads the places of up to n orders behind the cursor that may be of the list, in its order, from an index that has it.
type candidates func(after store.Cursor, n int) ([]store.Cursor, error)

// search reads a page of a list that no index has: it goes through the candidates of the index that comes nearest, and leaves those
// that are of the list. After searchLook candidates the page ends, with what was found, and the next one goes on from there.
func (s *Service) search(ctx context.Context, f Filter, after store.Cursor, limit int) ([]model.Order, *store.Cursor, error) {
	if f.Nickname != "" {
		var err error
		if f.shoppers, err = s.namesakes(ctx, f.Nickname); err != nil || len(f.shoppers) == 0 {
			return nil, nil, err
		}
	}
	read, err := s.candidates(ctx, f)
	if err != nil || read == nil {
		return nil, nil, err
	}
	var found []model.Order
	for looked, n := 0, max(searchFirst, limit+1); looked < searchLook; n = min(2*n, searchLook-looked) {
		places, err := read(after, n)
		if err != nil {
			return nil, nil, store.Classify(err)
		}
		rows, err := s.among(ctx, f, places, limit+1-len(found))
		if err != nil {
			return nil, nil, err
		}
		if found = append(found, rows...); len(found) > limit {
			found, next := store.Cut(found, limit, placeOf)
			return found, next, nil
		}
		if len(places) < n {
			return found, nil, nil
		}
		looked, after = looked+n, places[n-1]
	}
	return found, &after, nil
}

// among reads the orders at the places that are of the list.
func (s *Service) among(ctx context.Context, f Filter, places []store.Cursor, limit int) ([]model.Order, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	var rows []model.Order
	err := s.Store.After(f.on(s.Store.Read(ctx)).Where("id IN ?", ids), "orders", "PRIMARY", store.Cursor{}).Limit(limit).Find(&rows).Error
	return rows, store.Classify(err)
}

// candidates chooses the index; nil where nothing can be found.
func (s *Service) candidates(ctx context.Context, f Filter) (candidates, error) {
	db := s.Store.Read(ctx)
	switch {
	case f.AftersaleOpen:
		return s.withAftersales(ctx, f)
	case f.ShopperID == 0 && len(f.shoppers) > 0:
		return s.ofShoppers(db, f), nil
	case f.ShopperID == 0 && f.ProductID != 0:
		return s.ofProduct(db, f), nil
	case f.ShopperID == 0 && f.SKUID != 0:
		err := db.Raw("SELECT product_id FROM skus WHERE id = ? AND merchant_id = ?", f.SKUID, f.MerchantID).Scan(&f.ProductID).Error
		if err != nil || f.ProductID == 0 {
			return nil, store.Classify(err)
		}
		return s.ofProduct(db, f), nil
	}
	return func(after store.Cursor, n int) (places []store.Cursor, err error) {
		err = s.placesOf(db, f, after, n).Scan(&places).Error
		return places, err
	}, nil
}

// driven is the part of a filter that an index of orders has.
func (f Filter) driven() Filter {
	d := Filter{ShopperID: f.ShopperID, State: f.state(), From: f.From, To: f.To}
	if f.ShopperID != 0 {
		return d
	}
	d.MerchantID = f.MerchantID
	if f.byTail() {
		d.Query, d.State = f.Query, ""
	}
	return d
}

// placesOf reads places by the index of the shopper's or the merchant's orders.
func (s *Service) placesOf(db *gorm.DB, f Filter, after store.Cursor, n int) *gorm.DB {
	d := f.driven()
	return s.Store.After(d.on(db), "orders", d.index(), after).Select("created_at AS at, id").Limit(n)
}

// namesakes are the shoppers of the nickname.
func (s *Service) namesakes(ctx context.Context, nickname string) ([]int64, error) {
	var ids []int64
	err := s.Store.Read(ctx).Raw("SELECT id FROM shoppers WHERE nickname = ? LIMIT ?", nickname, maxNamesakes+1).Scan(&ids).Error
	if err == nil && len(ids) > maxNamesakes {
		return nil, fault.New(fault.ValidationFailed).With("nickname", fault.FieldRange,
			"叫这个昵称的买家太多，请用买家编号查找", "is that of too many shoppers; search by the shopper's id")
	}
	return ids, store.Classify(err)
}

// ofShoppers merges the orders of several shoppers, each in the order of the list.
func (s *Service) ofShoppers(db *gorm.DB, f Filter) candidates {
	return func(after store.Cursor, n int) (places []store.Cursor, err error) {
		parts, args := make([]string, len(f.shoppers)), make([]any, len(f.shoppers)+1)
		for i, id := range f.shoppers {
			of := f
			of.ShopperID = id
			parts[i], args[i] = "SELECT * FROM (?) AS part", s.placesOf(db, of, after, n)
		}
		args[len(parts)] = n
		err = db.Raw(strings.Join(parts, " UNION ALL ")+" ORDER BY 1 DESC, 2 DESC LIMIT ?", args...).Scan(&places).Error
		return places, err
	}
}

// ofProduct reads the places of the orders that have a line of the product. An order that has two is there twice.
func (s *Service) ofProduct(db *gorm.DB, f Filter) candidates {
	return func(after store.Cursor, n int) (places []store.Cursor, err error) {
		table := "order_lines"
		if s.Store.Dialect() == store.MySQL {
			table += " FORCE INDEX (ix_order_lines_product)" // left alone it may walk over what is before the cursor
		}
		q := f.within(db.Table(table)).Where("product_id = ?", f.ProductID)
		if after != (store.Cursor{}) {
			q = q.Where("created_at <= ? AND (created_at < ? OR order_id < ?)", after.At, after.At, after.ID)
		}
		err = q.Select("created_at AS at, order_id AS id").Order("created_at DESC, order_id DESC").Limit(n).Scan(&places).Error
		return places, err
	}
}

// withAftersales reads the places of the orders with an open after-sale: the work that waits, whatever the shop has sold. Beyond
// maxAftersales of them the list is not whole.
func (s *Service) withAftersales(ctx context.Context, f Filter) (candidates, error) {
	var ids []int64
	err := s.Store.Read(ctx).Raw("SELECT order_id FROM aftersales WHERE merchant_id = ? AND state IN ? ORDER BY state DESC, created_at DESC LIMIT ?",
		f.MerchantID, model.AftersalesOpen, maxAftersales).Scan(&ids).Error
	if err != nil || len(ids) == 0 {
		return nil, store.Classify(err)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return func(after store.Cursor, n int) (places []store.Cursor, err error) {
		q := f.within(s.Store.Read(ctx).Model(&model.Order{})).Where("id IN ?", ids)
		q = s.Store.After(q, "orders", "PRIMARY", after)
		err = q.Select("created_at AS at, id").Limit(n).Scan(&places).Error
		return places, err
	}, nil
}
