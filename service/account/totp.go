package account

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"image/png"
	"strings"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// The second factor is RFC 6238 as every authenticator app has it: SHA-1, six digits, thirty seconds; the codes before and after
// the present one are taken too, since phones' clocks differ.
const (
	totpIssuer   = "Tidemall"
	totpPeriodMS = 30_000
	totpSkew     = 1
	totpSide     = 240 // pixels of the picture

	recoveryCodes  = 10
	recoveryGroups = 4 // of four characters, 79 bits of chance in all
)

// TOTPState is what an admin may know of their second factor.
type TOTPState struct {
	On           bool
	Since        model.Time
	RecoveryLeft int64
}

// TOTP returns how the caller's second factor stands.
func (a *Accounts) TOTP(ctx context.Context, by AdminIdentity) (TOTPState, error) {
	row, err := a.totpOf(ctx, by.ID)
	if err != nil || row.ConfirmedAt == 0 {
		return TOTPState{}, err
	}
	s := TOTPState{On: true, Since: row.ConfirmedAt}
	err = a.store.Read(ctx).Model(&model.AdminRecoveryCode{}).Where("admin_id = ? AND used_at = 0", by.ID).Count(&s.RecoveryLeft).Error
	return s, store.Classify(err)
}

// totpOf returns an admin's second factor, zero where there is none.
func (a *Accounts) totpOf(ctx context.Context, adminID int64) (row model.AdminTOTP, err error) {
	err = a.store.Read(ctx).Where("admin_id = ?", adminID).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return model.AdminTOTP{}, nil
	}
	return row, store.Classify(err)
}

// TOTPSetup is what an authenticator app needs. It is shown once.
type TOTPSetup struct {
	Secret string // base32
	URL    string // otpauth://
	PNG    []byte // the URL as a QR code
}

// BeginTOTP makes a secret, in place of one that was never confirmed. It asks for nothing until ConfirmTOTP. Where the second
// factor is on already it is state_conflict.
func (a *Accounts) BeginTOTP(ctx context.Context, by AdminIdentity) (TOTPSetup, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: totpIssuer, AccountName: by.Username})
	if err != nil {
		return TOTPSetup{}, err
	}
	picture, err := key.Image(totpSide, totpSide)
	if err != nil {
		return TOTPSetup{}, err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return TOTPSetup{}, err
	}
	row := model.AdminTOTP{AdminID: by.ID, SecretCipher: a.keys.totp.seal(adminOwner(by.ID), key.Secret()), CreatedAt: a.now()}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := tx.Exec("DELETE FROM admin_totps WHERE admin_id = ? AND confirmed_at = 0", by.ID).Error; err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	if store.IsDuplicate(err) {
		return TOTPSetup{}, fault.New(fault.StateConflict).Say("两步验证已开启", "The second factor is on already")
	}
	return TOTPSetup{Secret: key.Secret(), URL: key.URL(), PNG: b.Bytes()}, err
}

// ConfirmTOTP turns the second factor on by its first code and returns the recovery codes, which are shown once. It takes the
// password, or a stolen token could shut its owner out; a wrong one, like a wrong code, is validation_failed, and too many lock this for
// the session: login_locked. The caller's other sessions end, since they began without the second factor.
func (a *Accounts) ConfirmTOTP(ctx context.Context, by AdminIdentity, password, code string) ([]string, error) {
	row, err := a.totpOf(ctx, by.ID)
	if err != nil {
		return nil, err
	}
	if row.AdminID == 0 || row.ConfirmedAt != 0 {
		return nil, totpState()
	}
	step := a.matchingStep(row, plainCode(code))
	if step == 0 {
		return nil, wrongCode()
	}
	_, err = a.prove(ctx, by, password, func() error { return nil })
	if fault.Is(err, fault.LoginFailed) {
		return nil, wrongPassword()
	}
	if err != nil {
		return nil, err
	}
	codes := newRecoveryCodes()
	return codes, a.store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE admin_totps SET confirmed_at = ?, last_step = ? WHERE admin_id = ? AND confirmed_at = 0 AND secret_cipher = ?",
			a.now(), step, by.ID, row.SecretCipher)
		if err != nil {
			return err
		}
		if n == 0 {
			return totpState()
		}
		if err := replaceRecoveryCodes(tx, by.ID, codes); err != nil {
			return err
		}
		if err := recordSecondFactor(tx, by.ID, true); err != nil {
			return err
		}
		return a.endSessions(tx, "admin_id = ? AND jti <> ?", by.ID, by.Token.JTI)
	})
}

// recordSecondFactor leaves an entry in the change log: that it was turned on or off.
func recordSecondFactor(tx *store.Tx, adminID int64, on bool) error {
	return changelog.Record(tx, changelog.Admin, adminID, map[string]any{"second_factor": !on}, map[string]any{"second_factor": on})
}

// DisableTOTP turns the second factor off. It takes the password and a code, or a recovery code; wrong ones are validation_failed,
// and too many of them lock this for the session: login_locked.
func (a *Accounts) DisableTOTP(ctx context.Context, by AdminIdentity, password, code string) error {
	if err := a.proveTOTP(ctx, by, password, code); err != nil {
		return err
	}
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := removeTOTP(tx, by.ID); err != nil {
			return err
		}
		return recordSecondFactor(tx, by.ID, false)
	})
}

