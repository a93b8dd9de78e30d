package account

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// scope returns whose admins and roles the caller may see: their merchant's; for the platform the named merchant's, or everybody's
// where all is true.
func (a AdminIdentity) scope() (merchantID int64, all bool) {
	if a.Platform && a.Named == 0 {
		return 0, true
	}
	return a.MerchantID, false
}

// within narrows a query to the caller's scope.
func (a AdminIdentity) within(db *gorm.DB) *gorm.DB {
	if merchantID, all := a.scope(); !all {
		return db.Where("merchant_id = ?", merchantID)
	}
	return db
}

// owner returns the merchant that a new admin or role is to belong to: the caller's own, or whichever one of the platform wants
// (0 for the platform itself).
func (a AdminIdentity) owner(wanted int64) (int64, error) {
	if a.Platform {
		if wanted == 0 {
			return a.Named, nil
		}
		return wanted, nil
	}
	if wanted != 0 && wanted != a.MerchantID {
		return 0, fault.New(fault.PermissionDenied)
	}
	return a.MerchantID, nil
}

// AdminInfo is an admin as other admins see them.
type AdminInfo struct {
	model.Admin

	RoleName string
	TOTP     bool // the second factor is on
}

// AdminFilter narrows a list of admins. RoleID 0 means any.
type AdminFilter struct{ RoleID int64 }

// Admins lists the admins in the caller's scope by id.
func (a *Accounts) Admins(ctx context.Context, by AdminIdentity, f AdminFilter, page store.Page) ([]AdminInfo, int64, error) {
	var rows []model.Admin
	var total int64
	q := by.within(a.store.Read(ctx).Model(&model.Admin{}))
	if f.RoleID != 0 {
		q = q.Where("role_id = ?", f.RoleID)
	}
	if err := q.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	if err := q.Session(&gorm.Session{}).Order("id").Limit(page.Limit).Offset(page.Offset()).Find(&rows).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	out, err := a.adminInfos(ctx, rows)
	return out, total, err
}

// Admin returns one admin in the caller's scope.
func (a *Accounts) Admin(ctx context.Context, by AdminIdentity, id int64) (AdminInfo, error) {
	var row model.Admin
	err := by.within(a.store.Read(ctx)).Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return AdminInfo{}, fault.New(fault.NotFoundError)
	}
	if err != nil {
		return AdminInfo{}, store.Classify(err)
	}
	return a.adminInfo(ctx, row)
}

func (a *Accounts) adminInfo(ctx context.Context, row model.Admin) (AdminInfo, error) {
	infos, err := a.adminInfos(ctx, []model.Admin{row})
	if err != nil {
		return AdminInfo{}, err
	}
	return infos[0], nil
}

// adminInfos adds the names of roles and who has a second factor.
func (a *Accounts) adminInfos(ctx context.Context, rows []model.Admin) ([]AdminInfo, error) {
	names, err := a.roleNames(ctx, rows)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	var secured []int64
	err = a.store.Read(ctx).Model(&model.AdminTOTP{}).Where("admin_id IN ? AND confirmed_at > 0", ids).Pluck("admin_id", &secured).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	out := make([]AdminInfo, len(rows))
	for i, r := range rows {
		out[i] = AdminInfo{Admin: r, RoleName: names[r.RoleID], TOTP: slices.Contains(secured, r.ID)}
	}
	return out, nil
}

func (a *Accounts) roleNames(ctx context.Context, admins []model.Admin) (map[int64]string, error) {
	ids := make([]int64, len(admins))
	for i, r := range admins {
		ids[i] = r.RoleID
	}
	var roles []model.Role
	err := a.store.Read(ctx).Select("id", "name").Where("id IN ?", ids).Find(&roles).Error
	names := map[int64]string{}
	for _, r := range roles {
		names[r.ID] = r.Name
	}
	return names, store.Classify(err)
}

