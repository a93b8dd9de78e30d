package account_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const bossPassword = "correct horse"

// newPanel is a fixture with the platform's administrator.
func newPanel(t *testing.T, s *store.Store) *fixture {
	t.Helper()
	f := newFixture(t, s)
	if made, err := f.EnsurePlatformAdmin(t.Context(), "Admin", bossPassword, nil); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	f.boss = f.login(t, "admin", bossPassword)
	return f
}

func (f *fixture) login(t *testing.T, username, password string) account.AdminIdentity {
	t.Helper()
	token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: username, Password: password}, account.Client{}))(t)
	return must(f.AuthenticateAdmin(t.Context(), token.Token.Token, 0))(t)
}

// shop makes a merchant with its first admin.
func (f *fixture) shop(t *testing.T, name string) (model.Merchant, account.AdminIdentity) {
	t.Helper()
	m := must(f.AddMerchant(t.Context(), name))(t)
	by := f.boss
	by.Named, by.MerchantID = m.ID, m.ID
	roles, _, err := f.Roles(t.Context(), by, store.Page{Number: 1, Limit: 10})
	if err != nil || len(roles) != 1 {
		t.Fatalf("roles of a new merchant: %+v %v", roles, err)
	}
	must(f.AddAdmin(t.Context(), f.boss, account.AdminInput{Username: "owner." + name, Password: bossPassword, MerchantID: m.ID, RoleID: roles[0].ID}))(t)
	return m, f.login(t, "owner."+name, bossPassword)
}

func TestFirstStartMakesOnePlatformAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		var mu sync.Mutex
		var passwords []string
		makers := 0
		show := func(password string) error {
			mu.Lock()
			defer mu.Unlock()
			passwords = append(passwords, password)
			return nil
		}
		var wg sync.WaitGroup
		for range 4 {
			a := f.replica(t, secret)
			wg.Go(func() {
				made, err := a.EnsurePlatformAdmin(t.Context(), "admin", "", show)
				if err != nil {
					t.Error(err)
				}
				if made {
					mu.Lock()
					makers++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if makers != 1 || len(passwords) != 1 || len(passwords[0]) < 16 {
			t.Fatalf("%d made it, passwords %q", makers, passwords)
		}
		who := f.login(t, "ADMIN", passwords[0])
		if !who.Platform || !who.Can(account.MerchantWrite) || who.MerchantID != 0 {
			t.Errorf("%+v", who)
		}
		if made, err := f.EnsurePlatformAdmin(t.Context(), "second", "", show); made || err != nil || len(passwords) != 1 {
			t.Errorf("a second administrator: %v %v, passwords %q", made, err, passwords)
		}
	})
}

// A password that could not be shown, or whose administrator was not kept, lets nobody in: the next start shows another.
func TestThePasswordShownLastIsTheRightOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		broken := errors.New("nobody reads")
		if made, err := f.EnsurePlatformAdmin(t.Context(), "admin", "", func(string) error { return broken }); made || !errors.Is(err, broken) {
			t.Errorf("a password that is not shown: made %v, %v", made, err)
		}
		var shown []string
		ending, end := context.WithCancel(t.Context())
		made, err := f.EnsurePlatformAdmin(ending, "admin", "", func(p string) error { shown = append(shown, p); end(); return nil })
		if made || err == nil || !strings.Contains(err.Error(), "next start") {
			t.Errorf("a start that ends before the commit: made %v, %v", made, err)
		}
		if made, err := f.EnsurePlatformAdmin(t.Context(), "admin", "", func(p string) error { shown = append(shown, p); return nil }); !made || err != nil {
			t.Fatalf("the next start: made %v, %v", made, err)
		}
		if len(shown) != 2 || shown[0] == shown[1] {
			t.Fatalf("shown %q", shown)
		}
		f.login(t, "admin", shown[1])
		_, err = f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: shown[0]}, account.Client{})
		want(t, err, fault.LoginFailed)
	})
}

func TestFiveWrongPasswordsLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		for _, name := range []string{"admin", "nobody"} { // what does not exist behaves alike
			for range 5 {
				_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: name, Password: "wrong password"}, account.Client{})
				want(t, err, fault.LoginFailed)
			}
			_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: name, Password: bossPassword}, account.Client{})
			want(t, err, fault.LoginLocked)
			var e *fault.Error
			if !errors.As(err, &e) || e.RetryAfter != 15*time.Minute {
				t.Errorf("%s: %+v", name, err)
			}
		}
		f.clock.forward(15*time.Minute + time.Millisecond)
		if _, err := f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword}, account.Client{}); err != nil {
			t.Errorf("after the lock: %v", err)
		}
		for range 4 {
			_, _ = f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: "wrong password"}, account.Client{})
		}
		f.login(t, "admin", bossPassword)
		for range 4 { // a good login began the count anew
			_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: "wrong password"}, account.Client{})
			want(t, err, fault.LoginFailed)
		}
	})
}

func TestGuessesAtOnceAreCounted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		var mu sync.Mutex
		tried := 0
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				if _, err := f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: "wrong password"}, account.Client{}); fault.Is(err, fault.LoginFailed) {
					mu.Lock()
					tried++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if tried > 6 { // five, and one that was being compared when the lock came
			t.Errorf("%d of 30 guesses were compared", tried)
		}
	})
}

func TestChangingThePasswordSignsOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		old := must(f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword}, account.Client{}))(t)
		_, err := f.ChangePassword(t.Context(), f.boss, "not the password", "a new password", account.Client{})
		want(t, err, fault.ValidationFailed)
		_, err = f.ChangePassword(t.Context(), f.boss, bossPassword, "short", account.Client{})
		want(t, err, fault.ValidationFailed)
		fresh := must(f.ChangePassword(t.Context(), f.boss, bossPassword, "a new password", account.Client{}))(t) // in the same millisecond
		_, err = f.AuthenticateAdmin(t.Context(), old.Token.Token, 0)
		want(t, err, fault.TokenInvalid)
		if _, err := f.AuthenticateAdmin(t.Context(), fresh.Token.Token, 0); err != nil {
			t.Errorf("the new token: %v", err)
		}
		_, err = f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword}, account.Client{})
		want(t, err, fault.LoginFailed)
		f.login(t, "admin", "a new password")
	})
}

func TestMerchantsSeeOnlyTheirOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		ma, a := f.shop(t, "alpha")
		mb, b := f.shop(t, "beta")
		if a.Platform || a.MerchantID != ma.ID || a.Can(account.MerchantRead) || !a.Can(account.AccountWrite) {
			t.Errorf("%+v", a)
		}
		token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: "owner.alpha", Password: bossPassword}, account.Client{}))(t).Token.Token
		if who := must(f.AuthenticateAdmin(t.Context(), token, ma.ID))(t); who.MerchantID != ma.ID {
			t.Errorf("%+v", who)
		}
		_, err := f.AuthenticateAdmin(t.Context(), token, mb.ID)
		want(t, err, fault.PermissionDenied)

		all := store.Page{Number: 1, Limit: 100}
		admins, total, err := f.Admins(t.Context(), a, account.AdminFilter{}, all)
		if err != nil || total != 1 || len(admins) != 1 || admins[0].ID != a.ID || admins[0].RoleName == "" {
			t.Errorf("%+v %d %v", admins, total, err)
		}
		if _, total, _ := f.Admins(t.Context(), f.boss, account.AdminFilter{}, all); total != 3 {
			t.Errorf("the platform sees %d admins", total)
		}
		bRoles, _, _ := f.Roles(t.Context(), b, all)
		disable := true
		_, err = f.ChangeAdmin(t.Context(), a, b.ID, account.AdminChange{Version: 1, Disabled: &disable})
		want(t, err, fault.NotFoundError)
		_, err = f.ChangeRole(t.Context(), a, bRoles[0].ID, 1, account.RoleInput{Name: "x"})
		want(t, err, fault.NotFoundError)
		_, err = f.AddAdmin(t.Context(), a, account.AdminInput{Username: "spy", Password: bossPassword, MerchantID: mb.ID, RoleID: bRoles[0].ID})
		want(t, err, fault.PermissionDenied)
		_, err = f.AddAdmin(t.Context(), a, account.AdminInput{Username: "spy", Password: bossPassword, RoleID: bRoles[0].ID})
		want(t, err, fault.ValidationFailed)
		_, err = f.AddAdmin(t.Context(), a, account.AdminInput{Username: "OWNER.beta", Password: bossPassword, RoleID: admins[0].RoleID})
		want(t, err, fault.NameTaken)
		if n := f.count(t, "admins"); n != 3 {
			t.Errorf("%d admins", n)
		}

		token = must(f.LoginAdmin(t.Context(), account.Credentials{Username: "admin", Password: bossPassword}, account.Client{}))(t).Token.Token
		for named, acting := range map[int64]int64{0: ma.ID, mb.ID: mb.ID} {
			if who := must(f.AuthenticateAdmin(t.Context(), token, named))(t); who.MerchantID != acting || who.Named != named {
				t.Errorf("named %d: %+v", named, who)
			}
		}
		_, err = f.AuthenticateAdmin(t.Context(), token, 999)
		want(t, err, fault.NotFoundError)
	})
}

