package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
)

// Auth has the admin's own login.
type Auth struct {
	Service interface {
		LoginAdmin(ctx context.Context, in account.Credentials, from account.Client) (account.AdminToken, error)
		LogoutAdmin(ctx context.Context, by account.AdminIdentity) error
		ChangePassword(ctx context.Context, by account.AdminIdentity, oldPassword, newPassword string, from account.Client) (account.AdminToken, error)
	}
}

// LoginBody is a name with its password.
type LoginBody struct {
	Username string `json:"username" minLength:"1" maxLength:"64" example:"admin"`
	Password string `json:"password" minLength:"1" maxLength:"512" format:"password"`
	TOTP     string `json:"totp,omitempty" maxLength:"64" doc:"What the authenticator app shows now, or a recovery code; for admins with a second factor"`
}

// LoginInput logs in.
type LoginInput struct{ Body LoginBody }

// Login is a token with whom it is for.
type Login struct {
	Token     string     `json:"token" doc:"Send it as Authorization: Bearer"`
	ExpiresAt model.Time `json:"expires_at" format:"date-time"`
	Admin     Self       `json:"admin"`
}

// Self is the admin as they see themself.
type Self struct {
	ID          int64       `json:"id"`
	Username    string      `json:"username"`
	Platform    bool        `json:"platform" doc:"Of the platform: may act for any merchant"`
	MerchantID  int64       `json:"merchant_id,omitempty" doc:"The merchant whose admin it is; absent for the platform"`
	Permissions Permissions `json:"permissions"`
}

func selfOf(a account.AdminIdentity) Self {
	s := Self{ID: a.ID, Username: a.Username, Platform: a.Platform, Permissions: a.Permissions}
	if !a.Platform {
		s.MerchantID = a.MerchantID
	}
	if s.Permissions == nil {
		s.Permissions = Permissions{}
	}
	return s
}

func loginOf(t account.AdminToken) *api.Reply[Login] {
	return api.Body(Login{Token: t.Token.Token, ExpiresAt: t.ExpiresAt, Admin: selfOf(t.Admin)})
}

// Login checks name, password and second factor and gives a token.
func (a *Auth) Login(ctx context.Context, in *LoginInput) (*api.Reply[Login], error) {
	t, err := a.Service.LoginAdmin(ctx, account.Credentials{Username: in.Body.Username, Password: in.Body.Password, TOTP: in.Body.TOTP}, api.From(ctx))
	if err != nil {
		return nil, err
	}
	return loginOf(t), nil
}

// Logout makes the token that it came with invalid.
func (a *Auth) Logout(ctx context.Context, _ *struct{}) (*api.Empty, error) {
	return nil, a.Service.LogoutAdmin(ctx, api.Admin(ctx))
}

// Me returns who is logged in.
func (*Auth) Me(ctx context.Context, _ *struct{}) (*api.Reply[Self], error) {
	return api.Body(selfOf(api.Admin(ctx))), nil
}

// PasswordBody changes a password.
type PasswordBody struct {
	OldPassword string `json:"old_password" minLength:"1" maxLength:"512" format:"password"`
	NewPassword string `json:"new_password" minLength:"8" maxLength:"128" format:"password"`
}

// PasswordInput changes a password.
type PasswordInput struct{ Body PasswordBody }

// Password changes the caller's password and gives a token that goes on.
func (a *Auth) Password(ctx context.Context, in *PasswordInput) (*api.Reply[Login], error) {
	t, err := a.Service.ChangePassword(ctx, api.Admin(ctx), in.Body.OldPassword, in.Body.NewPassword, api.From(ctx))
	if err != nil {
		return nil, err
	}
	return loginOf(t), nil
}
