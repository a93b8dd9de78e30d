package order

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// SetMerchantRemark notes something on an order for the merchant's people; an empty text takes the remark away. version is the
// remark's that was read, 0 where there was none. It is no change of the order, whose version stays. not_found, stale_version.
func (s *Service) SetMerchantRemark(ctx context.Context, merchantID int64, no, actor, text string, version int64) error {
	seen, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		if _, err := s.lock(tx, seen.ID); err != nil {
			return err
		}
		now, err := merchantRemarkOf(tx.DB, seen.ID)
		if err != nil {
			return err
		}
		if now.Version != version {
			return fault.New(fault.StaleVersion)
		}
		if now.Text == text {
			changelog.Nothing(ctx)
			return nil
		}
		err = tx.Create(&model.OrderRemark{
			OrderID: seen.ID, Version: version + 1, MerchantID: merchantID, Text: text, Actor: actor, CreatedAt: s.Now(),
		}).Error
		if err != nil {
			return err
		}
		remark := func(text string) map[string]any {
			return map[string]any{"merchant_id": merchantID, "merchant_remark": text}
		}
		return changelog.Record(tx, changelog.Order, no, remark(now.Text), remark(text))
	})
}

// merchantRemarkOf reads the remark that stands; the zero remark where there is none.
func merchantRemarkOf(db *gorm.DB, orderID int64) (r model.OrderRemark, err error) {
	err = db.Where("order_id = ?", orderID).Order("version DESC").Limit(1).Find(&r).Error
	return r, store.Classify(err)
}
