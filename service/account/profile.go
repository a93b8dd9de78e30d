package account

import (
	"context"
	"net/url"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/store"
)

// ProfileInput is what a shopper changes; nil leaves a field as it is.
type ProfileInput struct{ Nickname, Avatar *string }

func (in *ProfileInput) check() error {
	v := newCheck()
	if in.Nickname != nil {
		v.line("nickname", in.Nickname, 1, 32)
	}
	if in.Avatar != nil {
		v.line("avatar", in.Avatar, 0, 512)
		if u, err := url.Parse(*in.Avatar); *in.Avatar != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
			v.wrong.With("avatar", fault.FieldFormat, "必须是 http(s) 地址", "must be an http(s) URL")
		}
	}
	return v.err()
}

// ChangeProfile changes nickname (1–32 characters) and avatar (a picture's URL, or empty for none). WeChat is asked about a new
// nickname before anything is stored: a risky one is content_refused, and while it is not passed the former one stays.
func (a *Accounts) ChangeProfile(ctx context.Context, shopperID int64, in ProfileInput) (Profile, error) {
	if err := in.check(); err != nil {
		return Profile{}, err
	}
	judged, err := a.judgeNickname(ctx, shopperID, in.Nickname)
	if err != nil {
		return Profile{}, err
	}
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := lockShopper(tx, shopperID); err != nil {
			return err
		}
		set := map[string]any{"updated_at": a.now()}
		if in.Avatar != nil {
			if err := a.changeAvatar(tx, shopperID, *in.Avatar); err != nil {
				return err
			}
		}
		if in.Nickname != nil {
			if err := a.content.Supersede(tx, shopperID, model.HoldNickname); err != nil {
				return err
			}
			if judged.Held {
				held := content.Withheld{Judgement: judged, Kind: model.HoldNickname, RefID: shopperID, ShopperID: shopperID, Text: *in.Nickname}
				if err := a.content.Hold(tx, held); err != nil {
					return err
				}
			} else {
				set["nickname"] = *in.Nickname
			}
		}
		return tx.Model(&model.Shopper{}).Where("id = ?", shopperID).Updates(set).Error
	})
	if err != nil {
		return Profile{}, err
	}
	return a.Me(ctx, shopperID)
}

// changeAvatar has WeChat look at a new avatar. The shopper has it at once; others see it once it is passed. One that is not stored
// here may change at any time, and is never shown to others. The one that the shopper has already is judged, or is about to be: apps
// send the whole profile whatever was changed in it. The shopper is locked.
func (a *Accounts) changeAvatar(tx *store.Tx, shopperID int64, avatar string) error {
	var now string
	if err := tx.Raw("SELECT avatar FROM shoppers WHERE id = ?", shopperID).Scan(&now).Error; err != nil || now == avatar {
		return err
	}
	if err := tx.Exec("UPDATE shoppers SET avatar = ? WHERE id = ?", avatar, shopperID).Error; err != nil {
		return err
	}
	if err := a.content.Supersede(tx, shopperID, model.HoldAvatar); err != nil {
		return err
	}
	img, ok := file.Parse(avatar)
	if !ok {
		return nil
	}
	return a.content.Hold(tx, content.Withheld{
		Judgement: content.Waiting, Kind: model.HoldAvatar, RefID: shopperID, ShopperID: shopperID, Text: img.Key,
	})
}

// AvatarEffect changes nothing: that the hold is passed is what others go by.
func (a *Accounts) AvatarEffect() content.Effect {
	return content.Effect{Lock: lockShopper, Apply: func(*store.Tx, model.ContentHold, model.Time) error { return nil }}
}

// judgeNickname asks about a nickname that is not the shopper's already.
func (a *Accounts) judgeNickname(ctx context.Context, shopperID int64, nickname *string) (content.Judgement, error) {
	if nickname == nil {
		return content.Judgement{}, nil
	}
	s, err := a.shopperBy(ctx, "id = ?", shopperID)
	if err != nil || s.Nickname == *nickname {
		return content.Judgement{}, err
	}
	return a.content.Judge(ctx, content.Question{ShopperID: shopperID, Kind: model.HoldNickname, Field: "nickname", Text: *nickname})
}

// NicknameEffect gives a shopper the nickname that was held. A newer change supersedes the hold, so it is still the newest one.
func (a *Accounts) NicknameEffect() content.Effect {
	return content.Effect{Lock: lockShopper, Apply: func(tx *store.Tx, h model.ContentHold, now model.Time) error {
		if h.State != model.HoldPassed {
			return nil
		}
		return tx.Exec("UPDATE shoppers SET nickname = ?, updated_at = ? WHERE id = ?", h.Text, now, h.RefID).Error
	}}
}
