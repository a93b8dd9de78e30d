package admin

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/store"
)

// Roles has the operations on roles.
type Roles struct {
	Service interface {
		Roles(ctx context.Context, by account.AdminIdentity, page store.Page) ([]account.RoleInfo, int64, error)
		Role(ctx context.Context, by account.AdminIdentity, id int64) (account.RoleInfo, error)
		AddRole(ctx context.Context, by account.AdminIdentity, in account.RoleInput) (account.RoleInfo, error)
		ChangeRole(ctx context.Context, by account.AdminIdentity, id, version int64, in account.RoleInput) (account.RoleInfo, error)
		DeleteRole(ctx context.Context, by account.AdminIdentity, id, version int64) error
	}
}

// Permissions is a set of permissions.
type Permissions []account.Permission

// Schema lists the choices in the document.
func (Permissions) Schema(huma.Registry) *huma.Schema {
	infos := account.Permissions()
	choices := make([]any, len(infos))
	for i, info := range infos {
		choices[i] = string(info.Permission)
	}
	most := len(infos)
	return &huma.Schema{Type: huma.TypeArray, MaxItems: &most, UniqueItems: true, Items: &huma.Schema{Type: huma.TypeString, Enum: choices}}
}

// Role is a named set of permissions.
type Role struct {
	ID          int64       `json:"id"`
	MerchantID  int64       `json:"merchant_id,omitempty" doc:"Absent for roles of the platform"`
	Name        string      `json:"name"`
	Permissions Permissions `json:"permissions"`
	Admins      int64       `json:"admins" doc:"How many have it"`
	Version     int64       `json:"version"`
	CreatedAt   model.Time  `json:"created_at" format:"date-time"`
}

func roleOf(r account.RoleInfo) Role {
	allows := r.Allows
	if allows == nil {
		allows = []account.Permission{}
	}
	return Role{ID: r.ID, MerchantID: r.MerchantID, Name: r.Name, Permissions: allows, Admins: r.Admins, Version: r.Version, CreatedAt: r.CreatedAt}
}

// List returns a page of the roles that the caller may see.
func (r *Roles) List(ctx context.Context, in *api.PageInput) (*api.Reply[api.List[Role]], error) {
	rows, total, err := r.Service.Roles(ctx, api.Admin(ctx), in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Role, len(rows))
	for i, row := range rows {
		out[i] = roleOf(row)
	}
	return api.NewList(out, total, *in), nil
}

// Get returns one role.
func (r *Roles) Get(ctx context.Context, in *api.IDPath) (*api.Reply[Role], error) {
	row, err := r.Service.Role(ctx, api.Admin(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(roleOf(row)), nil
}

// RoleAddBody is a new role.
type RoleAddBody struct {
	Name        string      `json:"name" minLength:"1" maxLength:"64"`
	Permissions Permissions `json:"permissions" doc:"See GET /permissions; no more than the caller has"`
	MerchantID  int64       `json:"merchant_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"For the platform only: whose role it is; absent for one of the platform"`
}

// RoleAddInput adds a role.
type RoleAddInput struct{ Body RoleAddBody }

// Add makes a role.
func (r *Roles) Add(ctx context.Context, in *RoleAddInput) (*api.Reply[Role], error) {
	row, err := r.Service.AddRole(ctx, api.Admin(ctx), account.RoleInput{
		Name: in.Body.Name, Permissions: in.Body.Permissions, MerchantID: in.Body.MerchantID,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(roleOf(row)), nil
}

// RoleChangeBody replaces a role's name and permissions.
type RoleChangeBody struct {
	Version     int64       `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The one that was read"`
	Name        string      `json:"name" minLength:"1" maxLength:"64"`
	Permissions Permissions `json:"permissions"`
}

// RoleChangeInput changes a role.
type RoleChangeInput struct {
	api.IDPath
	Body RoleChangeBody
}

// Change replaces a role's name and permissions; it counts for its admins at once.
func (r *Roles) Change(ctx context.Context, in *RoleChangeInput) (*api.Reply[Role], error) {
	row, err := r.Service.ChangeRole(ctx, api.Admin(ctx), in.ID, in.Body.Version, account.RoleInput{
		Name: in.Body.Name, Permissions: in.Body.Permissions,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(roleOf(row)), nil
}

// RoleRemoveInput names a role and its version.
type RoleRemoveInput struct {
	api.IDPath
	Version int64 `query:"version" required:"true" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// Remove takes away a role that no admin has.
func (r *Roles) Remove(ctx context.Context, in *RoleRemoveInput) (*api.Empty, error) {
	return nil, r.Service.DeleteRole(ctx, api.Admin(ctx), in.ID, in.Version)
}

// Permission is what a role can allow.
type Permission struct {
	Permission   account.Permission `json:"permission" example:"order:write"`
	Name         string             `json:"name" doc:"In the caller's language"`
	PlatformOnly bool               `json:"platform_only" doc:"For roles of the platform only"`
}

// Permissions lists what roles can allow.
func (*Roles) Permissions(ctx context.Context, _ *struct{}) (*api.Reply[api.All[Permission]], error) {
	infos := account.Permissions()
	out := make([]Permission, len(infos))
	for i, info := range infos {
		out[i] = Permission{Permission: info.Permission, Name: info.ZH, PlatformOnly: info.PlatformOnly}
		if api.LanguageOf(ctx) == api.English {
			out[i].Name = info.EN
		}
	}
	return api.NewAll(out), nil
}
