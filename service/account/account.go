// Package account is about who calls: shoppers who log in with WeChat, their addresses and phone number; admins with passwords,
// their roles and merchants; the tokens of both and their revocation.
package account

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// WeChat is what this package needs of WeChat. Errors are *wechat.Error.
type WeChat interface {
	// Login exchanges a code of wx.login.
	Login(ctx context.Context, code string) (wechat.Session, error)
	// Phone exchanges a code of the phone button.
	Phone(ctx context.Context, code string) (wechat.Phone, error)
}

// Content judges nicknames before anybody else sees them.
type Content interface {
	// Judge asks WeChat about a text: content_refused, or whether it is to be held.
	Judge(ctx context.Context, q content.Question) (content.Judgement, error)
	Hold(tx *store.Tx, n content.Withheld) error
	Supersede(tx *store.Tx, refID int64, kinds ...model.HoldKind) error
	// Pending returns the text that is held of a thing, "" without any.
	Pending(ctx context.Context, kind model.HoldKind, refID int64) (string, error)
}

// Accounts is the service. It is safe for concurrent use.
type Accounts struct {
	store     *store.Store
	wechat    WeChat
	content   Content
	now       func() model.Time
	log       *slog.Logger
	keys      keys
	revoked   *revocations
	turns     turns
	strangers strangers
	sessions  *sessions
	resealing part
}

// Options is what the service is made of; all but FormerSecrets are required.
type Options struct {
	Store   *store.Store
	WeChat  WeChat
	Content Content
	// Secret is the installation's secret of at least 32 bytes: tokens are signed, phone numbers and second factors sealed with keys
	// made from it.
	Secret string
	// FormerSecrets still open what was sealed before the secret was changed, and nothing else: a token that one of
	// them signed is refused, since a secret may have been changed because it leaked.
	FormerSecrets []string
	Now           func() model.Time
	Log           *slog.Logger
}

// New makes the service. Start must have returned before tokens are accepted.
func New(o Options) (*Accounts, error) {
	if len(o.Secret) < 32 {
		return nil, errors.New("secret: at least 32 bytes are needed")
	}
	k, err := deriveKeys(o.Secret, o.FormerSecrets)
	if err != nil {
		return nil, err
	}
	a := &Accounts{
		store: o.Store, wechat: o.WeChat, content: o.Content, now: o.Now, log: o.Log, keys: k, turns: newTurns(),
		strangers: strangers{seen: map[stranger]tally{}},
	}
	a.revoked = newRevocations(o.Store, o.Now, o.Log)
	a.sessions = newSessions(o.Store, o.Now, o.Log)
	return a, nil
}

// Start reads the revoked tokens and follows those that other replicas revoke, until Stop. Where there are former secrets it also
// begins to seal anew what they sealed.
func (a *Accounts) Start(ctx context.Context) error {
	if err := a.revoked.start(ctx); err != nil {
		return err
	}
	a.sessions.writing.start(ctx, a.sessions.follow)
	if len(a.keys.phone.former) > 0 {
		a.resealing.start(ctx, a.reseal)
	}
	return nil
}

// Stop ends what Start began and returns when it has ended.
func (a *Accounts) Stop() {
	a.resealing.stop()
	a.sessions.writing.stop()
	a.revoked.stop()
}
