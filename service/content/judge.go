package content

import (
	"context"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/wechat"
)

// Question is a text that is to be judged. Field is its name in the input, for the error.
type Question struct {
	ShopperID   int64
	Kind        model.HoldKind
	Field, Text string
}

// Judgement is what WeChat thinks of a text that is not refused. The zero Judgement passes it.
type Judgement struct {
	Held   bool
	Reason model.HoldReason
	Label  int
}

// Waiting is the judgement on a picture before WeChat has looked at it.
var Waiting = Judgement{Held: true, Reason: model.HoldWaiting}

// Judge asks WeChat about a text, for two seconds at most and outside of any transaction. A risky text is content_refused; a text
// that WeChat has not passed, for whatever reason, is to be held.
func (s *Service) Judge(ctx context.Context, q Question) (Judgement, error) {
	v, err := s.ask(ctx, q.ShopperID, q.Kind, q.Text)
	switch {
	case ctx.Err() != nil: // the shopper has gone
		return Judgement{}, ctx.Err()
	case wechatError(err):
		return Judgement{Held: true, Reason: model.HoldFailed}, nil
	case err != nil:
		return Judgement{}, err
	}
	switch v.Suggest {
	case wechat.SuggestPass:
		return Judgement{}, nil
	case wechat.SuggestRisky:
		return Judgement{}, fault.New(fault.ContentRefused).With(q.Field, fault.FieldContent, "", "")
	case wechat.SuggestReview:
	}
	return Judgement{Held: true, Reason: model.HoldDoubtful, Label: v.Label}, nil
}

// ask returns WeChat's verdict on a text. Errors that are not the database's are *wechat.Error.
func (s *Service) ask(ctx context.Context, shopperID int64, kind model.HoldKind, text string) (wechat.Verdict, error) {
	openID, err := s.openID(ctx, shopperID)
	if err != nil {
		return wechat.Verdict{}, err
	}
	return s.WeChat.CheckText(ctx, openID, sceneOf(kind), text)
}

func sceneOf(kind model.HoldKind) wechat.ContentScene {
	if kind == model.HoldNickname || kind == model.HoldAvatar {
		return wechat.SceneProfile
	}
	return wechat.SceneComment
}
