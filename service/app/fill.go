package app

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// firstMerchant is the shop of an installation without demo.
const firstMerchant = "我的店铺"

// fill makes what an empty installation needs: the platform's administrator, the demo shop if it is wanted, a first merchant.
// Of replicas that start together one makes each.
func (a *App) fill(ctx context.Context) error {
	made, password, err := a.Accounts.EnsurePlatformAdmin(ctx, a.Config.Admin.Username, a.Config.Admin.Password)
	if err != nil {
		return err
	}
	if made && password != "" {
		a.FirstPassword = password
	}
	return a.ensureMerchant(ctx)
}

func (a *App) ensureMerchant(ctx context.Context) error {
	var n int64
	if err := a.Store.Read(ctx).Model(&model.Merchant{}).Count(&n).Error; err != nil || n > 0 {
		return store.Classify(err)
	}
	row := model.Merchant{Name: firstMerchant, Version: 1, CreatedAt: a.Now(), UpdatedAt: a.Now()}
	if err := a.Store.Read(ctx).Create(&row).Error; err != nil && !store.IsDuplicate(err) {
		return store.Classify(err)
	}
	return nil
}
