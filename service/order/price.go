package order

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Repricing is a merchant's adjustment of an unpaid order, in place of the former one.
type Repricing struct {
	AdjustFen model.Fen
	Version   int64 // that was read
}

// Reprice changes what an unpaid order costs. It takes the order's claim, so that nothing is paid meanwhile, and has the live
// attempt ended at WeChat first; if that turns out paid it is settled and the price stays. Where nothing is left to pay the
// order is paid at once. stale_version, order_already_paid, order_closed, order_closing, order_busy, wechat_unavailable.
func (s *Service) Reprice(ctx context.Context, merchantID int64, no, actor string, r Repricing) (*View, error) {
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, err
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimPatience+claimLife)
	defer cancel()
	err = s.changeUnpaid(work, unpaidChange{
		check: func(tx *store.Tx) (*model.Order, error) { return s.repriceable(tx, seen.ID, r) },
		apply: func(tx *store.Tx, o *model.Order, token string) error {
			return s.setPrice(tx, o, actor, r, s.Now(), token)
		},
		claim: func(try func() error) error { return patiently(ctx, try) },
	})
	if err != nil {
		return nil, err
	}
	return s.byIDView(work, seen.ID)
}

// repriceable reads the order under its lock and checks that its price can be changed as asked.
func (s *Service) repriceable(tx *store.Tx, id int64, r Repricing) (*model.Order, error) {
	o, err := s.lock(tx, id)
	if err != nil {
		return nil, err
	}
	if err := payable(o); err != nil {
		return nil, err
	}
	if o.Version != r.Version {
		return nil, fault.New(fault.StaleVersion)
	}
	if due := o.GoodsFen - o.DiscountFen + o.FreightFen; r.AdjustFen < -due || r.AdjustFen > model.MaxFen-due {
		return nil, fault.New(fault.ValidationFailed).With("adjust_fen", fault.FieldRange,
			"调整后的应付金额须在 0 与上限之间", fmt.Sprintf("must be between %d and %d", -due, model.MaxFen-due))
	}
	return o, nil
}

// setPrice writes the price and the lines' shares of the adjustment, and gives the claim with the token back.
func (s *Service) setPrice(tx *store.Tx, o *model.Order, actor string, r Repricing, now model.Time, token string) error {
	goods, err := lines(tx.DB, o.ID)
	if err != nil {
		return err
	}
	was, logged := o.PayableFen, loggedPrice(o)
	o.AdjustmentFen, o.PayableFen = r.AdjustFen, o.GoodsFen-o.DiscountFen+o.FreightFen+r.AdjustFen
	c := change{
		to: o.State, actor: actor, reason: fmt.Sprintf("price %d → %d fen", was, o.PayableFen), at: now,
		where: "closing_reason IS NULL", set: map[string]any{"adjustment_fen": o.AdjustmentFen, "payable_fen": o.PayableFen},
	}
	if token != "" {
		c.underClaim(token)
	}
	ok, err := s.transition(tx, c, o)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.OrderBusy)
	}
	if err := changelog.Record(tx, changelog.Order, o.No, logged, loggedPrice(o)); err != nil {
		return err
	}
	for i, share := range adjustmentShares(goods, r.AdjustFen) {
		if share == goods[i].AdjustmentFen {
			continue
		}
		if err := tx.Exec("UPDATE order_lines SET adjustment_fen = ? WHERE id = ?", share, goods[i].ID).Error; err != nil {
			return err
		}
	}
	if o.PayableFen == 0 {
		return s.payFree(tx, o, now)
	}
	return nil
}

// loggedPrice is an order's price as the change log shows it.
func loggedPrice(o *model.Order) map[string]any {
	return map[string]any{"merchant_id": o.MerchantID, "adjustment_fen": o.AdjustmentFen, "payable_fen": o.PayableFen}
}

// adjustmentShares splits an adjustment over the lines in proportion to what they cost after discount. A negative one takes
// lines to 0 at most; what is left of it comes off the freight, which is no line's.
func adjustmentShares(goods []model.OrderLine, adjust model.Fen) []model.Fen {
	weights := make([]model.Fen, len(goods))
	var sum model.Fen
	for i, l := range goods {
		weights[i] = l.PriceFen*model.Fen(l.Quantity) - l.DiscountFen
		sum += weights[i]
	}
	if adjust >= 0 {
		return model.Share(adjust, weights)
	}
	shares := model.Share(min(-adjust, sum), weights)
	for i := range shares {
		shares[i] = -shares[i]
	}
	return shares
}
