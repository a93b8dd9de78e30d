package account

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// After so many wrong passwords in a row a username is locked for a while.
const (
	loginTries = 5
	loginLock  = 15 * time.Minute
)

// AdminToken is a token with whom it is for.
type AdminToken struct {
	Token

	Admin AdminIdentity
}

// Credentials are what an admin logs in with. TOTP is a code of the second factor or a recovery code, for those who have one.
type Credentials struct{ Username, Password, TOTP string }

// LoginAdmin makes a token for an admin and keeps its session. Errors: login_failed (also for an unknown username, in the same
// time), login_locked after five failures, totp_required and totp_invalid where the second factor is on, permission_denied for a
// disabled admin, merchant_disabled, rate_limited where many log in at once.
func (a *Accounts) LoginAdmin(ctx context.Context, in Credentials, from Client) (AdminToken, error) {
	username := strings.ToLower(strings.TrimSpace(in.Username))
	row, err := a.checkPassword(ctx, "username = ?", username, in.Password, func(row model.Admin) error { return a.secondFactor(ctx, row.ID, in.TOTP) })
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

// checkPassword finds an admin and checks the password, and then what second asks for, counting failures of both. Only what passes
// both begins the count anew: else a known password would leave any number of guesses at the second. Whoever waits for a turn to
// hash is not read before: so a flood of guesses at once cannot get past the lock.
func (a *Accounts) checkPassword(ctx context.Context, where string, arg any, password string, second func(model.Admin) error) (model.Admin, error) {
	release, err := a.turns.take(ctx)
	if err != nil {
		return model.Admin{}, err
	}
	defer release()
	var row model.Admin
	err = a.store.Read(ctx).Where(where, arg).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		name, _ := arg.(string)
		return row, a.refuseStranger(name, password)
	}
	if err != nil {
		return row, store.Classify(err)
	}
	if wait := row.LockedUntil.Sub(a.now()); wait > 0 {
		return row, fault.New(fault.LoginLocked).After(wait)
	}
	ok, err := verify(row.PasswordHash, password)
	switch {
	case err != nil:
		return row, err
	case !ok:
		return row, a.countFailure(ctx, row.ID, fault.LoginFailed)
	}
	err = second(row)
	switch {
	case fault.Is(err, fault.TOTPInvalid):
		return row, a.countFailure(ctx, row.ID, fault.TOTPInvalid)
	case err != nil:
		return row, err
	case row.FailedCount > 0:
		err = a.store.Tx(ctx, func(tx *store.Tx) error {
			return tx.Exec("UPDATE admins SET failed_count = 0, locked_until = 0 WHERE id = ?", row.ID).Error
		})
	}
	return row, err
}

// countFailure returns the code, or what kept it from counting. locked_until is set before failed_count because MySQL
// evaluates assignments from left to right with the new values, where SQLite uses the old ones throughout.
func (a *Accounts) countFailure(ctx context.Context, id int64, code fault.Code) error {
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec(`UPDATE admins SET
			locked_until = CASE WHEN failed_count + 1 >= ? THEN ? ELSE locked_until END,
			failed_count = CASE WHEN failed_count + 1 >= ? THEN 0 ELSE failed_count + 1 END WHERE id = ?`,
			loginTries, a.now().Add(loginLock), loginTries, id).Error
	})
	if err != nil {
		return err
	}
	return fault.New(code)
}

// strangers counts failures of usernames that do not exist, so that being locked does not tell which do. It is a courtesy to
// nobody's security but privacy, so each replica counts for itself and forgets.
type strangers struct {
	mu   sync.Mutex
	seen map[string]attempts
}

type attempts struct {
	failed int
	until  model.Time
}

const strangersKept = 10_000

func (a *Accounts) refuseStranger(name, password string) error {
	s := &a.strangers
	s.mu.Lock()
	at := s.seen[name]
	locked := at.until.Sub(a.now())
	if locked <= 0 {
		at.failed++
		if at.failed >= loginTries {
			at = attempts{until: a.now().Add(loginLock)}
		}
		if len(s.seen) >= strangersKept {
			clear(s.seen)
		}
		s.seen[name] = at
	}
	s.mu.Unlock()
	if locked > 0 {
		return fault.New(fault.LoginLocked).After(locked)
	}
	_, err := verify(decoy, password)
	if err != nil {
		return err
	}
	return fault.New(fault.LoginFailed)
}

// ChangePassword replaces the caller's password and signs out everywhere; the token that comes back works on. A wrong old
// password is validation_failed and counts like a failed login.
func (a *Accounts) ChangePassword(ctx context.Context, id int64, oldPassword, newPassword string, from Client) (AdminToken, error) {
	v := newCheck()
	v.password("new_password", newPassword)
	if err := v.err(); err != nil {
		return AdminToken{}, err
	}
	row, err := a.checkPassword(ctx, "id = ?", id, oldPassword, func(model.Admin) error { return nil })
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
			hash, row.TokensFrom, a.now(), id, row.Version)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.StaleVersion)
		}
		err = changelog.Record(tx, changelog.Admin, id,
			map[string]any{"merchant_id": row.MerchantID, "password_hash": row.PasswordHash}, map[string]any{"password_hash": hash})
		if err != nil {
			return err
		}
		return a.endSessions(tx, "admin_id = ?", id)
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