// AdminInput is a new admin. MerchantID 0 means the caller's own merchant, or the platform where the caller is the platform's.
type AdminInput struct {
	Username, Password string
	RoleID, MerchantID int64
}

var usernameShape = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{2,63}$`)

// AddAdmin makes an admin. The role must belong to the same merchant and must not allow more than the caller may; a taken username
// is name_taken.
func (a *Accounts) AddAdmin(ctx context.Context, by AdminIdentity, in AdminInput) (AdminInfo, error) {
	if err := in.check("").err(); err != nil {
		return AdminInfo{}, err
	}
	owner, err := by.owner(in.MerchantID)
	if err != nil {
		return AdminInfo{}, err
	}
	row, err := a.newAdmin(ctx, in)
	if err != nil {
		return AdminInfo{}, err
	}
	row.MerchantID = owner
	var role model.Role
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		row.ID = 0
		if err := merchantExists(tx.DB, owner, "merchant_id"); err != nil {
			return err
		}
		var err error
		if role, err = grantable(locking(tx), by, owner, in.RoleID); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Admin, row.ID, nil, row)
	})
	return AdminInfo{Admin: row, RoleName: role.Name}, usernameTaken(err, "username")
}

// check verifies username and password; prefix is where they stand in the body.
func (in *AdminInput) check(prefix string) *check {
	in.Username = strings.ToLower(strings.TrimSpace(in.Username))
	v := newCheck()
	if !usernameShape.MatchString(in.Username) {
		v.wrong.With(prefix+"username", fault.FieldFormat, "3–64 位小写字母、数字或 . _ @ -", "must be 3–64 of a-z 0-9 . _ @ -")
	}
	v.password(prefix+"password", in.Password)
	return v
}

// newAdmin returns the row of an input that was checked, without its merchant.
func (a *Accounts) newAdmin(ctx context.Context, in AdminInput) (model.Admin, error) {
	hash, err := a.hash(ctx, in.Password)
	now := a.now()
	return model.Admin{
		Username: in.Username, PasswordHash: hash, RoleID: in.RoleID, TokensFrom: now, Version: 1, CreatedAt: now, UpdatedAt: now,
	}, err
}

func usernameTaken(err error, field string) error {
	if store.IsDuplicate(err) {
		return fault.New(fault.NameTaken).With(field, fault.FieldDup, "用户名已被使用", "the username is taken")
	}
	return err
}

// grantable returns the role if the caller may give it to an admin of the merchant. Who does give it reads it under its lock, so that it
// is not removed meanwhile.
func grantable(db *gorm.DB, by AdminIdentity, merchantID, roleID int64) (model.Role, error) {
	var role model.Role
	err := db.Where("id = ? AND merchant_id = ? AND deleted_at = 0", roleID, merchantID).Take(&role).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return role, fault.New(fault.ValidationFailed).With("role_id", fault.FieldGone, "角色不存在", "there is no such role")
	}
	if err != nil {
		return role, err
	}
	return role, by.mayGrant(expand(permissionsOf(role), merchantID == 0))
}

// mayGrant refuses what would give somebody more than the caller has.
func (a AdminIdentity) mayGrant(wanted []Permission) error {
	for _, p := range wanted {
		if !a.Can(p) {
			return fault.New(fault.PermissionDenied).Say("不能授予自己没有的权限 "+string(p), "You cannot grant "+string(p)+", which you do not have")
		}
	}
	return nil
}

func merchantExists(db *gorm.DB, id int64, field string) error {
	if id == 0 {
		return nil
	}
	var n int64
	if err := db.Model(&model.Merchant{}).Where("id = ?", id).Count(&n).Error; err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.ValidationFailed).With(field, fault.FieldGone, "商家不存在", "there is no such merchant")
	}
	return nil
}

// AdminChange changes an admin; nil, false and "" leave things as they are. A new password or disabling signs them out everywhere, and
// a new password ends every lock; ResetTOTP turns their second factor off.
type AdminChange struct {
	Version   int64
	RoleID    *int64
	Disabled  *bool
	Password  string
	ResetTOTP bool
}

// ChangeAdmin changes an admin in the caller's scope. Nobody changes their own role or disables themself, so that somebody is
// always left who can.
func (a *Accounts) ChangeAdmin(ctx context.Context, by AdminIdentity, id int64, in AdminChange) (AdminInfo, error) {
	hash := ""
	if in.Password != "" {
		v := newCheck()
		v.password("password", in.Password)
		err := v.err()
		if err == nil {
			hash, err = a.hash(ctx, in.Password)
		}
		if err != nil {
			return AdminInfo{}, err
		}
	}
	var row model.Admin
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		err := by.within(tx.DB).Where("id = ?", id).Take(&row).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.New(fault.NotFoundError)
		}
		if err != nil {
			return err
		}
		was := row
		if err := a.applyAdmin(tx, by, &row, in, hash); err != nil {
			return err
		}
		n, err := tx.Affected(`UPDATE admins SET role_id = ?, disabled = ?, password_hash = ?, tokens_from = ?, failed_count = ?, locked_until = ?,
			version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
			row.RoleID, row.Disabled, row.PasswordHash, row.TokensFrom, row.FailedCount, row.LockedUntil, a.now(), id, in.Version)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.StaleVersion)
		}
		row.Version, row.UpdatedAt = in.Version+1, a.now()
		if err := changelog.Record(tx, changelog.Admin, id, was, changedAdmin(row, in.ResetTOTP)); err != nil {
			return err
		}
		if in.ResetTOTP {
			if err := removeTOTP(tx, id); err != nil {
				return err
			}
		}
		if hash != "" {
			if err := tx.Exec("DELETE FROM admin_failures WHERE admin_id = ?", id).Error; err != nil {
				return err
			}
		}
		if row.TokensFrom == was.TokensFrom {
			return nil
		}
		return a.endSessions(tx, "admin_id = ?", id)
	})
	if err != nil {
		return AdminInfo{}, err
	}
	return a.adminInfo(ctx, row)
}

