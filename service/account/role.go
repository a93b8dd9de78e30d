package account

import (
	"context"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// ownerRole is the role that the platform and every new merchant begin with; it allows everything.
const ownerRole = "所有者"

func permissionsOf(r model.Role) []Permission {
	out := make([]Permission, len(r.Permissions))
	for i, p := range r.Permissions {
		out[i] = Permission(p)
	}
	return out
}

// RoleInfo is a role with what it allows.
type RoleInfo struct {
	model.Role

	Allows []Permission
}

func roleInfo(r model.Role) RoleInfo { return RoleInfo{r, expand(permissionsOf(r), r.MerchantID == 0)} }

// Roles lists the roles in the caller's scope by id.
func (a *Accounts) Roles(ctx context.Context, by AdminIdentity, page store.Page) ([]RoleInfo, int64, error) {
	var rows []model.Role
	var total int64
	q := by.within(a.store.Read(ctx).Model(&model.Role{})).Where("deleted_at = 0")
	if err := q.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	if err := q.Session(&gorm.Session{}).Order("id").Limit(page.Limit).Offset(page.Offset()).Find(&rows).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	out := make([]RoleInfo, len(rows))
	for i, r := range rows {
		out[i] = roleInfo(r)
	}
	return out, total, nil
}

// RoleInput is a role's name and permissions. MerchantID is heeded for new roles only and as for AdminInput.
type RoleInput struct {
	Name        string
	Permissions []Permission
	MerchantID  int64
}

// check verifies the input and writes the permissions in the table's order, each once.
func (in *RoleInput) check(by AdminIdentity, ofPlatform bool) error {
	v := newCheck()
	v.line("name", &in.Name, 1, 64)
	for _, p := range in.Permissions {
		if info, ok := infoOf(p); !ok || (info.PlatformOnly && !ofPlatform) {
			v.wrong.With("permissions", fault.FieldChoice, "没有权限 "+string(p), "there is no permission "+string(p)+" for this role")
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	in.Permissions = expand(in.Permissions, ofPlatform)
	return by.mayGrant(in.Permissions)
}

func textsOf(ps []Permission) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = string(p)
	}
	return out
}

// AddRole makes a role that allows no more than the caller may. A name that the merchant has already is name_taken.
func (a *Accounts) AddRole(ctx context.Context, by AdminIdentity, in RoleInput) (RoleInfo, error) {
	owner, err := by.owner(in.MerchantID)
	if err != nil {
		return RoleInfo{}, err
	}
	if err := in.check(by, owner == 0); err != nil {
		return RoleInfo{}, err
	}
	row := model.Role{MerchantID: owner, Name: in.Name, Permissions: textsOf(in.Permissions), Version: 1, CreatedAt: a.now(), ChangedAt: a.now()}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		row.ID = 0
		if err := merchantExists(tx.DB, owner, "merchant_id"); err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	return roleInfo(row), nameTaken(err)
}

func nameTaken(err error) error {
	if store.IsDuplicate(err) {
		return fault.New(fault.NameTaken).With("name", fault.FieldDup, "名称已被使用", "the name is taken")
	}
	return err
}

// ChangeRole replaces a role's name and permissions. Nobody takes account:write from their own role, so that somebody is always
// left who can give it back.
func (a *Accounts) ChangeRole(ctx context.Context, by AdminIdentity, id, version int64, in RoleInput) (RoleInfo, error) {
	var row model.Role
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		err := by.within(tx.DB).Where("id = ? AND deleted_at = 0", id).Take(&row).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.New(fault.NotFoundError)
		}
		if err != nil {
			return err
		}
		if err := by.mayGrant(expand(permissionsOf(row), row.MerchantID == 0)); err != nil {
			return err
		}
		if err := in.check(by, row.MerchantID == 0); err != nil {
			return err
		}
		var own int64
		if err := tx.Raw("SELECT role_id FROM admins WHERE id = ?", by.ID).Scan(&own).Error; err != nil {
			return err
		}
		if own == id && !slices.Contains(in.Permissions, AccountWrite) {
			return fault.New(fault.PermissionDenied).Say("不能移除自己角色的 account:write", "You cannot take account:write from your own role")
		}
		row.Name, row.Permissions = in.Name, textsOf(in.Permissions)
		row.ChangedAt = max(a.now(), row.ChangedAt)
		res := tx.Model(&row).Where("version = ?", version).Select("name", "permissions", "version", "changed_at").
			Updates(&model.Role{Name: row.Name, Permissions: row.Permissions, Version: version + 1, ChangedAt: row.ChangedAt})
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.StaleVersion)
		}
		row.Version = version + 1
		return res.Error
	})
	return roleInfo(row), nameTaken(err)
}
