package leaktest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// The search finds each kind of secret, says which and where, and never repeats it.
func TestLeaksAreFound(t *testing.T) {
	const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"
	for line, want := range map[string]string{
		`level=WARN msg=x key=abcdefgh12345678`:                                     "app_secret",
		`level=WARN msg=x BKcwggSjAgEAAoIBAQC7`:                                     "mch_private_key",
		`level=WARN pass-for-tests`:                                                 "the password",
		`GET /x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0`:          "a token of ours",
		`url=".../sns/jscode2session?appid=wx1&secret=0123456789"`:                  "a secret in a query",
		`reply="{\"session_key\":\"HyVFkGl5F5OQWJZZaNzBBg==\"}"`:                    "a secret in a query",
		`token 90_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`: "an access token of the sandbox",
		`phone=13812345678`:   "a phone number",
		`phone "13912345600"`: "a phone number",
		`hash $argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA`: "a password's hash",
		`-----BEGIN RSA PRIVATE KEY-----`:                   "a key in PEM",
	} {
		e := &Ear{}
		e.Knows("the password", "pass-for-tests")
		if err := e.KnowsAll([]byte(`{"app_id":"wx0123456789abcdef","app_secret":"abcdefgh12345678","mch_private_key":`+fmt.Sprintf("%q", pem)+`,"n":3}`), "_id"); err != nil {
			t.Fatal(err)
		}
		v := e.Voice()
		_, _ = v.Write([]byte("level=INFO msg=before\n" + line[:len(line)/2]))
		_, _ = v.Write([]byte(line[len(line)/2:])) // without an end, as a kill leaves it
		v.End()
		leaks := e.Leaks()
		if len(leaks) != 1 || !strings.HasPrefix(leaks[0], want+", after: ") {
			t.Errorf("%s: %q, want %s", line, leaks, want)
		}
		if len(leaks) == 1 && (strings.Contains(leaks[0], "before") || strings.Contains(leaks[0], "12345678")) {
			t.Errorf("%s: the report tells too much: %s", line, leaks[0])
		}
	}
}

// Ordinary lines are no leaks.
func TestOrdinaryLinesPass(t *testing.T) {
	e := &Ear{}
	e.Knows("the password", "pass-for-tests")
	if err := e.KnowsAll([]byte(`{"app_id":"wx0123456789abcdef","pay_public_key_id":"PUB_KEY_ID_01"}`), "_id"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`app_id=wx0123456789abcdef PUB_KEY_ID_01`, `took=15000000000 at=1780000000000`, `order T202601310123456789AB id 13812345678901`, `wechat: login: bad_code code=40029`,
		`secret: at least 32 bytes are needed`, `phone 138****5678`, `the app secret is missing`,
	} {
		e.Hear([]byte(line + "\n"))
	}
	if leaks := e.Leaks(); len(leaks) != 0 {
		t.Errorf("%q", leaks)
	}
}

// Lines that several processes write at once, in pieces, stay whole.
func TestVoicesDoNotMix(t *testing.T) {
	e := &Ear{}
	e.Knows("it", "secret-in-pieces")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v := e.Voice()
			for range 200 {
				for _, part := range []string{"secret", "-in-", "pieces", "\n"} {
					_, _ = v.Write([]byte(part))
				}
			}
		})
	}
	wg.Wait()
	if n := strings.Count(e.heard.String(), "secret-in-pieces\n"); n != 1600 || e.Size() != 1600*17 {
		t.Errorf("%d whole lines in %d bytes, want 1600", n, e.Size())
	}
}
