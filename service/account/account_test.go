package account_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/telemetry/leaktest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout/stall"
)

const secret = "a secret of the tests, long enough for everybody"

// fakeWeChat answers demo-<name> with the openid of the name, and anything else with err.
type fakeWeChat struct {
	err   error
	phone wechat.Phone
}

func (f *fakeWeChat) Login(_ context.Context, code string) (wechat.Session, error) {
	if name, ok := strings.CutPrefix(code, "demo-"); ok {
		return wechat.Session{OpenID: "o-" + name}, nil
	}
	return wechat.Session{}, f.err
}

func (f *fakeWeChat) Phone(_ context.Context, code string) (wechat.Phone, error) {
	if code == "good" {
		return f.phone, nil
	}
	return wechat.Phone{}, f.err
}

// passing lets every nickname pass.
type passing struct{}

func (passing) Judge(context.Context, content.Question) (content.Judgement, error) {
	return content.Judgement{}, nil
}

func (passing) Hold(*store.Tx, content.Withheld) error                         { return errors.New("nothing is held here") }
func (passing) Supersede(*store.Tx, int64, ...model.HoldKind) error            { return nil }
func (passing) Pending(context.Context, model.HoldKind, int64) (string, error) { return "", nil }

type clock struct{ ms atomic.Int64 }

func (c *clock) now() model.Time         { return model.Time(c.ms.Load()) }
func (c *clock) forward(d time.Duration) { c.ms.Add(d.Milliseconds()) }

type fixture struct {
	*account.Accounts

	store *store.Store
	clock *clock
	chat  *fakeWeChat
	boss  account.AdminIdentity // of the platform
}

func newFixture(t *testing.T, s *store.Store) *fixture {
	t.Helper()
	f := &fixture{store: s, clock: &clock{}, chat: &fakeWeChat{phone: wechat.Phone{CountryCode: "86", Number: "13812345678"}}}
	f.clock.ms.Store(1_760_000_000_000)
	f.Accounts = f.replica(t, secret)
	return f
}

// replica starts another instance on the same database.
func (f *fixture) replica(t *testing.T, secret string) *account.Accounts {
	t.Helper()
	log := &journal{}
	t.Cleanup(func() {
		leaktest.Check(t, log.String(), map[string]string{"secret": secret, "password": bossPassword, "phone": "13812345678"})
	})
	a, err := account.New(account.Options{
		Store: f.store, WeChat: f.chat, Content: passing{}, Secret: secret, Now: f.clock.now,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	return a
}

func (f *fixture) count(t *testing.T, table string) int64 {
	t.Helper()
	var n int64
	if err := f.store.Read(t.Context()).Table(table).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func want(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("error %v, want code %q", err, code)
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestFirstLoginsThatRaceMakeOneShopper(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		ids := make([]int64, 50)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				_, shopper, err := f.Login(t.Context(), "demo-ann")
				if err != nil {
					t.Error(err)
				}
				ids[i] = shopper.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == 0 {
				t.Fatalf("ids %v, want one", ids)
			}
		}
		if n := f.count(t, "shoppers"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestL03_ABadCodeMakesNoShopper(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		for _, code := range []string{"40029", "40163"} {
			f.chat.err = &wechat.Error{Op: "login", Kind: wechat.KindBadCode, Code: code}
			_, _, err := f.Login(t.Context(), "whatever")
			want(t, err, fault.LoginCodeInvalid)
		}
		if n := f.count(t, "shoppers"); n != 0 {
			t.Errorf("%d shoppers", n)
		}
	})
}

// A user whom WeChat blocks, and who was there too often, is told so: trying again at once would be of no use.
func TestWeChatsLastWordAtLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		wait := func(err error) time.Duration {
			var e *fault.Error
			errors.As(err, &e)
			return e.RetryAfter
		}
		f.chat.err = &wechat.Error{Kind: wechat.KindRejected, Code: "40226"}
		_, _, err := f.Login(t.Context(), "whatever")
		want(t, err, fault.LoginCodeInvalid)
		if !strings.Contains(err.Error(), "refuses") {
			t.Errorf("a blocked user is told %q", err)
		}
		_, err = f.SetPhone(t.Context(), 1, "whatever")
		want(t, err, fault.ValidationFailed)
		for _, often := range []*wechat.Error{{Kind: wechat.KindFrequency, Code: "45009"}, {Kind: wechat.KindBusy, Code: "45011"}} {
			f.chat.err = often
			_, _, err = f.Login(t.Context(), "whatever")
			want(t, err, fault.RateLimited)
			_, phone := f.SetPhone(t.Context(), 1, "whatever")
			want(t, phone, fault.RateLimited)
			if wait(err) != time.Minute || wait(phone) != time.Minute {
				t.Errorf("%s: again after %v and %v", often.Code, wait(err), wait(phone))
			}
		}
		if n := f.count(t, "shoppers"); n != 0 {
			t.Errorf("%d shoppers", n)
		}
	})
}

