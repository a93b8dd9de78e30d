package policy

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// A policy sets the deadlines of what begins. Only when somebody asks for it are orders that wait already given the deadlines that
// the policy as it is now says: by a job (service/job), which needs the following.

// Refresh brings what changed into memory now, so that Resolve decides by it.
func (p *Policies) Refresh(ctx context.Context) error { return p.follower.Refresh(ctx) }

// Present returns the policy as it is stored; its version is 0 where it was removed.
func (p *Policies) Present(ctx context.Context, id int64) (model.TimeoutPolicy, error) {
	var row model.TimeoutPolicy
	err := p.store.Read(ctx).Raw("SELECT * FROM timeout_policies WHERE id = ? AND deleted_at = 0", id).Scan(&row).Error
	return row, store.Classify(err)
}

// Lock returns a policy that nobody else changes or locks until the transaction ends. It fails with not_found, and with
// permission_denied for another's policy.
func (p *Policies) Lock(tx *store.Tx, by By, id int64) (model.TimeoutPolicy, error) {
	return locked(tx, by, id)
}

// Retimable fails with state_conflict for a policy by which no order that waits can be re-timed.
func Retimable(row model.TimeoutPolicy) error {
	switch {
	case row.Stage != StagePay:
		return fault.New(fault.StateConflict).Say("只有付款阶段的策略可以重算等待中的订单", "Only policies of the stage pay can re-time orders that wait")
	case !row.Enabled || row.RolloutPercent == 0:
		return fault.New(fault.StateConflict).Say("策略未启用，不适用于任何订单", "The policy is off and applies to no order")
	}
	return nil
}

// Visible returns not_found unless there is, or was, such a policy that the merchant may see (0: any).
func (p *Policies) Visible(ctx context.Context, merchantID, id int64) error {
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
