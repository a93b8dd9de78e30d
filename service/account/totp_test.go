package account_test

import (
	"bytes"
	"image/png"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// secured is an admin with a second factor.
type secured struct {
	*fixture

	who      account.AdminIdentity
	secret   string
	recovery []string
}

func newSecured(t *testing.T, s *store.Store) *secured {
	t.Helper()
	f := &secured{fixture: newPanel(t, s)}
	f.who = f.boss
	f.secret = must(f.BeginTOTP(t.Context(), f.who))(t).Secret
	f.recovery = must(f.ConfirmTOTP(t.Context(), f.who, bossPassword, f.code(t, 0)))(t)
	return f
}

// code returns what the app shows so many steps from now.
func (f *secured) code(t *testing.T, steps int) string {
	t.Helper()
	return must(totp.GenerateCode(f.secret, f.clock.now().Std().Add(time.Duration(steps)*30*time.Second)))(t)
}

func (f *secured) try(t *testing.T, code string) error {
	t.Helper()
	_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword, TOTP: code}, account.Client{})
	return err
}

func TestASecondFactorIsAskedForOnceItIsConfirmed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := &secured{fixture: newPanel(t, s)}
		first := must(f.BeginTOTP(t.Context(), f.boss))(t)
		want(t, f.try(t, ""), "") // begun is not on
		setup := must(f.BeginTOTP(t.Context(), f.boss))(t)
		if setup.Secret == first.Secret {
			t.Error("a second beginning has the same secret")
		}
		u, err := url.Parse(setup.URL)
		if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Tidemall:admin" || u.Query().Get("secret") != setup.Secret {
			t.Errorf("%s %v", setup.URL, err)
		}
		if picture, err := png.Decode(bytes.NewReader(setup.PNG)); err != nil || picture.Bounds().Dx() != 240 {
			t.Error("no picture", err)
		}
		if state := must(f.TOTP(t.Context(), f.boss))(t); state.On {
			t.Error("on before it is confirmed")
		}

		f.secret = first.Secret
		_, err = f.ConfirmTOTP(t.Context(), f.boss, bossPassword, f.code(t, 0)) // of the secret that was replaced
		want(t, err, fault.ValidationFailed)
		f.secret = setup.Secret
		codes := must(f.ConfirmTOTP(t.Context(), f.boss, bossPassword, f.code(t, 0)))(t)
		shape := regexp.MustCompile(`^([2-9a-z]{4}-){3}[2-9a-z]{4}$`)
		seen := map[string]bool{}
		for _, c := range codes {
			if seen[c] || !shape.MatchString(c) {
				t.Errorf("recovery codes %q", codes)
			}
			seen[c] = true
		}
		if state := must(f.TOTP(t.Context(), f.boss))(t); !state.On || state.Since != f.clock.now() || state.RecoveryLeft != 10 || len(codes) != 10 {
			t.Errorf("%+v, %d codes", state, len(codes))
		}
		_, err = f.BeginTOTP(t.Context(), f.boss)
		want(t, err, fault.StateConflict)
		_, err = f.ConfirmTOTP(t.Context(), f.boss, bossPassword, f.code(t, 1))
		want(t, err, fault.StateConflict)

		want(t, f.try(t, ""), fault.TOTPRequired)
		want(t, f.try(t, f.code(t, 0)), fault.TOTPInvalid) // confirming has used it
		spaced := f.code(t, 1)
		want(t, f.try(t, spaced[:3]+" "+spaced[3:]), "")

		var row model.AdminTOTP
		var kept []model.AdminRecoveryCode
		db := s.Read(t.Context())
		if err := db.Take(&row).Error; err != nil || strings.Contains(row.SecretCipher, setup.Secret) {
			t.Errorf("stored %+v %v", row, err)
		}
		if err := db.Find(&kept).Error; err != nil || len(kept) != 10 || seen[kept[0].CodeHash] || len(kept[0].CodeHash) != 64 {
			t.Errorf("stored %+v %v", kept, err)
		}
	})
}

// A stolen token does not turn a second factor on, and whoever was logged in without one has to log in again.
func TestASecondFactorTakesThePassword(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := &secured{fixture: newPanel(t, s)}
		token, thief := f.enter(t, "admin", bossPassword, account.Client{})
		mine, owner := f.enter(t, "admin", bossPassword, account.Client{})
		f.secret = must(f.BeginTOTP(t.Context(), thief))(t).Secret
		for range 5 {
			_, err := f.ConfirmTOTP(t.Context(), thief, "wrong password", f.code(t, 0))
			want(t, err, fault.ValidationFailed)
		}
		_, err := f.ConfirmTOTP(t.Context(), thief, bossPassword, f.code(t, 0))
		want(t, err, fault.LoginLocked)
		if state := must(f.TOTP(t.Context(), owner))(t); state.On {
			t.Error("it is on without the password")
		}
		must(f.AuthenticateAdmin(t.Context(), token, 0))(t)

		f.secret = must(f.BeginTOTP(t.Context(), owner))(t).Secret
		must(f.ConfirmTOTP(t.Context(), owner, bossPassword, f.code(t, 0)))(t)
		must(f.AuthenticateAdmin(t.Context(), mine, 0))(t)
		_, err = f.AuthenticateAdmin(t.Context(), token, 0)
		want(t, err, fault.TokenInvalid)
	})
}

