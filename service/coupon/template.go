package coupon

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// TemplateInput is what a merchant says of a template.
type TemplateInput struct {
	Name           string
	Kind           model.CouponKind
	AmountFen      model.Fen // kind amount only
	PercentOff     int       // kind percent only, 1–99
	MaxDiscountFen model.Fen // kind percent only, 0 = no cap
	ThresholdFen   model.Fen
	Scope          model.CouponScope
	ScopeIDs       []int64 // categories or products of the merchant; none for scope all
	Total          int64
	PerShopper     int64
	StartsAt       model.Time
	EndsAt         model.Time
	ValidDays      int // after the claim; 0 = until EndsAt
}

// TemplateFilter narrows a list of the merchant's templates; the empty State means all.
type TemplateFilter struct {
	MerchantID int64
	State      model.TemplateState
}

// on is the filter as SQL; it says what model.CouponTemplate.State does.
func (f TemplateFilter) on(db *gorm.DB, now model.Time) *gorm.DB {
	q := db.Model(&model.CouponTemplate{}).Where("merchant_id = ?", f.MerchantID)
	switch f.State {
	case model.TemplateUpcoming:
		q = q.Where("starts_at > ? AND ends_at > ? AND stopped_at = 0", now, now)
	case model.TemplateRunning:
		q = q.Where("starts_at <= ? AND ends_at > ? AND stopped_at = 0", now, now)
	case model.TemplateStopped:
		q = q.Where("ends_at > ? AND stopped_at <> 0", now)
	case model.TemplateEnded:
		q = q.Where("ends_at <= ?", now)
	}
	return q
}

// Templates lists the merchant's templates, the newest first, with their number.
func (s *Service) Templates(ctx context.Context, f TemplateFilter, page store.Page) ([]TemplateView, int64, error) {
	var total int64
	of := func() *gorm.DB { return f.on(s.store.Read(ctx), s.now()) }
	if err := of().Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var templates []model.CouponTemplate
	err := of().Order("id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&templates).Error
	if err != nil {
		return nil, 0, store.Classify(err)
	}
	views, err := s.views(ctx, templates)
	return views, total, err
}

// Template returns the merchant's template, or not_found.
func (s *Service) Template(ctx context.Context, merchantID, id int64) (TemplateView, error) {
	t, err := find(s.store.Read(ctx), merchantID, id)
	return s.view(ctx, t, err)
}

// Create adds a template for the merchant.
func (s *Service) Create(ctx context.Context, merchantID int64, in TemplateInput) (TemplateView, error) {
	t := model.CouponTemplate{MerchantID: merchantID, Version: 1}
	err := s.store.Tx(ctx, func(tx *store.Tx) error {
		if err := check(tx.DB, merchantID, in); err != nil {
			return err
		}
		in.fill(&t)
		t.ID, t.CreatedAt, t.UpdatedAt = 0, s.now(), s.now()
		if err := tx.Create(&t).Error; err != nil {
			return err
		}
		return changelog.Record(tx, changelog.CouponTemplate, t.ID, nil, t)
	})
	return s.view(ctx, t, err)
}

// Update changes the merchant's template, for the coupons that shoppers already hold too, except that these keep their end.
// Errors: not_found, stale_version where version is not the one that is stored, total_below_issued where the total is less
// than what is issued or the limit less than what one shopper has.
func (s *Service) Update(ctx context.Context, merchantID, id, version int64, in TemplateInput) (TemplateView, error) {
	var t model.CouponTemplate
	err := s.store.Tx(ctx, func(tx *store.Tx) (err error) {
		if t, err = lock(tx, merchantID, id, version); err != nil {
			return err
		}
		if err := check(tx.DB, merchantID, in); err != nil {
			return err
		}
		if err := belowIssued(tx, t, in); err != nil {
			return err
		}
		was := t
		in.fill(&t)
		t.Version, t.UpdatedAt = version+1, s.now()
		res := tx.Model(&t).Where("version = ? AND issued <= ?", version, in.Total).
			Select("*").Omit("id", "merchant_id", "issued", "stopped_at", "created_at").Updates(&t)
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.StaleVersion)
		}
		if res.Error != nil {
			return res.Error
		}
		return changelog.Record(tx, changelog.CouponTemplate, id, was, t)
	})
	return s.view(ctx, t, err)
}

