package notify

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// PushEffect is what the shop does about an event, in the transaction that marks the push as taken.
type PushEffect = func(tx *store.Tx, p wechat.Push) error

// Push takes WeChat's message pushes.
type Push struct {
	*Shared
	WeChat interface {
		VerifyPushEcho(signature, timestamp, nonce, echostr string) (string, error)
		ParsePush(q wechat.PushQuery, body []byte) (wechat.Push, error)
	}
	Inbox interface {
		Take(ctx context.Context, id, event string, effect func(tx *store.Tx) error) (first bool, err error)
	}
	// Effects by the name of the event; other events are only kept in the inbox.
	Effects map[string]PushEffect
}

// Echo answers WeChat's check of the address.
func (p *Push) Echo(c *gin.Context) {
	echo, err := p.WeChat.VerifyPushEcho(c.Query("signature"), c.Query("timestamp"), c.Query("nonce"), c.Query("echostr"))
	if err != nil {
		p.notices.WithLabelValues(string(model.CallbackPush), unverified.word).Inc()
		p.complain(c, model.CallbackPush, unverified, err)
		p.recorded(c, model.Callback{Kind: model.CallbackPush}, unverified, err)
		return
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(echo))
}

// Handle takes a push in safe mode, once: sent again it is answered the same and has no further effect.
func (p *Push) Handle(c *gin.Context) {
	p.handle(c, model.CallbackPush, func(ctx context.Context, body []byte, seen *model.Callback) (outcome, error) {
		q := wechat.PushQuery{
			Signature: c.Query("signature"), MsgSignature: c.Query("msg_signature"), Timestamp: c.Query("timestamp"),
			Nonce: c.Query("nonce"), EncryptType: c.Query("encrypt_type"),
		}
		push, err := p.WeChat.ParsePush(q, body)
		switch {
		case errors.Is(err, wechat.ErrPushMalformed):
			return malformed, err
		case err != nil:
			return unverified, err
		}
		seen.NoticeID, seen.EventType = push.ID, cmp.Or(push.Event, push.MsgType)
		first, err := p.Inbox.Take(ctx, push.ID, push.Event, func(tx *store.Tx) error {
			if effect := p.Effects[push.Event]; effect != nil {
				return effect(tx, push)
			}
			return nil
		})
		if err != nil {
			return settledAs(err), err
		}
		if !first {
			seen.Verdict = model.CallbackDuplicate
		}
		return pushed, nil
	})
}
