package order

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/store"
)

// judgeRemark asks WeChat about the remark of a placement, if it has one and the order is not there already: a replay needs no
// WeChat.
func (s *Service) judgeRemark(ctx context.Context, shopperID int64, p Placement) (content.Judgement, error) {
	if strings.TrimSpace(p.Remark) == "" {
		return content.Judgement{}, nil
	}
	var placed int64
	err := s.Store.Read(ctx).Raw("SELECT COUNT(*) FROM orders WHERE shopper_id = ? AND idem_key = ?", shopperID, p.Key).Scan(&placed).Error
	if err != nil || placed > 0 {
		return content.Judgement{}, store.Classify(err)
	}
	return s.Content.Judge(ctx, content.Question{ShopperID: shopperID, Kind: model.HoldRemark, Field: "remark", Text: p.Remark})
}

// holdRemark keeps the remark of a new order from its merchant.
func (s *Service) holdRemark(tx *store.Tx, d draft, o *model.Order) error {
	if !d.remark.Held {
		return nil
	}
	return s.Content.Hold(tx, content.Withheld{
		Judgement: d.remark, Kind: model.HoldRemark, RefID: o.ID, MerchantID: o.MerchantID, ShopperID: o.ShopperID, OrderNo: o.No, Text: d.Remark,
	})
}

// RemarkEffect shows the merchant a remark that was held, or never. It is no change of the order: the version stays.
func (s *Service) RemarkEffect() content.Effect {
	lock := func(tx *store.Tx, id int64) error {
		_, err := s.lock(tx, id)
		return err
	}
	return content.Effect{Lock: lock, Apply: func(tx *store.Tx, h model.ContentHold, now model.Time) error {
		to := model.RemarkClear
		if h.State != model.HoldPassed {
			to = model.RemarkRefused
		}
		return tx.Exec("UPDATE orders SET remark_state = ?, updated_at = ? WHERE id = ? AND remark_state IN ?",
			to, now, h.RefID, model.RemarkTransitions.From(to)).Error
	}}
}

// RemarkHeld reports whether nobody but the shopper sees the remark yet.
func (v View) RemarkHeld() bool { return v.RemarkState == model.RemarkHeld }

// RemarkRefused reports whether nobody but the shopper will ever see the remark.
func (v View) RemarkRefused() bool { return v.RemarkState == model.RemarkRefused }

// VisibleRemark is the remark as whoever reads the order sees it; the shopper always sees it.
func (v View) VisibleRemark() string {
	if v.ForMerchant && v.RemarkState != model.RemarkClear {
		return ""
	}
	return v.Remark
}
