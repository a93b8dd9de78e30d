package shipping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Bounds of a merchant's rules.
const (
	MaxRules   = 100
	MaxName    = 64
	MaxRegions = 200
	MaxRegion  = 64
	MaxUnits   = 10_000_000 // pieces, or grams
	MaxSort    = 9999
)

// RuleInput is what a merchant says of a freight rule; see model.FreightRule.
type RuleInput struct {
	Name        string
	Kind        model.FreightKind
	Regions     []string
	FirstUnits  int64
	FirstFen    model.Fen
	StepUnits   int64 // 0 = further units cost nothing
	StepFen     model.Fen
	FreeOverFen model.Fen
	Sort        int
}

// Service keeps the merchants' freight rules.
type Service struct {
	store *store.Store
	now   func() model.Time
}

// New returns the service; now is the shop's clock.
func New(s *store.Store, now func() model.Time) *Service { return &Service{store: s, now: now} }

// List returns the merchant's rules by sort, then id.
func (s *Service) List(ctx context.Context, merchantID int64) ([]model.FreightRule, error) {
	rules, err := Rules(s.store.Read(ctx), merchantID)
	slices.SortFunc(rules, func(a, b model.FreightRule) int { return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.ID, b.ID)) })
	return rules, err
}

// Get returns the merchant's rule, or not_found.
func (s *Service) Get(ctx context.Context, merchantID, id int64) (model.FreightRule, error) {
	return findRule(s.store.Read(ctx), merchantID, id)
}

// Create adds a rule for the merchant; state_conflict where it has MaxRules already.
func (s *Service) Create(ctx context.Context, merchantID int64, in RuleInput) (model.FreightRule, error) {
	if err := in.check(); err != nil {
		return model.FreightRule{}, err
	}
	r := model.FreightRule{MerchantID: merchantID, Version: 1}
	in.fill(&r)
	err := s.store.Tx(ctx, func(tx *store.Tx) error {
		var n int64
		if err := tx.Model(&model.FreightRule{}).Where("merchant_id = ?", merchantID).Count(&n).Error; err != nil {
			return err
		}
		if n >= MaxRules {
			return fault.New(fault.StateConflict).Say(fmt.Sprintf("运费规则最多 %d 条", MaxRules), fmt.Sprintf("A merchant has at most %d freight rules", MaxRules))
		}
		r.ID, r.CreatedAt, r.UpdatedAt = 0, s.now(), s.now()
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		return changelog.Record(tx, changelog.FreightRule, r.ID, nil, r)
	})
	return r, err
}

// Update changes the merchant's rule; not_found, or stale_version where version is not the one that is stored. Orders keep the
// freight they were placed with.
func (s *Service) Update(ctx context.Context, merchantID, id, version int64, in RuleInput) (r model.FreightRule, err error) {
	if err := in.check(); err != nil {
		return r, err
	}
	err = s.store.Tx(ctx, func(tx *store.Tx) error {
		r, err = findRule(tx.DB, merchantID, id)
		if err != nil {
			return err
		}
		was := r
		in.fill(&r)
		r.Version, r.UpdatedAt = version+1, s.now()
		res := tx.Model(&r).Where("version = ?", version).Select("*").Omit("id", "merchant_id", "created_at").Updates(&r)
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.StaleVersion)
		}
		if res.Error != nil {
			return res.Error
		}
		return changelog.Record(tx, changelog.FreightRule, id, was, r)
	})
	return r, err
}

// Delete removes the merchant's rule, or says not_found.
func (s *Service) Delete(ctx context.Context, merchantID, id int64) error {
	return s.store.Tx(ctx, func(tx *store.Tx) error {
		was, err := findRule(tx.DB, merchantID, id)
		if err != nil {
			return err
		}
		n, err := tx.Affected("DELETE FROM freight_rules WHERE id = ? AND merchant_id = ?", id, merchantID)
		if err == nil && n == 0 {
			err = fault.New(fault.NotFoundError)
		}
		if err != nil {
			return err
		}
		return changelog.Record(tx, changelog.FreightRule, id, was, nil)
	})
}

func findRule(db *gorm.DB, merchantID, id int64) (r model.FreightRule, err error) {
	err = db.Where("id = ? AND merchant_id = ?", id, merchantID).Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return r, fault.New(fault.NotFoundError)
	}
	return r, store.Classify(err)
}

func (in RuleInput) fill(r *model.FreightRule) {
	r.Name, r.Kind, r.Regions = in.Name, in.Kind, in.Regions
	r.FirstUnits, r.FirstFen, r.StepUnits, r.StepFen = in.FirstUnits, in.FirstFen, in.StepUnits, in.StepFen
	r.FreeOverFen, r.Sort = in.FreeOverFen, in.Sort
	if r.Regions == nil {
		r.Regions = []string{}
	}
}

// check returns validation_failed with every field that is wrong, or nil.
func (in RuleInput) check() error {
	wrong := fault.New(fault.ValidationFailed)
	if strings.TrimSpace(in.Name) == "" || utf8.RuneCountInString(in.Name) > MaxName {
		wrong.With("name", fault.FieldLength, "请填写 1–64 个字符", "must have 1 to 64 characters")
	}
	if in.Kind != model.FreightPiece && in.Kind != model.FreightWeight {
		wrong.With("kind", fault.FieldChoice, "请选择 piece 或 weight", "must be piece or weight")
	}
	in.checkRegions(wrong)
	for _, f := range []struct {
		name         string
		v, low, high int64
	}{
		{"first_units", in.FirstUnits, 1, MaxUnits},
		{"first_fen", int64(in.FirstFen), 0, int64(model.MaxFen)},
		{"step_units", in.StepUnits, 0, MaxUnits},
		{"step_fen", int64(in.StepFen), 0, int64(model.MaxFen)},
		{"free_over_fen", int64(in.FreeOverFen), 0, int64(model.MaxFen)},
		{"sort", int64(in.Sort), 0, MaxSort},
	} {
		if f.v < f.low || f.v > f.high {
			wrong.With(f.name, fault.FieldRange, fmt.Sprintf("必须在 %d 到 %d 之间", f.low, f.high), fmt.Sprintf("must be from %d to %d", f.low, f.high))
		}
	}
	if in.StepUnits == 0 && in.StepFen > 0 {
		wrong.With("step_units", fault.FieldRequired, "有续费时必填", "is required where step_fen is not 0")
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

func (in RuleInput) checkRegions(wrong *fault.Error) {
	if len(in.Regions) > MaxRegions {
		wrong.With("regions", fault.FieldLength, "最多 200 个地区", "must have at most 200 regions")
		return
	}
	for i, region := range in.Regions {
		field := fmt.Sprintf("regions[%d]", i)
		switch n := utf8.RuneCountInString(region); {
		case n < 2 || n > MaxRegion || strings.TrimSpace(region) != region:
			wrong.With(field, fault.FieldFormat, "请填写省、市名称或 2–6 位行政区划代码", "must be the name of a province or city, or a region code")
		case isCode(region) && (n > 6 || n%2 != 0):
			wrong.With(field, fault.FieldFormat, "行政区划代码为 2、4 或 6 位数字", "a region code has 2, 4 or 6 digits")
		case slices.Contains(in.Regions[:i], region):
			wrong.With(field, fault.FieldDup, "重复", "is there twice")
		}
	}
}
