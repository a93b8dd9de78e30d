package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// now is when the healthy shop is audited.
const now model.Time = 1_700_000_000_000

const hour = time.Hour

// shop writes rows as the services would leave them. Ids: order N has lines 10N+1 and 10N+2, payment N, refunds 10N+i.
type shop struct {
	t  *testing.T
	db *store.Tx
}

// sold is an order to be built. Every order of the shop has 2 of SKU 1 at 300 and 1 of SKU 2 at 1,000, and 200 of freight.
type sold struct {
	id       int64
	merchant int64 // 0 = 1
	coupon   int64 // takes 160 off: shares 60 and 100
	adjust   model.Fen
	states   []model.OrderState // in which it was one after the other; a repeated one is a change of price
	reason   model.CloseReason
	attempt  model.AttemptState
	shipped  bool
	// refunded is how many of lines 1 and 2 were refunded, and returned to the shelf; freight says whether freight was too.
	refunded [2]int64
	freight  bool
}

func (s *shop) put(rows ...any) {
	s.t.Helper()
	for _, row := range rows {
		if err := s.db.Create(row).Error; err != nil {
			s.t.Fatalf("%T: %v", row, err)
		}
	}
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	if err := s.db.Exec(sql, args...).Error; err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// stock has 100 of each SKU as its ledger says; SKU 3 is merchant 2's.
func (s *shop) stock() {
	at := now.Add(-30 * 24 * hour)
	s.put(&model.Merchant{ID: 1, Name: "one", Version: 1, CreatedAt: at}, &model.Merchant{ID: 2, Name: "two", Version: 1, CreatedAt: at},
		&model.Role{ID: 1, Name: "all", Version: 1}, &model.Role{ID: 2, MerchantID: 2, Name: "all", Version: 1},
		&model.Admin{ID: 1, Username: "a", MerchantID: 1, RoleID: 1, Version: 1}, &model.Admin{ID: 2, Username: "b", MerchantID: 2, RoleID: 2, Version: 1},
		&model.Category{ID: 1, MerchantID: 1, Name: "c", Version: 1}, &model.Category{ID: 2, MerchantID: 1, ParentID: 1, Name: "cc", Version: 1},
		&model.Category{ID: 3, MerchantID: 2, Name: "c", Version: 1})
	for id := int64(1); id <= 3; id++ {
		m := 1 + id/3
		s.put(&model.Product{ID: id, MerchantID: m, CategoryID: []int64{2, 2, 3}[id-1], Name: "p", Version: 1},
			&model.SKU{ID: id, ProductID: id, MerchantID: m, SpecKey: "-", PriceFen: 300, Stock: 100, CreatedAt: at},
			&model.LedgerEntry{MerchantID: m, SKUID: id, Kind: model.LedgerInitial, Delta: 90, CreatedAt: at},
			&model.LedgerEntry{MerchantID: m, SKUID: id, Kind: model.LedgerAdjust, Delta: 10, CreatedAt: at})
	}
	s.put(&model.CouponTemplate{ID: 1, MerchantID: 1, Name: "t", Kind: model.CouponAmount, AmountFen: 160, Scope: model.ScopeAll, Total: 10, PerShopper: 8, Version: 1},
		&model.CouponTemplate{ID: 2, MerchantID: 1, Name: "u", Kind: model.CouponAmount, AmountFen: 160, Scope: model.ScopeCategory, ScopeIDs: []int64{1, 2}, Total: 10, PerShopper: 1, Version: 1},
		&model.CouponTemplate{ID: 3, MerchantID: 2, Name: "v", Kind: model.CouponAmount, AmountFen: 160, Scope: model.ScopeProduct, ScopeIDs: []int64{3}, Total: 10, PerShopper: 1, Version: 1},
		&model.TimeoutPolicy{ID: 1, Stage: "pay", DurationMS: 60_000, Version: 1}, &model.TimeoutPolicy{ID: 2, Stage: "pay", MerchantID: 1, DurationMS: 60_000, Version: 1},
		&model.TimeoutPolicy{ID: 3, Stage: "pay", MerchantID: 2, DurationMS: 60_000, Version: 1})
}

func (s *shop) coupon(id int64, state model.CouponState, order int64) {
	c := model.Coupon{ID: id, TemplateID: 1, MerchantID: 1, ShopperID: 5, Seq: id, State: state, ExpiresAt: now.Add(hour)}
	if order != 0 {
		c.OrderID = &order
	}
	s.put(&c)
	s.exec("UPDATE coupon_templates SET issued = issued + 1 WHERE id = 1")
}

func (s *shop) move(o *model.Order, l *model.OrderLine, kind model.LedgerKind, delta, refund int64) {
	s.put(&model.LedgerEntry{MerchantID: l.MerchantID, SKUID: l.SKUID, Kind: kind, Delta: delta, OrderID: o.ID, LineID: &l.ID, RefundID: refund, CreatedAt: o.CreatedAt})
	s.exec("UPDATE skus SET stock = stock + ? WHERE id = ?", delta, l.SKUID)
}

func (s *shop) message(topic, key string, seq, merchant int64, at model.Time) {
	s.put(&model.Message{Topic: topic, Key: key, Seq: seq, MerchantID: merchant, Payload: "{}", State: model.MessageSent, DueAt: at, CreatedAt: at, SentAt: at})
}

// order builds an order with everything that belongs to it.
func (s *shop) order(d sold) {
	at := now.Add(-2 * hour)
	o := &model.Order{
		ID: d.id, No: fmt.Sprintf("T%d", d.id), MerchantID: max(d.merchant, 1), ShopperID: 5, IdemKey: fmt.Sprint(d.id), OrderType: "goods",
		GoodsFen: 1600, FreightFen: 200, AdjustmentFen: d.adjust, CouponID: d.coupon, PolicyID: 2, PolicyVersion: 1, CloseReason: d.reason,
		PayDeadline: now.Add(-hour), Version: int64(len(d.states)), CreatedAt: at, UpdatedAt: at,
	}
	o.State = d.states[len(d.states)-1]
	lines := []*model.OrderLine{
		{ID: 10*d.id + 1, LineNo: 1, ProductID: 1, SKUID: 1, Quantity: 2, PriceFen: 300},
		{ID: 10*d.id + 2, LineNo: 2, ProductID: 2, SKUID: 2, Quantity: 1, PriceFen: 1000},
	}
	if d.merchant == 2 {
		o.PolicyID = 3
		lines = []*model.OrderLine{{ID: 10*d.id + 1, LineNo: 1, ProductID: 3, SKUID: 3, Quantity: 2, PriceFen: 800}}
	}
	s.shares(o, lines)
	if o.State == model.OrderPending {
		o.PayDeadline = now.Add(hour)
	}
	if d.attempt != "" {
		o.FirstAttemptAt = &at
		s.put(&model.PaymentAttempt{ID: d.id, OrderID: o.ID, MerchantID: o.MerchantID, OutTradeNo: fmt.Sprintf("N%d", d.id), State: d.attempt, AmountFen: o.PayableFen, CreatedAt: at})
	}
	s.put(o)
	var from model.OrderState
	for i, to := range d.states {
		s.put(&model.OrderEvent{OrderID: o.ID, Version: int64(i) + 1, FromState: from, ToState: to, CreatedAt: at})
		s.message("order.changed", fmt.Sprintf("order:%d", o.ID), int64(i)+1, o.MerchantID, at)
		from = to
	}
	paid := o.State != model.OrderPending && (o.State != model.OrderClosed || d.reason == model.CloseRefunded)
	if paid && o.PayableFen > 0 {
		s.payment(o, true, o.PayableFen)
	}
	for i, l := range lines {
		l.OrderID, l.MerchantID = o.ID, o.MerchantID
		if d.shipped {
			l.ShippedQuantity = l.Quantity
		}
		s.put(l)
		s.move(o, l, model.LedgerReserve, -l.Quantity, 0)
		if o.State == model.OrderClosed && d.reason != model.CloseRefunded {
			s.move(o, l, model.LedgerRelease, l.Quantity, 0)
		}
		if d.refunded[i] > 0 {
			s.refund(o, l, d.refunded[i], d.freight && i == 0)
		}
	}
	if d.shipped {
		s.put(&model.Parcel{ID: d.id, OrderID: o.ID, MerchantID: o.MerchantID, State: model.ParcelUploaded})
		s.put(&model.ShippingUpload{ID: o.ID, MerchantID: o.MerchantID, State: model.UploadDone})
		for _, l := range lines {
			s.put(&model.ParcelLine{ParcelID: d.id, LineID: l.ID, Quantity: l.Quantity})
		}
	}
}

// shares splits discount and adjustment over the lines, as the shop does.
func (s *shop) shares(o *model.Order, lines []*model.OrderLine) {
	if o.CouponID != 0 {
		o.DiscountFen = 160
		lines[0].DiscountFen, lines[1].DiscountFen = 60, 100
	}
	var weights []model.Fen
	for _, l := range lines {
		weights = append(weights, l.PriceFen*model.Fen(l.Quantity)-l.DiscountFen)
	}
	onLines, sign := o.AdjustmentFen, model.Fen(1)
	if onLines < 0 {
		onLines, sign = min(-onLines, o.GoodsFen-o.DiscountFen), -1
	}
	for i, share := range model.Share(onLines, weights) {
		lines[i].AdjustmentFen = sign * share
	}
	o.PayableFen = o.GoodsFen - o.DiscountFen + o.FreightFen + o.AdjustmentFen
}

// payment records money: what pays the order, or what came too late.
func (s *shop) payment(o *model.Order, settled bool, amount model.Fen) *model.Payment {
	p := &model.Payment{
		ID: o.ID, OrderID: o.ID, AttemptID: o.ID, MerchantID: o.MerchantID, OutTradeNo: fmt.Sprintf("N%d", o.ID),
		TransactionID: fmt.Sprintf("tx%d", o.ID), AmountFen: amount, PayerFen: amount, Currency: "CNY", Settled: settled, PaidAt: o.CreatedAt, CreatedAt: o.CreatedAt,
	}
	if settled {
		p.SettledOrder = &o.ID
	}
	s.put(p)
	return p
}

// refund gives back some of a line, with its stock.
func (s *shop) refund(o *model.Order, l *model.OrderLine, quantity int64, freight bool) {
	lineFen := model.PartOf(l.PriceFen*model.Fen(l.Quantity)-l.DiscountFen+l.AdjustmentFen, 0, quantity, l.Quantity)
	r := &model.Refund{
		ID: l.ID, OrderID: o.ID, PaymentID: o.ID, MerchantID: o.MerchantID, OutRefundNo: fmt.Sprintf("R%d", l.ID), Kind: model.RefundMerchant,
		State: model.RefundSuccess, AmountFen: lineFen, TotalFen: o.PayableFen, Version: 3, CreatedAt: o.CreatedAt, EndedAt: o.CreatedAt,
	}
	if freight {
		r.FreightFen = o.FreightFen
		r.AmountFen += r.FreightFen
	}
	if o.PayableFen == 0 {
		r.PaymentID = 0
	}
	s.put(r, &model.RefundLine{RefundID: r.ID, LineID: l.ID, Quantity: quantity, AmountFen: lineFen})
	s.exec("UPDATE order_lines SET refunding_quantity = ?, refunded_quantity = ?, refunded_fen = ? WHERE id = ?", quantity, quantity, lineFen, l.ID)
	if l.ShippedQuantity == 0 {
		s.exec("UPDATE order_lines SET dropped_quantity = ? WHERE id = ?", quantity, l.ID)
	}
	s.exec("UPDATE orders SET refunded_fen = refunded_fen + ? WHERE id = ?", r.AmountFen, o.ID)
	s.exec("UPDATE payments SET refunded_fen = refunded_fen + ? WHERE id = ?", r.AmountFen, r.PaymentID)
	s.move(o, l, model.LedgerReturn, quantity, r.ID)
	s.message("refund.created", fmt.Sprintf("refund:%d", r.ID), 1, o.MerchantID, r.CreatedAt)
	s.message("refund.succeeded", fmt.Sprintf("refund:%d", r.ID), r.Version, o.MerchantID, r.EndedAt)
}

// late records a payment that came after order id was closed, and its refund that is under way.
func (s *shop) late(id int64, amount model.Fen) {
	var o model.Order
	if err := s.db.Where("id = ?", id).Take(&o).Error; err != nil {
		s.t.Fatal(err)
	}
	p := s.payment(&o, false, amount)
	s.exec("UPDATE payments SET refunded_fen = ? WHERE id = ?", amount, p.ID)
	s.put(&model.Refund{
		ID: 10*id + 9, OrderID: id, PaymentID: p.ID, MerchantID: p.MerchantID, OutRefundNo: "L" + p.OutTradeNo, Kind: model.RefundLate,
		State: model.RefundProcessing, AmountFen: amount, TotalFen: amount, Version: 2, CreatedAt: p.CreatedAt,
	},
		&model.Anomaly{ID: id, MerchantID: p.MerchantID, Kind: "late_payment", Ref: p.TransactionID, OrderID: id, PaymentID: p.ID, RefundID: 10*id + 9, State: model.AnomalyOpen, Seen: 1})
	s.message("refund.created", fmt.Sprintf("refund:%d", 10*id+9), 1, p.MerchantID, p.CreatedAt)
	s.message("payment.late", fmt.Sprintf("payment:%d", p.ID), 1, p.MerchantID, p.CreatedAt)
}

// Orders of the healthy shop, by what became of them.
const (
	pendingOrder  = 1 + iota // with a locked coupon
	closingOrder             // long past its deadline and waiting for WeChat
	paidOrder                // with a used coupon
	adjustedOrder            // 700 cheaper, paid
	cheapOrder               // lines at 0 and 100 of freight left, shipped
	freeOrder                // nothing to pay
	shippedOrder             // one piece of line 1 refunded
	completedOrder
	timedOutOrder  // with the coupon given back, and money that came too late
	cancelledOrder // by the shopper, after a change of price
	refundedOrder  // in full before shipping
	otherOrder     // merchant 2's
	raisedOrder    // 333 dearer, paid, both lines refunded after shipping, the coupon given back
	givenOrder     // nothing to pay, and refunded before shipping
)

const waitingMessage = 900

// healthy builds a shop in which every invariant holds.
func healthy(t *testing.T, tx *store.Tx) *shop {
	t.Helper()
	s := &shop{t, tx}
	s.stock()
	const (
		pending, paid, shipped, completed, closed = model.OrderPending, model.OrderPaid, model.OrderShipped, model.OrderCompleted, model.OrderClosed
	)
	list := func(l ...model.OrderState) []model.OrderState { return l }
	s.order(sold{id: pendingOrder, coupon: 1, states: list(pending), attempt: model.AttemptOpen})
	s.order(sold{id: closingOrder, states: list(pending), attempt: model.AttemptClosing})
	s.order(sold{id: paidOrder, coupon: 2, states: list(pending, paid), attempt: model.AttemptPaid})
	s.order(sold{id: adjustedOrder, adjust: -700, states: list(pending, pending, paid), attempt: model.AttemptPaid})
	s.order(sold{id: cheapOrder, adjust: -1700, states: list(pending, pending, paid, shipped), attempt: model.AttemptPaid, shipped: true})
	s.order(sold{id: freeOrder, adjust: -1800, states: list(pending, pending, paid)})
	s.order(sold{id: shippedOrder, states: list(pending, paid, shipped), attempt: model.AttemptPaid, shipped: true, refunded: [2]int64{1, 0}})
	s.order(sold{id: completedOrder, states: list(pending, paid, shipped, completed), attempt: model.AttemptPaid, shipped: true})
	s.order(sold{id: timedOutOrder, coupon: 3, states: list(pending, closed), reason: model.CloseTimeout, attempt: model.AttemptPaid})
	s.order(sold{id: cancelledOrder, adjust: 50, states: list(pending, pending, closed), reason: model.CloseShopper})
	s.order(sold{id: refundedOrder, coupon: 4, states: list(pending, paid, closed), reason: model.CloseRefunded, attempt: model.AttemptPaid, refunded: [2]int64{2, 1}, freight: true})
	s.order(sold{id: otherOrder, merchant: 2, states: list(pending, paid), attempt: model.AttemptPaid})
	s.order(sold{id: givenOrder, adjust: -1800, states: list(pending, pending, paid, paid, closed), reason: model.CloseRefunded, refunded: [2]int64{2, 1}})
	s.order(sold{id: raisedOrder, coupon: 5, adjust: 333, states: list(pending, pending, paid, shipped), attempt: model.AttemptPaid, shipped: true, refunded: [2]int64{2, 1}})
	s.exec("UPDATE orders SET pay_deadline = ?, closing_reason = 'timeout', closing_note = 'wechat', closing_next_at = ? WHERE id = ?", now.Add(-9*hour), now, closingOrder)
	s.coupon(1, model.CouponLocked, pendingOrder)
	s.coupon(2, model.CouponUsed, paidOrder)
	s.coupon(3, model.CouponAvailable, 0)
	s.coupon(4, model.CouponExpired, 0)
	s.coupon(5, model.CouponAvailable, 0)
	s.late(timedOutOrder, 1640)
	s.put(&model.Aftersale{
		ID: 1, OrderID: shippedOrder, MerchantID: 1, ShopperID: 5, Type: model.AftersaleReturn, State: model.AftersaleRefunded,
		RefundID: 10*shippedOrder + 1, AmountFen: 300, Restock: true, Version: 5, UpdatedAt: now.Add(-hour),
	}, &model.AftersaleLine{AftersaleID: 1, LineID: 10*shippedOrder + 1, Quantity: 1})
	s.exec("UPDATE refunds SET aftersale_id = 1, kind = 'aftersale' WHERE id = ?", 10*shippedOrder+1)
	s.message("aftersale.refunded", "aftersale:1", 5, 1, now.Add(-hour))
	// One that waits for the merchant, of the other piece.
	s.put(&model.Aftersale{
		ID: 2, OrderID: shippedOrder, MerchantID: 1, ShopperID: 5, Type: model.AftersaleReturn, State: model.AftersaleRequested, AmountFen: 300,
		Version: 1, UpdatedAt: now.Add(-hour),
	}, &model.AftersaleLine{AftersaleID: 2, LineID: 10*shippedOrder + 1, Quantity: 1})
	s.message("aftersale.requested", "aftersale:2", 1, 1, now.Add(-hour))
	line := int64(10*completedOrder + 1)
	s.put(&model.Review{ID: 1, MerchantID: 1, OrderID: completedOrder, LineID: &line, ProductID: 1, ShopperID: 5, Rating: 5, State: model.ReviewHeld, Version: 1},
		&model.ProductRating{ProductID: 2, MerchantID: 1},
		&model.ContentHold{ID: 1, Kind: model.HoldRemark, RefID: paidOrder, MerchantID: 1, ShopperID: 5, State: model.HoldHeld, Version: 1},
		&model.ContentHold{ID: 2, Kind: model.HoldReview, RefID: 1, MerchantID: 1, ShopperID: 5, State: model.HoldHeld, Version: 1},
		&model.ContentHold{ID: 3, Kind: model.HoldNickname, RefID: 5, ShopperID: 5, State: model.HoldHeld, Version: 1})
	// A message that waits its turn, one that is dead, and one behind it.
	s.put(&model.Message{ID: waitingMessage, Topic: "order.changed", Key: "x", Seq: 1, MerchantID: 1, State: model.MessagePending, DueAt: now - 1},
		&model.Message{Topic: "order.changed", Key: "y", Seq: 1, MerchantID: 1, State: model.MessageDead, DueAt: now + 1<<40},
		&model.Message{Topic: "order.changed", Key: "y", Seq: 2, MerchantID: 1, State: model.MessagePending, DueAt: now + 1<<40},
		&model.Message{Topic: "order.changed", Key: "y", Seq: 3, MerchantID: 1, State: model.MessagePending, DueAt: now.Add(-hour)})
	return s
}
