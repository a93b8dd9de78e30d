package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Login and phone codes. demo- codes work any number of times; once- codes, like real
// ones, a single time.
var (
	loginCode = regexp.MustCompile(`^(demo|once)-([0-9A-Za-z_-]{1,64})$`)
	phoneCode = regexp.MustCompile(`^(demo|once)-phone-([0-9]{5,15})(?:-[0-9A-Za-z_-]*)?$`)
)

// OpenID is the openid of the shopper who logs in with the code demo-<name>. It ends in
// a check of itself, so that the sandbox knows its own openids without keeping them.
func OpenID(name string) string {
	head := "o" + urlHash("openid:" + name)[:23]
	return head + urlHash("check:" + head)[:4]
}

func belongsHere(openID string) bool {
	return len(openID) == 28 && openID[24:] == urlHash("check:" + openID[:24])[:4]
}

func urlHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// miniReply writes a reply of the mini-program's interfaces: always 200, errors by errcode.
func miniReply(w http.ResponseWriter, reply map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(encode(reply))
}

func miniRefusal(w http.ResponseWriter, code int, message string) {
	miniReply(w, map[string]any{"errcode": code, "errmsg": message + ", rid: " + randomHex(4) + "-" + randomHex(4)})
}

// appRefusal checks app id and secret as every interface that takes them does.
func (s *Server) appRefusal(appID, secret string) (int, string) {
	switch {
	case appID == "":
		return 41002, "appid missing"
	case secret == "":
		return 41004, "appsecret missing"
	case appID != s.keys.AppID:
		return 40013, "invalid appid"
	case secret != s.keys.AppSecret:
		return 40125, "invalid appsecret"
	}
	return 0, ""
}

// spend uses up a single-use code; false when it was used before.
func (s *Server) spend(code string) bool {
	fresh := false
	err := s.books.change(func() {
		if fresh = !s.books.codes[code]; fresh {
			s.books.codes[code] = true
			s.books.save("code", code, true)
		}
	})
	return fresh && err == nil
}

// login serves jscode2session. As the real one it leaves errcode out when all is well.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if code, message := s.appRefusal(q.Get("appid"), q.Get("secret")); code != 0 {
		miniRefusal(w, code, message)
		return
	}
	if q.Get("grant_type") != "authorization_code" {
		miniRefusal(w, 40002, "invalid grant_type")
		return
	}
	m := loginCode.FindStringSubmatch(q.Get("js_code"))
	if m == nil {
		miniRefusal(w, 40029, "invalid code")
		return
	}
	if m[1] == "once" && !s.spend("login:"+m[2]) {
		miniRefusal(w, 40163, "code been used")
		return
	}
	key := make([]byte, 16)
	rand.Read(key)
	miniReply(w, map[string]any{"openid": OpenID(m[2]), "session_key": base64.StdEncoding.EncodeToString(key)})
}

// phone serves getuserphonenumber. A login code demo-<name> works too and gives the
// shopper a number made from the name.
func (s *Server) phone(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	number := phoneOf(body.Code)
	if number == "" {
		miniRefusal(w, 40029, "invalid code")
		return
	}
	if strings.HasPrefix(body.Code, "once-") && !s.spend("phone:"+body.Code) {
		miniRefusal(w, 40029, "invalid code: used")
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "phone_info": map[string]any{
		"phoneNumber": number, "purePhoneNumber": number, "countryCode": "86",
		"watermark": map[string]any{"timestamp": time.Now().Unix(), "appid": s.keys.AppID},
	}})
}

func phoneOf(code string) string {
	if m := phoneCode.FindStringSubmatch(code); m != nil {
		return m[2]
	}
	m := loginCode.FindStringSubmatch(code)
	if m == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(m[2]))
	digits := []byte("139")
	for _, c := range hex.EncodeToString(sum[:])[:8] {
		digits = append(digits, '0'+byte(c)%10)
	}
	return string(digits)
}

