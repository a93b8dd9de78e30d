package account

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
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

// Merchant returns one merchant.
func (a *Accounts) Merchant(ctx context.Context, id int64) (model.Merchant, error) {
	var row model.Merchant
	err := a.store.Read(ctx).Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.New(fault.NotFoundError)
	}
	return row, store.Classify(err)
}

// AddMerchant makes a merchant with a role that allows everything, for its first admin. A taken name is name_taken.
func (a *Accounts) AddMerchant(ctx context.Context, name string) (model.Merchant, error) {
	return a.addMerchant(ctx, name, nil)
}

// OpenMerchant makes a merchant together with its first admin, who may do everything there; so the caller must be able to grant
// that. A taken name or username is name_taken, and then nothing is made.
func (a *Accounts) OpenMerchant(ctx context.Context, by AdminIdentity, name string, first AdminInput) (model.Merchant, error) {
	if err := by.mayGrant(expand([]Permission{everything}, false)); err != nil {
		return model.Merchant{}, err
	}
	if err := first.check("admin.").err(); err != nil {
		return model.Merchant{}, err
	}
	admin, err := a.newAdmin(ctx, first)
	if err != nil {
		return model.Merchant{}, err
	}
	return a.addMerchant(ctx, name, &admin)
}

func (a *Accounts) addMerchant(ctx context.Context, name string, first *model.Admin) (model.Merchant, error) {
	v := newCheck()
	v.line("name", &name, 1, 100)
	if err := v.err(); err != nil {
		return model.Merchant{}, err
	}
	var row model.Merchant
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		row = model.Merchant{Name: name, Version: 1, CreatedAt: a.now(), UpdatedAt: a.now()}
		if err := nameTaken(tx.Create(&row).Error); err != nil {
			return err
		}
		role := model.Role{
			MerchantID: row.ID, Name: ownerRole, Permissions: []string{string(everything)}, Version: 1, CreatedAt: a.now(), ChangedAt: a.now(),
		}
		if err := tx.Create(&role).Error; err != nil {
			return err
		}
		err := errors.Join(changelog.Record(tx, changelog.Merchant, row.ID, nil, loggedMerchant(row)), changelog.Record(tx, changelog.Role, role.ID, nil, role))
		if err != nil || first == nil {
			return err
		}
		admin := *first
		admin.MerchantID, admin.RoleID = row.ID, role.ID
		if err := usernameTaken(tx.Create(&admin).Error, "admin.username"); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Admin, admin.ID, nil, admin)
	})
	return row, err
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
			err = fault.New(fault.StaleVersion)
		}
		if err != nil {
			return err
		}
		was := row
		row.Name, row.Disabled, row.Version, row.UpdatedAt = in.Name, in.Disabled, in.Version+1, a.now()
		return changelog.Record(tx, changelog.Merchant, id, loggedMerchant(was), loggedMerchant(row))
	})
	return row, nameTaken(err)
}

// loggedMerchant is a merchant as the change log shows it; the entry is the merchant's own.
func loggedMerchant(m model.Merchant) map[string]any {
	return map[string]any{"merchant_id": m.ID, "name": m.Name, "disabled": m.Disabled}
}
