package policy

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// A policy sets the deadlines of what begins. Only when somebody asks for it are orders that wait already given the deadlines that
// the policy as it is now says: by a job, whose row is here and whose work is the order service's (order.Retimer).

const shownJobs = 50

// Retime asks for the orders that wait to get the deadlines of the policy's present version. It fails as Update does, and with
// state_conflict for a policy that is off or of another stage than paying, and while a former job of the policy runs.
func (p *Policies) Retime(ctx context.Context, by By, id int64) (model.RetimeJob, error) {
	var job model.RetimeJob
	err := p.store.Tx(ctx, func(tx *store.Tx) error {
		row, err := locked(tx, by, id)
		if err != nil {
			return err
		}
		conflict := fault.New(fault.StateConflict)
		switch {
		case row.Stage != StagePay:
			return conflict.Say("只有付款阶段的策略可以重算等待中的订单", "Only policies of the stage pay can re-time orders that wait")
		case !row.Enabled || row.RolloutPercent == 0:
			return conflict.Say("策略未启用，不适用于任何订单", "The policy is off and applies to no order")
		}
		var running int64
		if err := tx.Raw("SELECT COUNT(*) FROM retime_jobs WHERE policy_id = ? AND state = ?", id, model.RetimeRunning).Scan(&running).Error; err != nil {
			return err
		}
		if running > 0 {
			return conflict.Say("该策略的重算正在进行", "Orders are being re-timed by this policy already")
		}
		now := p.now()
		job = model.RetimeJob{PolicyID: row.ID, Version: row.Version, State: model.RetimeRunning, Actor: by.Actor, CreatedAt: now, UpdatedAt: now}
		return tx.Create(&job).Error
	})
	return job, err
}

// CancelRetime ends the running job of a policy; what it changed stays. It fails as Update does, and with state_conflict where
// none runs.
func (p *Policies) CancelRetime(ctx context.Context, by By, id int64) error {
	return p.store.Tx(ctx, func(tx *store.Tx) error {
		if _, err := locked(tx, by, id); err != nil {
			return err
		}
		now := p.now()
		n, err := tx.Affected("UPDATE retime_jobs SET state = ?, error = ?, updated_at = ?, ended_at = ? WHERE policy_id = ? AND state = ?",
			model.RetimeCancelled, "by "+by.Actor, now, now, id, model.RetimeRunning)
		if err == nil && n == 0 {
			return fault.New(fault.StateConflict).Say("该策略没有进行中的重算", "No orders are being re-timed by this policy")
		}
		return err
	})
}

// RetimeJobs returns the newest jobs of a policy that the merchant may see (0: any), newest first. It fails with not_found.
func (p *Policies) RetimeJobs(ctx context.Context, merchantID, id int64) ([]model.RetimeJob, error) {
	if err := p.visible(ctx, merchantID, id); err != nil {
		return nil, err
	}
	var rows []model.RetimeJob
	err := p.store.Read(ctx).Where("policy_id = ?", id).Order("id DESC").Limit(shownJobs).Find(&rows).Error
	return rows, store.Classify(err)
}

// visible returns not_found unless there is, or was, such a policy that the merchant may see (0: any).
func (p *Policies) visible(ctx context.Context, merchantID, id int64) error {
	q := p.store.Read(ctx).Model(&model.TimeoutPolicy{}).Where("id = ?", id)
	if merchantID != 0 {
		q = q.Where("merchant_id IN ?", []int64{0, merchantID})
	}
	var n int64
	if err := q.Count(&n).Error; err != nil {
		return store.Classify(err)
	}
	if n == 0 {
		return fault.New(fault.NotFoundError)
	}
	return nil
}
