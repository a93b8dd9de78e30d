package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/store"
)

// Merchants has the operations on merchants.
type Merchants struct {
	Service interface {
		Merchants(ctx context.Context, page store.Page) ([]model.Merchant, int64, error)
		Merchant(ctx context.Context, id int64) (model.Merchant, error)
		AddMerchant(ctx context.Context, name string) (model.Merchant, error)
		OpenMerchant(ctx context.Context, by account.AdminIdentity, name string, first account.AdminInput) (model.Merchant, error)
		ChangeMerchant(ctx context.Context, id int64, in account.MerchantChange) (model.Merchant, error)
	}
}

// Merchant is a shop on the platform.
type Merchant struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Disabled  bool       `json:"disabled"`
	Version   int64      `json:"version"`
	CreatedAt model.Time `json:"created_at" format:"date-time"`
}

func merchantOf(m model.Merchant) Merchant {
	return Merchant{ID: m.ID, Name: m.Name, Disabled: m.Disabled, Version: m.Version, CreatedAt: m.CreatedAt}
}

// List returns a page of the merchants.
func (m *Merchants) List(ctx context.Context, in *api.PageInput) (*api.Reply[api.List[Merchant]], error) {
	rows, total, err := m.Service.Merchants(ctx, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Merchant, len(rows))
	for i, r := range rows {
		out[i] = merchantOf(r)
	}
	return api.NewList(out, total, *in), nil
}

// Get returns one merchant.
func (m *Merchants) Get(ctx context.Context, in *api.IDPath) (*api.Reply[Merchant], error) {
	row, err := m.Service.Merchant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(merchantOf(row)), nil
}

// MerchantAddBody is a new merchant.
type MerchantAddBody struct {
	Name  string          `json:"name" minLength:"1" maxLength:"100"`
	Admin *FirstAdminBody `json:"admin,omitempty" doc:"Its first admin, who may do everything there"`
}

// FirstAdminBody is the first admin of a new merchant.
type FirstAdminBody struct {
	Username string `json:"username" minLength:"3" maxLength:"64" doc:"Of a-z 0-9 . _ @ -; capitals become small"`
	Password string `json:"password" minLength:"8" maxLength:"128" format:"password"`
}

// MerchantAddInput adds a merchant.
type MerchantAddInput struct{ Body MerchantAddBody }

// Add makes a merchant, with its first admin where one is named.
func (m *Merchants) Add(ctx context.Context, in *MerchantAddInput) (*api.Reply[Merchant], error) {
	row, err := m.add(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return api.Body(merchantOf(row)), nil
}

func (m *Merchants) add(ctx context.Context, b MerchantAddBody) (model.Merchant, error) {
	if b.Admin == nil {
		return m.Service.AddMerchant(ctx, b.Name)
	}
	return m.Service.OpenMerchant(ctx, api.Admin(ctx), b.Name, account.AdminInput{Username: b.Admin.Username, Password: b.Admin.Password})
}

// MerchantChangeBody replaces a merchant's name and state.
type MerchantChangeBody struct {
	Version  int64  `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The one that was read"`
	Name     string `json:"name" minLength:"1" maxLength:"100"`
	Disabled bool   `json:"disabled,omitempty" doc:"Its admins are refused at once"`
}

// MerchantChangeInput changes a merchant.
type MerchantChangeInput struct {
	api.IDPath
	Body MerchantChangeBody
}

// Change changes a merchant.
func (m *Merchants) Change(ctx context.Context, in *MerchantChangeInput) (*api.Reply[Merchant], error) {
	row, err := m.Service.ChangeMerchant(ctx, in.ID, account.MerchantChange{
		Version: in.Body.Version, Name: in.Body.Name, Disabled: in.Body.Disabled,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(merchantOf(row)), nil
}
