package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// AdminToken is a token with whom it is for.
type AdminToken struct {
	Token

	Admin AdminIdentity
}

// Credentials are what an admin logs in with. TOTP is a code of the second factor or a recovery code, for those who have one.
type Credentials struct{ Username, Password, TOTP string }

// LoginAdmin makes a token for an admin and keeps its session. Errors: login_failed (also for an unknown username, in the same
// time), login_locked after too many failures, totp_required and totp_invalid where the second factor is on, permission_denied for a
// disabled admin, merchant_disabled, rate_limited where many log in at once.
func (a *Accounts) LoginAdmin(ctx context.Context, in Credentials, from Client) (AdminToken, error) {
	in.Username = strings.ToLower(strings.TrimSpace(in.Username))
	row, err := a.checkLogin(ctx, in, from)
	if err != nil {
		return AdminToken{}, err
	}
	return a.issueAdmin(ctx, row, from)
}

func (a *Accounts) issueAdmin(ctx context.Context, row model.Admin, from Client) (AdminToken, error) {
	at := max(a.now(), row.TokensFrom)
	t, err := a.issue(kindAdmin, row.ID, at, AdminLogin)
	if err != nil {
		return AdminToken{}, err
	}
	who, err := a.adminIdentity(ctx, row.ID, at, 0)
	if fault.Is(err, fault.TokenInvalid) { // disabled
		return AdminToken{}, fault.New(fault.PermissionDenied).Say("账号已停用", "This account is disabled")
	}
	if err != nil {
		return AdminToken{}, err
	}
	return AdminToken{t, who}, a.sessions.open(ctx, row.ID, t.ref, at, from)
}

// checkLogin finds an admin by name and checks the password, and then the code. Only what passes both begins the counts anew: else a
// known password would leave any number of guesses at the code. Whoever waits for a turn to hash is not read before: so a flood of
// guesses at once cannot get past the lock.
func (a *Accounts) checkLogin(ctx context.Context, in Credentials, from Client) (model.Admin, error) {
	release, err := a.turns.take(ctx)
	if err != nil {
		return model.Admin{}, err
	}
	defer release()
	row, err := a.adminBy(ctx, "username = ?", in.Username)
	if fault.Is(err, fault.NotFoundError) {
		return row, a.refuseStranger(in, from)
	}
	if err != nil {
		return row, err
	}
	if wait := row.LockedUntil.Sub(a.now()); wait > 0 {
		return row, fault.New(fault.LoginLocked).After(wait)
	}
	source := ofAddress(from)
	if err := a.tryPassword(ctx, row, in.Password, source, everywhere); err != nil {
		return row, err
	}
	err = a.secondFactor(ctx, row.ID, in.TOTP)
	switch {
	case fault.Is(err, fault.TOTPInvalid):
		return row, cmp.Or(a.countWrongCode(ctx, row.ID), err)
	case err != nil:
		return row, err
	case row.FailedCount > 0:
		err = a.forgetWrongCodes(ctx, row.ID)
	}
	return row, cmp.Or(err, a.forgetFailures(ctx, row.ID, source))
}

// prove checks the password of an admin who is logged in, and then what second asks for, counting failures of both. They are counted
// by the session, so that nobody else's failures keep an admin from what makes the account safe again.
func (a *Accounts) prove(ctx context.Context, by AdminIdentity, password string, second func() error) (model.Admin, error) {
	release, err := a.turns.take(ctx)
	if err != nil {
		return model.Admin{}, err
	}
	defer release()
	row, err := a.adminBy(ctx, "id = ?", by.ID)
	if err != nil {
		return row, err
	}
	source := ofSession(by.Token)
	if err := a.tryPassword(ctx, row, password, source); err != nil {
		return row, err
	}
	err = second()
	switch {
	case fault.Is(err, fault.TOTPInvalid):
		return row, cmp.Or(a.countFailure(ctx, row.ID, source), err)
	case err != nil:
		return row, err
	}
	return row, a.forgetFailures(ctx, row.ID, source)
}

func (a *Accounts) adminBy(ctx context.Context, where string, arg any) (row model.Admin, err error) {
	err = a.store.Read(ctx).Where(where, arg).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.New(fault.NotFoundError)
	}
	return row, store.Classify(err)
}

// tryPassword checks a password unless its source is locked. A wrong one is login_failed and counts under source and also. The caller
// holds a turn.
func (a *Accounts) tryPassword(ctx context.Context, row model.Admin, password, source string, also ...string) error {
	failed, err := a.failuresOf(ctx, row.ID, source)
	if err != nil {
		return err
	}
	if wait := failed.locks(a.now(), triesOf(source)); wait > 0 {
		return fault.New(fault.LoginLocked).After(wait)
	}
	ok, err := verify(row.PasswordHash, password)
	if err != nil || ok {
		return err
	}
	if err := a.countFailure(ctx, row.ID, append(also, source)...); err != nil {
		return err
	}
	return fault.New(fault.LoginFailed)
}

