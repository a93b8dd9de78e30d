package wechat

import (
	"context"
	"errors"
	"net/http"
	"regexp"
)

// codeRule is what a code of wx.login or of the phone button looks like. The library
// pastes it unescaped into a URL beside the app secret, so nothing else may pass.
var codeRule = regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`)

// Session is who logged in. The session key that WeChat sends along is dropped here:
// nothing in the shop needs it, and what is not kept cannot leak.
type Session struct {
	OpenID  string
	UnionID string // empty unless the mini-program is bound to an open platform
}

// Login exchanges a code of wx.login. KindBadCode: the code is invalid or was used.
func (c *Client) Login(ctx context.Context, code string) (Session, error) {
	const op = "login"
	if !codeRule.MatchString(code) {
		return Session{}, &Error{Op: op, Kind: KindBadCode, Message: "not of the form of a login code"}
	}
	var s Session
	err := c.call(ctx, c.miniBreaker, op, func(ctx context.Context) error {
		ctx, r := c.routed(ctx)
		res, err := c.mini.GetAuth().Code2SessionContext(ctx, code)
		switch {
		case res.ErrCode != 0: // the library's own error is text only
			return miniError(op, res.ErrCode, res.ErrMsg)
		case err != nil:
			return withStatus(op, err, r.status)
		case res.OpenID == "":
			return unknown(r.status, "no openid in the reply")
		}
		s = Session{OpenID: res.OpenID, UnionID: res.UnionID}
		return nil
	})
	return s, err
}

// Phone is a phone number that WeChat vouches for.
type Phone struct {
	CountryCode string // digits, such as "86"
	Number      string // without the country code
}

// Phone exchanges a code of the phone button. When WeChat refuses the access token it
// is fetched anew and the call repeated, once.
func (c *Client) Phone(ctx context.Context, code string) (Phone, error) {
	const op = "phone"
	if !codeRule.MatchString(code) {
		return Phone{}, &Error{Op: op, Kind: KindBadCode, Message: "not of the form of a phone code"}
	}
	var p Phone
	err := c.withToken(ctx, op, func(ctx context.Context, r *route) error {
		res, err := c.mini.GetAuth().GetPhoneNumberContext(ctx, code)
		switch {
		case err != nil:
			return withStatus(op, err, r.status)
		case res.PhoneInfo.PurePhoneNumber == "":
			return unknown(r.status, "no phone number in the reply")
		}
		p = Phone{CountryCode: res.PhoneInfo.CountryCode, Number: res.PhoneInfo.PurePhoneNumber}
		return nil
	})
	return p, err
}

// withToken runs a mini-program call that carries an access token, and repeats it once
// with another token when WeChat refused the one it had. That both were refused is nobody's
// mistake to mend: tokens end early when somebody else has them renewed.
func (c *Client) withToken(ctx context.Context, op string, fn func(context.Context, *route) error) error {
	return c.withTokenBehind(ctx, c.miniBreaker, op, fn)
}

// withTokenBehind is withToken behind another breaker.
func (c *Client) withTokenBehind(ctx context.Context, b *breaker, op string, fn func(context.Context, *route) error) error {
	once := func() (*route, error) {
		var used *route
		err := c.call(ctx, b, op, func(ctx context.Context) error {
			ctx, r := c.routed(ctx)
			used = r
			return fn(ctx, r)
		})
		return used, err
	}
	r, err := once()
	if tokenRefused(err) && r.token != "" {
		c.tokens.forget(ctx, r.token)
		r, err = once()
		if tokenRefused(err) && r.token != "" {
			c.tokens.forget(ctx, r.token)
			return unavailable(err)
		}
	}
	return err
}

// withStatus classifies a library error and adds the HTTP status that it dropped.
func withStatus(op string, err error, status int) error {
	var e *Error
	if errors.As(classify(op, err), &e) && e.Status == 0 && status != http.StatusOK {
		e.Status = status
	}
	return e
}