func TestL04_ASilentWeChatMakesNoShopper(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		for _, kind := range []wechat.Kind{wechat.KindBusy, wechat.KindUnknown, wechat.KindUnavailable, wechat.KindSetup} {
			f.chat.err = &wechat.Error{Op: "login", Kind: kind}
			_, _, err := f.Login(t.Context(), "whatever")
			want(t, err, fault.WeChatUnavailable)
			_, err = f.SetPhone(t.Context(), 1, "whatever")
			want(t, err, fault.WeChatUnavailable)
		}
		if n := f.count(t, "shoppers"); n != 0 {
			t.Errorf("%d shoppers", n)
		}
	})
}

func TestLogoutCountsAtOnceHereAndSoonElsewhere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		other := f.replica(t, secret)
		token, shopper, err := f.Login(t.Context(), "demo-ann")
		if err != nil {
			t.Fatal(err)
		}
		again, _, _ := f.Login(t.Context(), "demo-ann")
		who, err := other.AuthenticateShopper(t.Context(), token.Token)
		if err != nil || who.ID != shopper.ID {
			t.Fatalf("%+v %v", who, err)
		}
		for range 2 { // twice is no error
			if err := f.Logout(t.Context(), who.Token); err != nil {
				t.Fatal(err)
			}
		}
		_, err = f.AuthenticateShopper(t.Context(), token.Token)
		want(t, err, fault.TokenInvalid)
		watch, start := stall.Start(), time.Now()
		defer watch.Stop()
		storetest.Await(t, 10*time.Second, "the logout at the other replica", func() bool {
			_, err := other.AuthenticateShopper(t.Context(), token.Token)
			return err != nil
		})
		if took := time.Since(start) - watch.Between(start, time.Now()); took > 2*time.Second {
			t.Errorf("the other replica learned of it after %v", took)
		}
		if _, err := other.AuthenticateShopper(t.Context(), again.Token); err != nil {
			t.Errorf("another token of the same shopper: %v", err)
		}
		_, err = f.replica(t, secret).AuthenticateShopper(t.Context(), token.Token)
		want(t, err, fault.TokenInvalid) // known to a replica that starts later
	})
}

func TestTokensAreOfOneKindAlgorithmSecretAndTime(t *testing.T) {
	f := newFixture(t, storetest.SQLite(t))
	token, _, err := f.Login(t.Context(), "demo-ann")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.AuthenticateAdmin(t.Context(), token.Token, 0)
	want(t, err, fault.TokenInvalid)
	_, err = f.replica(t, strings.ToUpper(secret)).AuthenticateShopper(t.Context(), token.Token)
	want(t, err, fault.TokenInvalid)
	body := jwt.MapClaims{"sub": "1", "kind": "shopper", "jti": "x", "exp": f.clock.now().Std().Add(time.Hour).Unix()}
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, body).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.NewWithClaims(jwt.SigningMethodHS256, body).SignedString([]byte(secret)) // the secret itself is no signing key
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{none, raw, "", "x.y.z", token.Token + "x"} {
		_, err = f.AuthenticateShopper(t.Context(), forged)
		want(t, err, fault.TokenInvalid)
	}
	f.clock.forward(account.ShopperLogin - time.Second)
	if _, err = f.AuthenticateShopper(t.Context(), token.Token); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
	f.clock.forward(2 * time.Second)
	_, err = f.AuthenticateShopper(t.Context(), token.Token)
	want(t, err, fault.TokenInvalid)
}

