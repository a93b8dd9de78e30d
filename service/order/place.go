package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/cart"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// KindPay is the timeout kind of an unpaid order's deadline (orders.pay_deadline). Its key is the order's id.
const KindPay = "pay"

// Placement is a basket the shopper submits, with the amount that was shown.
type Placement struct {
	Basket
	ExpectedPayableFen model.Fen `json:"expected_payable_fen"`
	Remark             string    `json:"remark,omitempty"`
	// Key is the Idempotency-Key: the same body again gives the order that it made.
	Key string `json:"-"`
}

// hash identifies the body of a placement.
func (p Placement) hash() (string, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// draft is an order on its way through the placing transaction. Ids and number are made before it.
type draft struct {
	Placement
	shopperID int64
	hash      string
	trace     string // the traceparent of the placing
	orderID   int64
	lineID    int64 // the first of as many as there are items
	remark    content.Judgement
}

// Place makes an order of a basket, or returns the one that the same Idempotency-Key made before. Beside the errors of
// Quote: price_changed (with the new quote as an extra member "quote"), unpaid_limit, address_required,
// idempotency_key_reused, content_refused (the remark), rate_limited. A payable of 0 is paid at once. The deadline is scheduled after the commit.
func (s *Service) Place(ctx context.Context, shopperID int64, p Placement) (o *model.Order, err error) {
	ctx, span := s.Tracer.Start(ctx, "order.place")
	defer func() {
		if o != nil {
			span.SetAttributes(attribute.Int64("order.id", o.ID), attribute.String("order.no", o.No))
		}
		ended(span, err)
	}()
	return s.placeOnce(ctx, shopperID, p)
}

func (s *Service) placeOnce(ctx context.Context, shopperID int64, p Placement) (*model.Order, error) {
	hash, err := p.hash()
	if err != nil {
		return nil, err
	}
	judged, err := s.judgeRemark(ctx, shopperID, p) // before the queue: nobody waits there for WeChat
	if err != nil {
		return nil, err
	}
	leave, err := s.queue.enter(ctx, shopperID)
	if err != nil {
		return nil, err
	}
	defer leave()
	d := draft{Placement: p, shopperID: shopperID, hash: hash, trace: event.TraceParent(ctx), remark: judged}
	if d.orderID, err = s.Store.NextIDs(ctx, "orders", 1); err != nil {
		return nil, err
	}
	if d.lineID, err = s.Store.NextIDs(ctx, "order_lines", int64(len(p.Items))); err != nil {
		return nil, err
	}
	var placed *model.Order
	err = s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		placed, err = s.place(tx, d)
		return err
	})
	if errors.Is(err, inventory.ErrShort) {
		return nil, s.explainShort(ctx, p.Items)
	}
	if err != nil {
		return nil, err
	}
	return placed, nil
}

func (s *Service) place(tx *store.Tx, d draft) (*model.Order, error) {
	f, err := s.facts(tx, d)
	if err != nil || f.before != nil {
		return f.before, err
	}
	q, err := s.price(d.Basket, f.basis)
	if err != nil {
		return nil, err
	}
	if q.FreightFen == nil {
		return nil, fault.New(fault.AddressRequired).With("address_id", fault.FieldRequired, "请选择收货地址", "is required: something is shipped")
	}
	if q.PayableFen != d.ExpectedPayableFen {
		return nil, fault.New(fault.PriceChanged).Put("quote", q)
	}
	now := s.Now()
	o, lines := s.compose(d, q, f.address, now)
	if err := cart.RemoveItems(tx, d.shopperID, d.cartItems()); err != nil {
		return nil, err
	}
	var b store.Batch
	if d.CouponID != 0 {
		coupon.Lock(&b, d.CouponID, d.shopperID, o.ID, now)
	}
	if err := s.insert(tx, &b, o, lines); err != nil {
		return nil, err
	}
	if err := s.holdRemark(tx, d, o); err != nil {
		return nil, err
	}
	if o.PayableFen == 0 {
		if err := tx.Send(&b); err != nil {
			return nil, err
		}
		b = store.Batch{}
		if err := s.payFree(tx, o, now); err != nil {
			return nil, err
		}
	} else {
		ctx := tx.Statement.Context
		tx.AfterCommit(func() {
			failpoint.Hit("place.committed")
			s.schedule(context.WithoutCancel(ctx), pendingTasks(o)...)
			failpoint.Hit("place.scheduled")
		})
	}
	inventory.Reserve(&b, lines, ActorShopper(d.shopperID), now)
	err = tx.Send(&b)
	failpoint.Hit("place.written")
	return o, err
}

