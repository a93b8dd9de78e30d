package app

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/demo"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// firstMerchant is the shop of an installation without demo.
const firstMerchant = "我的店铺"

// fill makes what an empty installation needs: the platform's administrator, the demo shop if it is wanted, a first merchant.
// Of replicas that start together one makes each.
func (a *App) fill(ctx context.Context) error {
	made, err := a.Accounts.EnsurePlatformAdmin(ctx, a.Config.Admin.Username, a.Config.Admin.Password, a.ShowPassword)
	if err != nil {
		return err
	}
	a.PasswordShown = made && a.Config.Admin.Password == ""
	if a.Config.Demo {
		filler := demo.Filler{Store: a.Store, Now: a.Now, Log: a.Log, Catalog: a.Catalog, Merchants: a.Accounts, Pictures: a.Files, Simulated: a.Config.SandboxStandsIn()}
		if _, err := filler.Fill(ctx); err != nil {
			return err
		}
	}
	return a.ensureMerchant(ctx)
}

func (a *App) ensureMerchant(ctx context.Context) error {
	var n int64
	if err := a.Store.Read(ctx).Model(&model.Merchant{}).Count(&n).Error; err != nil || n > 0 {
		return store.Classify(err)
	}
	if _, err := a.Accounts.AddMerchant(ctx, firstMerchant); err != nil && !fault.Is(err, fault.NameTaken) {
		return err
	}
	return nil
}
