package account

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// How long a login lasts.
const (
	ShopperLogin = 30 * 24 * time.Hour
	AdminLogin   = 12 * time.Hour
)

const (
	kindShopper = "shopper"
	kindAdmin   = "admin"
)

// Token is what a login gives.
type Token struct {
	Token     string
	ExpiresAt model.Time

	ref TokenRef
}

type claims struct {
	jwt.RegisteredClaims

	Kind string `json:"kind"`
	// IssuedMS is the time of issue in unix milliseconds; the standard's iat has seconds only.
	IssuedMS int64 `json:"ims"`
}

func (a *Accounts) issue(kind string, id int64, at model.Time, lasts time.Duration) (Token, error) {
	var jti [16]byte
	_, _ = rand.Read(jti[:]) // never fails
	expires := model.Time(int64(at.Add(lasts)) / 1000 * 1000)
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: strconv.FormatInt(id, 10), ID: hex.EncodeToString(jti[:]), ExpiresAt: jwt.NewNumericDate(expires.Std()),
		},
		Kind: kind, IssuedMS: int64(at),
	}).SignedString(a.keys.token)
	return Token{text, expires, TokenRef{hex.EncodeToString(jti[:]), expires}}, err
}

// parse checks a token's signature, algorithm, kind, expiry and revocation.
func (a *Accounts) parse(text, kind string) (id int64, c claims, err error) {
	_, err = jwt.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return a.keys.token, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return a.now().Std() }))
	if err != nil {
		return 0, c, fault.New(fault.TokenInvalid)
	}
	id, err = strconv.ParseInt(c.Subject, 10, 64)
	if err != nil || c.Kind != kind || c.ID == "" || a.revoked.has(c.ID) {
		return 0, c, fault.New(fault.TokenInvalid)
	}
	return id, c, nil
}

func (c claims) ref() TokenRef { return TokenRef{JTI: c.ID, ExpiresAt: model.At(c.ExpiresAt.Time)} }

// AuthenticateShopper returns whose token it is; an admin's is token_invalid. It asks no database.
func (a *Accounts) AuthenticateShopper(_ context.Context, token string) (ShopperIdentity, error) {
	id, c, err := a.parse(token, kindShopper)
	if err != nil {
		return ShopperIdentity{}, err
	}
	return ShopperIdentity{ID: id, Token: c.ref()}, nil
}

// Logout makes a token invalid: here at once, on other replicas within a second.
func (a *Accounts) Logout(ctx context.Context, t TokenRef) error { return a.revoked.add(ctx, t) }
