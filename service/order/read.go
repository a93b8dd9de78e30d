package order

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// View is an order as it is shown, with what hangs on it.
type View struct {
	model.Order
	Lines   []model.OrderLine
	Parcels []Parcel
	// OutTradeNo is of the latest payment attempt; empty if there was none.
	OutTradeNo string
	ReadAt     model.Time
	// ForMerchant says that the merchant reads it, who is told of more than the shopper.
	ForMerchant bool
}

// ShipOverdue reports whether the order should have been shipped by now, and the alert was given.
func (v View) ShipOverdue() bool { return v.ShipOverdueAt != nil }

// Parcel is a parcel with what is in it.
type Parcel struct {
	model.Parcel
	Lines []model.ParcelLine
}

// Closing reports whether the order is on its way to closed: nothing can be paid or changed any more.
func (v View) Closing() bool { return v.State == model.OrderPending && v.ClosingReason != nil }

// ShopperActions lists what the shopper can do with the order now.
func (v View) ShopperActions() []string {
	switch {
	case v.State == model.OrderPending && v.ClosingReason == nil && v.ReadAt < v.PayDeadline:
		return []string{"pay", "cancel"}
	case v.State == model.OrderShipped:
		return []string{"confirm"}
	}
	return nil
}

// MerchantActions lists what the merchant can do with the order now.
func (v View) MerchantActions() []string {
	switch {
	case v.State == model.OrderPending && v.ClosingReason == nil:
		return []string{"close", "price"}
	case v.State == model.OrderPaid:
		return []string{"ship", "refund"}
	case v.State == model.OrderShipped, v.State == model.OrderCompleted:
		if v.RefundedFen < v.PayableFen {
			return []string{"refund"}
		}
	}
	return nil
}

// Filter narrows a list of orders. ShopperID or MerchantID must be given; the other fields may be zero.
type Filter struct {
	ShopperID  int64
	MerchantID int64
	State      model.OrderState
	// Query is the beginning of an order number or an out_trade_no.
	Query string
	// ShipOverdue leaves orders for which the alert was given that they are not shipped yet.
	ShipOverdue bool
	From, To    model.Time // created, half-open
}

func (f Filter) on(db *gorm.DB) *gorm.DB {
	q := db.Model(&model.Order{})
	if f.ShopperID != 0 {
		q = q.Where("shopper_id = ?", f.ShopperID)
	}
	if f.MerchantID != 0 {
		q = q.Where("merchant_id = ?", f.MerchantID)
	}
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if f.ShipOverdue {
		q = q.Where("state = ? AND ship_overdue_at IS NOT NULL", model.OrderPaid) // the index by state narrows it
	}
	if f.Query != "" {
		no, _, _ := strings.Cut(strings.ToUpper(f.Query), "-")
		q = q.Where("no >= ? AND no < ?", no, no+"~") // "~" sorts after every character of a number
	}
	if f.From != 0 {
		q = q.Where("created_at >= ?", f.From)
	}
	if f.To != 0 {
		q = q.Where("created_at < ?", f.To)
	}
	return q
}

// List returns a page of orders, newest first, and how many there are.
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

// ListAfter returns up to limit orders that follow the cursor, newest first, and the cursor of the next page; nil at the end. It
// costs the same at any depth.
func (s *Service) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	q := f.on(s.Store.Read(ctx))
	if after != (store.Cursor{}) {
		q = q.Where("created_at <= ? AND (created_at < ? OR id < ?)", after.At, after.At, after.ID)
	}
	var rows []model.Order
	if err := q.Order("created_at DESC, id DESC").Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	var next *store.Cursor
	if len(rows) > limit {
		rows = rows[:limit]
		next = &store.Cursor{At: rows[limit-1].CreatedAt, ID: rows[limit-1].ID}
	}
	views, err := s.views(ctx, rows)
	return f.shown(views), next, err
}

// Get returns the shopper's order. not_found if it is somebody else's.
func (s *Service) Get(ctx context.Context, shopperID int64, no string) (*View, error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, *o)
}

