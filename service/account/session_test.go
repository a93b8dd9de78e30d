package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// enter logs in from somewhere and returns the token and whose it is.
func (f *fixture) enter(t *testing.T, username, password string, from account.Client) (string, account.AdminIdentity) {
	t.Helper()
	token := must(f.LoginAdmin(t.Context(), account.Credentials{Username: username, Password: password}, from))(t)
	return token.Token.Token, must(f.AuthenticateAdmin(t.Context(), token.Token.Token, 0))(t)
}

func (f *fixture) sessionsOf(t *testing.T, who account.AdminIdentity) []model.AdminSession {
	t.Helper()
	return must(f.Sessions(t.Context(), who))(t)
}

func TestALoginIsASession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		f.clock.forward(time.Second)
		_, who := f.enter(t, "admin", bossPassword, account.Client{IP: "203.0.113.7", Agent: "Bro\nwser " + strings.Repeat("长", 300)})
		list := f.sessionsOf(t, who)
		if len(list) != 2 { // newPanel's own login is the other
			t.Fatalf("%d sessions", len(list))
		}
		got := list[0]
		if got.JTI != who.Token.JTI || got.IP != "203.0.113.7" || got.Agent != "Browser "+strings.Repeat("长", 192) ||
			got.CreatedAt != f.clock.now() || got.LastSeenAt != f.clock.now() || got.ExpiresAt != who.Token.ExpiresAt {
			t.Errorf("%+v", got)
		}
		_, owner := f.shop(t, "alpha")
		if list := f.sessionsOf(t, owner); len(list) != 1 {
			t.Errorf("somebody else's sessions are listed: %+v", list)
		}
		f.clock.forward(account.AdminLogin)
		if list := f.sessionsOf(t, who); len(list) != 0 {
			t.Errorf("expired sessions are listed: %+v", list)
		}
	})
}

// A session's last_seen_at moves with its requests, and at most once a minute, whichever replica has them.
func TestSessionsAreSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		other := f.replica(t, secret)
		token, who := f.enter(t, "admin", bossPassword, account.Client{})
		began := f.clock.now()
		seen := func(by *account.Accounts, after time.Duration, want model.Time) {
			t.Helper()
			f.clock.forward(after)
			must(by.AuthenticateAdmin(t.Context(), token, 0))(t)
			if err := by.WriteSeen(t.Context()); err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(f.sessionsOf(t, who), func(r model.AdminSession) bool { return r.JTI == who.Token.JTI })
			if got := f.sessionsOf(t, who)[i].LastSeenAt; got != want {
				t.Errorf("last seen %v after the login, want %v", got.Sub(began), want.Sub(began))
			}
		}
		seen(f.Accounts, 59*time.Second, began)
		seen(f.Accounts, time.Second, began.Add(time.Minute))
		seen(other, time.Second, began.Add(time.Minute))
		seen(other, time.Minute, began.Add(2*time.Minute+time.Second))
		seen(f.Accounts, 0, began.Add(2*time.Minute+time.Second))
	})
}

func TestEndedSessionsAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		other := f.replica(t, secret)
		first, who := f.enter(t, "admin", bossPassword, account.Client{})
		second, whoElse := f.enter(t, "admin", bossPassword, account.Client{})
		third, _ := f.enter(t, "admin", bossPassword, account.Client{})
		_, owner := f.shop(t, "alpha")
		refusedSoon := func(token string) {
			t.Helper()
			_, err := f.AuthenticateAdmin(t.Context(), token, 0)
			want(t, err, fault.TokenInvalid)
			storetest.Await(t, 5*time.Second, "the other replica refuses the session", func() bool {
				_, err := other.AuthenticateAdmin(t.Context(), token, 0)
				return fault.Is(err, fault.TokenInvalid)
			})
		}
		list := f.sessionsOf(t, who)
		target := list[slices.IndexFunc(list, func(r model.AdminSession) bool { return r.JTI == whoElse.Token.JTI })]
		want(t, f.EndSession(t.Context(), owner, target.ID), fault.NotFoundError)
		want(t, f.EndSession(t.Context(), who, 1<<40), fault.NotFoundError)
		must(f.AuthenticateAdmin(t.Context(), second, 0))(t)
		for range 2 { // twice is no error
			if err := f.EndSession(t.Context(), who, target.ID); err != nil {
				t.Fatal(err)
			}
		}
		refusedSoon(second)

		if err := f.EndOtherSessions(t.Context(), who); err != nil {
			t.Fatal(err)
		}
		refusedSoon(third)
		must(other.AuthenticateAdmin(t.Context(), first, 0))(t)
		if list := f.sessionsOf(t, who); len(list) != 1 || list[0].JTI != who.Token.JTI {
			t.Errorf("%+v", list)
		}
		if len(f.sessionsOf(t, owner)) != 1 {
			t.Error("somebody else was signed out")
		}

		fourth, whoFourth := f.enter(t, "admin", bossPassword, account.Client{})
		if err := f.LogoutAdmin(t.Context(), whoFourth); err != nil {
			t.Fatal(err)
		}
		refusedSoon(fourth)
		if err := f.EndAllSessions(t.Context(), who); err != nil {
			t.Fatal(err)
		}
		_, err := other.AuthenticateAdmin(t.Context(), first, 0) // at once
		want(t, err, fault.TokenInvalid)
		_, again := f.enter(t, "admin", bossPassword, account.Client{})
		if list := f.sessionsOf(t, again); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}

// A new password and a disabled account end the sessions too.
func TestSessionsEndWithThePassword(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		f.enter(t, "owner.alpha", bossPassword, account.Client{})
		token := must(f.ChangePassword(t.Context(), owner, bossPassword, "battery staple", account.Client{IP: "::1"}))(t)
		who := must(f.AuthenticateAdmin(t.Context(), token.Token.Token, 0))(t)
		if list := f.sessionsOf(t, who); len(list) != 1 || list[0].JTI != who.Token.JTI || list[0].IP != "::1" {
			t.Errorf("%+v", list)
		}
		must(f.ChangeAdmin(t.Context(), f.boss, owner.ID, account.AdminChange{Version: 2, Password: "third of them"}))(t)
		_, who = f.enter(t, "owner.alpha", "third of them", account.Client{})
		if list := f.sessionsOf(t, who); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}
