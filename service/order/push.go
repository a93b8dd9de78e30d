package order

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// Pushes are what orders do about WeChat's message pushes, by the name of the event. Each runs in the transaction that marks
// the push as taken.
func (s *Service) Pushes() map[string]func(tx *store.Tx, p wechat.Push) error {
	return map[string]func(tx *store.Tx, p wechat.Push) error{
		"trade_manage_order_settlement":  s.settlementPush,
		"trade_manage_remind_shipping":   s.remindPush,
		"trade_manage_remind_access_api": s.platformPush(payment.AnomalyShippingUnmanaged, "WeChat wants shipping information by its interface"),
		"wxa_trade_controlled":           s.platformPush(payment.AnomalyTradeControlled, "WeChat restricts the mini-program's payments"),
	}
}

// shippingSaid is what the pushes of WeChat's shipping management say; times are unix seconds, absent or 0 where nothing has
// happened yet.
type shippingSaid struct {
	OutTradeNo   string      `json:"merchant_trade_no" xml:"merchant_trade_no"`
	Message      string      `json:"msg" xml:"msg"`
	SettlementBy json.Number `json:"estimated_settlement_time" xml:"estimated_settlement_time"`
	Method       json.Number `json:"confirm_receive_method" xml:"confirm_receive_method"`
	ReceivedAt   json.Number `json:"confirm_receive_time" xml:"confirm_receive_time"`
	SettledAt    json.Number `json:"settlement_time" xml:"settlement_time"`
}

func said(p wechat.Push) (said shippingSaid, err error) {
	decode := json.Unmarshal
	if p.XML {
		decode = xml.Unmarshal
	}
	return said, decode(p.Message, &said)
}

// instant reads unix seconds; 0 for nothing.
func instant(seconds json.Number) model.Time {
	n, err := seconds.Int64()
	if err != nil || n <= 0 {
		return 0
	}
	return model.Time(n * 1000)
}

// pushedOrder locks the order that a push is about; nil if it is about none of ours.
func (s *Service) pushedOrder(tx *store.Tx, about shippingSaid) (*model.Order, error) {
	a, err := payment.AttemptByNo(tx.DB, about.OutTradeNo)
	if err != nil || a == nil {
		return nil, err
	}
	return s.lock(tx, a.OrderID)
}

// settlementPush notes what WeChat says of an order's money, and completes a shipped order whose goods it says were received: the
// shopper confirmed there, or WeChat did after its ten days. The event is pushed on shipping too, then without a time of receipt.
// What is not shipped here stays as it is.
func (s *Service) settlementPush(tx *store.Tx, p wechat.Push) error {
	about, err := said(p)
	if err != nil {
		return err
	}
	o, err := s.pushedOrder(tx, about)
	if err != nil || o == nil {
		return err
	}
	if err := s.noteSettlement(tx, o, about); err != nil {
		return err
	}
	if instant(about.ReceivedAt) == 0 || o.State != model.OrderShipped {
		return nil
	}
	return s.Complete(tx, o.ID, ActorWeChat, "received, says WeChat")
}

// noteSettlement keeps beside the upload what WeChat says of the money. Pushes may come in any order: what was said once stays
// unless something else is said.
func (s *Service) noteSettlement(tx *store.Tx, o *model.Order, about shippingSaid) error {
	u, err := uploadOf(tx.DB, o.ID)
	if err != nil || u == nil {
		return err
	}
	set := map[string]any{}
	for column, at := range map[string]model.Time{
		"settlement_due_at": instant(about.SettlementBy), "received_at": instant(about.ReceivedAt), "settled_at": instant(about.SettledAt),
	} {
		if at != 0 {
			set[column] = at
		}
	}
	if by := map[json.Number]model.ReceivedBy{"1": model.ReceivedAuto, "2": model.ReceivedHand}[about.Method]; by != "" && set["received_at"] != nil {
		set["received_by"] = by
	}
	if len(set) == 0 {
		return nil
	}
	set["updated_at"] = max(s.Now(), u.UpdatedAt+1) // a repeated push changes something too
	return s.moveUpload(tx, u, u.State, set)
}

// remindPush is WeChat missing the shipping information of an order. One that is not shipped is overdue from now on; an upload that
// waits is tried at once.
func (s *Service) remindPush(tx *store.Tx, p wechat.Push) error {
	about, err := said(p)
	if err != nil {
		return err
	}
	o, err := s.pushedOrder(tx, about)
	if err != nil || o == nil {
		return err
	}
	now := s.Now()
	if o.State == model.OrderPaid && o.ShipOverdueAt == nil {
		ok, err := s.transition(tx, change{
			to: model.OrderPaid, topic: TopicOverdue, actor: ActorWeChat, reason: "not shipped in time, says WeChat", at: now,
			set: map[string]any{"ship_due_at": nil, "ship_overdue_at": now},
		}, o)
		if err == nil && !ok {
			err = fmt.Errorf("reminding of order %d: %w", o.ID, errMoved)
		}
		return err
	}
	u, err := uploadOf(tx.DB, o.ID)
	if err != nil || u == nil || u.State != model.UploadWaiting || u.NextAt == nil || *u.NextAt <= now {
		return err
	}
	ctx := context.WithoutCancel(tx.Statement.Context)
	tx.AfterCommit(func() { s.schedule(ctx, uploadTask(o.ID, now)) })
	return s.moveUpload(tx, u, u.State, map[string]any{"next_at": now, "updated_at": now})
}

// platformPush reports what concerns the whole mini-program, and with it every merchant's money: an anomaly that only the platform
// sees and resolves, and a loud line in the log.
func (s *Service) platformPush(kind, what string) func(tx *store.Tx, p wechat.Push) error {
	return func(tx *store.Tx, p wechat.Push) error {
		about, err := said(p)
		if err != nil {
			return err
		}
		detail := what
		if about.Message != "" {
			detail += ": " + cutText(about.Message, 500)
		}
		ctx := context.WithoutCancel(tx.Statement.Context)
		tx.AfterCommit(func() { s.Log.ErrorContext(ctx, detail, "event", p.Event) })
		return payment.Report(tx, model.Anomaly{Kind: kind, Ref: p.ID, Detail: detail, CreatedAt: s.Now()})
	}
}