func (a *Accounts) applyAdmin(tx *store.Tx, by AdminIdentity, row *model.Admin, in AdminChange, hash string) error {
	// Whoever may act on an admin must have what that admin has, or a lesser one could take over the account of a greater.
	if _, err := grantable(tx.DB, by, row.MerchantID, row.RoleID); err != nil && !fault.Is(err, fault.ValidationFailed) {
		return err
	}
	self := by.ID == row.ID
	if in.RoleID != nil && *in.RoleID != row.RoleID {
		if self {
			return fault.New(fault.PermissionDenied).Say("不能修改自己的角色", "You cannot change your own role")
		}
		if _, err := grantable(locking(tx), by, row.MerchantID, *in.RoleID); err != nil {
			return err
		}
		row.RoleID = *in.RoleID
	}
	if in.ResetTOTP && self {
		return fault.New(fault.PermissionDenied).Say("请在账号页关闭自己的两步验证", "Turn your own second factor off on your account's page")
	}
	signOut := false
	if in.Disabled != nil && *in.Disabled != row.Disabled {
		if self {
			return fault.New(fault.PermissionDenied).Say("不能停用自己", "You cannot disable yourself")
		}
		row.Disabled, signOut = *in.Disabled, true
	}
	if hash != "" {
		if self { // there the present password is asked for
			return fault.New(fault.PermissionDenied).Say("请在账号页修改自己的密码", "Change your own password on your account's page")
		}
		row.PasswordHash, row.FailedCount, row.LockedUntil, signOut = hash, 0, 0, true
	}
	if signOut {
		row.TokensFrom = max(row.TokensFrom, a.now()).Add(time.Millisecond)
	}
	return nil
}

// changedAdmin is a changed admin as the change log shows it.
func changedAdmin(row model.Admin, resetTOTP bool) any {
	if !resetTOTP {
		return row
	}
	return struct {
		model.Admin

		SecondFactorReset bool
	}{row, true}
}
