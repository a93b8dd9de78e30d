package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/shop"
)

// Shops has what shoppers see of the shops themselves.
type Shops struct {
	Service interface {
		Open(ctx context.Context, merchantID int64) (shop.Settings, error)
	}
	Pictures api.Pictures
}

// Shop is a shop as shoppers see it.
type Shop struct {
	MerchantID   int64        `json:"merchant_id"`
	Name         string       `json:"name"`
	Logo         *api.Picture `json:"logo,omitempty"`
	ContactPhone string       `json:"contact_phone,omitempty"`
	Notice       string       `json:"notice,omitempty"`
}

// ShopInput names a shop.
type ShopInput struct {
	MerchantID int64 `query:"merchant_id" minimum:"1" maximum:"9007199254740991" doc:"The first shop where absent"`
}

// Get returns a shop that is open.
func (s *Shops) Get(ctx context.Context, in *ShopInput) (*api.Reply[Shop], error) {
	v, err := s.Service.Open(ctx, in.MerchantID)
	if err != nil {
		return nil, err
	}
	out := Shop{MerchantID: v.MerchantID, Name: v.Name, ContactPhone: v.ContactPhone, Notice: v.Notice}
	if img, ok := file.Describe(v.Logo); ok {
		p := api.PictureOf(img, s.Pictures)
		out.Logo = &p
	}
	return api.Body(out), nil
}
