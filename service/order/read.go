package order

import (
	"context"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// View is an order as it is shown, with what hangs on it.
type View struct {
	model.Order
	Lines   []model.OrderLine
	Parcels []Parcel
	// Aftersales are what the shopper asked for, oldest first.
	Aftersales []Aftersale
	// AftersaleEnds is when after-sales can no longer be asked for; 0 for never, or not yet known.
	AftersaleEnds model.Time
	// OutTradeNo is of the latest payment attempt; empty if there was none.
	OutTradeNo string
	// TransactionID is WeChat's of the payment that pays a shipped order; empty otherwise.
	TransactionID string
	ReadAt        model.Time
	// ReviewUntil is the end of the time for reviews; 0 while there is none.
	ReviewUntil model.Time
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

// Aftersale is an after-sale with what it is about.
type Aftersale struct {
	model.Aftersale
	Lines []model.AftersaleLine
}

// Refundable is how many pieces of a line of the order no refund has taken and no open after-sale asks for; 0 while it is unpaid.
func (v View) Refundable(l model.OrderLine) int64 {
	if v.PaidAt == 0 {
		return 0
	}
	d := demand{}
	for _, a := range v.Aftersales {
		if a.State == model.AftersaleRefunding || !slices.Contains(model.AftersalesOpen, a.State) {
			continue // its refund is counted on the line, or it asks for nothing any more
		}
		for _, part := range a.Lines {
			if part.LineID == l.ID {
				d.waiting += part.Quantity
			}
		}
	}
	return d.free(l)
}

// AftersaleOpen reports whether the shopper can ask for an after-sale of something of the order now.
func (v View) AftersaleOpen() bool {
	if v.State == model.OrderPending || v.State == model.OrderClosed || v.AftersaleEnds != 0 && v.ReadAt >= v.AftersaleEnds {
		return false
	}
	return slices.ContainsFunc(v.Lines, func(l model.OrderLine) bool { return v.Refundable(l) > 0 })
}

// Closing reports whether the order is on its way to closed: nothing can be paid or changed any more.
func (v View) Closing() bool { return v.State == model.OrderPending && v.ClosingReason != nil }

// ShopperActions lists what the shopper can do with the order now.
func (v View) ShopperActions() (actions []string) {
	switch {
	case v.State == model.OrderPending && v.ClosingReason == nil && v.ReadAt < v.PayDeadline:
		actions = []string{"pay", "cancel"}
	case v.State == model.OrderShipped:
		actions = []string{"confirm"}
	case slices.ContainsFunc(v.Lines, v.Reviewable):
		actions = []string{"review"}
	}
	if v.AftersaleOpen() {
		actions = append(actions, "aftersale")
	}
	return actions
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
	// Upload is what WeChat is to know of the shipping; nil while nothing was shipped.
	Upload *model.ShippingUpload
	// MerchantRemark is what the merchant's people noted; of version 0 where they never did.
	MerchantRemark model.OrderRemark
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
	}{{&d.Events, "version"}, {&d.Attempts, "created_at, id"}, {&d.Payments, "created_at, id"}, {&d.Refunds, "created_at, id"}} {
		if err := s.Store.Read(ctx).Where("order_id = ?", o.ID).Order(part.order).Find(part.rows).Error; err != nil {
			return nil, store.Classify(err)
		}
	}
	if d.MerchantRemark, err = merchantRemarkOf(s.Store.Read(ctx), o.ID); err != nil {
		return nil, err
	}
	d.Upload, err = uploadOf(s.Store.Read(ctx), o.ID)
	return d, err
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
		views[i] = View{Order: o, ReadAt: now, ReviewUntil: s.reviewUntil(&o), AftersaleEnds: s.aftersaleEnds(&o)}
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
	if err := s.addTransactions(ctx, views, at); err != nil {
		return nil, err
	}
	if err := s.addAftersales(ctx, views, ids, at); err != nil {
		return nil, err
	}
	return views, s.addParcels(ctx, views, ids, at)
}

// addTransactions adds to orders that are shipped what WeChat's component for confirming the receipt asks for.
func (s *Service) addTransactions(ctx context.Context, views []View, at map[int64]int) error {
	var shipped []int64
	for _, v := range views {
		if v.State == model.OrderShipped || v.State == model.OrderCompleted {
			shipped = append(shipped, v.ID)
		}
	}
	if len(shipped) == 0 {
		return nil
	}
	var paid []model.Payment
	err := s.Store.Read(ctx).Select("order_id, transaction_id").Where("settled_order IN ?", shipped).Find(&paid).Error
	for _, p := range paid {
		views[at[p.OrderID]].TransactionID = p.TransactionID
	}
	return store.Classify(err)
}

func (s *Service) addAftersales(ctx context.Context, views []View, ids []int64, at map[int64]int) error {
	var rows []model.Aftersale
	if err := s.Store.Read(ctx).Where("order_id IN ?", ids).Order("created_at, id").Find(&rows).Error; err != nil || len(rows) == 0 {
		return store.Classify(err)
	}
	about := make([]int64, len(rows))
	for i, a := range rows {
		about[i] = a.ID
	}
	var parts []model.AftersaleLine
	if err := s.Store.Read(ctx).Where("aftersale_id IN ?", about).Order("aftersale_id, line_id").Find(&parts).Error; err != nil {
		return store.Classify(err)
	}
	in := map[int64][]model.AftersaleLine{}
	for _, p := range parts {
		in[p.AftersaleID] = append(in[p.AftersaleID], p)
	}
	for _, a := range rows {
		v := &views[at[a.OrderID]]
		v.Aftersales = append(v.Aftersales, Aftersale{Aftersale: a, Lines: in[a.ID]})
	}
	return nil
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
