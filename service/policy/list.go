package policy

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// List returns a page of policies, in the order in which they are tried within a stage, and how many there are. A merchant is
// shown its own and those for all merchants; merchant 0 is shown everything.
func (p *Policies) List(ctx context.Context, merchantID int64, page store.Page) ([]model.TimeoutPolicy, int64, error) {
	q := p.store.Read(ctx).Model(&model.TimeoutPolicy{}).Where("deleted_at = 0")
	if merchantID != 0 {
		q = q.Where("merchant_id IN ?", []int64{0, merchantID})
	}
	var total int64
	if err := q.Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.TimeoutPolicy
	err := q.Order("stage, CASE WHEN merchant_id = 0 THEN 1 ELSE 0 END, CASE WHEN order_type = '' THEN 1 ELSE 0 END, " +
		"CASE WHEN biz_line = '' THEN 1 ELSE 0 END, id DESC").Offset(page.Offset()).Limit(page.Limit).Find(&rows).Error
	return rows, total, store.Classify(err)
}

// Get returns a policy that the merchant may see (0: any). It fails with not_found, also for one that was removed.
func (p *Policies) Get(ctx context.Context, merchantID, id int64) (model.TimeoutPolicy, error) {
	row, err := p.Present(ctx, id)
	if err == nil && (row.ID == 0 || merchantID != 0 && row.MerchantID != 0 && row.MerchantID != merchantID) {
		err = fault.New(fault.NotFoundError)
	}
	return row, err
}

// Versions returns every version of a policy that the merchant may see (0: any), newest first. It fails with not_found.
func (p *Policies) Versions(ctx context.Context, merchantID, id int64) ([]model.TimeoutPolicyVersion, error) {
	if err := p.Visible(ctx, merchantID, id); err != nil {
		return nil, err
	}
	var rows []model.TimeoutPolicyVersion
	err := p.store.Read(ctx).Where("policy_id = ?", id).Order("version DESC").Find(&rows).Error
	return rows, store.Classify(err)
}