// compose makes the rows of the order from its quote.
func (s *Service) compose(d draft, q *Quote, address *model.OrderAddress, now model.Time) (*model.Order, []model.OrderLine) {
	o := &model.Order{
		ID: d.orderID, No: newNumber(now.Std().In(s.Zone)), MerchantID: q.MerchantID, ShopperID: d.shopperID,
		State: model.OrderPending, OrderType: model.OrderTypeVirtual,
		GoodsFen: q.GoodsFen, DiscountFen: q.DiscountFen, FreightFen: *q.FreightFen, PayableFen: q.PayableFen,
		CouponID: d.CouponID, Remark: d.Remark, IdemKey: d.Key, IdemHash: d.hash, Version: 1, CreatedAt: now, UpdatedAt: now,
		TraceParent: d.trace,
	}
	if d.remark.Held {
		o.RemarkState = model.RemarkHeld
	}
	lines := make([]model.OrderLine, len(q.Lines))
	for i, l := range q.Lines {
		lines[i] = model.OrderLine{
			ID: d.lineID + int64(i), OrderID: o.ID, LineNo: i + 1, MerchantID: o.MerchantID, ProductID: l.ProductID, SKUID: l.SKUID,
			Name: l.Name, Image: l.Image, Specs: l.Specs, Virtual: l.Virtual,
			Quantity: l.Quantity, PriceFen: l.PriceFen, DiscountFen: l.DiscountFen, CreatedAt: now,
		}
		if !l.Virtual {
			o.OrderType, o.Address = model.OrderTypeGoods, address
		}
	}
	tail := tailOf(o.Address)
	o.ReceiverPhoneTail = &tail
	decision := s.decide(policy.StagePay, o)
	o.PayDeadline = now.Add(max(decision.Duration, time.Second))
	o.PolicyID, o.PolicyVersion = decision.PolicyID, decision.Version
	if o.PayableFen > 0 {
		o.RemindAt = s.decide(policy.StageRemind, o).Before(o.PayDeadline, now)
	}
	return o, lines
}

// pendingTasks are the deadlines that an unpaid order has.
func pendingTasks(o *model.Order) []timeout.Task {
	tasks := []timeout.Task{stageTask(KindPay, o.ID, o.PayDeadline)}
	if o.RemindAt != nil {
		tasks = append(tasks, stageTask(KindRemind, o.ID, *o.RemindAt))
	}
	return tasks
}

// insert adds to the batch the order, its lines, its first event and its first message.
func (s *Service) insert(tx *store.Tx, b *store.Batch, o *model.Order, lines []model.OrderLine) error {
	if err := store.Insert(tx, b, *o); err != nil {
		return err
	}
	if err := store.Insert(tx, b, lines...); err != nil {
		return err
	}
	created := change{actor: ActorShopper(o.ShopperID), reason: "placed", at: o.CreatedAt}
	return s.record(tx, b, TopicCreated, "", created, []*model.Order{o})
}

// payFree pays an order of which nothing is left to pay, in the transaction that made it so. There is no payment behind it.
func (s *Service) payFree(tx *store.Tx, o *model.Order, now model.Time) error {
	ok, err := s.transition(tx, change{
		to: model.OrderPaid, actor: ActorShopper(o.ShopperID), reason: "nothing to pay", at: now, set: map[string]any{"paid_at": now},
	}, o)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("order: an order of this transaction changed under it")
	}
	o.PaidAt = now
	if o.CouponID == 0 {
		return nil
	}
	return coupon.Use(tx, []int64{o.CouponID}, now)
}

func (d draft) cartItems() []int64 {
	var ids []int64
	for _, it := range d.Items {
		if it.CartItemID != 0 {
			ids = append(ids, it.CartItemID)
		}
	}
	return ids
}

// explainShort says which items were short when the reservation failed, read after the rollback. Where stock has come back
// meanwhile no item is named.
func (s *Service) explainShort(ctx context.Context, items []Item) error {
	want := map[int64]int64{}
	for _, it := range items {
		want[it.SKUID] += it.Quantity
	}
	short, err := inventory.Short(s.Store.Read(ctx), want)
	if err != nil {
		return err
	}
	e := fault.New(fault.StockInsufficient)
	for i, it := range items {
		if left, ok := short[it.SKUID]; ok {
			e.With(shortField(i), fault.FieldStock, leftZH(left), leftEN(left))
		}
	}
	return e
}

func leftZH(n int64) string { return "库存仅剩 " + strconv.FormatInt(n, 10) + " 件" }
func leftEN(n int64) string { return "only " + strconv.FormatInt(n, 10) + " left" }
