package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// EnsurePlatformAdmin makes the administrator of the platform where there is no admin at all; made is true if this call did. Without
// a password it makes one up and has show tell it. Of replicas that start together one makes the administrator and shows a password.
//
// show is called between the administrator's row and its commit, so that no instant at which a start ends can lose the password:
// before the commit nobody was made, and the next start shows another one; after it the password has been shown. Shown after the
// commit it could be lost, and nobody could ever log in. A password shown for nothing does no harm, as the last one shown is the
// right one. No other replica shows any meanwhile: its row of the same name waits for this commit.
func (a *Accounts) EnsurePlatformAdmin(ctx context.Context, username, password string, show func(password string) error) (made bool, err error) {
	username = strings.ToLower(strings.TrimSpace(username))
	if !usernameShape.MatchString(username) {
		return false, errors.New("admin.username: 3–64 of a-z 0-9 . _ @ - are needed")
	}
	var n int64
	if err := a.store.Read(ctx).Model(&model.Admin{}).Count(&n).Error; err != nil || n > 0 {
		return false, store.Classify(err)
	}
	toShow, shown := password == "", false
	if toShow {
		password = newPassword()
	}
	hash, err := a.hash(ctx, password)
	if err != nil {
		return false, err
	}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := a.createPlatformAdmin(tx, username, hash); err != nil || !toShow || shown {
			return err
		}
		failpoint.Hit("admin.written")
		shown = true // also if the transaction is repeated
		if err := show(password); err != nil {
			return fmt.Errorf("showing the administrator's password: %w", err)
		}
		failpoint.Hit("admin.shown")
		return nil
	})
	switch {
	case err == nil:
		failpoint.Hit("admin.committed")
		return true, nil
	case shown:
		return false, fmt.Errorf("the administrator's password that was shown is right only if the next start shows no other: %w", err)
	case store.IsDuplicate(err): // another replica was faster
		return false, nil
	}
	return false, err
}

func (a *Accounts) createPlatformAdmin(tx *store.Tx, username, hash string) error {
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
}
