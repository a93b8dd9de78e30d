package account

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Merchants lists all merchants by id.
func (a *Accounts) Merchants(ctx context.Context, page store.Page) ([]model.Merchant, int64, error) {
	var rows []model.Merchant
	var total int64
	db := a.store.Read(ctx)
	if err := db.Model(&model.Merchant{}).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	err := db.Order("id").Limit(page.Limit).Offset(page.Offset()).Find(&rows).Error
	return rows, total, store.Classify(err)
}

// AddMerchant makes a merchant with a role that allows everything, for its first admin. A taken name is name_taken.
func (a *Accounts) AddMerchant(ctx context.Context, name string) (model.Merchant, error) {
	v := newCheck()
	v.line("name", &name, 1, 100)
	if err := v.err(); err != nil {
		return model.Merchant{}, err
	}
	var row model.Merchant
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		row = model.Merchant{Name: name, Version: 1, CreatedAt: a.now(), UpdatedAt: a.now()}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return tx.Create(&model.Role{
			MerchantID: row.ID, Name: ownerRole, Permissions: []string{string(everything)}, Version: 1, CreatedAt: a.now(), ChangedAt: a.now(),
		}).Error
	})
	return row, nameTaken(err)
}

// MerchantChange replaces a merchant's name and state. A disabled merchant's admins are refused at once.
type MerchantChange struct {
	Version  int64
	Name     string
	Disabled bool
}

// ChangeMerchant changes a merchant.
func (a *Accounts) ChangeMerchant(ctx context.Context, id int64, in MerchantChange) (model.Merchant, error) {
	v := newCheck()
	v.line("name", &in.Name, 1, 100)
	if err := v.err(); err != nil {
		return model.Merchant{}, err
	}
	var row model.Merchant
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		err := tx.Where("id = ?", id).Take(&row).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.New(fault.NotFoundError)
		}
		if err != nil {
			return err
		}
		n, err := tx.Affected("UPDATE merchants SET name = ?, disabled = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?",
			in.Name, in.Disabled, a.now(), id, in.Version)
		if err == nil && n == 0 {
			return fault.New(fault.StaleVersion)
		}
		row.Name, row.Disabled, row.Version, row.UpdatedAt = in.Name, in.Disabled, in.Version+1, a.now()
		return err
	})
	return row, nameTaken(err)
}