func TestADisabledMerchantsAdminsAreRefusedAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		m, _ := f.shop(t, "alpha")
		token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: "owner.alpha", Password: bossPassword}, account.Client{}))(t).Token.Token
		changed := must(f.ChangeMerchant(t.Context(), m.ID, account.MerchantChange{Version: 1, Name: "alpha", Disabled: true}))(t)
		_, err := f.AuthenticateAdmin(t.Context(), token, 0)
		want(t, err, fault.MerchantDisabled)
		_, err = f.LoginAdmin(t.Context(), account.Credentials{Username: "owner.alpha", Password: bossPassword}, account.Client{})
		want(t, err, fault.MerchantDisabled)
		_, err = f.ChangeMerchant(t.Context(), m.ID, account.MerchantChange{Version: 1, Name: "alpha"})
		want(t, err, fault.StaleVersion)
		_, err = f.AddMerchant(t.Context(), "alpha")
		want(t, err, fault.NameTaken)
		must(f.ChangeMerchant(t.Context(), m.ID, account.MerchantChange{Version: changed.Version, Name: "alpha"}))(t)
		if _, err := f.AuthenticateAdmin(t.Context(), token, 0); err != nil {
			t.Errorf("enabled again: %v", err)
		}
	})
}

func TestNobodyGrantsWhatTheyDoNotHave(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		few := must(f.AddRole(t.Context(), owner, account.RoleInput{
			Name: "人事", Permissions: []account.Permission{account.AccountWrite, account.AccountRead, account.AccountRead},
		}))(t)
		if !slices.Equal(few.Permissions, []string{"account:read", "account:write"}) {
			t.Errorf("permissions %v", few.Permissions)
		}
		must(f.AddAdmin(t.Context(), owner, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: few.ID}))(t)
		clerk := f.login(t, "clerk", bossPassword)
		ownerRole := int64(0)
		roles, _, _ := f.Roles(t.Context(), owner, store.Page{Number: 1, Limit: 10})
		for _, r := range roles {
			if r.ID != few.ID {
				ownerRole = r.ID
			}
		}
		_, err := f.AddRole(t.Context(), clerk, account.RoleInput{Name: "more", Permissions: []account.Permission{account.OrderWrite}})
		want(t, err, fault.PermissionDenied)
		_, err = f.AddAdmin(t.Context(), clerk, account.AdminInput{Username: "friend", Password: bossPassword, RoleID: ownerRole})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeAdmin(t.Context(), clerk, owner.ID, account.AdminChange{Version: 1, Password: "taken over"})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeRole(t.Context(), clerk, ownerRole, 1, account.RoleInput{Name: "less", Permissions: few.Allows})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeRole(t.Context(), clerk, few.ID, 1, account.RoleInput{Name: "人事", Permissions: []account.Permission{account.AccountRead}})
		want(t, err, fault.PermissionDenied) // would leave nobody who can undo it
		_, err = f.ChangeRole(t.Context(), clerk, few.ID, 1, account.RoleInput{Name: "人事", Permissions: []account.Permission{account.AccountWrite}})
		want(t, err, fault.PermissionDenied) // nor this
		_, err = f.ChangeAdmin(t.Context(), clerk, clerk.ID, account.AdminChange{Version: 1, Password: "without the old one"})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeAdmin(t.Context(), clerk, clerk.ID, account.AdminChange{Version: 1, RoleID: &ownerRole})
		want(t, err, fault.PermissionDenied)
		for _, p := range []account.Permission{account.MerchantWrite, "nonsense", "*"} {
			_, err = f.AddRole(t.Context(), owner, account.RoleInput{Name: "more", Permissions: []account.Permission{p}})
			want(t, err, fault.ValidationFailed)
		}
		_, err = f.AddRole(t.Context(), owner, account.RoleInput{Name: "人事"})
		want(t, err, fault.NameTaken)
		if _, total, _ := f.Roles(t.Context(), owner, store.Page{Number: 1, Limit: 10}); total != 2 {
			t.Errorf("%d roles", total)
		}
	})
}