// RFC 6238: the code of a step is taken one step early and one late, once, and never one of a step before the last that was used.
func TestCodesWorkOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		f.clock.forward(time.Hour)
		for _, c := range []struct {
			steps int
			want  fault.Code
		}{{-2, fault.TOTPInvalid}, {2, fault.TOTPInvalid}, {-1, ""}, {-1, fault.TOTPInvalid}, {1, ""}, {0, fault.TOTPInvalid}, {1, fault.TOTPInvalid}} {
			want(t, f.try(t, f.code(t, c.steps)), c.want)
		}
		f.clock.forward(time.Hour)
		code := f.code(t, 0)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := f.try(t, code); err == nil {
					passed.Add(1)
				} else if !fault.Is(err, fault.TOTPInvalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 1 {
			t.Errorf("a code that four sent at once passed %d times", passed.Load())
		}
	})
}

func TestRecoveryCodesWorkOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		want(t, f.try(t, strings.ToUpper(f.recovery[0])), "")
		want(t, f.try(t, f.recovery[0]), fault.TOTPInvalid)
		want(t, f.try(t, strings.ReplaceAll(f.recovery[1], "-", "")), "")
		want(t, f.try(t, "aaaa-aaaa-aaaa-aaaa"), fault.TOTPInvalid)
		if state := must(f.TOTP(t.Context(), f.who))(t); state.RecoveryLeft != 8 {
			t.Errorf("%+v", state)
		}
		fresh := must(f.RenewRecoveryCodes(t.Context(), f.who, bossPassword, f.recovery[2]))(t)
		want(t, f.try(t, f.recovery[3]), fault.TOTPInvalid)
		want(t, f.try(t, fresh[0]), "")
	})
}

// Guesses at the second factor lock the name wherever they come from, and a right password alone does not begin the count anew.
func TestWrongCodesLockToo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		for i := range 5 {
			_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword, TOTP: "aaaa-aaaa-aaaa-aaaa"}, from(i))
			want(t, err, fault.TOTPInvalid)
			if i < 4 {
				want(t, f.try(t, ""), fault.TOTPRequired)
			}
		}
		want(t, f.try(t, f.code(t, 1)), fault.LoginLocked)
		want(t, f.DisableTOTP(t.Context(), f.who, bossPassword, f.code(t, 5)), fault.ValidationFailed) // who is logged in is not
		f.clock.forward(15*time.Minute + time.Millisecond)
		for range 4 {
			want(t, f.try(t, "aaaa-aaaa-aaaa-aaaa"), fault.TOTPInvalid)
		}
		want(t, f.try(t, f.code(t, 0)), "")
		for range 4 { // a good login began the count anew
			want(t, f.try(t, "aaaa-aaaa-aaaa-aaaa"), fault.TOTPInvalid)
		}
		want(t, f.try(t, f.code(t, 1)), "")
	})
}

func TestASecondFactorIsTurnedOff(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		want(t, f.DisableTOTP(t.Context(), f.who, bossPassword, f.code(t, 1)), "")
		want(t, f.try(t, ""), "")
		want(t, f.DisableTOTP(t.Context(), f.who, bossPassword, f.recovery[0]), fault.StateConflict)
		_, err := f.RenewRecoveryCodes(t.Context(), f.who, bossPassword, f.recovery[0])
		want(t, err, fault.StateConflict)
		if n := f.count(t, "admin_totps") + f.count(t, "admin_recovery_codes"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// Who may change an admin may reset their second factor, but not their own: that takes the password and a code.
func TestASecondFactorIsReset(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		_, owner := f.shop(t, "alpha")
		f.secret = must(f.BeginTOTP(t.Context(), owner))(t).Secret
		must(f.ConfirmTOTP(t.Context(), owner, bossPassword, f.code(t, 0)))(t)
		_, err := f.ChangeAdmin(t.Context(), f.boss, f.boss.ID, account.AdminChange{Version: 1, ResetTOTP: true})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeAdmin(t.Context(), owner, f.boss.ID, account.AdminChange{Version: 1, ResetTOTP: true})
		want(t, err, fault.NotFoundError)
		_, err = f.ChangeAdmin(t.Context(), f.boss, owner.ID, account.AdminChange{Version: 7, ResetTOTP: true})
		want(t, err, fault.StaleVersion)
		if info := must(f.Admin(t.Context(), f.boss, owner.ID))(t); !info.TOTP {
			t.Error("a refused reset took it away")
		}
		if info := must(f.ChangeAdmin(t.Context(), f.boss, owner.ID, account.AdminChange{Version: 1, ResetTOTP: true}))(t); info.TOTP || info.Version != 2 {
			t.Errorf("%+v", info)
		}
		f.login(t, "owner.alpha", bossPassword)
		if state := must(f.TOTP(t.Context(), f.boss))(t); !state.On {
			t.Error("somebody else's was reset")
		}
	})
}

// After a change of the secret a second factor still works, and is sealed anew; without the former one only recovery codes do.
func TestASecondFactorOutlivesTheSecret(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		without := f.replica(t, newSecret)
		login := func(a *account.Accounts, code string) error {
			_, err := a.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword, TOTP: code}, account.Client{})
			return err
		}
		want(t, login(without, f.code(t, 1)), fault.TOTPInvalid)
		want(t, login(without, f.recovery[0]), "")
		renewed, log := f.renewed(t, secret)
		want(t, login(renewed, f.code(t, 1)), "")
		log.awaits(t, resealedAll)
		if text := log.String(); !strings.Contains(text, "resealed=1") || strings.Contains(text, f.secret) {
			t.Errorf("%s", text)
		}
		f.clock.forward(time.Minute)
		want(t, login(without, f.code(t, 0)), "")
	})
}
