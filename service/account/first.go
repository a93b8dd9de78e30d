package account

import (
	"context"
	"errors"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// EnsurePlatformAdmin makes the administrator of the platform where there is no admin at all. Without a password it makes one
// up; made is true and password what to print once if this call made the administrator. Of replicas that start together one
// makes it.
func (a *Accounts) EnsurePlatformAdmin(ctx context.Context, username, password string) (made bool, generated string, err error) {
	username = strings.ToLower(strings.TrimSpace(username))
	if !usernameShape.MatchString(username) {
		return false, "", errors.New("admin.username: 3–64 of a-z 0-9 . _ @ - are needed")
	}
	var n int64
	if err := a.store.Read(ctx).Model(&model.Admin{}).Count(&n).Error; err != nil || n > 0 {
		return false, "", store.Classify(err)
	}
	if password == "" {
		password = newPassword()
		generated = password
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return false, "", err
	}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		var role model.Role
		if err := tx.Where("merchant_id = 0 AND name = ? AND deleted_at = 0", ownerRole).Limit(1).Find(&role).Error; err != nil {
			return err
		}
		if role.ID == 0 {
			role = model.Role{Name: ownerRole, Permissions: []string{string(everything)}, Version: 1, CreatedAt: a.now(), ChangedAt: a.now()}
			if err := tx.Create(&role).Error; err != nil {
				return err
			}
		}
		return tx.Create(&model.Admin{
			Username: username, PasswordHash: hash, RoleID: role.ID, TokensFrom: a.now(), Version: 1, CreatedAt: a.now(), UpdatedAt: a.now(),
		}).Error
	})
	if store.IsDuplicate(err) { // another replica was faster
		return false, "", nil
	}
	return err == nil, generated, err
}
