package review

import (
	"context"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/store"
)

// View is a review as it is shown.
type View struct {
	model.Review
	OrderNo     string
	ProductName string
	Nickname    string // whole; only the merchant sees it so
	// Avatar is the key of the shopper's picture; empty unless it is stored here and was passed.
	Avatar string
}

// Masked returns the nickname's first character: 张***.
func (v View) Masked() string {
	_, size := utf8.DecodeRuneInString(v.Nickname)
	return v.Nickname[:size] + "***"
}

// Filter narrows a list; zero values do not. One of ShopperID, MerchantID and ProductID must be given.
type Filter struct {
	ShopperID, MerchantID, ProductID int64
	State                            model.ReviewState
	Rating                           int
	Pictured                         bool // only those with pictures
	Unanswered, Answered             bool
}

func (f Filter) on(db *gorm.DB) *gorm.DB {
	q := db.Model(&model.Review{})
	for _, c := range []struct {
		column string
		value  int64
	}{{"shopper_id", f.ShopperID}, {"merchant_id", f.MerchantID}, {"product_id", f.ProductID}, {"rating", int64(f.Rating)}} {
		if c.value != 0 {
			q = q.Where(c.column+" = ?", c.value)
		}
	}
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.Pictured {
		q = q.Where("pictured = ?", true)
	}
	if f.Unanswered {
		q = q.Where("answered_at = 0")
	}
	if f.Answered {
		q = q.Where("answered_at > 0")
	}
	return q
}

// index has the order of the list, by what it is narrowed to; empty where none has.
func (f Filter) index() string {
	switch {
	case f.ShopperID != 0:
		return "ix_reviews_shopper"
	case f.ProductID != 0 && f.State == "":
		return ""
	case f.ProductID != 0 && f.Rating != 0:
		return "ix_reviews_rating"
	case f.ProductID != 0 && f.Pictured:
		return "ix_reviews_pictured"
	case f.ProductID != 0:
		return "ix_reviews_product"
	case f.Unanswered:
		return "ix_reviews_unanswered"
	case f.State != "":
		return "ix_reviews_merchant_state"
	}
	return "ix_reviews_merchant"
}

// OfProduct returns up to limit visible reviews of a product on the shelf that follow the cursor, newest first. not_found where
// shoppers do not see the product.
func (s *Service) OfProduct(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	if err := s.Shelf.OnShelf(ctx, f.ProductID); err != nil {
		return nil, nil, err
	}
	f.State = model.ReviewVisible
	return s.ListAfter(ctx, f, after, limit)
}

// List returns a page of reviews, newest first, and how many there are.
func (s *Service) List(ctx context.Context, f Filter, p store.Page) ([]View, int64, error) {
	var n int64
	if err := f.on(s.Store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Review
	err := f.on(s.Store.Read(ctx)).Order("created_at DESC, id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	views, err := s.views(ctx, rows)
	return views, n, err
}

// ListAfter returns up to limit reviews that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (s *Service) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	var rows []model.Review
	q := s.Store.After(f.on(s.Store.Read(ctx)), "reviews", f.index(), after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(r model.Review) store.Cursor { return store.Cursor{At: r.CreatedAt, ID: r.ID} })
	views, err := s.views(ctx, rows)
	return views, next, err
}

// ViewOf shows one review.
func (s *Service) ViewOf(ctx context.Context, r *model.Review) (View, error) {
	views, err := s.views(ctx, []model.Review{*r})
	if err != nil {
		return View{}, err
	}
	return views[0], nil
}

// views adds what hangs on reviews, by a fixed number of queries.
func (s *Service) views(ctx context.Context, rows []model.Review) ([]View, error) {
	views := make([]View, len(rows))
	if len(rows) == 0 {
		return views, nil
	}
	var orders, products, shoppers []int64
	for i, r := range rows {
		views[i].Review = r
		orders, products, shoppers = append(orders, r.OrderID), append(products, r.ProductID), append(shoppers, r.ShopperID)
	}
	var nos, names []struct {
		ID   int64
		Text string
	}
	var people []model.Shopper
	db := s.Store.Read(ctx)
	for _, q := range []*gorm.DB{
		db.Raw("SELECT id, no AS text FROM orders WHERE id IN ?", orders).Scan(&nos),
		db.Raw("SELECT id, name AS text FROM products WHERE id IN ?", products).Scan(&names),
		db.Select("id, nickname, avatar").Where("id IN ?", shoppers).Find(&people),
	} {
		if q.Error != nil {
			return nil, store.Classify(q.Error)
		}
	}
	no, name, who := map[int64]string{}, map[int64]string{}, map[int64]model.Shopper{}
	for _, r := range nos {
		no[r.ID] = r.Text
	}
	for _, r := range names {
		name[r.ID] = r.Text
	}
	for _, p := range people {
		who[p.ID] = p
	}
	passed, err := s.Content.Passed(ctx, model.HoldAvatar, shoppers)
	if err != nil {
		return nil, err
	}
	for i := range views {
		v := &views[i]
		v.OrderNo, v.ProductName = no[v.OrderID], name[v.ProductID]
		v.Nickname = who[v.ShopperID].Nickname
		if img, ok := file.Parse(who[v.ShopperID].Avatar); ok && passed[v.ShopperID][img.Key] {
			v.Avatar = img.ThumbKey
		}
	}
	return views, nil
}