func TestProfileAndPhone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		_, ann, err := f.Login(t.Context(), "demo-ann")
		if err != nil {
			t.Fatal(err)
		}
		name, avatar := "  安 ", "https://example.com/a.png"
		p := must(f.ChangeProfile(t.Context(), ann.ID, account.ProfileInput{Nickname: &name, Avatar: &avatar}))(t)
		if p.Nickname != "安" || p.Avatar != avatar || p.Phone != "" {
			t.Errorf("%+v", p)
		}
		for _, bad := range []string{"", " ", strings.Repeat("名", 33), "a\nb"} {
			_, err := f.ChangeProfile(t.Context(), ann.ID, account.ProfileInput{Nickname: &bad})
			want(t, err, fault.ValidationFailed)
		}
		script := "javascript:alert(1)"
		_, err = f.ChangeProfile(t.Context(), ann.ID, account.ProfileInput{Avatar: &script})
		want(t, err, fault.ValidationFailed)

		if p = must(f.SetPhone(t.Context(), ann.ID, "good"))(t); p.Phone != "138****5678" || p.Nickname != "安" {
			t.Errorf("%+v", p)
		}
		f.chat.err = &wechat.Error{Kind: wechat.KindBadCode}
		_, err = f.SetPhone(t.Context(), ann.ID, "used")
		want(t, err, fault.ValidationFailed)
		var row model.Shopper
		if err := s.Read(t.Context()).Take(&row, ann.ID).Error; err != nil || strings.Contains(row.PhoneCipher, "1234") || row.PhoneTail != "5678" {
			t.Errorf("stored %+v, %v", row, err)
		}
		// What was sealed for one shopper does not open in another's row, and not with another secret.
		_, bob, _ := f.Login(t.Context(), "demo-bob")
		if err := s.Read(t.Context()).Exec("UPDATE shoppers SET phone_cipher = ?, phone_tail = '5678' WHERE id = ?", row.PhoneCipher, bob.ID).Error; err != nil {
			t.Fatal(err)
		}
		if p = must(f.Me(t.Context(), bob.ID))(t); p.Phone != "****5678" {
			t.Errorf("bob sees %q", p.Phone)
		}
		if p = must(f.replica(t, strings.ToUpper(secret)).Me(t.Context(), ann.ID))(t); p.Phone != "****5678" {
			t.Errorf("with another secret %q", p.Phone)
		}
	})
}

func TestCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		_, ann, _ := f.Login(t.Context(), "demo-ann")
		db := s.Read(t.Context())
		for i, o := range []struct {
			shopper int64
			state   model.OrderState
		}{{ann.ID, model.OrderPaid}, {ann.ID, model.OrderPaid}, {ann.ID, model.OrderClosed}, {ann.ID + 1, model.OrderPaid}} {
			row := model.Order{ID: int64(i + 1), No: string(rune('a' + i)), ShopperID: o.shopper, State: o.state, IdemKey: string(rune('a' + i))}
			if err := db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		later := f.clock.now() + 1
		for i, c := range []model.Coupon{
			{ShopperID: ann.ID, State: model.CouponAvailable, ExpiresAt: later},
			{ShopperID: ann.ID, State: model.CouponAvailable, ExpiresAt: later - 1},
			{ShopperID: ann.ID, State: model.CouponUsed, ExpiresAt: later},
			{ShopperID: ann.ID + 1, State: model.CouponAvailable, ExpiresAt: later},
		} {
			c.TemplateID, c.Seq = 1, int64(i)
			if err := db.Create(&c).Error; err != nil {
				t.Fatal(err)
			}
		}
		c := must(f.CountsOf(t.Context(), ann.ID))(t)
		if c.Orders[model.OrderPaid] != 2 || c.Orders[model.OrderClosed] != 1 || c.Orders[model.OrderPending] != 0 || len(c.Orders) != 5 || c.Coupons != 1 {
			t.Errorf("%+v", c)
		}
	})
}