// GetByTradeNo returns the shopper's order that has the payment attempt, which is how WeChat's order centre opens it.
func (s *Service) GetByTradeNo(ctx context.Context, shopperID int64, outTradeNo string) (*View, error) {
	o, err := one(s.Store.Read(ctx).Where("shopper_id = ? AND id = (SELECT order_id FROM payment_attempts WHERE out_trade_no = ?)", shopperID, outTradeNo))
	if err != nil {
		return nil, err
	}
	return s.view(ctx, *o)
}

// Detail is what the merchant sees of one order: everything that happened, in order of time.
type Detail struct {
	View
	Events   []model.OrderEvent
	Attempts []model.PaymentAttempt
	Payments []model.Payment
	Refunds  []model.Refund
	// Aftersales are what the shopper asked for, oldest first.
	Aftersales []model.Aftersale
}

// GetForMerchant returns the merchant's order with its history. not_found if it is another merchant's.
func (s *Service) GetForMerchant(ctx context.Context, merchantID int64, no string) (*Detail, error) {
	o, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, *o)
	if err != nil {
		return nil, err
	}
	d := &Detail{View: *v}
	d.ForMerchant = true
	for _, part := range []struct {
		rows  any
		order string
	}{{&d.Events, "version"}, {&d.Attempts, "created_at, id"}, {&d.Payments, "created_at, id"}, {&d.Refunds, "created_at, id"}, {&d.Aftersales, "created_at, id"}} {
		if err := s.Store.Read(ctx).Where("order_id = ?", o.ID).Order(part.order).Find(part.rows).Error; err != nil {
			return nil, store.Classify(err)
		}
	}
	return d, nil
}

func (s *Service) view(ctx context.Context, o model.Order) (*View, error) {
	views, err := s.views(ctx, []model.Order{o})
	if err != nil {
		return nil, err
	}
	return &views[0], nil
}

// views adds to orders what hangs on them, by a fixed number of queries.
func (s *Service) views(ctx context.Context, orders []model.Order) ([]View, error) {
	views := make([]View, len(orders))
	ids, at := make([]int64, len(orders)), make(map[int64]int, len(orders))
	now := s.Now()
	for i, o := range orders {
		views[i] = View{Order: o, ReadAt: now}
		ids[i], at[o.ID] = o.ID, i
	}
	if len(ids) == 0 {
		return views, nil
	}
	var lines []model.OrderLine
	if err := s.Store.Read(ctx).Where("order_id IN ?", ids).Order("order_id, line_no").Find(&lines).Error; err != nil {
		return nil, store.Classify(err)
	}
	for _, l := range lines {
		v := &views[at[l.OrderID]]
		v.Lines = append(v.Lines, l)
	}
	var attempts []model.PaymentAttempt
	err := s.Store.Read(ctx).Select("id, order_id, out_trade_no").Where("order_id IN ?", ids).Order("created_at, id").Find(&attempts).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	for _, a := range attempts {
		views[at[a.OrderID]].OutTradeNo = a.OutTradeNo
	}
	return views, s.addParcels(ctx, views, ids, at)
}

func (s *Service) addParcels(ctx context.Context, views []View, ids []int64, at map[int64]int) error {
	var parcels []model.Parcel
	if err := s.Store.Read(ctx).Where("order_id IN ?", ids).Order("created_at, id").Find(&parcels).Error; err != nil || len(parcels) == 0 {
		return store.Classify(err)
	}
	parcelIDs := make([]int64, len(parcels))
	for i, p := range parcels {
		parcelIDs[i] = p.ID
	}
	var content []model.ParcelLine
	if err := s.Store.Read(ctx).Where("parcel_id IN ?", parcelIDs).Order("parcel_id, line_id").Find(&content).Error; err != nil {
		return store.Classify(err)
	}
	in := map[int64][]model.ParcelLine{}
	for _, l := range content {
		in[l.ParcelID] = append(in[l.ParcelID], l)
	}
	for _, p := range parcels {
		v := &views[at[p.OrderID]]
		v.Parcels = append(v.Parcels, Parcel{Parcel: p, Lines: in[p.ID]})
	}
	return nil
}
