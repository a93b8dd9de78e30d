package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
)

// Addresses has the operations on the shopper's addresses.
type Addresses struct {
	Service interface {
		Addresses(ctx context.Context, shopperID int64) ([]model.Address, error)
		AddAddress(ctx context.Context, shopperID int64, in account.AddressInput) (model.Address, error)
		ChangeAddress(ctx context.Context, shopperID, id int64, in account.AddressInput) (model.Address, error)
		RemoveAddress(ctx context.Context, shopperID, id int64) error
	}
}

// AddressBody is what a shopper says of an address.
type AddressBody struct {
	Name       string `json:"name" minLength:"1" maxLength:"64" doc:"Of who receives"`
	Phone      string `json:"phone" minLength:"5" maxLength:"20"`
	Province   string `json:"province" minLength:"1" maxLength:"64"`
	City       string `json:"city" minLength:"1" maxLength:"64"`
	District   string `json:"district,omitempty" maxLength:"64" doc:"Some cities have none"`
	Detail     string `json:"detail" minLength:"1" maxLength:"255"`
	RegionCode string `json:"region_code,omitempty" maxLength:"12" doc:"Administrative code of the district"`
	IsDefault  bool   `json:"is_default,omitempty" doc:"At most one address is the default: it takes the place of the former one"`
}

func (b AddressBody) input() account.AddressInput {
	return account.AddressInput{
		Name: b.Name, Phone: b.Phone, Province: b.Province, City: b.City, District: b.District, Detail: b.Detail, RegionCode: b.RegionCode,
		IsDefault: b.IsDefault,
	}
}

// Address is where a shopper wants parcels sent.
type Address struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Phone      string `json:"phone"`
	Province   string `json:"province"`
	City       string `json:"city"`
	District   string `json:"district,omitempty"`
	Detail     string `json:"detail"`
	RegionCode string `json:"region_code,omitempty"`
	IsDefault  bool   `json:"is_default"`
}

func addressOf(a model.Address) Address {
	return Address{
		ID: a.ID, Name: a.Name, Phone: a.Phone, Province: a.Province, City: a.City, District: a.District, Detail: a.Detail,
		RegionCode: a.RegionCode, IsDefault: a.IsDefault,
	}
}

// List returns all addresses.
func (a *Addresses) List(ctx context.Context, _ *struct{}) (*api.Reply[api.All[Address]], error) {
	rows, err := a.Service.Addresses(ctx, api.Shopper(ctx))
	if err != nil {
		return nil, err
	}
	out := make([]Address, len(rows))
	for i, r := range rows {
		out[i] = addressOf(r)
	}
	return api.NewAll(out), nil
}

// AddressAddInput adds an address.
type AddressAddInput struct{ Body AddressBody }

// Add stores a new address.
func (a *Addresses) Add(ctx context.Context, in *AddressAddInput) (*api.Reply[Address], error) {
	row, err := a.Service.AddAddress(ctx, api.Shopper(ctx), in.Body.input())
	if err != nil {
		return nil, err
	}
	return api.Body(addressOf(row)), nil
}

// AddressChangeInput replaces an address.
type AddressChangeInput struct {
	api.IDPath
	Body AddressBody
}

// Change replaces an address.
func (a *Addresses) Change(ctx context.Context, in *AddressChangeInput) (*api.Reply[Address], error) {
	row, err := a.Service.ChangeAddress(ctx, api.Shopper(ctx), in.ID, in.Body.input())
	if err != nil {
		return nil, err
	}
	return api.Body(addressOf(row)), nil
}

// Remove forgets an address.
func (a *Addresses) Remove(ctx context.Context, in *api.IDPath) (*api.Empty, error) {
	return nil, a.Service.RemoveAddress(ctx, api.Shopper(ctx), in.ID)
}
