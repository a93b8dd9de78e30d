package coupon

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// Bounds of a template.
const (
	MaxName       = 64
	MaxScopeIDs   = 200
	MaxTotal      = 100_000_000
	MaxPerShopper = 1000
	MaxValidDays  = 3650
)

// check returns validation_failed with every field that is wrong, or nil. Scope ids are looked up among the merchant's.
func check(db *gorm.DB, merchantID int64, in TemplateInput) error {
	wrong := fault.New(fault.ValidationFailed)
	if strings.TrimSpace(in.Name) == "" || utf8.RuneCountInString(in.Name) > MaxName {
		wrong.With("name", fault.FieldLength, "请填写 1–64 个字符", "must have 1 to 64 characters")
	}
	in.checkKind(wrong)
	between(wrong, "threshold_fen", int64(in.ThresholdFen), 0, int64(model.MaxFen))
	between(wrong, "total", in.Total, 1, MaxTotal)
	between(wrong, "per_shopper", in.PerShopper, 1, MaxPerShopper)
	between(wrong, "valid_days", int64(in.ValidDays), 0, MaxValidDays)
	if in.StartsAt <= 0 {
		wrong.With("starts_at", fault.FieldRequired, "必填", "is required")
	}
	if in.EndsAt <= in.StartsAt {
		wrong.With("ends_at", fault.FieldRange, "必须晚于开始时间", "must be after starts_at")
	}
	if err := in.checkScope(db, merchantID, wrong); err != nil {
		return err
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

func between(wrong *fault.Error, field string, v, low, high int64) {
	if v < low || v > high {
		wrong.With(field, fault.FieldRange, fmt.Sprintf("必须在 %d 到 %d 之间", low, high), fmt.Sprintf("must be from %d to %d", low, high))
	}
}

// checkKind wants the numbers that the kind has, and refuses those of another: a merchant who sends both means something else.
func (in TemplateInput) checkKind(wrong *fault.Error) {
	none := func(field string, v int64) {
		if v != 0 {
			wrong.With(field, fault.FieldRange, "不适用于此类优惠券", "does not belong to this kind of coupon")
		}
	}
	switch in.Kind {
	case model.CouponAmount:
		between(wrong, "amount_fen", int64(in.AmountFen), 1, int64(model.MaxFen))
		none("percent_off", int64(in.PercentOff))
		none("max_discount_fen", int64(in.MaxDiscountFen))
	case model.CouponPercent:
		none("amount_fen", int64(in.AmountFen))
		between(wrong, "percent_off", int64(in.PercentOff), 1, 99)
		between(wrong, "max_discount_fen", int64(in.MaxDiscountFen), 0, int64(model.MaxFen))
	case model.CouponFreeShipping:
		none("amount_fen", int64(in.AmountFen))
		none("percent_off", int64(in.PercentOff))
		none("max_discount_fen", int64(in.MaxDiscountFen))
	default:
		wrong.With("kind", fault.FieldChoice, "请选择 amount、percent 或 free_shipping", "must be amount, percent or free_shipping")
	}
}

func (in TemplateInput) checkScope(db *gorm.DB, merchantID int64, wrong *fault.Error) error {
	var table string
	switch in.Scope {
	case model.ScopeAll:
		if len(in.ScopeIDs) > 0 {
			wrong.With("scope_ids", fault.FieldLength, "全部商品时不能填写", "must be empty for scope all")
		}
		return nil
	case model.ScopeCategory:
		table = "categories"
	case model.ScopeProduct:
		table = "products"
	default:
		wrong.With("scope", fault.FieldChoice, "请选择 all、category 或 product", "must be all, category or product")
		return nil
	}
	if n := len(in.ScopeIDs); n < 1 || n > MaxScopeIDs {
		wrong.With("scope_ids", fault.FieldLength, "请填写 1–200 个", "must have 1 to 200 ids")
		return nil
	}
	var there []int64
	err := db.Table(table).Where("id IN ? AND merchant_id = ? AND deleted_at = 0", in.ScopeIDs, merchantID).Pluck("id", &there).Error
	if err != nil {
		return err
	}
	for i, id := range in.ScopeIDs {
		field := fmt.Sprintf("scope_ids[%d]", i)
		switch {
		case !slices.Contains(there, id):
			wrong.With(field, fault.FieldGone, "不存在", "is not there")
		case slices.Contains(in.ScopeIDs[:i], id):
			wrong.With(field, fault.FieldDup, "重复", "is there twice")
		}
	}
	return nil
}
