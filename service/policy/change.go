package policy

import (
	"context"
	"regexp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// By is who changes policies: MerchantID 0 is the platform, which may change all of them; others change their own only.
type By struct {
	MerchantID int64
	Actor      string // such as "admin:3"; every version keeps it
}

// Draft is a new policy. MerchantID 0, empty OrderType and empty BizLine mean any.
type Draft struct {
	Stage          string
	MerchantID     int64
	OrderType      string
	BizLine        string
	DurationMS     int64
	Enabled        bool
	RolloutPercent int
}

// Change is what may be changed of a policy; nil leaves a value as it is. Version is the one that was read. What a policy
// applies to never changes, since the orders that it was rolled out to are known by its id: Stage, MerchantID, OrderType and
// BizLine, where given, must be what they are.
type Change struct {
	DurationMS     *int64
	Enabled        *bool
	RolloutPercent *int
	Version        int64

	Stage      *string
	MerchantID *int64
	OrderType  *string
	BizLine    *string
}

// same refuses a change of what the policy applies to.
func (c Change) same(row model.TimeoutPolicy) error {
	bad := fault.New(fault.ValidationFailed)
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"stage", c.Stage != nil && *c.Stage != row.Stage},
		{"merchant_id", c.MerchantID != nil && *c.MerchantID != row.MerchantID},
		{"order_type", c.OrderType != nil && *c.OrderType != row.OrderType},
		{"biz_line", c.BizLine != nil && *c.BizLine != row.BizLine},
	} {
		if f.differs {
			bad.With(f.name, fault.FieldChoice, "不能修改，请新建策略", "cannot be changed; make another policy")
		}
	}
	if len(bad.Fields) > 0 {
		return bad
	}
	return nil
}

// on makes the change of a row.
func (c Change) on(row *model.TimeoutPolicy) {
	if c.DurationMS != nil {
		row.DurationMS = *c.DurationMS
	}
	if c.Enabled != nil {
		row.Enabled = *c.Enabled
	}
	if c.RolloutPercent != nil {
		row.RolloutPercent = *c.RolloutPercent
	}
}

// Create stores a new policy as its version 1. Values out of range fail with validation_failed, a policy beyond the creator's
// own merchant with permission_denied.
func (p *Policies) Create(ctx context.Context, by By, d Draft) (model.TimeoutPolicy, error) {
	if err := by.mayMake(d); err != nil {
		return model.TimeoutPolicy{}, err
	}
	if err := check(d); err != nil {
		return model.TimeoutPolicy{}, err
	}
	var row model.TimeoutPolicy
	err := p.store.Tx(ctx, func(tx *store.Tx) error {
		if err := merchantExists(tx, d.MerchantID); err != nil {
			return err
		}
		now := p.now()
		row = model.TimeoutPolicy{
			Stage: d.Stage, MerchantID: d.MerchantID, OrderType: d.OrderType, BizLine: d.BizLine, DurationMS: d.DurationMS,
			Enabled: d.Enabled, RolloutPercent: d.RolloutPercent, Version: 1, CreatedAt: now, ChangedAt: now,
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := keep(tx, row, made{by.Actor, model.PolicyCreated, 0}); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.TimeoutPolicy, row.ID, nil, row)
	})
	return row, p.changed(ctx, err)
}

// mayMake refuses a policy beyond the creator's own merchant.
func (by By) mayMake(d Draft) error {
	if by.MerchantID != 0 && by.MerchantID != d.MerchantID {
		return fault.New(fault.PermissionDenied).
			Say("商家只能设置自己的超时策略", "A merchant sets policies for itself only; give its merchant_id")
	}
	return nil
}

// Update makes a new version. It fails with stale_version where version is not the policy's, with not_found, with
// permission_denied for another's policy, and with validation_failed.
func (p *Policies) Update(ctx context.Context, by By, id int64, c Change) (model.TimeoutPolicy, error) {
	var row model.TimeoutPolicy
	err := p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		if row, err = locked(tx, by, id); err != nil {
			return err
		}
		if c.Version != row.Version {
			return fault.New(fault.StaleVersion)
		}
		if err := c.same(row); err != nil {
			return err
		}
		c.on(&row)
		return p.raise(tx, &row, made{by.Actor, model.PolicyUpdated, 0})
	})
	return row, p.changed(ctx, err)
}

// Rollback makes a new version with the values of a former one: of the one before the present, where to is 0. version is the
// one that was read, 0 leaves the comparison out. It fails as Update does, and with state_conflict where there is no such
// former version.
func (p *Policies) Rollback(ctx context.Context, by By, id, version, to int64) (model.TimeoutPolicy, error) {
	var row model.TimeoutPolicy
	err := p.store.Tx(ctx, func(tx *store.Tx) (err error) {
		if row, err = locked(tx, by, id); err != nil {
			return err
		}
		if version != 0 && version != row.Version {
			return fault.New(fault.StaleVersion)
		}
		from := to
		if from == 0 {
			from = row.Version - 1
		}
		var former model.TimeoutPolicyVersion
		err = tx.Where("policy_id = ? AND version = ? AND version < ?", id, from, row.Version).Limit(1).Find(&former).Error
		if err != nil {
			return err
		}
		if former.Version == 0 {
			return fault.New(fault.StateConflict).Say("没有可以回滚到的历史版本", "There is no such former version to go back to")
		}
		row.DurationMS, row.Enabled, row.RolloutPercent = former.DurationMS, former.Enabled, former.RolloutPercent
		return p.raise(tx, &row, made{by.Actor, model.PolicyRolledBack, former.Version})
	})
	return row, p.changed(ctx, err)
}