// RenewRecoveryCodes replaces all recovery codes, used or not. It takes what DisableTOTP takes.
func (a *Accounts) RenewRecoveryCodes(ctx context.Context, by AdminIdentity, password, code string) ([]string, error) {
	if err := a.proveTOTP(ctx, by, password, code); err != nil {
		return nil, err
	}
	codes := newRecoveryCodes()
	return codes, a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := replaceRecoveryCodes(tx, by.ID, codes); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Admin, by.ID, nil, map[string]any{"recovery_codes": "renewed"})
	})
}

func (a *Accounts) proveTOTP(ctx context.Context, by AdminIdentity, password, code string) error {
	row, err := a.totpOf(ctx, by.ID)
	if err != nil {
		return err
	}
	if row.ConfirmedAt == 0 {
		return totpState()
	}
	_, err = a.prove(ctx, by, password, func() error { return a.secondFactor(ctx, by.ID, code) })
	switch {
	case fault.Is(err, fault.LoginFailed):
		return wrongPassword()
	case fault.Is(err, fault.TOTPInvalid), fault.Is(err, fault.TOTPRequired):
		return wrongCode()
	}
	return err
}

func wrongPassword() error {
	return fault.New(fault.ValidationFailed).With("password", fault.FieldFormat, "密码不正确", "the password is wrong")
}

func totpState() error {
	return fault.New(fault.StateConflict).Say("两步验证的状态已变化，请刷新后重试", "The second factor is not in the state for this; read it again")
}

func wrongCode() error {
	return fault.New(fault.ValidationFailed).With("code", fault.FieldFormat, "验证码不正确或已使用", "the code is wrong or was used")
}

func removeTOTP(tx *store.Tx, adminID int64) error {
	if err := tx.Exec("DELETE FROM admin_totps WHERE admin_id = ?", adminID).Error; err != nil {
		return err
	}
	return tx.Exec("DELETE FROM admin_recovery_codes WHERE admin_id = ?", adminID).Error
}

// secondFactor checks a code where the admin has a second factor that is on. Each code works once. Errors: totp_required without
// a code, totp_invalid.
func (a *Accounts) secondFactor(ctx context.Context, adminID int64, code string) error {
	row, err := a.totpOf(ctx, adminID)
	if err != nil || row.ConfirmedAt == 0 {
		return err
	}
	code = plainCode(code)
	if code == "" {
		return fault.New(fault.TOTPRequired)
	}
	use := func(tx *store.Tx) (int64, error) {
		return tx.Affected("UPDATE admin_recovery_codes SET used_at = ? WHERE admin_id = ? AND code_hash = ? AND used_at = 0",
			a.now(), adminID, recoveryHash(code))
	}
	if len(code) == otp.DigitsSix.Length() {
		step := a.matchingStep(row, code)
		if step == 0 {
			return fault.New(fault.TOTPInvalid)
		}
		use = func(tx *store.Tx) (int64, error) {
			return tx.Affected("UPDATE admin_totps SET last_step = ? WHERE admin_id = ? AND last_step < ?", step, adminID, step)
		}
	}
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		n, err := use(tx)
		if err == nil && n == 0 {
			return fault.New(fault.TOTPInvalid)
		}
		return err
	})
}

// matchingStep returns the time step whose code it is, 0 where it is of none near the present.
func (a *Accounts) matchingStep(row model.AdminTOTP, code string) int64 {
	secret, err := a.keys.totp.open(adminOwner(row.AdminID), row.SecretCipher)
	if err != nil {
		a.log.Warn("the second factor of an admin cannot be opened; its recovery codes still work", "admin", row.AdminID)
		return 0
	}
	now := int64(a.now()) / totpPeriodMS
	for step := now - totpSkew; step <= now+totpSkew; step++ {
		right, err := hotp.GenerateCode(secret, uint64(step)) //nolint:gosec // a time after 1970
		if err == nil && subtle.ConstantTimeCompare([]byte(right), []byte(code)) == 1 {
			return step
		}
	}
	return 0
}

// plainCode drops what people put between the groups of a code.
func plainCode(code string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(strings.TrimSpace(code)))
}

// newRecoveryCodes makes codes such as ab3d-efgh-9jkm-npqr.
func newRecoveryCodes() []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		var groups [recoveryGroups]string
		for g := range groups {
			groups[g] = randomText(4)
		}
		codes[i] = strings.Join(groups[:], "-")
	}
	return codes
}

func recoveryHash(plain string) string {
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

func replaceRecoveryCodes(tx *store.Tx, adminID int64, codes []string) error {
	if err := tx.Exec("DELETE FROM admin_recovery_codes WHERE admin_id = ?", adminID).Error; err != nil {
		return err
	}
	rows := make([]model.AdminRecoveryCode, len(codes))
	for i, c := range codes {
		rows[i] = model.AdminRecoveryCode{AdminID: adminID, CodeHash: recoveryHash(plainCode(c))}
	}
	return tx.Create(&rows).Error
}

// randomText makes a text of letters and digits that are easy to read and to type.
func randomText(n int) string {
	const letters = "23456789abcdefghjkmnpqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		for { // without the bias of a remainder
			var one [1]byte
			_, _ = rand.Read(one[:]) // never fails
			if int(one[0]) < 256/len(letters)*len(letters) {
				b[i] = letters[int(one[0])%len(letters)]
				break
			}
		}
	}
	return string(b)
}
