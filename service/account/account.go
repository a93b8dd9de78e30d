// Package account is about who calls: shoppers who log in with WeChat, their addresses and phone number; admins with passwords,
// their roles and merchants; the tokens of both and their revocation.
package account

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tidemall/tidemall/model"
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

// Accounts is the service. It is safe for concurrent use.
type Accounts struct {
	store     *store.Store
	wechat    WeChat
	now       func() model.Time
	log       *slog.Logger
	keys      keys
	revoked   *revocations
	hashing   chan struct{}
	strangers strangers
}

// Options is what the service is made of; all are required.
type Options struct {
	Store  *store.Store
	WeChat WeChat
	// Secret is the installation's secret of at least 32 bytes: tokens are signed and phone numbers sealed with keys made from it.
	Secret string
	Now    func() model.Time
	Log    *slog.Logger
}

// New makes the service. Start must have returned before tokens are accepted.
func New(o Options) (*Accounts, error) {
	if len(o.Secret) < 32 {
		return nil, errors.New("secret: at least 32 bytes are needed")
	}
	k, err := deriveKeys(o.Secret)
	if err != nil {
		return nil, err
	}
	a := &Accounts{
		store: o.Store, wechat: o.WeChat, now: o.Now, log: o.Log, keys: k, hashing: make(chan struct{}, hashesAtOnce),
		strangers: strangers{seen: map[string]attempts{}},
	}
	a.revoked = newRevocations(o.Store, o.Now, o.Log)
	return a, nil
}

// Start reads the revoked tokens and follows those that other replicas revoke, until Stop.
func (a *Accounts) Start(ctx context.Context) error { return a.revoked.start(ctx) }

// Stop ends what Start began and returns when it has ended.
func (a *Accounts) Stop() { a.revoked.stop() }
