package order

import (
	"encoding/json"
	"encoding/xml"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// Pushes are what orders do about WeChat's message pushes, by the name of the event. Each runs in the transaction that marks
// the push as taken.
func (s *Service) Pushes() map[string]func(tx *store.Tx, p wechat.Push) error {
	return map[string]func(tx *store.Tx, p wechat.Push) error{"trade_manage_order_settlement": s.settlementPush}
}

// settlementPush completes a shipped order whose goods WeChat says were received: the shopper confirmed there, or WeChat did
// after its ten days. The event is pushed on shipping too, then without a time of receipt. What is not shipped here stays as
// it is.
func (s *Service) settlementPush(tx *store.Tx, p wechat.Push) error {
	var said struct {
		OutTradeNo  string      `json:"merchant_trade_no" xml:"merchant_trade_no"`
		ConfirmedAt json.Number `json:"confirm_receive_time" xml:"confirm_receive_time"`
	}
	decode := json.Unmarshal
	if p.XML {
		decode = xml.Unmarshal
	}
	if err := decode(p.Message, &said); err != nil {
		return err
	}
	if said.ConfirmedAt == "" || said.ConfirmedAt == "0" {
		return nil
	}
	a, err := payment.AttemptByNo(tx.DB, said.OutTradeNo)
	if err != nil || a == nil {
		return err
	}
	o, err := s.lock(tx, a.OrderID)
	if err != nil || o.State != model.OrderShipped {
		return err
	}
	return s.Complete(tx, o.ID, ActorWeChat, "received, says WeChat")
}
