package notice

import (
	"context"
	"fmt"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// compose makes what is sent from what the database says now. useless says why the message need not be sent any more.
func (s *Service) compose(ctx context.Context, m *model.SubscribeMessage) (out wechat.SubscribeMessage, useless string, err error) {
	t, err := template(s.Store.Read(ctx), m.Event)
	if err != nil {
		return out, "", err
	}
	e, known := eventOf(m.Event)
	switch {
	case t == nil || !known:
		return out, "the event's template is off", nil
	case s.Now().Sub(m.CreatedAt) > useful:
		return out, "the event is more than a day old", nil
	}
	f, err := s.facts(ctx, e, m)
	if err != nil {
		return out, "", err
	}
	if m.Event == EventExpiring && (f.order.State != model.OrderPending || f.order.ClosingReason != nil || f.order.PayDeadline <= s.Now()) {
		return out, "the order does not wait for payment any more", nil
	}
	out = wechat.SubscribeMessage{
		OpenID: f.openID, TemplateID: t.TemplateID, Page: strings.ReplaceAll(t.Page, orderPlace, f.order.No), Values: make(map[string]string, len(t.Fields)),
	}
	for field, source := range t.Fields {
		text, fixed := strings.CutPrefix(source, fixedText)
		if from, ok := e.source(source); ok && !fixed {
			text = from.of(f)
		}
		out.Values[field] = fit(kindOf(field), text)
	}
	return out, "", nil
}

// facts reads what a message may speak of, by a fixed number of queries.
func (s *Service) facts(ctx context.Context, e Event, m *model.SubscribeMessage) (*facts, error) {
	f := &facts{event: e, zone: s.Zone}
	db := s.Store.Read(ctx)
	var names struct{ OpenID, Merchant string }
	err := db.Raw(`SELECT s.openid AS open_id, m.name AS merchant FROM orders o JOIN shoppers s ON s.id = o.shopper_id
		JOIN merchants m ON m.id = o.merchant_id WHERE o.id = ? AND o.shopper_id = ?`, m.OrderID, m.ShopperID).Scan(&names).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	if names.OpenID == "" {
		return nil, fmt.Errorf("subscribe message %d has no order of its shopper", m.ID)
	}
	f.openID, f.merchant = names.OpenID, names.Merchant
	if err := db.Where("id = ?", m.OrderID).Take(&f.order).Error; err != nil {
		return nil, store.Classify(err)
	}
	if err := db.Where("order_id = ?", m.OrderID).Order("line_no").Find(&f.lines).Error; err != nil {
		return nil, store.Classify(err)
	}
	if m.RefundID != 0 {
		return f, store.Classify(db.Where("id = ? AND order_id = ?", m.RefundID, m.OrderID).Take(&f.refund).Error)
	}
	return f, store.Classify(db.Where("order_id = ?", m.OrderID).Order("created_at DESC, id DESC").Limit(1).Find(&f.parcel).Error)
}
