package account_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func busy(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.RateLimited || e.RetryAfter != time.Second {
		t.Errorf("%v, want rate_limited and a second to wait", err)
	}
}

// Two hash at a time, twenty wait, and one more is told to come again; who gives up leaves the place to somebody else.
func TestFewWaitToHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := account.NewTurns()
		first := must(turns.Take(t.Context()))(t)
		second := must(turns.Take(t.Context()))(t)
		hashed, gaveUp := 0, make(chan error, 1)
		done := make(chan func())
		wait := func() {
			release, err := turns.Take(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			done <- release
		}
		for range 19 {
			go wait()
		}
		impatient, leave := context.WithCancel(t.Context())
		go func() {
			_, err := turns.Take(impatient)
			gaveUp <- err
		}()
		synctest.Wait()
		_, err := turns.Take(t.Context())
		busy(t, err)
		leave()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		go wait()
		synctest.Wait()
		_, err = turns.Take(t.Context())
		busy(t, err)
		first()
		second()
		for range 20 {
			release := <-done
			hashed++
			release()
		}
		synctest.Wait()
		must(turns.Take(t.Context()))(t)()
		if hashed != 20 {
			t.Errorf("%d of those who waited hashed", hashed)
		}
	})
}

// Whatever computes a hash keeps to the bound.
func TestEveryHashTakesATurn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		factor := &secured{fixture: f, secret: must(f.BeginTOTP(t.Context(), f.boss))(t).Secret}
		free := f.FillTurns()
		for _, name := range []string{"admin", "nobody"} {
			_, err := f.LoginAdmin(t.Context(), account.Credentials{Username: name, Password: bossPassword}, account.Client{})
			busy(t, err)
		}
		_, err := f.ChangePassword(t.Context(), f.boss, bossPassword, "a new password", account.Client{})
		busy(t, err)
		_, err = f.AddAdmin(t.Context(), f.boss, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: 1})
		busy(t, err)
		_, err = f.ChangeAdmin(t.Context(), f.boss, owner.ID, account.AdminChange{Version: 1, Password: "a new password"})
		busy(t, err)
		_, err = f.OpenMerchant(t.Context(), f.boss, "beta", account.AdminInput{Username: "owner.beta", Password: bossPassword})
		busy(t, err)
		_, err = f.ConfirmTOTP(t.Context(), f.boss, bossPassword, factor.code(t, 0))
		busy(t, err)
		free()
		f.login(t, "admin", bossPassword)
	})
}