// Remove takes a policy away; its versions stay. It fails as Update does.
func (p *Policies) Remove(ctx context.Context, by By, id, version int64) error {
	err := p.store.Tx(ctx, func(tx *store.Tx) error {
		row, err := locked(tx, by, id)
		if err != nil {
			return err
		}
		if version != row.Version {
			return fault.New(fault.StaleVersion)
		}
		row.Enabled, row.DeletedAt = false, p.now()
		return p.raise(tx, &row, made{by.Actor, model.PolicyRemoved, 0})
	})
	return p.changed(ctx, err)
}

// changed brings a committed change into this replica's memory at once; the others follow within a second. Where that fails
// this replica follows within a second too, so the change itself has not failed.
func (p *Policies) changed(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if err := p.follower.Refresh(ctx); err != nil {
		p.log.Warn("a changed policy is not in memory yet", "error", err)
	}
	return nil
}

// raise stores the row's values as its next version.
func (p *Policies) raise(tx *store.Tx, row *model.TimeoutPolicy, m made) error {
	if err := check(Draft{row.Stage, row.MerchantID, row.OrderType, row.BizLine, row.DurationMS, row.Enabled, row.RolloutPercent}); err != nil {
		return err
	}
	var was model.TimeoutPolicy
	if err := tx.Where("id = ?", row.ID).Take(&was).Error; err != nil {
		return err
	}
	row.Version++
	row.ChangedAt = p.now()
	n, err := tx.Affected(`UPDATE timeout_policies SET duration_ms = ?, enabled = ?, rollout_percent = ?, deleted_at = ?, changed_at = ?, version = ?
		WHERE id = ? AND version = ?`,
		row.DurationMS, row.Enabled, row.RolloutPercent, row.DeletedAt, row.ChangedAt, row.Version, row.ID, row.Version-1)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.StaleVersion)
	}
	if err := keep(tx, *row, m); err != nil {
		return err
	}
	if !row.DeletedAt.IsZero() {
		return changelog.Record(tx, changelog.TimeoutPolicy, row.ID, was, nil)
	}
	return changelog.Record(tx, changelog.TimeoutPolicy, row.ID, was, row)
}

// locked reads a policy that by may change.
func locked(tx *store.Tx, by By, id int64) (model.TimeoutPolicy, error) {
	var row model.TimeoutPolicy
	err := tx.Raw("SELECT * FROM timeout_policies WHERE id = ? AND deleted_at = 0"+tx.ForUpdate(), id).Scan(&row).Error
	switch {
	case err != nil:
		return row, err
	case row.ID == 0, by.MerchantID != 0 && row.MerchantID != 0 && row.MerchantID != by.MerchantID:
		return row, fault.New(fault.NotFoundError)
	case by.MerchantID != 0 && row.MerchantID == 0:
		return row, fault.New(fault.PermissionDenied).Say("通用策略只能由平台修改", "A policy for all merchants is the platform's to change")
	}
	return row, nil
}

// made says how a version came to be.
type made struct {
	actor  string
	action model.PolicyAction
	from   int64 // the version whose values a rollback took
}

func keep(tx *store.Tx, row model.TimeoutPolicy, m made) error {
	return tx.Create(&model.TimeoutPolicyVersion{
		PolicyID: row.ID, Version: row.Version, DurationMS: row.DurationMS, Enabled: row.Enabled, RolloutPercent: row.RolloutPercent,
		Action: m.action, FromVersion: m.from, Actor: m.actor, CreatedAt: row.ChangedAt,
	}).Error
}

func merchantExists(tx *store.Tx, id int64) error {
	if id == 0 {
		return nil
	}
	var n int64
	if err := tx.Raw("SELECT COUNT(*) FROM merchants WHERE id = ?", id).Scan(&n).Error; err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.ValidationFailed).With("merchant_id", fault.FieldGone, "商家不存在", "is no merchant")
	}
	return nil
}

var bizLine = regexp.MustCompile(`^[0-9a-z_-]{0,32}$`)

// check refuses what would be a slip: a duration outside the stage's bounds is usually one in another unit than milliseconds.
func check(d Draft) error {
	bad := fault.New(fault.ValidationFailed)
	s, known := stages[d.Stage]
	if !known {
		return bad.With("stage", fault.FieldChoice, "未知的阶段", "is not a known stage")
	}
	if !s.allows(d.DurationMS) {
		bad.With("duration_ms", fault.FieldRange, s.rangeZH(), s.rangeEN())
	}
	if d.RolloutPercent < 0 || d.RolloutPercent > 100 {
		bad.With("rollout_percent", fault.FieldRange, "须在 0 到 100 之间", "must be from 0 to 100")
	}
	if d.OrderType != "" && d.OrderType != model.OrderTypeGoods && d.OrderType != model.OrderTypeVirtual {
		bad.With("order_type", fault.FieldChoice, "须为 goods 或 virtual", "must be goods or virtual")
	}
	if !bizLine.MatchString(d.BizLine) {
		bad.With("biz_line", fault.FieldFormat, "须为 1–32 位小写字母、数字、_、-", "must be 1 to 32 of a-z, 0-9, _ and -")
	}
	if len(bad.Fields) > 0 {
		return bad
	}
	return nil
}
