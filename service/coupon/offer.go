package coupon

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Offer is a template that can be claimed now.
type Offer struct {
	Template model.CouponTemplate
	Claimed  int64 // how many the asking shopper has had; 0 for nobody in particular
}

// Left returns how many are left for everybody.
func (o Offer) Left() int64 { return o.Template.Total - o.Template.Issued }

// Claimable reports whether the asking shopper may still claim one.
func (o Offer) Claimable() bool { return o.Claimed < o.Template.PerShopper }

// Offers lists the templates that can be claimed now, those that end first before others, with their number. merchantID 0
// means all merchants, shopperID 0 nobody in particular.
func (s *Service) Offers(ctx context.Context, merchantID, shopperID int64, page store.Page) ([]Offer, int64, error) {
	db, now := s.store.Read(ctx), s.now()
	query := func() *gorm.DB {
		q := db.Model(&model.CouponTemplate{}).Where("starts_at <= ? AND ends_at > ? AND stopped_at = 0 AND issued < total", now, now).Where(openMerchant)
		if merchantID != 0 {
			q = q.Where("merchant_id = ?", merchantID)
		}
		return q
	}
	var total int64
	if err := query().Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var templates []model.CouponTemplate
	if err := query().Order("ends_at, id").Offset(page.Offset()).Limit(page.Limit).Find(&templates).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	claimed, err := claimedOf(db, shopperID, templates)
	if err != nil {
		return nil, 0, err
	}
	offers := make([]Offer, len(templates))
	for i, t := range templates {
		offers[i] = Offer{Template: t, Claimed: claimed[t.ID]}
	}
	return offers, total, nil
}

func claimedOf(db *gorm.DB, shopperID int64, templates []model.CouponTemplate) (map[int64]int64, error) {
	if shopperID == 0 || len(templates) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(templates))
	for i, t := range templates {
		ids[i] = t.ID
	}
	var rows []struct{ TemplateID, Claimed int64 }
	err := db.Raw(`SELECT template_id, COUNT(*) AS claimed FROM coupons WHERE template_id IN ? AND shopper_id = ? GROUP BY template_id`,
		ids, shopperID).Scan(&rows).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	claimed := make(map[int64]int64, len(rows))
	for _, r := range rows {
		claimed[r.TemplateID] = r.Claimed
	}
	return claimed, nil
}
