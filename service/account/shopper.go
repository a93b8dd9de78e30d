package account

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// newNickname is what a shopper is called until they say otherwise: WeChat tells nobody's name any more.
const newNickname = "微信用户"

const (
	// wechatRetry is when asking WeChat again makes sense.
	wechatRetry = 2 * time.Second
	// wechatQuiet is when it makes sense after WeChat was asked too often: it counts by the minute.
	wechatQuiet = time.Minute
)

// unanswered is what a call comes to that says nothing of the code it was made with.
func unanswered(err error) *fault.Error {
	if wechat.TooOften(err) {
		return fault.Wrap(fault.RateLimited, err).After(wechatQuiet)
	}
	return fault.Wrap(fault.WeChatUnavailable, err).After(wechatRetry)
}

// Login makes a token for whoever WeChat says the code belongs to; at the first login the shopper is made. Errors:
// login_code_invalid, also where WeChat lets the user in nowhere; rate_limited; and wechat_unavailable where WeChat does not answer.
// Then no shopper is made.
func (a *Accounts) Login(ctx context.Context, code string) (Token, model.Shopper, error) {
	session, err := a.wechat.Login(ctx, code)
	if err != nil {
		switch wechat.KindOf(err) {
		case wechat.KindBadCode:
			return Token{}, model.Shopper{}, fault.Wrap(fault.LoginCodeInvalid, err)
		case wechat.KindRejected: // the user is blocked, say: the same whenever it is tried again
			return Token{}, model.Shopper{}, fault.Wrap(fault.LoginCodeInvalid, err).Say("微信拒绝了此次登录", "WeChat refuses this login")
		default:
			return Token{}, model.Shopper{}, unanswered(err)
		}
	}
	s, err := a.shopperOf(ctx, session)
	if err != nil {
		return Token{}, model.Shopper{}, err
	}
	t, err := a.issue(kindShopper, s.ID, a.now(), ShopperLogin)
	return t, s, err
}

// shopperOf finds or makes the row of an openid. Of first logins that race one inserts, the others meet the unique key and read.
func (a *Accounts) shopperOf(ctx context.Context, session wechat.Session) (model.Shopper, error) {
	s, err := a.shopperBy(ctx, "openid = ?", session.OpenID)
	if fault.Is(err, fault.NotFoundError) {
		row := model.Shopper{OpenID: session.OpenID, UnionID: session.UnionID, Nickname: newNickname, CreatedAt: a.now(), UpdatedAt: a.now()}
		err = a.store.Tx(ctx, func(tx *store.Tx) error {
			row.ID = 0
			return tx.Create(&row).Error
		})
		if !store.IsDuplicate(err) {
			return row, err
		}
		s, err = a.shopperBy(ctx, "openid = ?", session.OpenID)
	}
	if err == nil && s.UnionID == "" && session.UnionID != "" {
		s.UnionID = session.UnionID
		err = a.store.Tx(ctx, func(tx *store.Tx) error {
			return tx.Exec("UPDATE shoppers SET unionid = ?, updated_at = ? WHERE id = ? AND unionid = ''", session.UnionID, a.now(), s.ID).Error
		})
	}
	return s, err
}

func (a *Accounts) shopperBy(ctx context.Context, where string, arg any) (model.Shopper, error) {
	var s model.Shopper
	err := a.store.Read(ctx).Where(where, arg).Take(&s).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return s, fault.New(fault.NotFoundError)
	}
	return s, store.Classify(err)
}

// Profile is what a shopper may see of themself.
type Profile struct {
	ID               int64
	Nickname, Avatar string
	// NicknamePending is a nickname that is held: nobody else sees it yet.
	NicknamePending string
	Phone           string // masked; empty where none is known
	CreatedAt       model.Time
}

// Me returns the shopper's profile.
func (a *Accounts) Me(ctx context.Context, shopperID int64) (Profile, error) {
	s, err := a.shopperBy(ctx, "id = ?", shopperID)
	if err != nil {
		return Profile{}, err
	}
	pending, err := a.content.Pending(ctx, model.HoldNickname, shopperID)
	if err != nil {
		return Profile{}, err
	}
	return Profile{ID: s.ID, Nickname: s.Nickname, Avatar: s.Avatar, NicknamePending: pending, Phone: a.masked(s), CreatedAt: s.CreatedAt}, nil
}

// SetPhone exchanges a code of the phone button and keeps the number, sealed. A code that WeChat does not take is
// validation_failed; where WeChat does not answer it is wechat_unavailable, and rate_limited where it was asked too often.
func (a *Accounts) SetPhone(ctx context.Context, shopperID int64, code string) (Profile, error) {
	phone, err := a.wechat.Phone(ctx, code)
	if err != nil {
		switch wechat.KindOf(err) {
		case wechat.KindBadCode:
			return Profile{}, fault.Wrap(fault.ValidationFailed, err).
				With("code", fault.FieldFormat, "手机号授权已失效，请重新授权", "the code is invalid or was used; ask for the phone number again")
		case wechat.KindRejected:
			return Profile{}, fault.Wrap(fault.ValidationFailed, err).
				With("code", fault.FieldFormat, "微信拒绝提供手机号", "WeChat refuses to give the phone number")
		default:
			return Profile{}, unanswered(err)
		}
	}
	number := phone.Number
	if phone.CountryCode != "" && phone.CountryCode != "86" {
		number = "+" + phone.CountryCode + " " + number
	}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE shoppers SET phone_cipher = ?, phone_tail = ?, updated_at = ? WHERE id = ?",
			a.keys.phone.seal(shopperOwner(shopperID), number), tail(number), a.now(), shopperID).Error
	})
	if err != nil {
		return Profile{}, err
	}
	return a.Me(ctx, shopperID)
}

// masked returns 138****5678. Where the number cannot be opened, because the secret was changed, only its end is known.
func (a *Accounts) masked(s model.Shopper) string {
	if s.PhoneCipher == "" {
		return ""
	}
	number, err := a.keys.phone.open(shopperOwner(s.ID), s.PhoneCipher)
	if err != nil || len(number) < 8 {
		return "****" + s.PhoneTail
	}
	return number[:len(number)-8] + "****" + s.PhoneTail
}

func tail(number string) string { return number[max(0, len(number)-4):] }