func TestAddresses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		_, ann, _ := f.Login(t.Context(), "demo-ann")
		_, bob, _ := f.Login(t.Context(), "demo-bob")
		in := account.AddressInput{Name: " 安 ", Phone: "13812345678", Province: "上海市", City: "上海市", Detail: "人民大道 200 号", IsDefault: true}
		first := must(f.AddAddress(t.Context(), ann.ID, in))(t)
		second := must(f.AddAddress(t.Context(), ann.ID, in))(t)
		bobs := must(f.AddAddress(t.Context(), bob.ID, in))(t)
		if first.Name != "安" || first.ID == second.ID {
			t.Errorf("%+v %+v", first, second)
		}
		list := must(f.Addresses(t.Context(), ann.ID))(t)
		if len(list) != 2 || !list[0].IsDefault || list[1].IsDefault || list[0].ID != second.ID {
			t.Errorf("one default, first in the list: %+v", list)
		}
		if got := must(f.Addresses(t.Context(), bob.ID))(t); len(got) != 1 || !got[0].IsDefault {
			t.Errorf("bob's default: %+v", got)
		}
		in.District, in.Detail = "黄浦区", "另一处"
		if got := must(f.ChangeAddress(t.Context(), ann.ID, first.ID, in))(t); got.District != "黄浦区" || got.CreatedAt != first.CreatedAt {
			t.Errorf("%+v", got)
		}
		if list = must(f.Addresses(t.Context(), ann.ID))(t); list[0].ID != first.ID || list[1].IsDefault {
			t.Errorf("the default moved: %+v", list)
		}
		// Somebody else's.
		_, err := f.ChangeAddress(t.Context(), ann.ID, bobs.ID, in)
		want(t, err, fault.NotFoundError)
		want(t, f.RemoveAddress(t.Context(), ann.ID, bobs.ID), fault.NotFoundError)
		_, err = account.Address(s.Read(t.Context()), ann.ID, bobs.ID)
		want(t, err, fault.NotFoundError)
		if got := must(account.Address(s.Read(t.Context()), bob.ID, bobs.ID))(t); got.Detail != "人民大道 200 号" {
			t.Errorf("%+v", got)
		}
		for _, bad := range []account.AddressInput{
			{Phone: "13812345678", Province: "a", City: "b", Detail: "c"},
			{Name: "a", Phone: "1234", Province: "a", City: "b", Detail: "c"},
			{Name: "a", Phone: strings.Repeat("1", 21), Province: "a", City: "b", Detail: "c"},
			{Name: "a", Phone: "12345", City: "b", Detail: "c"},
			{Name: "a", Phone: "12345", Province: "a", City: "b", Detail: "c\x00"},
		} {
			_, err := f.AddAddress(t.Context(), ann.ID, bad)
			want(t, err, fault.ValidationFailed)
		}
		if err := f.RemoveAddress(t.Context(), ann.ID, first.ID); err != nil {
			t.Error(err)
		}
		want(t, f.RemoveAddress(t.Context(), ann.ID, first.ID), fault.NotFoundError)
	})
}

func TestAddressLimitHoldsWhereManyAreAddedAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		_, ann, _ := f.Login(t.Context(), "demo-ann")
		in := account.AddressInput{Name: "安", Phone: "13812345678", Province: "上海市", City: "上海市", Detail: "x", IsDefault: true}
		var refused atomic.Int64
		var wg sync.WaitGroup
		for range account.MaxAddresses + 5 {
			wg.Go(func() {
				if _, err := f.AddAddress(t.Context(), ann.ID, in); fault.Is(err, fault.AddressLimit) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var defaults int64
		if err := s.Read(t.Context()).Model(&model.Address{}).Where("is_default = ?", true).Count(&defaults).Error; err != nil {
			t.Fatal(err)
		}
		if n := f.count(t, "addresses"); n != account.MaxAddresses || refused.Load() != 5 || defaults != 1 {
			t.Errorf("%d addresses, %d refused, %d defaults", n, refused.Load(), defaults)
		}
	})
}