// Stop ends the claiming of a template; what shoppers hold of it stays as it is. Stopping it again changes nothing. not_found,
// stale_version, state_conflict where it has ended.
func (s *Service) Stop(ctx context.Context, merchantID, id, version int64) (TemplateView, error) {
	return s.stop(ctx, merchantID, id, version, true)
}

// Resume lets shoppers claim a template again that was stopped. Errors are those of Stop.
func (s *Service) Resume(ctx context.Context, merchantID, id, version int64) (TemplateView, error) {
	return s.stop(ctx, merchantID, id, version, false)
}

func (s *Service) stop(ctx context.Context, merchantID, id, version int64, stopped bool) (TemplateView, error) {
	var t model.CouponTemplate
	err := s.store.Tx(ctx, func(tx *store.Tx) (err error) {
		if t, err = lock(tx, merchantID, id, version); err != nil {
			return err
		}
		now := s.now()
		switch {
		case t.State(now) == model.TemplateEnded:
			return fault.New(fault.StateConflict)
		case stopped == (t.StoppedAt != 0):
			changelog.Nothing(ctx)
			return nil
		}
		was := t
		if t.StoppedAt = 0; stopped {
			t.StoppedAt = now
		}
		t.Version, t.UpdatedAt = version+1, now
		n, err := tx.Affected("UPDATE coupon_templates SET stopped_at = ?, version = ?, updated_at = ? WHERE id = ? AND version = ?",
			t.StoppedAt, t.Version, now, id, version)
		if err == nil && n == 0 {
			return fault.New(fault.StaleVersion)
		}
		if err != nil {
			return err
		}
		return changelog.Record(tx, changelog.CouponTemplate, id, was, t)
	})
	return s.view(ctx, t, err)
}

// lock reads the merchant's template under its row lock, in the version that was read.
func lock(tx *store.Tx, merchantID, id, version int64) (model.CouponTemplate, error) {
	t, err := find(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), merchantID, id)
	if err == nil && t.Version != version {
		err = fault.New(fault.StaleVersion)
	}
	return t, err
}

func find(db *gorm.DB, merchantID, id int64) (t model.CouponTemplate, err error) {
	err = db.Where("id = ? AND merchant_id = ?", id, merchantID).Take(&t).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return t, fault.New(fault.NotFoundError)
	}
	return t, store.Classify(err)
}

func belowIssued(tx *store.Tx, t model.CouponTemplate, in TemplateInput) error {
	if in.Total < t.Issued {
		return fault.New(fault.TotalBelowIssued).With("total", fault.FieldRange, "少于已发放的数量", "is below what is issued")
	}
	if in.PerShopper >= t.PerShopper {
		return nil
	}
	var most int64
	if err := tx.Raw("SELECT COALESCE(MAX(seq), 0) FROM coupons WHERE template_id = ?", t.ID).Scan(&most).Error; err != nil {
		return err
	}
	if in.PerShopper < most {
		return fault.New(fault.TotalBelowIssued).With("per_shopper", fault.FieldRange, "少于已有用户领取的数量", "is below what a shopper has claimed")
	}
	return nil
}

func (in TemplateInput) fill(t *model.CouponTemplate) {
	t.Name, t.Kind, t.AmountFen, t.PercentOff, t.MaxDiscountFen = in.Name, in.Kind, in.AmountFen, in.PercentOff, in.MaxDiscountFen
	t.ThresholdFen, t.Scope, t.ScopeIDs = in.ThresholdFen, in.Scope, in.ScopeIDs
	t.Total, t.PerShopper, t.StartsAt, t.EndsAt, t.ValidDays = in.Total, in.PerShopper, in.StartsAt, in.EndsAt, in.ValidDays
	if t.ScopeIDs == nil {
		t.ScopeIDs = []int64{}
	}
}
