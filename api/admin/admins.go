package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/store"
)

// Admins has the operations on admins.
type Admins struct {
	Service interface {
		Admins(ctx context.Context, by account.AdminIdentity, f account.AdminFilter, page store.Page) ([]account.AdminInfo, int64, error)
		Admin(ctx context.Context, by account.AdminIdentity, id int64) (account.AdminInfo, error)
		AddAdmin(ctx context.Context, by account.AdminIdentity, in account.AdminInput) (account.AdminInfo, error)
		ChangeAdmin(ctx context.Context, by account.AdminIdentity, id int64, in account.AdminChange) (account.AdminInfo, error)
	}
}

// Admin works in the panel.
type Admin struct {
	ID         int64      `json:"id"`
	Username   string     `json:"username"`
	MerchantID int64      `json:"merchant_id,omitempty" doc:"Absent for admins of the platform"`
	RoleID     int64      `json:"role_id"`
	RoleName   string     `json:"role_name,omitempty"`
	Disabled   bool       `json:"disabled"`
	TOTP       bool       `json:"totp" doc:"A second factor is on"`
	Locked     model.Time `json:"locked_until,omitzero" format:"date-time" doc:"For logins from everywhere, after too many that failed; may lie in the past"`
	Version    int64      `json:"version"`
	CreatedAt  model.Time `json:"created_at" format:"date-time"`
}

func adminOf(a account.AdminInfo) Admin {
	return Admin{
		ID: a.ID, Username: a.Username, MerchantID: a.MerchantID, RoleID: a.RoleID, RoleName: a.RoleName, Disabled: a.Disabled,
		TOTP: a.TOTP, Locked: a.LockedUntil, Version: a.Version, CreatedAt: a.CreatedAt,
	}
}

// AdminListInput narrows a list of admins.
type AdminListInput struct {
	api.PageInput
	RoleID int64 `query:"role_id" minimum:"0" maximum:"9007199254740991" doc:"Who has this role"`
}

// List returns a page of the admins that the caller may see.
func (a *Admins) List(ctx context.Context, in *AdminListInput) (*api.Reply[api.List[Admin]], error) {
	rows, total, err := a.Service.Admins(ctx, api.Admin(ctx), account.AdminFilter{RoleID: in.RoleID}, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Admin, len(rows))
	for i, r := range rows {
		out[i] = adminOf(r)
	}
	return api.NewList(out, total, in.PageInput), nil
}

// Get returns one admin.
func (a *Admins) Get(ctx context.Context, in *api.IDPath) (*api.Reply[Admin], error) {
	row, err := a.Service.Admin(ctx, api.Admin(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(adminOf(row)), nil
}

// AdminAddBody is a new admin.
type AdminAddBody struct {
	Username   string `json:"username" minLength:"3" maxLength:"64" doc:"Of a-z 0-9 . _ @ -; capitals become small"`
	Password   string `json:"password" minLength:"8" maxLength:"128" format:"password"`
	RoleID     int64  `json:"role_id" minimum:"1" maximum:"9007199254740991" doc:"A role of the same merchant"`
	MerchantID int64  `json:"merchant_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"For the platform only: whose admin it is; absent for one of the platform"`
}

// AdminAddInput adds an admin.
type AdminAddInput struct{ Body AdminAddBody }

// Add makes an admin.
func (a *Admins) Add(ctx context.Context, in *AdminAddInput) (*api.Reply[Admin], error) {
	row, err := a.Service.AddAdmin(ctx, api.Admin(ctx), account.AdminInput{
		Username: in.Body.Username, Password: in.Body.Password, RoleID: in.Body.RoleID, MerchantID: in.Body.MerchantID,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(adminOf(row)), nil
}

// AdminChangeBody changes an admin; what is absent stays.
type AdminChangeBody struct {
	Version   int64  `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The one that was read"`
	RoleID    *int64 `json:"role_id,omitempty" minimum:"1" maximum:"9007199254740991"`
	Disabled  *bool  `json:"disabled,omitempty" doc:"A disabled admin is signed out at once"`
	Password  string `json:"password,omitempty" minLength:"8" maxLength:"128" format:"password" doc:"A new password; signs out and unlocks"`
	ResetTOTP bool   `json:"reset_totp,omitempty" doc:"Turns their second factor off; not one's own"`
}

// AdminChangeInput changes an admin.
type AdminChangeInput struct {
	api.IDPath
	Body AdminChangeBody
}

// Change changes an admin's role, state or password.
func (a *Admins) Change(ctx context.Context, in *AdminChangeInput) (*api.Reply[Admin], error) {
	row, err := a.Service.ChangeAdmin(ctx, api.Admin(ctx), in.ID, account.AdminChange{
		Version: in.Body.Version, RoleID: in.Body.RoleID, Disabled: in.Body.Disabled, Password: in.Body.Password,
		ResetTOTP: in.Body.ResetTOTP,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(adminOf(row)), nil
}
