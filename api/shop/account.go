package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
)

// Accounts has login and the shopper's own page.
type Accounts struct {
	Service interface {
		Login(ctx context.Context, code string) (account.Token, model.Shopper, error)
		Logout(ctx context.Context, t account.TokenRef) error
		Me(ctx context.Context, shopperID int64) (account.Profile, error)
		ChangeProfile(ctx context.Context, shopperID int64, in account.ProfileInput) (account.Profile, error)
		SetPhone(ctx context.Context, shopperID int64, code string) (account.Profile, error)
		CountsOf(ctx context.Context, shopperID int64) (account.Counts, error)
	}
}

// LoginBody is what wx.login gave.
type LoginBody struct {
	Code string `json:"code" minLength:"1" maxLength:"128" doc:"The code of wx.login, good for one use" example:"demo-ann"`
}

// LoginInput logs in.
type LoginInput struct{ Body LoginBody }

// Login is a token with whom it is for.
type Login struct {
	Token     string       `json:"token" doc:"Send it as Authorization: Bearer"`
	ExpiresAt model.Time   `json:"expires_at" format:"date-time"`
	Shopper   LoginShopper `json:"shopper"`
}

// LoginShopper is who logged in.
type LoginShopper struct {
	ID       int64  `json:"id"`
	Nickname string `json:"nickname"`
}

// Login exchanges a code of wx.login for a token.
func (a *Accounts) Login(ctx context.Context, in *LoginInput) (*api.Reply[Login], error) {
	t, s, err := a.Service.Login(ctx, in.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.Body(Login{Token: t.Token, ExpiresAt: t.ExpiresAt, Shopper: LoginShopper{ID: s.ID, Nickname: s.Nickname}}), nil
}

// Logout makes the token that it came with invalid.
func (a *Accounts) Logout(ctx context.Context, _ *struct{}) (*api.Empty, error) {
	return nil, a.Service.Logout(ctx, api.ShopperOf(ctx).Token)
}

// Me is the shopper as they see themself.
type Me struct {
	ID              int64      `json:"id"`
	Nickname        string     `json:"nickname"`
	Avatar          string     `json:"avatar,omitempty" format:"uri"`
	NicknamePending string     `json:"nickname_pending,omitempty" doc:"A nickname that was asked for and is not passed yet; others still see the former one"`
	Phone           string     `json:"phone,omitempty" doc:"Masked" example:"138****5678"`
	CreatedAt       model.Time `json:"created_at" format:"date-time"`
}

func meOf(p account.Profile) *api.Reply[Me] {
	return api.Body(Me{ID: p.ID, Nickname: p.Nickname, Avatar: p.Avatar, NicknamePending: p.NicknamePending, Phone: p.Phone, CreatedAt: p.CreatedAt})
}

// Me returns the shopper's profile.
func (a *Accounts) Me(ctx context.Context, _ *struct{}) (*api.Reply[Me], error) {
	p, err := a.Service.Me(ctx, api.Shopper(ctx))
	if err != nil {
		return nil, err
	}
	return meOf(p), nil
}

// ProfileBody is what a shopper may change of themself.
type ProfileBody struct {
	Nickname *string `json:"nickname,omitempty" minLength:"1" maxLength:"32" doc:"Left as it is where absent"`
	Avatar   *string `json:"avatar,omitempty" maxLength:"512" doc:"URL of a picture; empty for none, left as it is where absent"`
}

// ProfileInput changes the profile.
type ProfileInput struct{ Body ProfileBody }

// ChangeMe changes nickname and avatar.
func (a *Accounts) ChangeMe(ctx context.Context, in *ProfileInput) (*api.Reply[Me], error) {
	p, err := a.Service.ChangeProfile(ctx, api.Shopper(ctx), account.ProfileInput{Nickname: in.Body.Nickname, Avatar: in.Body.Avatar})
	if err != nil {
		return nil, err
	}
	return meOf(p), nil
}

// PhoneBody is what the phone button gave.
type PhoneBody struct {
	Code string `json:"code" minLength:"1" maxLength:"128" doc:"The code of the phone button (getPhoneNumber), not that of wx.login"`
}

// PhoneInput sets the phone number.
type PhoneInput struct{ Body PhoneBody }

// SetPhone exchanges a code of the phone button for the number and keeps it.
func (a *Accounts) SetPhone(ctx context.Context, in *PhoneInput) (*api.Reply[Me], error) {
	p, err := a.Service.SetPhone(ctx, api.Shopper(ctx), in.Body.Code)
	if err != nil {
		return nil, err
	}
	return meOf(p), nil
}

// Counts is what the shopper's page shows beside its entries.
type Counts struct {
	Orders  OrderCounts `json:"orders"`
	Coupons int64       `json:"coupons" doc:"That can still be used"`

	Aftersales int64 `json:"aftersales" doc:"That have not ended"`
}

// OrderCounts counts the shopper's orders by state.
type OrderCounts struct {
	PendingPayment int64 `json:"pending_payment"`
	Paid           int64 `json:"paid"`
	Shipped        int64 `json:"shipped"`
	Completed      int64 `json:"completed"`
	Closed         int64 `json:"closed"`
}

// Counts counts orders and coupons.
func (a *Accounts) Counts(ctx context.Context, _ *struct{}) (*api.Reply[Counts], error) {
	c, err := a.Service.CountsOf(ctx, api.Shopper(ctx))
	if err != nil {
		return nil, err
	}
	return api.Body(Counts{
		Orders: OrderCounts{
			PendingPayment: c.Orders[model.OrderPending], Paid: c.Orders[model.OrderPaid], Shipped: c.Orders[model.OrderShipped],
			Completed: c.Orders[model.OrderCompleted], Closed: c.Orders[model.OrderClosed],
		},
		Coupons: c.Coupons, Aftersales: c.Aftersales,
	}), nil
}