// A role that stands for everything is shown and sent back as the list of what that is today. Renaming it must not make it that list:
// nobody could give what a later version adds.
func TestTheOwnersRoleKeepsStandingForEverything(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		roles, _, err := f.Roles(t.Context(), owner, store.Page{Number: 1, Limit: 10})
		if err != nil || len(roles) != 1 {
			t.Fatalf("roles %+v, %v", roles, err)
		}
		got := must(f.ChangeRole(t.Context(), owner, roles[0].ID, roles[0].Version, account.RoleInput{Name: "店长", Permissions: roles[0].Allows}))(t)
		if got.Name != "店长" || !slices.Equal(got.Permissions, []string{"*"}) {
			t.Errorf("the role is %+v", got.Role)
		}
	})
}

func TestChangesOfAdminsAndRolesCountAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		role := must(f.AddRole(t.Context(), owner, account.RoleInput{Name: "客服", Permissions: []account.Permission{account.OrderRead}}))(t)
		clerk := must(f.AddAdmin(t.Context(), owner, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: role.ID}))(t)
		token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: "clerk", Password: bossPassword}, account.Client{}))(t).Token.Token
		other := f.replica(t, secret)
		if who := must(other.AuthenticateAdmin(t.Context(), token, 0))(t); !who.Can(account.OrderRead) || who.Can(account.OrderWrite) {
			t.Errorf("%+v", who)
		}
		must(f.ChangeRole(t.Context(), owner, role.ID, 1, account.RoleInput{Name: "客服", Permissions: []account.Permission{account.OrderWrite}}))(t)
		if who := must(other.AuthenticateAdmin(t.Context(), token, 0))(t); who.Can(account.OrderRead) || !who.Can(account.OrderWrite) {
			t.Errorf("%+v", who)
		}
		_, err := f.ChangeRole(t.Context(), owner, role.ID, 1, account.RoleInput{Name: "客服"})
		want(t, err, fault.StaleVersion)

		yes, no := true, false
		changed := must(f.ChangeAdmin(t.Context(), owner, clerk.ID, account.AdminChange{Version: 1, Disabled: &yes}))(t)
		_, err = other.AuthenticateAdmin(t.Context(), token, 0)
		want(t, err, fault.TokenInvalid)
		_, err = f.LoginAdmin(t.Context(), account.Credentials{Username: "clerk", Password: bossPassword}, account.Client{})
		want(t, err, fault.PermissionDenied)
		_, err = f.ChangeAdmin(t.Context(), owner, clerk.ID, account.AdminChange{Version: 1, Disabled: &no})
		want(t, err, fault.StaleVersion)
		must(f.ChangeAdmin(t.Context(), owner, clerk.ID, account.AdminChange{Version: changed.Version, Disabled: &no, Password: "another one"}))(t)
		_, err = other.AuthenticateAdmin(t.Context(), token, 0)
		want(t, err, fault.TokenInvalid) // a token from before stays dead
		f.login(t, "clerk", "another one")
		_, err = f.ChangeAdmin(t.Context(), owner, owner.ID, account.AdminChange{Version: 1, Disabled: &yes})
		want(t, err, fault.PermissionDenied)
	})
}
