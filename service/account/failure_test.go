package account_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const (
	quarter = 15 * time.Minute
	wrong   = "wrong password"
)

// from is one of many addresses.
func from(i int) account.Client { return account.Client{IP: fmt.Sprintf("203.0.113.%d", i)} }

// tried logs in and returns what came of it.
func (f *fixture) tried(t *testing.T, username, password string, c account.Client) error {
	t.Helper()
	_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: username, Password: password}, c)
	return err
}

func wantLocked(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.LoginLocked || e.RetryAfter != wait {
		t.Errorf("%v, want login_locked for %v", err, wait)
	}
}

// Strangers who guess lock themselves out, and not the admin; nor does the admin's login begin their count anew.
func TestWrongPasswordsLockTheirAddress(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		six := func(rest string) account.Client { return account.Client{IP: "2001:db8:0:1" + rest} }
		for name, elsewhere := range map[string]fault.Code{"admin": "", "nobody": fault.LoginFailed} {
			for i := range 5 {
				want(t, f.tried(t, name, wrong, from(1)), fault.LoginFailed)
				want(t, f.tried(t, name, wrong, six(fmt.Sprintf(":%d::1", i))), fault.LoginFailed)
			}
			want(t, f.tried(t, name, bossPassword, from(2)), elsewhere)
			wantLocked(t, f.tried(t, name, bossPassword, from(1)), quarter)
			wantLocked(t, f.tried(t, name, bossPassword, six("::7")), quarter)
			want(t, f.tried(t, name, bossPassword, account.Client{IP: "2001:db8:0:2::1"}), elsewhere)
		}
		if n := f.count(t, "admin_failures"); n != 3 { // two addresses of the three that tried, and all together
			t.Errorf("%d counts are kept", n)
		}
		if info := must(f.Admin(t.Context(), f.boss, f.boss.ID))(t); info.LockedUntil != 0 {
			t.Errorf("locked for all until %v", info.LockedUntil)
		}
		f.clock.forward(quarter)
		want(t, f.tried(t, "admin", bossPassword, from(1)), "")
	})
}

// Five within a quarter of an hour lock; the first of them begins it.
func TestWrongPasswordsAreForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		for _, after := range []time.Duration{0, 5 * time.Minute, 5 * time.Minute, 5*time.Minute - time.Millisecond, time.Millisecond} {
			f.clock.forward(after)
			want(t, f.tried(t, "admin", wrong, from(1)), fault.LoginFailed)
		}
		for range 4 {
			f.clock.forward(time.Minute)
			want(t, f.tried(t, "admin", wrong, from(1)), fault.LoginFailed)
		}
		wantLocked(t, f.tried(t, "admin", bossPassword, from(1)), quarter)
	})
}

// Whoever has many addresses has a hundred guesses with them all, whatever good logins there are meanwhile.
func TestWrongPasswordsFromEverywhereLockTheName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		f.shop(t, "alpha")
		want(t, f.tried(t, "admin", wrong, from(1)), fault.LoginFailed)
		// As if there had been 97 more, which takes too long to try.
		done := s.Read(t.Context()).Exec("UPDATE admin_failures SET failed = 98 WHERE admin_id = ? AND source = 'everywhere' AND failed = 1", f.boss.ID)
		if done.Error != nil || done.RowsAffected != 1 {
			t.Fatalf("%d rows count the failures from everywhere, %v", done.RowsAffected, done.Error)
		}
		want(t, f.tried(t, "admin", wrong, from(2)), fault.LoginFailed)
		want(t, f.tried(t, "admin", bossPassword, from(3)), "")
		f.clock.forward(time.Minute)
		want(t, f.tried(t, "admin", wrong, from(4)), fault.LoginFailed)
		wantLocked(t, f.tried(t, "admin", bossPassword, from(3)), quarter)
		if info := must(f.Admin(t.Context(), f.boss, f.boss.ID))(t); info.LockedUntil != f.clock.now().Add(quarter) {
			t.Errorf("locked until %v", info.LockedUntil)
		}
		want(t, f.tried(t, "owner.alpha", bossPassword, from(4)), "")
		f.clock.forward(quarter)
		want(t, f.tried(t, "admin", wrong, from(3)), fault.LoginFailed)
		want(t, f.tried(t, "admin", bossPassword, from(3)), "")
	})
}

// Names that nobody has lock alike, and little is remembered of them.
func TestNamesOfNobodyLockAlike(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		for i := range 100 {
			if locked := f.CountStranger("nobody", from(i/5)); locked != 0 {
				t.Fatalf("locked after %d failures", i)
			}
		}
		if locked := f.CountStranger("nobody", from(20)); locked != quarter {
			t.Errorf("locked for %v after a hundred failures", locked)
		}
		for i := range 20_000 {
			f.CountStranger(fmt.Sprint("nobody", i), from(1))
		}
		if n := f.StrangersSeen(); n > 10_000 {
			t.Errorf("%d counts are kept", n)
		}
	})
}

// Who is logged in can make the account safe while strangers lock its name, and is locked only by what the session itself gets wrong.
func TestOnlyASessionsOwnFailuresLockIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newSecured(t, s)
		token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword, TOTP: f.code(t, 1)}, account.Client{}))(t)
		other := must(f.AuthenticateAdmin(t.Context(), token.Token.Token, 0))(t)
		for range 5 {
			want(t, f.try(t, "aaaa-aaaa-aaaa-aaaa"), fault.TOTPInvalid)
		}
		wantLocked(t, f.try(t, f.recovery[9]), quarter)
		fresh := must(f.RenewRecoveryCodes(t.Context(), f.who, bossPassword, f.recovery[0]))(t)
		for range 4 {
			_, err := f.ChangePassword(t.Context(), f.who, wrong, "a new password", account.Client{})
			want(t, err, fault.ValidationFailed)
		}
		want(t, f.DisableTOTP(t.Context(), f.who, bossPassword, "aaaa-aaaa-aaaa-aaaa"), fault.ValidationFailed)
		_, err := f.ChangePassword(t.Context(), f.who, bossPassword, "a new password", account.Client{})
		wantLocked(t, err, quarter)
		wantLocked(t, f.DisableTOTP(t.Context(), f.who, bossPassword, fresh[1]), quarter)
		want(t, f.DisableTOTP(t.Context(), other, bossPassword, fresh[1]), "")
		changed := must(f.ChangePassword(t.Context(), other, bossPassword, "a new password", account.Client{}))(t)
		must(f.AuthenticateAdmin(t.Context(), changed.Token.Token, 0))(t)
	})
}

// A new password that another admin sets ends every lock.
func TestANewPasswordUnlocks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		for range 5 {
			want(t, f.tried(t, "owner.alpha", wrong, from(1)), fault.LoginFailed)
		}
		wantLocked(t, f.tried(t, "owner.alpha", bossPassword, from(1)), quarter)
		must(f.ChangeAdmin(t.Context(), f.boss, owner.ID, account.AdminChange{Version: 1, Password: "a new password"}))(t)
		want(t, f.tried(t, "owner.alpha", "a new password", from(1)), "")
		var left []model.AdminFailure
		if err := s.Read(t.Context()).Find(&left).Error; err != nil || len(left) != 0 {
			t.Errorf("%+v %v", left, err)
		}
	})
}
