package account_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
)

const (
	newSecret    = "another secret of the tests, no shorter than the first"
	oldestSecret = "the secret that was there before any other one of them"
)

// journal is a log that may be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// renewed starts an instance with the new secret that knows former ones, and returns it with its log.
func (f *fixture) renewed(t *testing.T, former ...string) (*account.Accounts, *journal) {
	t.Helper()
	log := &journal{}
	a, err := account.New(account.Options{
		Store: f.store, WeChat: f.chat, Content: passing{}, Secret: newSecret, FormerSecrets: former, Now: f.clock.now, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	return a, log
}

func (j *journal) awaits(t *testing.T, text string) {
	t.Helper()
	storetest.Await(t, 30*time.Second, "the log line "+text, func() bool { return strings.Contains(j.String(), text) })
}

const resealedAll = "nothing is left that a former secret sealed"

// After a change of the secret phones are still shown, are sealed anew by the new secret, and need the old ones no more. Two
// replicas do it at once while shoppers set new numbers, which stay.
func TestPhonesOutliveTheSecret(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newFixture(t, s)
		const people = 1100 // more than two pages
		rows := make([]model.Shopper, people)
		for i := range rows {
			id, sealer := int64(i+1), secret
			if i%3 == 0 {
				sealer = oldestSecret
			}
			rows[i] = model.Shopper{ID: id, OpenID: fmt.Sprintf("o-%d", id), PhoneTail: "5678", PhoneCipher: account.SealPhone(sealer, id, "13812345678")}
		}
		rows[10].PhoneCipher, rows[10].PhoneTail = "", ""                                                     // has none
		rows[11].PhoneCipher = account.SealPhone(secret, 1, "13812345678")                                    // somebody else's
		rows[12].PhoneCipher = account.SealPhone("a secret that nobody remembers, of old", 13, "13812345678") // lost
		if err := s.Read(t.Context()).CreateInBatches(rows, 200).Error; err != nil {
			t.Fatal(err)
		}
		wantPhone := func(a *account.Accounts, id int64, phone string) {
			t.Helper()
			if p := must(a.Me(t.Context(), id))(t); p.Phone != phone {
				t.Errorf("shopper %d has %q, want %q", id, p.Phone, phone)
			}
		}
		without := f.replica(t, newSecret)
		wantPhone(without, 2, "****5678")

		f.chat.phone = wechat.Phone{CountryCode: "86", Number: "13900001111"}
		one, log1 := f.renewed(t, secret, oldestSecret)
		two, log2 := f.renewed(t, oldestSecret, secret)
		wantPhone(one, 1, "138****5678")
		wantPhone(two, 2, "138****5678")
		for id := int64(people - 20); id <= people; id++ {
			must(one.SetPhone(t.Context(), id, "good"))(t)
		}
		log1.awaits(t, resealedAll)
		log2.awaits(t, resealedAll)
		if !strings.Contains(log1.String(), "unreadable=2") {
			t.Errorf("two numbers cannot be opened:\n%s", log1)
		}
		if strings.Contains(log1.String(), "1381234") || strings.Contains(log1.String(), "secret,") {
			t.Errorf("the log tells too much:\n%s", log1)
		}

		for _, id := range []int64{1, 2, 3, 500, 501, people - 21} {
			wantPhone(without, id, "138****5678")
		}
		wantPhone(without, people, "139****1111")
		wantPhone(without, people-20, "139****1111")
		wantPhone(without, 11, "")
		wantPhone(without, 12, "****5678")
		wantPhone(without, 13, "****5678")
		var left int64
		prefix, _, _ := strings.Cut(account.SealPhone(newSecret, 1, ""), ".")
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM shoppers WHERE phone_cipher <> '' AND phone_cipher NOT LIKE ?", prefix+".%").Scan(&left).Error; err != nil || left != 2 {
			t.Errorf("%d numbers are not sealed by the new secret, want the 2 that nobody can open (%v)", left, err)
		}
	})
}

// A former secret opens phone numbers only: a token that it signed is refused at once, for it may have leaked.
func TestTokensOfAFormerSecretAreRefused(t *testing.T) {
	f := newFixture(t, storetest.SQLite(t))
	token, _, err := f.Login(t.Context(), "demo-ann")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.renewed(t, secret)
	_, err = a.AuthenticateShopper(t.Context(), token.Token)
	want(t, err, fault.TokenInvalid)
	if token, _, err = a.Login(t.Context(), "demo-ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.AuthenticateShopper(t.Context(), token.Token); err != nil {
		t.Error(err)
	}
}