// ChangePassword replaces the caller's password and signs out everywhere; the token that comes back works on. A wrong old
// password is validation_failed; too many of them lock this for the session.
func (a *Accounts) ChangePassword(ctx context.Context, by AdminIdentity, oldPassword, newPassword string, from Client) (AdminToken, error) {
	v := newCheck()
	v.password("new_password", newPassword)
	if err := v.err(); err != nil {
		return AdminToken{}, err
	}
	row, err := a.prove(ctx, by, oldPassword, func() error { return nil })
	if fault.Is(err, fault.LoginFailed) {
		return AdminToken{}, fault.New(fault.ValidationFailed).With("old_password", fault.FieldFormat, "原密码不正确", "the old password is wrong")
	}
	if err != nil {
		return AdminToken{}, err
	}
	hash, err := a.hash(ctx, newPassword)
	if err != nil {
		return AdminToken{}, err
	}
	// The first millisecond after now, so that a token issued in this one is refused too.
	row.TokensFrom = max(row.TokensFrom, a.now()).Add(time.Millisecond)
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE admins SET password_hash = ?, tokens_from = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?",
			hash, row.TokensFrom, a.now(), by.ID, row.Version)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.StaleVersion)
		}
		err = changelog.Record(tx, changelog.Admin, by.ID,
			map[string]any{"merchant_id": row.MerchantID, "password_hash": row.PasswordHash}, map[string]any{"password_hash": hash})
		if err != nil {
			return err
		}
		return a.endSessions(tx, "admin_id = ?", by.ID)
	})
	if err != nil {
		return AdminToken{}, err
	}
	return a.issueAdmin(ctx, row, from)
}

// AuthenticateAdmin returns whose token it is and what they may do, read anew each time, so that a disabled admin, a changed role
// or a disabled merchant counts at once on every replica. merchantID is the merchant that the request names, or 0. Errors:
// token_invalid, merchant_disabled, permission_denied (another's merchant), not_found (no such merchant).
func (a *Accounts) AuthenticateAdmin(ctx context.Context, token string, merchantID int64) (AdminIdentity, error) {
	id, c, err := a.parse(token, kindAdmin)
	if err != nil {
		return AdminIdentity{}, err
	}
	who, err := a.adminIdentity(ctx, id, model.Time(c.IssuedMS), merchantID)
	if err == nil {
		a.sessions.note(c.ID)
	}
	who.Token = c.ref()
	return who, err
}

func (a *Accounts) adminIdentity(ctx context.Context, id int64, issued model.Time, named int64) (AdminIdentity, error) {
	var row struct {
		ID, MerchantID   int64
		Username         string
		Disabled         bool
		TokensFrom       model.Time
		Permissions      *string
		MerchantDisabled *bool
	}
	db := a.store.Read(ctx)
	err := db.Raw(`SELECT a.id, a.username, a.merchant_id, a.disabled, a.tokens_from, r.permissions, m.disabled AS merchant_disabled
		FROM admins a LEFT JOIN roles r ON r.id = a.role_id AND r.deleted_at = 0 LEFT JOIN merchants m ON m.id = a.merchant_id
		WHERE a.id = ?`, id).Scan(&row).Error
	if err != nil {
		return AdminIdentity{}, store.Classify(err)
	}
	if row.ID == 0 || row.Disabled || issued < row.TokensFrom {
		return AdminIdentity{}, fault.New(fault.TokenInvalid)
	}
	who := AdminIdentity{ID: row.ID, Username: row.Username, Platform: row.MerchantID == 0, MerchantID: row.MerchantID, Named: named}
	if row.Permissions != nil {
		var granted []Permission
		if err := json.Unmarshal([]byte(*row.Permissions), &granted); err != nil {
			return AdminIdentity{}, err
		}
		who.Permissions = expand(granted, who.Platform)
	}
	if !who.Platform {
		if row.MerchantDisabled == nil || *row.MerchantDisabled {
			return AdminIdentity{}, fault.New(fault.MerchantDisabled)
		}
		if named != 0 && named != row.MerchantID {
			return AdminIdentity{}, fault.New(fault.PermissionDenied)
		}
		return who, nil
	}
	who.MerchantID, err = a.actingMerchant(db, named)
	return who, err
}

// actingMerchant returns the merchant that a platform's admin acts for: the named one, else the first, else 0.
func (a *Accounts) actingMerchant(db *gorm.DB, named int64) (int64, error) {
	var id *int64
	if named == 0 {
		err := db.Raw("SELECT MIN(id) FROM merchants").Scan(&id).Error
		if err != nil || id == nil {
			return 0, store.Classify(err)
		}
		return *id, nil
	}
	if err := db.Raw("SELECT id FROM merchants WHERE id = ?", named).Scan(&id).Error; err != nil {
		return 0, store.Classify(err)
	}
	if id == nil {
		return 0, fault.New(fault.NotFoundError).Say("商家不存在", "There is no such merchant")
	}
	return *id, nil
}

// everything in a role stands for all permissions there are, also those of later versions. Only roles that the shop makes by
// itself have it.
const everything Permission = "*"

// expand returns what a role's permissions allow an admin, in the table's order. What belongs to the platform alone is nothing in
// a merchant's role, and what is no permission any more is dropped.
func expand(granted []Permission, ofPlatform bool) []Permission {
	var out []Permission
	for _, info := range permissions {
		if info.PlatformOnly && !ofPlatform {
			continue
		}
		if slices.Contains(granted, everything) || slices.Contains(granted, info.Permission) {
			out = append(out, info.Permission)
		}
	}
	return out
}