// tokenBook holds the access tokens that are good.
type tokenBook struct {
	Plain  tokenLife `json:"plain"`
	Stable tokenLife `json:"stable"`
	Former tokenLife `json:"former"` // the stable token before; good for five minutes more
	Forced time.Time `json:"forced"` // the last force_refresh
}

type tokenLife struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

const tokenOverlap = 5 * time.Minute

// plainToken serves /cgi-bin/token: every call ends the token before.
func (s *Server) plainToken(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if code, message := s.appRefusal(q.Get("appid"), q.Get("secret")); code != 0 {
		miniRefusal(w, code, message)
		return
	}
	s.issue(w, func(b *tokenBook, life time.Duration, now time.Time) (tokenLife, string) {
		b.Plain = tokenLife{newToken(), now.Add(life)}
		return b.Plain, ""
	})
}

// stableToken serves /cgi-bin/stable_token: the same token while it is good, a new one
// in its last five minutes or when forced, at most every 30 s.
func (s *Server) stableToken(w http.ResponseWriter, r *http.Request) {
	var body struct {
		GrantType    string `json:"grant_type"`
		AppID        string `json:"appid"`
		Secret       string `json:"secret"`
		ForceRefresh bool   `json:"force_refresh"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil || body.GrantType != "client_credential" {
		miniRefusal(w, 40002, "invalid grant_type")
		return
	}
	if code, message := s.appRefusal(body.AppID, body.Secret); code != 0 {
		miniRefusal(w, code, message)
		return
	}
	s.issue(w, func(b *tokenBook, life time.Duration, now time.Time) (tokenLife, string) {
		if body.ForceRefresh && now.Sub(b.Forced) < 30*time.Second {
			return tokenLife{}, "reach max api daily quota limit: force_refresh within 30s"
		}
		overlap := min(tokenOverlap, life/2)
		if body.ForceRefresh || b.Stable.Expires.Sub(now) <= overlap {
			b.Former = tokenLife{b.Stable.Token, now.Add(overlap)}
			b.Stable = tokenLife{newToken(), now.Add(life)}
		}
		if body.ForceRefresh {
			b.Forced, b.Former = now, tokenLife{}
		}
		return b.Stable, ""
	})
}

func newToken() string { return "90_" + randomHex(64) }

func (s *Server) issue(w http.ResponseWriter, pick func(*tokenBook, time.Duration, time.Time) (tokenLife, string)) {
	var t tokenLife
	var refused string
	now := time.Now()
	err := s.books.change(func() {
		life := time.Duration(s.books.settings.TokenTTLSeconds) * time.Second
		if t, refused = pick(&s.books.tokens, life, now); refused == "" {
			s.books.save("tokens", "", s.books.tokens)
		}
	})
	switch {
	case err != nil:
		miniRefusal(w, -1, "system error")
	case refused != "":
		miniRefusal(w, 45009, refused)
	default:
		miniReply(w, map[string]any{"access_token": t.Token, "expires_in": int64(time.Until(t.Expires).Round(time.Second).Seconds())})
	}
}

// withToken wraps an interface that needs an access token.
func (s *Server) withToken(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("access_token")
		known, good := false, false
		s.books.view(func() {
			for _, t := range []tokenLife{s.books.tokens.Plain, s.books.tokens.Stable, s.books.tokens.Former} {
				if t.Token == token {
					known, good = true, good || time.Now().Before(t.Expires)
				}
			}
		})
		switch {
		case token == "":
			miniRefusal(w, 41001, "access_token missing")
		case !known:
			miniRefusal(w, 40001, "invalid credential, access_token is invalid or not latest")
		case !good:
			miniRefusal(w, 42001, "access_token expired")
		default:
			h(w, r)
		}
	}
}

// bodyOf reads the body that received has put in memory.
func bodyOf(r *http.Request) []byte {
	raw, _ := io.ReadAll(r.Body)
	return raw
}
