package account

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
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
	// Admins is how many have it, as Roles and Role count them.
	Admins int64
}

func roleInfo(r model.Role) RoleInfo {
	return RoleInfo{Role: r, Allows: expand(permissionsOf(r), r.MerchantID == 0)}
}

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
	out, err := a.roleInfos(ctx, rows)
	return out, total, err
}

// Role returns one role in the caller's scope.
func (a *Accounts) Role(ctx context.Context, by AdminIdentity, id int64) (RoleInfo, error) {
	var row model.Role
	err := by.within(a.store.Read(ctx)).Where("id = ? AND deleted_at = 0", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return RoleInfo{}, fault.New(fault.NotFoundError)
	}
	if err != nil {
		return RoleInfo{}, store.Classify(err)
	}
	infos, err := a.roleInfos(ctx, []model.Role{row})
	if err != nil {
		return RoleInfo{}, err
	}
	return infos[0], nil
}

// roleInfos adds how many admins have each role.
func (a *Accounts) roleInfos(ctx context.Context, rows []model.Role) ([]RoleInfo, error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	var counts []struct{ RoleID, N int64 }
	err := a.store.Read(ctx).Raw("SELECT role_id, COUNT(*) AS n FROM admins WHERE role_id IN ? GROUP BY role_id", ids).Scan(&counts).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	out := make([]RoleInfo, len(rows))
	for i, r := range rows {
		out[i] = roleInfo(r)
		for _, c := range counts {
			if c.RoleID == r.ID {
				out[i].Admins = c.N
			}
		}
	}
	return out, nil
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
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Role, row.ID, nil, row)
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
		var err error
		if row, err = roleToChange(tx, by, id); err != nil {
			return err
		}
		if err := in.check(by, row.MerchantID == 0); err != nil {
			return err
		}
		var own int64
		if err := tx.Raw("SELECT role_id FROM admins WHERE id = ?", by.ID).Scan(&own).Error; err != nil {
			return err
		}
		had := expand(permissionsOf(row), row.MerchantID == 0)
		for _, p := range had {
			if own == id && !slices.Contains(in.Permissions, p) { // nobody could give it back who has it from this role alone
				return fault.New(fault.PermissionDenied).Say("不能移除自己角色的 "+string(p), "You cannot take "+string(p)+" from your own role")
			}
		}
		was := row
		row.Name = in.Name
		if !slices.Equal(had, in.Permissions) { // the same list leaves a role that stands for all, those of later versions too
			row.Permissions = textsOf(in.Permissions)
		}
		row.ChangedAt = max(a.now(), row.ChangedAt)
		res := tx.Model(&row).Where("version = ?", version).Select("name", "permissions", "version", "changed_at").
			Updates(&model.Role{Name: row.Name, Permissions: row.Permissions, Version: version + 1, ChangedAt: row.ChangedAt})
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.StaleVersion)
		}
		if res.Error != nil {
			return res.Error
		}
		row.Version = version + 1
		return changelog.Record(tx, changelog.Role, id, was, row)
	})
	if err != nil {
		return RoleInfo{}, nameTaken(err)
	}
	infos, err := a.roleInfos(ctx, []model.Role{row})
	if err != nil {
		return RoleInfo{}, err
	}
	return infos[0], nil
}

// roleToChange reads a role in the caller's scope under its row lock, if it allows no more than the caller may.
func roleToChange(tx *store.Tx, by AdminIdentity, id int64) (model.Role, error) {
	var row model.Role
	err := by.within(locking(tx)).Where("id = ? AND deleted_at = 0", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.New(fault.NotFoundError)
	}
	if err != nil {
		return row, err
	}
	return row, by.mayGrant(expand(permissionsOf(row), row.MerchantID == 0))
}

// locking reads rows under their locks.
func locking(tx *store.Tx) *gorm.DB {
	return tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// DeleteRole removes a role that no admin has, disabled ones included; who gives it to somebody meanwhile waits for its lock and finds it
// gone. stale_version, in_use.
func (a *Accounts) DeleteRole(ctx context.Context, by AdminIdentity, id, version int64) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		row, err := roleToChange(tx, by, id)
		if err != nil {
			return err
		}
		var holders int64
		if err := tx.Raw("SELECT COUNT(*) FROM admins WHERE role_id = ?", id).Scan(&holders).Error; err != nil {
			return err
		}
		if holders > 0 {
			return fault.New(fault.InUse).Say(fmt.Sprintf("还有 %d 位管理员拥有此角色，请先给他们别的角色", holders),
				fmt.Sprintf("%d admins have this role; give them another one first", holders))
		}
		n, err := tx.Affected("DELETE FROM roles WHERE id = ? AND version = ?", id, version)
		if err == nil && n == 0 {
			err = fault.New(fault.StaleVersion)
		}
		if err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Role, id, row, nil)
	})
}
