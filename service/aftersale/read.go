package aftersale

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/shop"
	"github.com/tidemall/tidemall/service/store"
)

// View is an after-sale as it is shown, with what hangs on it.
type View struct {
	model.Aftersale
	OrderNo string
	Lines   []Line
	Refund  *model.Refund // nil while there is none
	// ForMerchant says that the merchant reads it, who is told of more than the shopper.
	ForMerchant bool
}

// Line is what of an order's line the after-sale is about.
type Line struct {
	model.OrderLine
	Asked int64 // pieces
}

// Actions lists what the reader can do with the after-sale now.
func (v View) Actions() []string {
	if v.ForMerchant {
		switch v.State {
		case model.AftersaleRequested:
			return []string{"approve", "reject"}
		case model.AftersaleApproved, model.AftersaleReturning:
			return []string{"receive", "reject"}
		}
		return nil
	}
	switch v.State {
	case model.AftersaleRequested:
		return []string{"withdraw"}
	case model.AftersaleApproved:
		return []string{"return-parcel", "withdraw"}
	case model.AftersaleReturning:
		return []string{"return-parcel"}
	}
	return nil
}

// Filter narrows a list of after-sales. ShopperID or MerchantID must be given; the other fields may be zero.
type Filter struct {
	ShopperID  int64
	MerchantID int64
	State      model.AftersaleState
	// Overdue leaves those for which the alert was given that the merchant has not acted in time, and still has not.
	Overdue bool
	Type    model.AftersaleType
	OrderNo string
	// Queue leaves those that wait for the merchant, in the order of when an answer was or is due, overdue ones first.
	Queue bool
}

func (f Filter) on(db *gorm.DB) *gorm.DB {
	q := db.Model(&model.Aftersale{})
	if f.MerchantID != 0 {
		q = q.Where("merchant_id = ?", f.MerchantID)
	} else {
		q = q.Where("shopper_id = ?", f.ShopperID)
	}
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.Type != "" {
		q = q.Where("type = ?", f.Type)
	}
	if f.OrderNo != "" {
		q = q.Where("order_id IN (SELECT id FROM orders WHERE no = ?)", f.OrderNo)
	}
	if f.Queue {
		q = q.Where("state IN ?", []model.AftersaleState{model.AftersaleRequested, model.AftersaleReturning})
	}
	if f.Overdue { // the index by state narrows it
		q = q.Where("state IN ? AND answer_overdue_at IS NOT NULL", []model.AftersaleState{model.AftersaleRequested, model.AftersaleReturning})
	}
	return q
}

// index has the order of the list; empty where none has it.
func (f Filter) index() string {
	switch {
	case f.OrderNo != "":
		return "ix_aftersales_order"
	case f.MerchantID == 0:
		return "ix_aftersales_shopper"
	case f.State != "":
		return "ix_aftersales_merchant"
	case f.Overdue:
		return ""
	case f.Type != "":
		return "ix_aftersales_type"
	}
	return "ix_aftersales_merchant_created"
}

// At is where an after-sale stands in the list.
func (f Filter) At(a model.Aftersale) store.Cursor {
	if f.Queue {
		return store.Cursor{At: due(a), ID: a.ID}
	}
	return store.Cursor{At: a.CreatedAt, ID: a.ID}
}

// List returns a page of after-sales, newest first or in the order of the queue, and how many there are.
func (s *Service) List(ctx context.Context, f Filter, p store.Page) ([]View, int64, error) {
	var n int64
	if err := f.on(s.store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Aftersale
	order := "created_at DESC, id DESC"
	if f.Queue {
		order = queueOrder
	}
	err := f.on(s.store.Read(ctx)).Order(order).Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	views, err := s.views(ctx, rows, f.MerchantID != 0)
	return views, n, err
}

// ListAfter returns up to limit after-sales that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (s *Service) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	if f.Queue {
		return s.queueAfter(ctx, f, after, limit)
	}
	var rows []model.Aftersale
	q := s.store.After(f.on(s.store.Read(ctx)), "aftersales", f.index(), after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, f.At)
	views, err := s.views(ctx, rows, f.MerchantID != 0)
	return views, next, err
}

// Get returns the shopper's after-sale. not_found if it is somebody else's.
func (s *Service) Get(ctx context.Context, shopperID, id int64) (*View, error) {
	return s.view(ctx, whose{shopperID: shopperID}, id)
}

// GetForMerchant returns the merchant's after-sale, one that waits for its approval with the address that this would send. not_found if
// it is another merchant's.
func (s *Service) GetForMerchant(ctx context.Context, merchantID, id int64) (*View, error) {
	v, err := s.view(ctx, whose{merchantID: merchantID}, id)
	if err != nil || v.Type != model.AftersaleReturn || v.State != model.AftersaleRequested {
		return v, err
	}
	own, err := shop.ReturnTo(s.store.Read(ctx), merchantID)
	if own.Address != "" {
		v.ReturnTo = &own
	}
	return v, store.Classify(err)
}

func (s *Service) view(ctx context.Context, w whose, id int64) (*View, error) {
	a, err := s.find(ctx, w, id)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, []model.Aftersale{*a}, w.merchantID != 0)
	if err != nil {
		return nil, err
	}
	return &views[0], nil
}

// views adds to after-sales what hangs on them, by a fixed number of queries.
func (s *Service) views(ctx context.Context, rows []model.Aftersale, merchant bool) ([]View, error) {
	views := make([]View, len(rows))
	if len(rows) == 0 {
		return views, nil
	}
	ids, orderIDs, refundIDs, at := make([]int64, len(rows)), make([]int64, len(rows)), make([]int64, len(rows)), make(map[int64]int, len(rows))
	for i, a := range rows {
		views[i] = View{Aftersale: a, ForMerchant: merchant}
		ids[i], orderIDs[i], refundIDs[i], at[a.ID] = a.ID, a.OrderID, a.RefundID, i
	}
	if err := s.addLines(ctx, views, ids, at); err != nil {
		return nil, err
	}
	var orders []struct {
		ID int64
		No string
	}
	if err := s.store.Read(ctx).Raw("SELECT id, no FROM orders WHERE id IN ?", orderIDs).Scan(&orders).Error; err != nil {
		return nil, store.Classify(err)
	}
	var refunds []model.Refund
	if err := s.store.Read(ctx).Where("id IN ?", refundIDs).Find(&refunds).Error; err != nil {
		return nil, store.Classify(err)
	}
	numbers, byID := make(map[int64]string, len(orders)), make(map[int64]*model.Refund, len(refunds))
	for _, o := range orders {
		numbers[o.ID] = o.No
	}
	for i := range refunds {
		byID[refunds[i].ID] = &refunds[i]
	}
	for i := range views {
		views[i].OrderNo, views[i].Refund = numbers[views[i].OrderID], byID[views[i].RefundID]
	}
	return views, nil
}

func (s *Service) addLines(ctx context.Context, views []View, ids []int64, at map[int64]int) error {
	var lines []struct {
		model.OrderLine
		AftersaleID, Asked int64
	}
	err := s.store.Read(ctx).Raw(`SELECT l.*, al.aftersale_id, al.quantity AS asked FROM aftersale_lines al JOIN order_lines l ON l.id = al.line_id
		WHERE al.aftersale_id IN ? ORDER BY al.aftersale_id, l.line_no`, ids).Scan(&lines).Error
	for _, l := range lines {
		v := &views[at[l.AftersaleID]]
		v.Lines = append(v.Lines, Line{OrderLine: l.OrderLine, Asked: l.Asked})
	}
	return store.Classify(err)
}
